"""The checks of `onward doctor`: this machine, and the services of a cluster.

A check changes nothing: no queue, no table and no key is made. A client library is imported only
when its service is checked, so that a machine without the extras can be examined too.

In order: findings and the judgements that need no service, then the machine, then each service.
"""

from __future__ import annotations

import asyncio
import platform
import re
import sqlite3
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from onward.adapters.host.clock import HostClock
from onward.distribution import install_command
from onward.errors import OnwardError

if TYPE_CHECKING:
    from onward.adapters.postgres.health import PostgresFacts
    from onward.adapters.rabbitmq.health import BrokerFacts, QueueFacts
    from onward.adapters.redis.health import RedisFacts


Level = Literal["ok", "warning", "problem"]

SKEW_WARNING_MS = 1_000
SKEW_PROBLEM_MS = 10_000
_MOST_USED = 0.8


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: what was found, how bad it is, and what to do about it.

    A finding that is not `ok` always has a fix.
    """

    check: str
    level: Level
    found: str
    fix: str = ""


def healthy(findings: Iterable[Finding]) -> bool:
    """Return whether nothing is a problem; warnings may be there."""
    return all(finding.level != "problem" for finding in findings)


def version(check: str, product: str, found: str, oldest: tuple[int, int]) -> Finding:
    """Return whether a version such as `3.12.1` or `16.2 (Debian)` is new enough."""
    numbers = tuple(int(part) for part in re.findall(r"\d+", found)[:2])
    if numbers >= oldest:
        return Finding(check, "ok", f"{product} {found}")
    least = ".".join(str(part) for part in oldest)
    return Finding(
        check, "problem", f"{product} {found} is too old", f"upgrade it to {least} or newer"
    )


def skew(check: str, ahead_ms: int) -> Finding:
    """Return how far another clock is from this machine's; positive when it is ahead."""
    size, direction = abs(ahead_ms), "ahead of" if ahead_ms > 0 else "behind"
    if size <= SKEW_WARNING_MS:
        return Finding(check, "ok", f"within {SKEW_WARNING_MS // 1000} s of this machine")
    level: Level = "problem" if size > SKEW_PROBLEM_MS else "warning"
    found = f"{size / 1000:.1f} s {direction} this machine: waits end too early or too late"
    return Finding(check, level, found, "let NTP (chrony, systemd-timesyncd) set both clocks")


def memory(check: str, used: int, limit: int) -> Finding:
    """Return whether a store that refuses writes at `limit` bytes (0: none) has room left."""
    if limit == 0:
        return Finding(
            check,
            "warning",
            f"{_mib(used)} used, no limit: the system kills it when the machine's memory is full",
            "CONFIG SET maxmemory to about three quarters of the machine's memory",
        )
    found = f"{_mib(used)} of {_mib(limit)} used"
    if used <= _MOST_USED * limit:
        return Finding(check, "ok", found)
    level: Level = "problem" if used >= limit else "warning"
    return Finding(check, level, f"{found}: writes are refused at the limit", "raise maxmemory")


def _mib(size: int) -> str:
    return f"{size / 1024 / 1024:.1f} MiB"


OLDEST_PYTHON = (3, 11)
OLDEST_SQLITE = (3, 24)
OLDEST_RABBITMQ = (3, 10)
OLDEST_REDIS = (7, 0)
OLDEST_POSTGRES = (13, 0)
_BEFORE_ONWARD_MS = 1_735_689_600_000  # 2025: a clock that says less was never set
_EXTRAS = {
    "rabbitmq": "pika",
    "redis": "redis",
    "postgres": "asyncpg",
    "secrets": "cryptography",
    "speed": "uvloop",
}
_FORMS = {
    "rabbitmq": "amqp://USER:PASSWORD@HOST:5672/VHOST",
    "redis": "redis://USER:PASSWORD@HOST:6379/0",
    "postgres": "postgresql://USER:PASSWORD@HOST:5432/DATABASE",
}
_SCHEMES = {
    "rabbitmq": {"amqp", "amqps"},
    "redis": {"redis", "rediss", "unix"},
    "postgres": {"postgres", "postgresql"},
}
_QUARANTINE = "workflow.quarantine"


@dataclass(frozen=True, slots=True)
class DoctorTarget:
    """What to examine: this machine, and the services whose URL is given."""

    database: Path
    rabbitmq_url: str | None = None
    redis_url: str | None = None
    postgres_url: str | None = None
    queue_type: Literal["classic", "quorum"] = "classic"


