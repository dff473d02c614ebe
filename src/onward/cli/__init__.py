"""The command line.

Read `main` first: the table of commands, and the one place that turns errors into exit codes
(`exit_codes` lists them). Then `options`, which commands share, and one command, for instance
`commands/run.py`.

    commands/   one module per command, one folder per large group of them
    engines/    how a command reaches an engine: a server, a file, a cluster
    input/      documents and run inputs, from files and options
    output/     tables, JSON and results on standard output
    live/       the drawing of runs on a terminal

Start-up time decides what is imported where: a command is imported when it is called, and what only
one of its branches needs (rich, asyncio, an engine, a client) inside that branch. A test in
tests/cli says which modules each command must not load. Nothing imports this package.
"""
