"""The operations of the API over HTTP, by FastAPI: all that needs the `server` extra.

A request passes `middleware` (its id, its size, `Host` and `Origin`, and by `identity` its caller),
then `authorization` (may the caller do this), then the endpoint that `router` made of a declared
operation. `models` are the views as pydantic knows them; `problems` turns the framework's errors
into refusals; `websocket` is the one operation that only a server has.

`identity` alone needs no framework: the login routes stand on it too. Nothing here imports the
rooms of resources but `approvals.page`, for refusals that browsers can read.
"""