async def examine(target: DoctorTarget) -> list[Finding]:
    """Return every finding; a service that is away is one of them and never an exception.

    No finding holds a password.
    """
    checks = (
        ("rabbitmq", target.rabbitmq_url, lambda url: _rabbitmq(url, target.queue_type)),
        ("redis", target.redis_url, _redis),
        ("postgres", target.postgres_url, _postgres),
    )
    answers = await asyncio.gather(
        *(_service(name, url, look) for name, url, look in checks if url is not None)
    )
    return [*_machine(target.database), *(finding for answer in answers for finding in answer)]


# -- this machine --------------------------------------------------------------------------------


def _machine(database: Path) -> Iterator[Finding]:
    yield version("python", "Python", platform.python_version(), OLDEST_PYTHON)
    yield version("sqlite", "SQLite", sqlite3.sqlite_version, OLDEST_SQLITE)
    yield _folder(database)
    yield _clock()
    yield _extras()


def _folder(database: Path) -> Finding:
    """Try to write where the database would be; a folder that is not there yet is not made."""
    wanted = database.absolute().parent
    folder = next(path for path in (wanted, *wanted.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as problem:
        fix = "give yourself the right to write there, or name another place with --db"
        return Finding("folder", "problem", f"cannot write in {folder}: {problem.strerror}", fix)
    later = "" if folder == wanted else f", where {wanted.name} will be made"
    return Finding("folder", "ok", f"{folder} is writable{later}")


def _clock() -> Finding:
    now_ms = HostClock().now_ms()
    now = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    if now_ms < _BEFORE_ONWARD_MS:
        return Finding("clock", "problem", f"it is set to {now}", "set it, best with NTP")
    return Finding("clock", "ok", now)


def _extras() -> Finding:
    there = [name for name, module in _EXTRAS.items() if find_spec(module) is not None]
    missing = [name for name in _EXTRAS if name not in there]
    parts = (("installed", there), ("not installed", missing))
    found = "; ".join(f"{word}: {', '.join(names)}" for word, names in parts if names)
    fix = f"{install_command(*missing)}, if you need them" if missing else ""
    return Finding("extras", "ok", found, fix)


# -- services ------------------------------------------------------------------------------------


async def _service(
    name: str, url: str, look: Callable[[str], Awaitable[Sequence[Finding]]]
) -> Sequence[Finding]:
    if not _readable(url, name):
        # Nothing of it is repeated: a character that should have been escaped moves parts of the
        # password to where a host or a port is expected.
        fix = f"write {_FORMS[name]}, with special characters escaped (@ as %40, / as %2F)"
        return [Finding(name, "problem", "the URL cannot be read", fix)]
    try:
        return await look(url)
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] != _EXTRAS[name]:
            raise
        found = f"{_EXTRAS[name]} is not installed"
        return [Finding(name, "problem", found, install_command(name))]
    except OnwardError as problem:
        return [_away(name, str(problem))]


def _away(name: str, text: str) -> Finding:
    """Return a finding of an error's line, in which the remedy comes last."""
    found, _, fix = text.partition("; ")
    if not fix and name == "postgres" and " refuses: " not in text:
        found, _, fix = text.rpartition(": ")
    return Finding(name, "problem", found, fix or f"correct the URL: {_FORMS[name]}")


def _readable(url: str, name: str) -> bool:
    try:
        parts = urlsplit(url)
        if name != "postgres":  # which takes several hosts, each with its port
            _ = parts.port
    except ValueError:
        return False
    rest = url.partition(parts.netloc)[2] if parts.netloc else ""
    return parts.scheme in _SCHEMES[name] and "@" not in rest


async def _rabbitmq(url: str, queue_type: Literal["classic", "quorum"]) -> Sequence[Finding]:
    from onward.adapters.rabbitmq.health import inspect_broker  # noqa: PLC0415  # an extra
    from onward.adapters.rabbitmq.topology import Topology  # noqa: PLC0415  # an extra

    facts = await inspect_broker(url, Topology(queue_type))
    return [
        version("rabbitmq", f"at {facts.place}, RabbitMQ", facts.version, OLDEST_RABBITMQ),
        *_queues(facts),
        *_quarantine(facts),
    ]


def _queues(facts: BrokerFacts) -> Iterator[Finding]:
    check = "rabbitmq queues"
    make = "start an onward worker: its user needs the permission to configure `workflow\\..*`"
    missing = [queue.name for queue in facts.queues if queue.missing]
    if missing:
        none = len(missing) == len(facts.queues)
        which = "none is there yet" if none else f"missing: {', '.join(missing)}"
        yield Finding(check, "warning", which, make)
    for queue in facts.queues:
        if queue.differences:
            yield _different(queue)
    if any(queue.unseen for queue in facts.queues):
        yield Finding(
            check,
            "warning",
            "their arguments were not compared: this user may not configure them",
            "examine them as a user who may configure `workflow\\..*`",
        )
    if facts.exchange and len(missing) < len(facts.queues):
        other = f"exchange workflow.execution.dlx {facts.exchange}"
        if facts.exchange.endswith("there"):
            yield Finding(check, "warning", other, make)
        else:
            yield Finding(check, "problem", other, "delete it, and start an onward worker")
    if not (missing or facts.exchange or any(q.differences or q.unseen for q in facts.queues)):
        yield Finding(check, "ok", f"all {len(facts.queues)} are as they should be")


def _different(queue: QueueFacts) -> Finding:
    found = ", ".join(
        f"{difference.argument} is {difference.have}, not {difference.want}"
        for difference in queue.differences
    )
    drain = f"drain it, `rabbitmqctl delete_queue {queue.name}`, and start an onward worker"
    kinds = {difference.argument for difference in queue.differences}
    other = "; or use --queue-type as it is everywhere" if "x-queue-type" in kinds else ""
    return Finding(f"rabbitmq queue {queue.name}", "problem", found, drain + other)


def _quarantine(facts: BrokerFacts) -> Iterator[Finding]:
    count = next((queue.messages for queue in facts.queues if queue.name == _QUARANTINE), None)
    if count is None:
        return
    check = "rabbitmq quarantine"
    if count == 0:
        yield Finding(check, "ok", "empty")
        return
    fix = "`onward quarantine ls` says why; correct the cause, then release or discard them"
    yield Finding(check, "warning", f"messages that could not be handled: {count}", fix)


async def _redis(url: str) -> Sequence[Finding]:
    from onward.adapters.redis.health import inspect_redis  # noqa: PLC0415  # an extra

    facts = await inspect_redis(url, HostClock())
    return [
        version("redis", f"at {facts.place}, {facts.product}", facts.version, OLDEST_REDIS),
        _role(facts),
        _eviction(facts),
        _persistence(facts),
        memory("redis memory", facts.used_bytes, facts.limit_bytes),
        skew("redis clock", facts.ahead_ms),
    ]


def _role(facts: RedisFacts) -> Finding:
    if facts.role == "master":
        return Finding("redis role", "ok", "takes writes")
    fix = "use the URL of the primary"
    return Finding("redis role", "problem", f"it is a {facts.role}: it takes no writes", fix)


def _eviction(facts: RedisFacts) -> Finding:
    check = "redis eviction"
    if facts.policy == "noeviction":
        return Finding(check, "ok", "noeviction")
    found = f"{facts.policy}: it would delete the state of living runs"
    fix = "CONFIG SET maxmemory-policy noeviction, and the same in redis.conf"
    return Finding(check, "problem", found, fix)


def _persistence(facts: RedisFacts) -> Finding:
    check = "redis persistence"
    if not facts.append_only:
        found = "no append-only file: a restart loses the state of running workflows"
        fix = "CONFIG SET appendonly yes, and the same in redis.conf"
        return Finding(check, "warning", found, fix)
    match facts.fsync:
        case "always":
            return Finding(check, "ok", "append-only file, synced with every write")
        case "everysec":
            found = "append-only file, synced every second: a crash loses the last one"
            return Finding(check, "ok", found)
        case "":
            found = "append-only file; the server does not say when it is synced"
            fix = "see that appendfsync is everysec or always"
            return Finding(check, "warning", found, fix)
        case other:
            found = f"append-only file, but appendfsync is {other}: a crash loses much"
            return Finding(check, "warning", found, "CONFIG SET appendfsync everysec")


async def _postgres(url: str) -> Sequence[Finding]:
    from onward.adapters.postgres.health import inspect_postgres  # noqa: PLC0415  # an extra

    facts = await inspect_postgres(url, HostClock())
    return [
        version("postgres", f"at {facts.place}, PostgreSQL", facts.version, OLDEST_POSTGRES),
        _writable(facts),
        _tables(facts),
        skew("postgres clock", facts.ahead_ms),
    ]


def _writable(facts: PostgresFacts) -> Finding:
    if facts.writable:
        return Finding("postgres writes", "ok", "the database takes writes")
    found = "read-only: a standby, or default_transaction_read_only is on"
    return Finding("postgres writes", "problem", found, "use the URL of the primary")


def _tables(facts: PostgresFacts) -> Finding:
    check = "postgres tables"
    missing = sorted(facts.wanted - facts.applied)
    newer = sorted(facts.applied - facts.wanted)
    if not missing:
        more = f"; a newer onward has added {', '.join(newer)}" if newer else ""
        return Finding(check, "ok", f"up to date{more}")
    found = f"{len(missing)} of {len(facts.wanted)} migrations missing: {', '.join(missing)}"
    level: Level = "warning" if facts.may_create else "problem"
    fix = "start any onward process here: it applies them"
    if not facts.may_create:
        fix = "GRANT CREATE ON SCHEMA public to this user, then " + fix
    return Finding(check, level, found, fix)
