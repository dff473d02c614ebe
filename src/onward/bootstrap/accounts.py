"""Wiring users, tokens, stored credentials and the audit log: on a file and on PostgreSQL."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from onward.adapters.host.clock import HostChance, HostClock
from onward.adapters.host.keys import KeyRing
from onward.adapters.host.lazy_clients import LazyMail
from onward.adapters.host.passwords import HostPasswords
from onward.adapters.sql.accounts import TableAccounts
from onward.adapters.sql.audit import TableAuditLog
from onward.adapters.sql.credentials import TableCredentials
from onward.adapters.sql.database import SqlDatabase
from onward.adapters.sqlite.connection import SqliteConnection, SqliteDatabase
from onward.adapters.sqlite.journal import prepare_file
from onward.ports.nodes.outside import Http
from onward.ports.security.audit import AuditLog
from onward.runtime.security.accounts import AccessPorts, AccountAdministration
from onward.runtime.security.audit import Auditor

AUDIT_KEPT_MS = 365 * 24 * 60 * 60 * 1000


def access_on(
    tables: SqlDatabase, http: Http, key_file: Path | None, *, makes_key: bool
) -> AccessPorts:
    """Return what credentials and access stand on."""
    ring = KeyRing(os.environ, key_file)
    return AccessPorts(
        accounts=TableAccounts(tables),
        passwords=HostPasswords(),
        credentials=TableCredentials(tables, ring, makes_key=makes_key),
        audit=TableAuditLog(tables),
        http=http,
        mail=LazyMail(),
    )


class AccountTools:
    """Users, tokens and the audit log, for the command line."""

    def __init__(self, tables: SqlDatabase) -> None:
        self.accounts = TableAccounts(tables)
        self.audit: AuditLog = TableAuditLog(tables)
        self.administration = AccountAdministration(
            self.accounts, HostPasswords(), HostClock(), HostChance()
        )
        self.auditor = Auditor(
            self.audit, HostClock(), logging.getLogger("onward").error, AUDIT_KEPT_MS
        )


@asynccontextmanager
async def open_accounts_in_file(database: Path) -> AsyncIterator[AccountTools]:
    """Open the accounts of an embedded engine, which may be running; its file is made if needed."""
    prepare_file(database)
    with closing(SqliteConnection(database)) as file:
        yield AccountTools(SqliteDatabase(file))


@asynccontextmanager
async def open_accounts_on_postgres(url: str) -> AsyncIterator[AccountTools]:
    """Open the accounts of a cluster."""
    from onward.adapters.postgres.connection import PostgresDatabase  # noqa: PLC0415  (an extra)
    from onward.adapters.postgres.store import open_store  # noqa: PLC0415

    store = await open_store(url)
    try:
        yield AccountTools(PostgresDatabase(store.pool, store.place))
    finally:
        await store.close()
