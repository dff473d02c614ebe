"""Examples of the operations of credentials and access."""

from __future__ import annotations

from onward.api.routing.examples import Example, page_of

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


EXAMPLES = {
    "log_in": Example(_ME, {"name": "ada", "password": "correct horse battery"}),
    "log_out": Example(None),
    "get_me": Example(_ME),
    "change_password": Example(
        None, {"current": "correct horse battery", "password": "staple of another kind"}
    ),
    "list_users": Example(page_of(_USER)),
    "create_user": Example(
        _USER, {"name": "ada", "role": "admin", "password": "correct horse battery"}
    ),
    "get_user": Example(_USER),
    "change_user": Example({**_USER, "enabled": False, "changed_at": _LATER}, {"enabled": False}),
    "delete_user": Example(None),
    "list_tokens": Example(page_of(_TOKEN)),
    "create_token": Example(
        {**_TOKEN, "token": "onward_pat_Zm9yIGV4YW1wbGUgb25seSwgb2YgY291cnNlIQ"},
        {
            "name": "nightly import",
            "role": "editor",
            "workflows": ["import-orders"],
            "expires_in_s": 7_948_800,
        },
    ),
    "get_token": Example(_TOKEN),
    "revoke_token": Example({**_TOKEN, "revoked_at": _LATER, "counts": False}),
    "list_credential_types": Example(
        page_of(
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
        )
    ),
    "list_credentials": Example(page_of(_CREDENTIAL)),
    "get_credential": Example(_CREDENTIAL),
    "list_credential_usage": Example(
        page_of({"workflow_id": "charge-cards", "version": 3, "published": True, "allowed": True})
    ),
    "create_credential": Example(
        _CREDENTIAL,
        {
            "name": "payments",
            "type": "http_bearer",
            "fields": {"token": "sk_live_and_so_on"},
            "workflows": ["charge-cards"],
        },
    ),
    "change_credential": Example(
        {**_CREDENTIAL, "revision": 2, "changed_at": _LATER},
        {"fields": {"token": "sk_live_the_next_one"}, "workflows": ["charge-cards"]},
    ),
    "delete_credential": Example(None),
    "test_credential": Example(
        {"ok": True, "detail": "the server answered 200", "status": 200},
        {"url": "https://api.example.com/me"},
    ),
    "rotate_credentials": Example({"sealed_anew": 3, "triggers": 1}),
    "list_audit": Example(page_of(_AUDIT)),
}
