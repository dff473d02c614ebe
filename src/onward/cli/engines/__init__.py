"""How a command reaches an engine.

    engine      an engine on a server (`--server`) or in a file (`--db`): most commands
    cluster     the services of a cluster, directly, for commands that need no server
    accounts    users and tokens: on a server, in a file, or in the PostgreSQL of a cluster
    quarantine  messages in quarantine: on a server, in a file, or on a cluster
    embedded    runs that this process executes itself: `run`, `continue`, `demo`
    process     a worker, scheduler or master: serves a cluster until a signal
    supervisor  several workers under one parent

Read `engine` first. A command adds `engine_options`, gets an `EngineAddress`, and says what it
needs: to read, to write, or to execute a run. Refusals and outages become exit codes here and
nowhere else. Everything above `engines` may import from here; nothing here imports a command.
"""
