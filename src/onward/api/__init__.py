"""The API: every operation on workflows, runs, triggers and access, declared once.

An operation is a function with typed parameters (`routing.routes`). Two things carry requests to
it: a server (`app`, by FastAPI) and the process itself (`routing.local`, for an embedded engine).
What it takes and answers are structs in the `views` of its room; from them `http.models` makes the
models of the OpenAPI, so their names and docstrings are published.

    routing       how operations are declared, read, refused, permitted; answered in the process
    workflows     documents and versions, start rules, node types, expressions
    runs          starting, parts, data, logs, events, control, signals and waits
    approvals     signed links, and the pages behind them
    triggers      triggers, webhooks, CloudEvents
    operations    quarantine, timers, queues, workers, health
    security      logins, users, tokens, credentials, the audit log
    http          the same operations over HTTP: identity, authorization, middleware
    resources     all of them together
    app, openapi, examples, server      what is served, described and listened on

Only `http`, `app`, `openapi` and `server` may import FastAPI, Starlette, pydantic or uvicorn: they
are an extra, and an embedded engine does without. Nothing here imports an adapter.
"""
