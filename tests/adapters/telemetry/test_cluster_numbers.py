"""What a cluster counts while runs go through it."""

from adapters.telemetry.test_prometheus import samples
from onward.adapters.telemetry.prometheus import PrometheusMeter
from onward.runtime.instrumentation import Instrumentation
from runtime.cluster.lab import publish, until
from support.documents import TRIGGER, node, transform, workflow

ITEMS = 5


def document():
    return workflow(
        TRIGGER,
        node("each", "split", input_array="$trigger"),
        node("p", "probe", tag="$item", fail_first=1, retry={"max_attempts": 2, "delay": 0.01}),
        node("all", "aggregator"),
        transform("after", "$all | length"),
        "start -> each -> p -> all -> after",
    )


async def test_a_run_is_counted_from_its_first_message_to_its_last(watched):
    meter = PrometheusMeter("test")
    async with watched(Instrumentation(meter)) as lab:
        ended = await lab.run(document(), list(range(ITEMS)))
        await until(lambda: idle(meter))
        found = samples(meter)

    def executed(kind, outcome):
        return found["onward_node_executions_total", (("outcome", outcome), ("type", kind))]

    assert ITEMS == ended.output("after")
    assert 1 == executed("manual_trigger", "succeeded")
    assert 1 == executed("split", "scattered")
    assert ITEMS == executed("probe", "failed")
    assert ITEMS == executed("probe", "succeeded")
    assert ITEMS == executed("aggregator", "arrived")
    assert ITEMS == found["onward_node_retries_total", (("type", "probe"),)]
    assert 2 * ITEMS == found["onward_node_duration_seconds_count", (("type", "probe"),)]
    queue = (("queue", "workflow.execution"),)
    visits = 1 + 1 + 3 * ITEMS + 1
    assert visits == found["onward_messages_consumed_total", queue]
    assert visits == found["onward_messages_acked_total", queue]
    assert visits == found["onward_claims_total", (("verdict", "run"),)]
    assert visits == found["onward_claim_seconds_count", ()]
    assert ITEMS == found["onward_timers_fired_total", ()]
    assert ITEMS == found["onward_timer_lateness_seconds_count", ()]
    assert 1 == found["onward_runs_ended_total", (("status", "completed"),)]
    assert 1 == found["onward_run_duration_seconds_count", ()]
    assert found["onward_statuses_folded_total", ()] > visits
    assert 128 == found["onward_worker_slots", ()]
    assert 1 == found["onward_messages_published_total", (("queue", "workflow.completion"),)]


async def idle(meter):
    found = samples(meter)
    held = [value for (name, _), value in found.items() if name == "onward_messages_in_hand"]
    return not any(held) and not found["onward_worker_slots_used", ()]


async def test_what_is_no_message_is_counted_in_quarantine(watched, rabbitmq_url):
    meter = PrometheusMeter("test")
    async with watched(Instrumentation(meter)):
        publish(rabbitmq_url, "workflow.execution", b"not a token")

        async def counted():
            return 1 == samples(meter)["onward_quarantined_total", ()]

        await until(counted)


async def test_a_healthy_cluster_says_so_and_one_without_a_connection_which(watched):
    async with watched(Instrumentation()) as lab:
        cluster = lab.cluster

        async def healthy():
            return {"rabbitmq": None, "redis": None, "postgres": None} == await cluster.health()

        await until(healthy)  # the connection that consumes is made when it is first needed
        await cluster.store.close()
        told = {}

        async def missed():
            told.update(await cluster.health())
            return (None, None) == (told["rabbitmq"], told["redis"])

        await until(missed)

    assert "PostgreSQL" in told["postgres"]
