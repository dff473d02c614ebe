"""Statuses travel together, and are sent until the broker has them."""

from onward.kernel.messages import decode_statuses
from onward.ports.cluster.bus import BusError
from onward.runtime.cluster import status_outbox
from onward.runtime.cluster.status_outbox import StatusOutbox
from support.ledger import status


class Broker:
    """Takes what it gets, but refuses the first few."""

    def __init__(self, refusals=0):
        self.refusals = refusals
        self.taken = []

    async def publish(self, queue, body, *, priority=0):
        self.taken.append([status.token_id for status in decode_statuses(body)])
        if self.refusals:
            self.refusals -= 1
            raise BusError("no")


async def test_what_is_reported_together_travels_together():
    broker = Broker()
    box = StatusOutbox(broker)
    batches = [box.report(status(name)) for name in ("a", "b", "c")]
    await batches[0].done

    assert [["a", "b", "c"]] == broker.taken
    assert 1 == len({id(batch) for batch in batches})


async def test_a_status_that_is_not_taken_is_sent_until_it_is(monkeypatch):
    monkeypatch.setattr(status_outbox, "RETRY_PAUSE_S", 0)
    broker = Broker(refusals=3)
    await StatusOutbox(broker).report(status("a")).done

    assert [["a"]] * 4 == broker.taken


async def test_a_full_batch_does_not_wait():
    broker = Broker()
    box = StatusOutbox(broker)
    *_, batch = [box.report(status(f"{number}")) for number in range(status_outbox.MOST_STATUSES)]
    await batch.done

    assert [status_outbox.MOST_STATUSES] == [len(batch) for batch in broker.taken]
