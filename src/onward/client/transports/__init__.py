"""How requests reach the API: one small port, two ways.

    transport     the port: send a request, open a stream
    http          to a server
    in_process    to the engine in this process, which it opens and closes

`in_process` is imported only when an engine is opened: it brings the whole engine with it.
"""
