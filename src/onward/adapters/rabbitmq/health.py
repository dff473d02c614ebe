"""The health of a broker, read without changing it: its queues, and how they differ.

AMQP has no way to read a queue's arguments. But a declaration that does not fit is refused with the
argument and both values, so a queue is declared again and again, each time with the value that was
just learnt, until the broker agrees: the changes made are the differences. This needs no
management plugin, only the permission to configure.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field

from onward.adapters.rabbitmq.address import CONNECT_TIMEOUT_S, read_address, unreachable
from onward.adapters.rabbitmq.amqp import (
    NOT_ALLOWED,
    NOT_FOUND,
    PRECONDITION_FAILED,
    ChannelRefusedError,
    Connection,
    LostError,
    connect,
)
from onward.adapters.rabbitmq.topology import DEAD_LETTERS, MISMATCH, Queue, Topology
from onward.ports.cluster.bus import BusUnavailableError

ANSWER_TIMEOUT_S = 10


@dataclass(frozen=True, slots=True)
class ArgumentMismatch:
    """An argument that is not as onward wants it; `none` stands for one that is not set."""

    argument: str
    have: str
    want: str


@dataclass(frozen=True, slots=True)
class QueueFacts:
    """Facts about a queue; `messages` is None when they could not be counted."""

    name: str
    messages: int | None = None
    differences: tuple[ArgumentMismatch, ...] = ()
    missing: bool = False
    unseen: bool = False
    """Whether its arguments could not be read, because this user may not configure it."""


@dataclass(frozen=True, slots=True)
class BrokerFacts:
    """Facts about a broker."""

    place: str
    version: str
    queues: tuple[QueueFacts, ...]
    exchange: str
    """Of the dead letters: "" when it is as it should be, else what is wrong with it."""


async def inspect_broker(url: str, topology: Topology) -> BrokerFacts:
    """Return facts about the broker at `url`; raise BusError when it cannot be reached or read."""
    address = read_address(url)
    try:
        connection = await connect(address.parameters, CONNECT_TIMEOUT_S)
    except Exception as problem:  # the client library has no common root for these
        raise unreachable(address, problem) from None
    try:
        async with asyncio.timeout(ANSWER_TIMEOUT_S):
            return BrokerFacts(
                str(address),
                connection.server_version,
                tuple([await _queue(connection, queue) for queue in topology.queues()]),
                await _exchange(connection),
            )
    except (LostError, TimeoutError) as lost:
        why = str(lost) or f"no answer within {ANSWER_TIMEOUT_S} s"
        raise BusUnavailableError(
            f"RabbitMQ at {address} stopped answering: {why}; try again"
        ) from None
    finally:
        await connection.close()


async def _queue(connection: Connection, queue: Queue) -> QueueFacts:
    channel = await connection.channel()
    try:
        # Before 4.2.6 it needs no permission, since then any one on the queue.
        messages = await channel.find_queue(queue.name)
    except ChannelRefusedError as refused:
        if refused.code == NOT_FOUND:
            return QueueFacts(queue.name, missing=True)
        if refused.code == NOT_ALLOWED:
            return QueueFacts(queue.name, unseen=True)
        # A queue of another connection, or one whose leader is away: the broker's words say it.
        state = ArgumentMismatch("state", refused.text, "usable")
        return QueueFacts(queue.name, differences=(state,))
    channel.close()
    search = _Search(connection, queue)
    await search.run()
    # Where the type differs, other arguments differ because of it: only the cause is reported.
    kind = search.found.get("x-queue-type")
    differences = tuple(search.found.values()) if kind is None else (kind,)
    return QueueFacts(queue.name, messages, differences, unseen=search.unseen)


@dataclass(slots=True)
class _Search:
    """Finds every argument of a queue that differs, one refusal at a time."""

    connection: Connection
    queue: Queue
    found: dict[str, ArgumentMismatch] = field(default_factory=dict)
    unseen: bool = False

    async def run(self) -> None:
        trial = dict(self.queue.arguments)
        while True:
            channel = await self.connection.channel()
            try:
                await channel.declare_queue(self.queue.name, trial)
            except ChannelRefusedError as refused:
                if not self._learn(refused, trial):
                    return
            else:
                channel.close()
                return

    def _learn(self, refused: ChannelRefusedError, trial: dict[str, int | str]) -> bool:
        """Note the difference in a refusal, and make `trial` fit; False when it cannot."""
        said = MISMATCH.search(refused.text)
        if refused.code != PRECONDITION_FAILED or said is None:
            self.unseen = refused.code == NOT_ALLOWED
            if not self.unseen:
                self.found[""] = ArgumentMismatch("state", refused.text, "usable")
            return False
        argument, have = said["argument"], said["have"].strip("'")
        if argument in self.found:
            return False
        self.found[argument] = ArgumentMismatch(argument, have, said["want"].strip("'"))
        if not argument.startswith("x-") or argument == "x-queue-type":
            # Durable and its like cannot be varied here, and the other arguments follow the type.
            return False
        if said["have"] == "none":
            trial.pop(argument)
        else:
            trial[argument] = _value(have, said["type"], trial.get(argument))
        return True


def _value(text: str, kind: str | None, ours: int | str | None) -> int | str:
    """Return a value that the broker wrote; without a type, it is of the same type as `ours`."""
    if kind == "bool":
        return text == "true"
    is_text = isinstance(ours, str) if kind is None else kind == "longstr"
    return text if is_text or not re.fullmatch(r"-?\d+", text) else int(text)


async def _exchange(connection: Connection) -> str:
    """Return what is wrong with the exchange of the dead letters, or nothing."""
    channel = await connection.channel()
    try:
        await channel.find_exchange(DEAD_LETTERS)
        await channel.declare_exchange(DEAD_LETTERS, "fanout")
    except ChannelRefusedError as refused:
        if refused.code == NOT_FOUND:
            return "is not there"
        said = MISMATCH.search(refused.text)
        if said is None:
            return ""  # no permission to configure it: that it is there is all that can be seen
        return f"has {said['argument']} {said['have']} instead of {said['want']}"
    channel.close()
    return ""
