"""The shell around the kernel: it claims, runs, settles and commits, through ports.

Read `token` first (one token, handled anywhere), then `activity` (a node at work), then one of the
two engines: `embedded` (one process, one file) or `cluster` (worker, scheduler, master,
reconciler).

What people and the API do with runs stands above them: `signals`, `explain`, `security`,
`workflows`, `control` (retry, start rules, retention) and `triggers`. Beside the rooms: `backend`
is what the API asks of either engine, `feed` hands events to followers, `instrumentation` measures,
`queues` names the queues, `run_control` is cancel, pause and resume, `schedules` computes times.

No module here imports an adapter; the order of the rooms is a contract in pyproject.toml.
"""
