"""The host's adapters for commands without an engine: clock, ids, log, secrets and the vault."""

from onward.adapters.host.clock import HostChance, HostClock
from onward.adapters.host.log import configure_log
from onward.adapters.host.secrets import open_secrets
from onward.adapters.host.vault import Vault, open_vault

__all__ = ["Vault", "configure_log", "new_id", "now_ms", "open_secrets", "open_vault"]


def now_ms() -> int:
    """Return the time in epoch milliseconds, for display."""
    return HostClock().now_ms()


def new_id() -> str:
    """Return a unique id, for an event that is sent to an engine."""
    return HostChance().publish_id()
