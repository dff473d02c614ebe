"""Files that only their owner may read, replaced whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from onward.errors import CredentialError


def write_private(path: Path, content: bytes) -> None:
    """Replace `path` by `content`, mode 0600. A crash leaves the old file or the new one."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Created with its mode: there is no moment at which others could open it.
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        _sync_directory(path.parent)
    except OSError as error:
        raise CredentialError(f"{path} cannot be written: {error.strerror}") from None


@contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Hold the lock on `path` until the block ends; other processes wait for it."""
    try:
        import fcntl  # noqa: PLC0415  (not on Windows, where writers are not kept apart)
    except ImportError:
        yield
        return
    lock = path.with_name(f".{path.name}.lock")
    try:
        lock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise CredentialError(f"{path} cannot be locked: {error.strerror}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _sync_directory(directory: Path) -> None:
    # Without it the new name may be lost with the power. Not every system can do it.
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
