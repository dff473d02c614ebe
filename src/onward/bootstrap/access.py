"""Wiring credentials and access: the same on a file and on PostgreSQL."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from onward.adapters.access.accounts import TableAccounts
from onward.adapters.access.audit import TableAuditLog
from onward.adapters.access.credentials import TableCredentials
from onward.adapters.access.tables import Tables
from onward.adapters.embedded.journal import SqliteJournal
from onward.adapters.embedded.tables import SqliteTables
from onward.adapters.embedded.threaded import Threaded
from onward.adapters.host.clock import HostChance, HostClock
from onward.adapters.host.http import HostHttp
from onward.adapters.host.keys import KeyRing
from onward.adapters.host.mail import HostMail
from onward.adapters.host.passwords import HostPasswords
from onward.ports.audit import AuditLog
from onward.runtime.access import AccessPorts, Administration
from onward.runtime.auditing import Auditor

YEAR_MS = 365 * 24 * 60 * 60 * 1000


def access_on(
    tables: Tables, http: HostHttp, key_file: Path | None, *, makes_key: bool
) -> AccessPorts:
    """Return what credentials and access stand on."""
    ring = KeyRing(os.environ, key_file)
    return AccessPorts(
        accounts=TableAccounts(tables),
        passwords=HostPasswords(),
        credentials=TableCredentials(tables, ring, makes_key=makes_key),
        audit=TableAuditLog(tables),
        http=http,
        mail=HostMail(),
    )


class Office:
    """Users, tokens and the audit log, for the command line."""

    def __init__(self, tables: Tables) -> None:
        self.accounts = TableAccounts(tables)
        self.audit: AuditLog = TableAuditLog(tables)
        self.administration = Administration(
            self.accounts, HostPasswords(), HostClock(), HostChance()
        )
        self.auditor = Auditor(self.audit, HostClock(), logging.getLogger("onward").error, YEAR_MS)


@asynccontextmanager
async def office_in_file(database: Path) -> AsyncIterator[Office]:
    """Open the office of an embedded engine, which may be running; its file is made if needed."""
    if not _prepared(database):
        SqliteJournal(database).close()
    with closing(Threaded(database)) as file:
        yield Office(SqliteTables(file))


@asynccontextmanager
async def office_on_postgres(url: str) -> AsyncIterator[Office]:
    """Open the office of a cluster."""
    from onward.adapters.postgres.opening import open_store  # noqa: PLC0415  (an extra)
    from onward.adapters.postgres.tables import PostgresTables  # noqa: PLC0415

    store = await open_store(url)
    try:
        yield Office(PostgresTables(store.pool, store.place))
    finally:
        await store.close()


def _prepared(database: Path) -> bool:
    """Return whether a file has the tables; an engine that holds it has made them."""
    if not database.exists():
        return False
    with closing(Threaded(database)) as file:
        return file.has("api_token") and file.has("cell")
