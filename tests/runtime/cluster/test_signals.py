"""Signals on a cluster that loses its state, and children that end while no parent is there."""

from onward.bootstrap.cluster_backend import backend_on
from onward.kernel.records import Definition
from onward.ports.storage.workflows import WorkflowRecord, WorkflowVersion
from onward.runtime.queues import STATUS
from onward.runtime.signals.sender import SignalSender
from runtime.cluster.lab import held, until
from runtime.cluster.test_repair import AT_ONCE, folded, wiped
from support.documents import TRIGGER, node, workflow

HOLDING = workflow(
    TRIGGER,
    node("pause", "probe", gate="g", value=1),
    node("hold", "wait_for_signal", signal="go"),
    node("after", "probe", value="$hold"),
    "start -> pause -> hold -> after",
)


def backend(lab):
    return backend_on(lab.cluster)


async def signalled(lab, run, value, signal_id="1"):
    at = backend(lab)
    execution = await at.archive.run(run)
    return await SignalSender(at).signal(execution, "go", signal_id, value, "test")


async def test_a_signal_that_was_kept_survives_the_loss_of_all_state(lab, rabbitmq_url):
    run = await lab.start(HOLDING)
    await lab.book.until_parked(1)
    assert await signalled(lab, run, "kept")
    await wiped(lab)

    assert {run: "rebuilt"} == await lab.cluster.reconciler(AT_ONCE).sweep()
    lab.book.gate("g").set()

    assert "kept" == (await lab.finish(run)).output("after")
    await until(lambda: nothing_held(rabbitmq_url))


async def test_a_signal_that_was_taken_is_taken_again_when_the_run_is_rebuilt(lab, rabbitmq_url):
    document = workflow(
        TRIGGER,
        node("hold", "wait_for_signal", signal="go"),
        node("pause", "probe", gate="g", value="$hold"),
        "start -> hold -> pause",
    )
    run = await lab.start(document)
    await signalled(lab, run, "taken")
    await lab.book.until_parked(1)
    await wiped(lab)

    assert {run: "rebuilt"} == await lab.cluster.reconciler(AT_ONCE).sweep()
    lab.book.gate("g").set()

    assert "taken" == (await lab.finish(run)).output("pause")
    await until(lambda: nothing_held(rabbitmq_url))


async def test_a_run_that_waits_for_a_signal_is_not_taken_for_stuck(lab):
    lab.book.gate("g").set()
    run = await lab.start(HOLDING)
    await folded(lab, run, "hold", 1)

    assert {} == await lab.cluster.reconciler(AT_ONCE).sweep()
    assert await signalled(lab, run, "at last")
    assert not await signalled(lab, run, "again")

    assert "at last" == (await lab.finish(run)).output("after")


async def test_a_child_ends_while_its_parent_has_no_worker(idle):
    """
    The parent's state is even lost meanwhile: rebuilt, it finds the child again, and its end.
    """
    child = workflow(TRIGGER, node("work", "probe", gate="g", value="$trigger"), "start -> work")
    program = idle.program({**child, "id": "child"})
    at = backend(idle)
    await _registered(at, program.ref, program.document.source)
    parent = workflow(
        TRIGGER, node("sub", "workflow", workflow_id="child", input="$trigger"), "start -> sub"
    )
    async with idle.running(idle.cluster.scheduler().run(), idle.cluster.master().run()):
        worker = idle.cluster.worker()
        run = await idle.start(parent, 7)
        async with idle.running(worker.run()):
            await idle.book.until_parked(1)
            await folded(idle, run, "sub", 1)
            idle.book.gate("g").set()
            (link,) = await at.links.children(run, after="", limit=2)
            await until(lambda: _over(at, link.child_id))
        await worker.drain(5)
        await wiped(idle)
        assert "rebuilt" == (await idle.cluster.reconciler(AT_ONCE).sweep()).get(run, "rebuilt")
        another = idle.cluster.worker()
        async with idle.running(another.run()):
            ended = await idle.finish(run)
        await another.drain(5)

    assert 7 == ended.output("sub")
    assert 1 == len(idle.book.executions)


async def test_a_child_whose_end_history_knows_is_not_waited_for_again(idle):
    child = workflow(TRIGGER, node("work", "probe", tag="work", value="$trigger"), "start -> work")
    program = idle.program({**child, "id": "child"})
    at = backend(idle)
    await _registered(at, program.ref, program.document.source)
    parent = workflow(
        TRIGGER,
        node("sub", "workflow", workflow_id="child", input="$trigger"),
        node("pause", "probe", gate="g", value="$sub"),
        "start -> sub -> pause",
    )
    run, worker = await idle.start(parent, 7), idle.cluster.worker()
    works = worker.run(), idle.cluster.scheduler().run(), idle.cluster.master().run()
    async with idle.running(*works):
        await idle.book.until_parked(1)
        await folded(idle, run, "sub", 2)
        await wiped(idle)
        await idle.cluster.reconciler(AT_ONCE).sweep()
        idle.book.gate("g").set()
        ended = await idle.finish(run)
    await worker.drain(5)

    assert 7 == ended.output("pause")
    assert 1 == idle.book.tags().count("work")


async def nothing_held(rabbitmq_url):
    """Whether the workers are done with what the lost state had sent."""
    return not any(count for name, count in held(rabbitmq_url).items() if name != STATUS)


async def _over(at, execution_id):
    run = await at.archive.run(execution_id)
    return run is not None and run.ended_ms is not None


async def _registered(at, ref, source):
    now_ms = at.clock.now_ms()
    made = WorkflowRecord(
        workflow_id="child",
        revision=1,
        latest=1,
        published=1,
        enabled=True,
        created_ms=now_ms,
        changed_ms=now_ms,
    )
    version = WorkflowVersion(
        workflow_id="child", number=1, definition_ref=ref, created_ms=now_ms, note=""
    )
    assert await at.registry.save(made, version, Definition(ref, "child", source))
