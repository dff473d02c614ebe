"""Activities: the nodes that touch the world, and where they run.

Read `runner` first: credentials in, outcome out, whatever the node does. It places a node in the
event loop, in a thread (`threads`) or in a process (`processes`), gives it a log whose lines are
held until its visit is recorded (`node_logs`), signs the links it hands out (`node_links`), calls
back when its outcome is committed (`outcome_callbacks`), and redacts what comes back (`redaction`).

Expressions that take long leave the event loop as well: `evaluators`. Both kinds of processes come
from a `process_pool` and speak in `frames`; `node_process` and `evaluator_process` are what runs
inside them. They import neither asyncio nor the rest of the runtime: a process has to start fast.

The embedded engine and the workers of a cluster share this package. It imports ports, the kernel,
expressions, `runtime.token` and `runtime.signals`; never an adapter, an engine or a worker.
"""
