"""The composition root: settings in, a wired process out.

The only room that knows adapters; the behaviour that is wired here lives in `runtime`, which gets
its dependencies as constructor arguments. Read in this order:

- `settings`: what can be set about a process that runs nodes.
- `catalogue`, `languages`: the node types, and the two definition languages over them.
- `security`: keys and credentials; `accounts`: users, tokens and the audit log.
- `embedded`: the engine in one process on one file (`onward run`);
  `embedded_backend`: what a server adds to it (`onward dev`).
- `cluster`: the services and the processes on them (`onward worker`, `scheduler`, `master`);
  `cluster_backend`: what a server adds to it.
- `telemetry`, `doctor`, `host`: what surrounds them.

`host`, `catalogue` and `settings` stay light: commands that need no engine import them alone.
Nothing below (`runtime`, `nodes`, `languages`, `adapters`) may import this package.
"""
