"""What the processes of a cluster share: the seams between the runtime and the three services.

Read them in the order in which a token meets them:

- `bus.py`          the broker: publish with confirm, consume with acknowledgement
- `coordinator.py`  the state of runs: claims, and the questions of the kernel
- `timers.py`       durable timers, the one source of delay
- `workers.py`      the workers there are, the tokens they hold, and leases on long nodes
- `run_endings.py`  hearing that a run has ended
- `liveness.py`     signs of life of a run, for the reconciler
- `inspection.py`   reading what all of these hold, for people

A `state_id` is an execution id and a generation (`Token.state_id`): a run that is rebuilt from its
history gets a new state, and what is left of the old one is void. These modules import the kernel
and each other, and nothing that does IO.
"""
