"""The composition root: the one place that knows which adapter stands behind a port.

`embedded` wires one process and one file; `distributed` wires RabbitMQ, Redis and PostgreSQL, and
is imported only by what needs them.
"""

from onward.bootstrap.embedded import (
    Settings,
    Vault,
    builtin,
    compile_source,
    configure_log,
    new_id,
    now_ms,
    open_engine,
    open_history,
    open_secrets,
    open_vault,
)

__all__ = [
    "Settings",
    "Vault",
    "builtin",
    "compile_source",
    "configure_log",
    "new_id",
    "now_ms",
    "open_engine",
    "open_history",
    "open_secrets",
    "open_vault",
]
