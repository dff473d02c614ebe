"""Wiring keys and credentials: the same on a file and on PostgreSQL."""

from __future__ import annotations

import os
from pathlib import Path

from onward.adapters.host.keys import KeyRing
from onward.adapters.host.sealer import HostSealer
from onward.adapters.host.secrets import open_secrets
from onward.adapters.host.signer import HostSigner
from onward.adapters.sql.credentials import TableCredentials
from onward.adapters.sql.database import SqlDatabase
from onward.bootstrap.settings import HostSettings
from onward.ports.security.credentials import Secrets


def open_signer(key_file: Path | None, *, makes_key: bool) -> HostSigner:
    """Return what signs links; `makes_key`: without a key the first link makes one."""
    return HostSigner(KeyRing(os.environ, key_file), makes_key=makes_key)


def open_sealer(key_file: Path | None, *, makes_key: bool) -> HostSealer:
    """Return what seals secrets; `makes_key`: without a key the first secret makes one."""
    return HostSealer(KeyRing(os.environ, key_file), makes_key=makes_key)


def secrets_on(settings: HostSettings, tables: SqlDatabase, *, makes_key: bool) -> Secrets:
    """Return what resolves credentials: the environment, files, and the tables."""
    ring = KeyRing(os.environ, settings.key_file)
    return open_secrets(
        os.environ,
        file=settings.env_file,
        store=settings.credential_store,
        key_file=settings.key_file,
        book=TableCredentials(tables, ring, makes_key=makes_key),
    )
