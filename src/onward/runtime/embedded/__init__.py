"""The embedded engine: runs of one process, durable in one journal.

Read in this order:

- `engine`: `EmbeddedEngine`, the loop that takes turns. It starts runs, hands each turn's batch to
  the one writer, and does what may only happen after the commit.
- `turn`: `TokenHandler`, which handles tokens in memory and gathers what one commit must write.
  Everything in it is synchronous; the order of its effects is the crash-safety argument.
- `active_run`: `ActiveRun`, a run in the engine's memory, and its coordination cells.
- `start`: what a run has from the attempt before it, and what it must remember of its start.
- `run_control`: cancel, pause, resume and adjust, for the API and the command line.

The steps of handling one token are in `runtime.token`, running an activity is in
`runtime.activity`; the workers of a cluster share both. Nothing here may import an adapter, the
cluster, or `runtime.control`; time, chance and the journal are ports that are passed in.
"""
