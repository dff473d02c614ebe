"""Operations of the API as they are declared, whatever carries a request to them.

No module here imports a web framework: an engine in this process answers in an install that has
none, with the same operations that a server serves.

    routes        how an operation is declared: its path, parameters, view; its `Reply`
    parameters    cursors, ETags and filters, read and written
    refusals      why a request is refused, and which errors mean that
    lookups       what a path names, or a refusal
    permissions   who may call which operation, and which are written to the audit log
    local         the declared operations, answered inside the process

`onward.api.http` carries the same operations over HTTP.
"""
