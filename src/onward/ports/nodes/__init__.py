"""What a node type is, and the ports that a running node reaches the world through.

Read `node` first: node types, their catalogue, and `Tools`, all that a node is given. The rest are
ports of it: `outside` (HTTP, mail, the log, runs of other workflows), `commands` (processes of the
host, where they are allowed) and `events` (publishing events and listening to them).

A port says what may go wrong as an `OutsideError` with a code that a retry policy can match. Where
something is not available there is a null object that refuses it: NO_RUNS, NO_COMMANDS, NO_HUB.
These modules import the kernel and errors; node types, runtime and adapters import them.
"""
