"""Who may do what: for every operation the least role, what it touches, and whether it is audited.

An operation that is not here is for admins alone, and a test fails.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from onward.ports.security.accounts import Role

Reach = Literal["nothing", "workflow", "run", "trigger", "query", "start", "evaluate", "everything"]
"""How the workflow is found that an operation touches, for tokens that may touch only some:

nothing      it touches none
workflow     `workflow_id` in the path
run          `execution_id` in the path: the workflow of that run
trigger      `trigger_id` in the path: the workflow of that trigger
query        the parameter `workflow_id`, which must be given then
start        `workflow_id` in the body, which must be given then
evaluate     `execution_id` in the body, if it is given
everything   it may touch any of them: not for such tokens
"""
Limit = Literal["none", "login", "links", "public"]


class Permission(NamedTuple):
    """What an operation asks of those who ask for it."""

    role: Role | None
    """The least role; None: any caller, recognised or not."""
    reach: Reach = "everything"
    audited: bool = False
    limit: Limit = "none"


UNKNOWN = Permission("admin")

_OPEN = Permission(None, "nothing")
_SEE = Permission("viewer")
_SEE_NOTHING = Permission("viewer", "nothing")
_SEE_WORKFLOW = Permission("viewer", "workflow")
_SEE_RUN = Permission("viewer", "run")
_EDIT = Permission("editor", audited=True)
_EDIT_WORKFLOW = Permission("editor", "workflow", audited=True)
_EDIT_RUN = Permission("editor", "run", audited=True)
_SEE_TRIGGER = Permission("viewer", "trigger")
_EDIT_TRIGGER = Permission("editor", "trigger", audited=True)
_RULE = Permission("admin", audited=True)

PERMISSIONS: dict[str, Permission] = {
    # health and the server itself
    "live": _OPEN,
    "ready": _OPEN,
    "get_server": _SEE_NOTHING,
    "get_description": _SEE_NOTHING,
    # the caller itself
    "log_in": Permission(None, "nothing", audited=True, limit="login"),
    "log_out": Permission("viewer", "nothing", audited=True),
    "get_me": _SEE_NOTHING,
    "change_password": Permission("viewer", "nothing", audited=True, limit="login"),
    # workflows
    "list_workflows": _SEE,
    "get_workflow": _SEE_WORKFLOW,
    "validate_definition": _SEE_NOTHING,
    "list_versions": _SEE_WORKFLOW,
    "get_version": _SEE_WORKFLOW,
    "diff_versions": _SEE_WORKFLOW,
    "export_workflows": _SEE,
    "create_workflow": _EDIT,
    "import_workflows": _EDIT,
    "add_version": _EDIT_WORKFLOW,
    "publish_version": _EDIT_WORKFLOW,
    "roll_back": _EDIT_WORKFLOW,
    "enable_workflow": _EDIT_WORKFLOW,
    "disable_workflow": _EDIT_WORKFLOW,
    # runs
    "list_runs": Permission("viewer", "query"),
    "list_all_events": Permission("viewer", "query"),
    "stream_all_events": Permission("viewer", "query"),
    "list_logs": _SEE_RUN,
    "release_messages": _EDIT,
    "discard_messages": _EDIT,
    "get_run": _SEE_RUN,
    "get_flow": _SEE_WORKFLOW,
    "set_flow": _EDIT_WORKFLOW,
    "drop_flow": _EDIT_WORKFLOW,
    "pause_run": _EDIT_RUN,
    "resume_run": _EDIT_RUN,
    "retry_run": _EDIT_RUN,
    "adjust_split": _EDIT_RUN,
    "cancel_runs": _EDIT,
    "pause_runs": _EDIT,
    "resume_runs": _EDIT,
    "retry_runs": _EDIT,
    "get_run_definition": _SEE_RUN,
    "list_nodes": _SEE_RUN,
    "explain_run": _SEE_RUN,
    "list_context": _SEE_RUN,
    "list_visits": _SEE_RUN,
    "list_items": _SEE_RUN,
    "list_events": _SEE_RUN,
    "stream_events": _SEE_RUN,
    "follow_events": _SEE_RUN,
    "get_data": _SEE_RUN,
    "start_run": Permission("editor", "start", audited=True),
    "cancel_run": _EDIT_RUN,
    # signals, and runs that started others
    "send_signal": _EDIT_RUN,
    "list_signals": _SEE_RUN,
    "list_waits": Permission("editor", "run"),
    "list_family": _SEE_RUN,
    "show_approval": Permission(None, "nothing", limit="links"),
    "decide_approval": Permission(None, "nothing", audited=True, limit="links"),
    "call_back": Permission(None, "nothing", limit="public"),
    # triggers
    "list_triggers": Permission("viewer", "query"),
    "get_trigger": _SEE_TRIGGER,
    "list_next_times": _SEE_TRIGGER,
    "list_firings": _SEE_TRIGGER,
    "preview_schedule": _SEE_NOTHING,
    "create_trigger": Permission("editor", "start", audited=True),
    "change_trigger": _EDIT_TRIGGER,
    "remove_trigger": _EDIT_TRIGGER,
    "enable_trigger": _EDIT_TRIGGER,
    "disable_trigger": _EDIT_TRIGGER,
    "rotate_trigger_secret": _EDIT_TRIGGER,
    "fire_trigger": _EDIT_TRIGGER,
    "backfill_trigger": _EDIT_TRIGGER,
    "take_event": Permission("editor"),
    **{
        f"call_hook_with_{method}": Permission(None, "nothing", limit="public")
        for method in ("get", "post", "put", "patch", "delete")
    },
    # the rest
    "list_node_types": _SEE_NOTHING,
    "get_node_type": _SEE_NOTHING,
    "evaluate_expression": Permission("viewer", "evaluate"),
    "list_quarantine": _SEE,
    "get_quarantined": _SEE,
    "list_timers": _SEE,
    "list_queues": _SEE,
    "list_workers": _SEE,
    "get_stats": _SEE,
    # credentials and access
    "list_credential_types": _SEE_NOTHING,
    "list_credentials": _SEE,
    "get_credential": _SEE,
    "list_credential_usage": _SEE,
    "create_credential": _RULE,
    "change_credential": _RULE,
    "delete_credential": _RULE,
    "rotate_credentials": _RULE,
    "test_credential": _RULE,
    "list_tokens": Permission("admin"),
    "get_token": Permission("admin"),
    "create_token": _RULE,
    "revoke_token": _RULE,
    "list_users": Permission("admin"),
    "get_user": Permission("admin"),
    "create_user": _RULE,
    "change_user": _RULE,
    "delete_user": _RULE,
    "list_audit": Permission("admin"),
}


def permission_of(operation: str) -> Permission:
    """Return what an operation asks of those who ask for it."""
    return PERMISSIONS.get(operation, UNKNOWN)
