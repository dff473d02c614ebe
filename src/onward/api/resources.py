"""Every operation of the API, whatever carries requests to it: a server, or this process."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from onward.api.approvals.routes import link_routes
from onward.api.http.identity import Access
from onward.api.operations.quarantine import quarantine_routes
from onward.api.operations.routes import operation_routes
from onward.api.routing.local import LocalApi
from onward.api.routing.routes import Routes
from onward.api.routing.server_sent_events import HEARTBEAT_S
from onward.api.runs.control import control_routes
from onward.api.runs.data import data_routes
from onward.api.runs.logs import log_routes
from onward.api.runs.routes import run_routes
from onward.api.runs.signals import signal_routes
from onward.api.runs.streams import stream_routes
from onward.api.security.audit import audit_routes
from onward.api.security.credentials import credential_routes
from onward.api.security.login import login_routes
from onward.api.security.users import account_routes
from onward.api.triggers.routes import trigger_routes
from onward.api.triggers.webhooks import webhook_routes
from onward.api.workflows.catalogue import catalogue_routes
from onward.api.workflows.routes import workflow_routes
from onward.api.workflows.start_rules import start_rule_routes
from onward.runtime.backend import Backend
from onward.runtime.security.accounts import Authenticator
from onward.runtime.security.audit import Auditor

PREFIX = "/api/v1"
_LOG = logging.getLogger("onward")


def routes_of(
    backend: Backend, access: Access, authenticator: Authenticator, heartbeat_s: float = HEARTBEAT_S
) -> Sequence[Routes]:
    """Return the operations below the prefix, in the order in which their paths are tried."""
    return (
        workflow_routes(backend),
        catalogue_routes(backend),
        start_rule_routes(backend),
        stream_routes(backend, heartbeat_s),
        control_routes(backend),
        data_routes(backend),
        log_routes(backend),
        signal_routes(backend),
        run_routes(backend),
        link_routes(backend),
        operation_routes(backend),
        quarantine_routes(backend),
        login_routes(backend, access, authenticator),
        account_routes(backend),
        credential_routes(backend),
        audit_routes(backend),
        trigger_routes(backend),
        webhook_routes(backend),
    )


def authenticator_of(backend: Backend) -> Authenticator:
    """Return what recognises the users and tokens of a backend."""
    return Authenticator(backend.access.accounts, backend.access.passwords, backend.clock)


def auditor_of(backend: Backend, access: Access) -> Auditor:
    """Return what writes down who changed what."""
    return Auditor(backend.access.audit, backend.clock, _LOG.error, access.audit_kept_ms)


def local_api(backend: Backend) -> LocalApi:
    """Return the API of a backend for the process that it is in."""
    access = Access()
    resources = routes_of(backend, access, authenticator_of(backend))
    routes = [route for resource in resources for route in resource]
    return LocalApi(PREFIX, routes, auditor_of(backend, access))
