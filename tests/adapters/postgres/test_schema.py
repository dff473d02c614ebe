"""The tables: what migrations make is what the schema says, and every question has its index."""

import json
from importlib import resources

import asyncpg
import pytest

from onward.adapters.postgres import statements
from onward.adapters.postgres.migrations import MIGRATION_NAME, migrate, migrations, obstacle
from onward.adapters.postgres.store import open_store
from onward.adapters.sql.run_queries import DEFINITION, PAYLOAD
from onward.errors import StorageError

TABLES = {
    "account",
    "api_token",
    "audit",
    "credential",
    "definition",
    "event",
    "execution",
    "firing",
    "gathered_event",
    "gathering",
    "listener",
    "login",
    "migration",
    "node_log",
    "node_run",
    "outlet",
    "payload",
    "run_signal",
    "run_link",
    "run_origin",
    "run_trigger",
    "start_key",
    "run_control",
    "flow_rule",
    "flow_run",
    "parked_run",
    "workflow",
    "workflow_version",
}
SCHEMA = resources.files("onward.adapters.postgres").joinpath("sql/schema.sql").read_text()

COLUMNS = """
SELECT table_name, column_name, ordinal_position, data_type, is_nullable, column_default,
       identity_generation
FROM information_schema.columns WHERE table_schema = $1 ORDER BY table_name, ordinal_position
"""
INDEXES = "SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = $1 ORDER BY indexname"
CONSTRAINTS = """
SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid)
FROM pg_constraint WHERE connamespace = $1::regnamespace ORDER BY 1, 2
"""


@pytest.fixture
async def db(postgres_url):
    connection = await asyncpg.connect(postgres_url)
    yield connection
    await connection.close()


async def described(db, schema):
    """Return all that the catalogue says of a schema, without its name."""
    rows = [
        row for query in (COLUMNS, INDEXES, CONSTRAINTS) for row in await db.fetch(query, schema)
    ]
    return [tuple(str(value).replace(f"{schema}.", "") for value in row) for row in rows]


async def test_the_migrations_make_the_schema(db):
    for name in ("migrated", "written"):
        await db.execute(f"CREATE SCHEMA {name}")

    await db.execute("SET search_path = migrated")
    await migrate(db)
    migrated = await described(db, "migrated")
    await db.execute("SET search_path = written")
    await db.execute(SCHEMA)

    assert migrated == await described(db, "written")
    assert TABLES == {row[0] for row in migrated}


async def test_migrating_again_changes_nothing(db):
    await migrate(db)
    before = await described(db, "public")

    await migrate(db)

    assert before == await described(db, "public")
    assert list(migrations()) == [row["name"] for row in await db.fetch("SELECT * FROM migration")]


async def test_a_migration_of_a_newer_release_is_no_obstacle(db):
    await migrate(db)
    await db.execute("INSERT INTO migration VALUES ('9999_pre_from_the_future.sql')")

    await migrate(db)

    assert 1 + len(migrations()) == await db.fetchval("SELECT count(*) FROM migration")


def test_migrations_are_numbered_without_gaps_and_say_whom_they_are_safe_for():
    numbers = [int(MIGRATION_NAME.fullmatch(name)["number"]) for name in migrations()]

    assert list(range(1, len(numbers) + 1)) == numbers


@pytest.mark.parametrize(
    ("applied", "expected"),
    [
        (["0001_pre_a.sql", "0002_pre_b.sql"], ""),
        (["0003_pre_c.sql"], ""),
        (["0003_pre_c.sql", "0004_after_0002_d.sql"], ""),
        (["0003_pre_c.sql", "0005_after_0003_e.sql"], "0005_after_0003_e.sql"),
        (["something else"], ""),
    ],
)
def test_a_release_works_under_newer_tables_until_one_asks_for_more(applied, expected):
    assert expected == obstacle(applied, ["0001_pre_a.sql", "0002_pre_b.sql"])


async def test_a_process_that_is_too_old_for_the_tables_says_so(db, postgres_url):
    await migrate(db)
    await db.execute("INSERT INTO migration VALUES ('9999_after_9998_from_the_future.sql')")

    with pytest.raises(StorageError) as refused:
        await open_store(postgres_url)

    expected = (
        "PostgreSQL holds the tables of a newer onward (9999_after_9998_from_the_future.sql), too "
        "new for this one: update this process"
    )
    assert expected == str(refused.value)


FILLING = """
INSERT INTO definition SELECT 'ref' || n, 'wf', 'x' FROM generate_series(1, 5000) n;
INSERT INTO execution
SELECT 'x' || n, 'wf', 'ref', CASE WHEN n % 5000 = 0 THEN 'running' ELSE 'completed' END, n,
       CASE WHEN n % 5000 = 0 THEN NULL ELSE n END, NULL, true
FROM generate_series(1, 20000) n;
INSERT INTO node_run
SELECT 'x' || n / 10, 't' || n, 'a', 'success', 1, n, 1 FROM generate_series(1, 50000) n;
INSERT INTO payload SELECT 'x' || n, 'h', 'x' FROM generate_series(1, 20000) n;
INSERT INTO event SELECT 'x' || n, 1, 'x' FROM generate_series(1, 20000) n;
ANALYZE;
"""
HOT = {
    "definition": (DEFINITION, ["ref7"]),
    "execution": (statements.EXECUTION, ["x7"]),
    "newest": (statements.NEWEST, [20]),
    "newest of status": (statements.NEWEST_OF_STATUS, [20, "running"]),
    "node runs": (statements.NODE_RUNS, ["x7"]),
    "expired": (statements.EXPIRED, [300, 200]),
    "payload": (PAYLOAD, ["x7", "h"]),
    "end": (statements.END, [["x7", "x8"], ["failed"] * 2, [1, 2], [b"", b""]]),
    "forget node runs": (statements.DELETE[0], [["x7", "x8"]]),
    "forget payloads": (statements.DELETE[1], [["x7", "x8"]]),
    "forget events": (statements.DELETE[2], [["x7", "x8"]]),
    "forget runs": (statements.DELETE[3], [["x7", "x8"]]),
}


def kinds(plan):
    """Iterate over the kind of every step of a plan."""
    yield plan["Node Type"]
    for part in plan.get("Plans", ()):
        yield from kinds(part)


async def test_every_question_is_answered_by_an_index(db):
    await migrate(db)
    await db.execute(FILLING)

    found = {}
    for name, (statement, values) in HOT.items():
        answer = await db.fetchval(f"EXPLAIN (FORMAT JSON) {statement}", *values)
        found[name] = set(kinds(json.loads(answer)[0]["Plan"]))

    assert [] == [name for name, steps in found.items() if "Seq Scan" in steps]
    in_order = ("newest", "newest of status", "expired")
    assert [] == [name for name in in_order if "Sort" in found[name]]
