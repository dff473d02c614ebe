"""Examples of the operations of credentials and access."""

from __future__ import annotations

from typing import Any

_AT = "2026-03-01T09:30:00.000Z"
_LATER = "2026-03-01T09:31:00.000Z"
_ME = {
    "kind": "user",
    "name": "ada",
    "role": "admin",
    "workflows": None,
    "csrf_token": "5f2b1c0e9d8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c",
}
_USER = {"name": "ada", "role": "admin", "enabled": True, "created_at": _AT, "changed_at": _AT}
_TOKEN = {
    "token_id": "tok_01kk2v6r8y7r5f7q0w2t9x4z3b",
    "name": "nightly import",
    "role": "editor",
    "workflows": ["import-orders"],
    "created_at": _AT,
    "created_by": "user:ada",
    "expires_at": "2026-06-01T09:30:00.000Z",
    "revoked_at": None,
    "used_at": None,
    "counts": True,
}
_CREDENTIAL = {
    "name": "payments",
    "type": "http_bearer",
    "workflows": ["charge-cards"],
    "revision": 1,
    "created_at": _AT,
    "changed_at": _AT,
    "changed_by": "user:ada",
}
_AUDIT = {
    "seq": 42,
    "at": _AT,
    "actor": "user:ada",
    "action": "publish_version",
    "target": "workflow hello",
    "origin": "10.1.2.3",
    "request_id": "req_9f86d081884c7d659a2f",
    "before": "6a2da20943931e9834fc12cfe5bb47bb",
    "after": "0b14d501a594442a01c6859541bcb3e8",
}


def _page(*items: Any) -> dict[str, Any]:
    return {"items": list(items), "next_cursor": None}


ACCESS_EXAMPLES: dict[str, tuple[Any, Any]] = {
    "log_in": (_ME, {"name": "ada", "password": "correct horse battery"}),
    "log_out": (None, None),
    "get_me": (_ME, None),
    "change_password": (
        None,
        {"current": "correct horse battery", "password": "staple of another kind"},
    ),
    "list_users": (_page(_USER), None),
    "create_user": (_USER, {"name": "ada", "role": "admin", "password": "correct horse battery"}),
    "get_user": (_USER, None),
    "change_user": ({**_USER, "enabled": False, "changed_at": _LATER}, {"enabled": False}),
    "delete_user": (None, None),
    "list_tokens": (_page(_TOKEN), None),
    "create_token": (
        {**_TOKEN, "token": "onward_pat_Zm9yIGV4YW1wbGUgb25seSwgb2YgY291cnNlIQ"},
        {
            "name": "nightly import",
            "role": "editor",
            "workflows": ["import-orders"],
            "expires_in_s": 7_948_800,
        },
    ),
    "get_token": (_TOKEN, None),
    "revoke_token": ({**_TOKEN, "revoked_at": _LATER, "counts": False}, None),
    "list_credential_types": (
        _page(
            {
                "type": "http_bearer",
                "title": "HTTP: bearer token",
                "fields": [
                    {
                        "name": "token",
                        "title": "Token",
                        "required": True,
                        "secret": True,
                        "values": [],
                    }
                ],
                "open": False,
                "trial": "http",
            }
        ),
        None,
    ),
    "list_credentials": (_page(_CREDENTIAL), None),
    "get_credential": (_CREDENTIAL, None),
    "list_credential_usage": (
        _page({"workflow_id": "charge-cards", "version": 3, "published": True, "allowed": True}),
        None,
    ),
    "create_credential": (
        _CREDENTIAL,
        {
            "name": "payments",
            "type": "http_bearer",
            "fields": {"token": "sk_live_and_so_on"},
            "workflows": ["charge-cards"],
        },
    ),
    "change_credential": (
        {**_CREDENTIAL, "revision": 2, "changed_at": _LATER},
        {"fields": {"token": "sk_live_the_next_one"}, "workflows": ["charge-cards"]},
    ),
    "delete_credential": (None, None),
    "test_credential": (
        {"ok": True, "detail": "the server answered 200", "status": 200},
        {"url": "https://api.example.com/me"},
    ),
    "rotate_credentials": ({"sealed_anew": 3, "triggers": 1}, None),
    "list_audit": (_page(_AUDIT), None),
}
"""For each operation what is answered, and what is sent."""
