"""The topology of onward on a RabbitMQ: queues, the dead-letter exchange, and how to declare them.

Every argument means the same on 3.10 through 4.x, so a broker can be upgraded under its queues:
a queue that was declared with other arguments is refused for ever after. Hence a large delivery
limit where none is meant (4.x reads no argument as 20, 3.x refuses -1), an explicit queue type (a
virtual host of 4.x may have quorum as its default), no priority argument on a quorum queue (always
refused), and nothing that is transient (denied by 4.3).
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, assert_never

from onward.adapters.rabbitmq.amqp import NOT_ALLOWED, Arguments, Channel, ChannelRefusedError
from onward.ports.cluster.bus import BusError

QueueType = Literal["classic", "quorum"]

EXECUTION = "workflow.execution"
STATUS = "workflow.node.status"
COMPLETION = "workflow.completion"
TIMEOUT_PROCESS = "workflow.timeout.process"
QUARANTINE = "workflow.quarantine"
DEAD_LETTERS = "workflow.execution.dlx"
"""A fanout exchange with the quarantine behind it."""
RETRY_DELAYS_S = (5, 25, 125)

OLDEST_VERSION = (3, 10)
MAX_PRIORITY = 10
STATUS_MAX_LENGTH = 1_000_000
DELIVERY_LIMIT = 20
NO_DELIVERY_LIMIT = 1_000_000_000

MISMATCH = re.compile(
    r"inequivalent arg '(?P<argument>[^']+)' for (?:queue|exchange) '(?P<name>[^']+)'.*?"
    r"received (?:the value )?(?P<want>'[^']*'|none).*?"
    r"but current is (?:the value )?(?P<have>'[^']*'|none)(?: of type '(?P<type>\w+)')?",
    re.DOTALL,
)
"""How a broker refuses a declaration that differs from what is there."""


def retry_queue(delay_s: int) -> str:
    """Return the queue whose messages go back to `workflow.execution` after `delay_s`."""
    return f"{EXECUTION}.retry.{delay_s}s"


@dataclass(frozen=True, slots=True)
class Queue:
    """A durable queue; `arguments` are its x-arguments."""

    name: str
    holds: str
    arguments: Arguments


@dataclass(frozen=True, slots=True)
class Topology:
    """The queues, all of one type."""

    queue_type: QueueType = "classic"

    def queues(self) -> tuple[Queue, ...]:
        """Return every queue, in the order to declare them: a dead letter finds its queue."""
        refused: Arguments = {"x-dead-letter-exchange": DEAD_LETTERS, **self._safe_dead_letters()}
        return (
            self._queue(
                QUARANTINE,
                "messages that could not be handled, with the reason",
                delivery_limit=NO_DELIVERY_LIMIT,
            ),
            self._queue(EXECUTION, "tokens: one node to execute each", refused, self._priorities()),
            *(self._retry(delay_s) for delay_s in RETRY_DELAYS_S),
            self._queue(
                TIMEOUT_PROCESS, "timers that are due, for the node that set them", refused
            ),
            self._queue(COMPLETION, "one message for each execution that ended", refused),
            self._queue(
                STATUS,
                "the status of each node; the oldest are dropped when no master reads",
                {"x-max-length": STATUS_MAX_LENGTH, "x-overflow": "drop-head"},
            ),
        )

    def _retry(self, delay_s: int) -> Queue:
        # One queue for each delay: messages expire only at the head, so a short delay behind a
        # long one would wait for it.
        back: Arguments = {
            "x-message-ttl": delay_s * 1000,
            "x-dead-letter-exchange": "",
            "x-dead-letter-routing-key": EXECUTION,
            **self._safe_dead_letters(),
        }
        holds = f"tokens that failed for a reason of the system, for {delay_s} s"
        return self._queue(retry_queue(delay_s), holds, back)

    def _queue(
        self, name: str, holds: str, *arguments: Arguments, delivery_limit: int = DELIVERY_LIMIT
    ) -> Queue:
        together: dict[str, int | str] = {"x-queue-type": self.queue_type}
        if self.queue_type == "quorum":
            together["x-delivery-limit"] = delivery_limit
        for more in arguments:
            together.update(more)
        return Queue(name, holds, together)

    def _priorities(self) -> Arguments:
        match self.queue_type:
            case "classic":
                return {"x-max-priority": MAX_PRIORITY}
            case "quorum":
                return {}
            case _:
                assert_never(self.queue_type)

    def _safe_dead_letters(self) -> Arguments:
        """Make a quorum queue keep a dead letter until its next queue has confirmed it."""
        match self.queue_type:
            case "classic":
                return {}
            case "quorum":
                return {
                    "x-dead-letter-strategy": "at-least-once",
                    "x-overflow": "reject-publish",
                }
            case _:
                assert_never(self.queue_type)


OpenChannel = Callable[[], Awaitable[Channel]]
"""Opens a channel: a refusal closes the one it came on."""


async def declare(channel: OpenChannel, topology: Topology) -> None:
    """Make the missing queues and change nothing; raise BusError for a queue that is different.

    A user who may not configure the queues can still use those that an administrator has made: for
    such a user it is only checked that they are there.
    """
    try:
        await _make(await channel(), topology)
    except ChannelRefusedError as refused:
        if refused.code != NOT_ALLOWED:
            raise BusError(_explain(refused)) from None
        for queue in topology.queues():
            await _find(await channel(), queue.name, refused)


async def _make(channel: Channel, topology: Topology) -> None:
    await channel.declare_exchange(DEAD_LETTERS, "fanout")
    for queue in topology.queues():
        await channel.declare_queue(queue.name, queue.arguments)
        if queue.name == QUARANTINE:
            await channel.bind(DEAD_LETTERS, QUARANTINE)
    channel.close()


async def _find(channel: Channel, name: str, denied: ChannelRefusedError) -> None:
    """Raise BusError unless the queue is there, or is hidden from this user."""
    try:
        await channel.find_queue(name)
    except ChannelRefusedError as refused:
        # Since 4.2.6 a queue is not shown to those who have no permission on it at all.
        if refused.code != NOT_ALLOWED:
            raise BusError(f"RabbitMQ has no queue {name}, and {_explain(denied)}") from None
    else:
        channel.close()


def _explain(refused: ChannelRefusedError) -> str:
    if mismatch := MISMATCH.search(refused.text):
        argument, name = mismatch["argument"], mismatch["name"]
        if name == DEAD_LETTERS:
            kind, remedy = "exchange", "delete it in the management UI"
        else:
            kind = "queue"
            remedy = f"drain it, then `rabbitmqctl delete_queue {name}`"
        setting = ", or use the queue type that it has" if argument == "x-queue-type" else ""
        return (
            f"RabbitMQ {kind} {name}: {argument} is {mismatch['have']}, onward wants "
            f"{mismatch['want']}; {remedy} and start again{setting}"
        )
    if refused.code == NOT_ALLOWED:
        return (
            f"this user may not make it ({refused.text}): start once as a user who may configure "
            "`workflow\\..*`, or import the definitions"
        )
    return f"RabbitMQ refused to declare the queues: {refused.text}"


def check_version(version: str) -> None:
    """Raise BusError for a broker that is too old."""
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if numbers < OLDEST_VERSION:
        oldest = ".".join(str(part) for part in OLDEST_VERSION)
        raise BusError(
            f"RabbitMQ {version} is too old: onward needs {oldest} or later; upgrade the broker"
        )


def default_message_limit(version: str) -> int:
    """Return how large a message a broker of `version` takes unless it is configured otherwise."""
    return (128 if version.startswith("3.") else 16) * 1024 * 1024
