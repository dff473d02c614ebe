"""The state of running executions on a cluster, in Redis.

In the order to read it:

    keys           the names of all keys of a run, and what each holds
    scripts/*.lua  one atomic step each; every script says its keys, arguments and returns
    script_caller  scripts by name, many calls in one round trip
    coordinator    the operations of `kernel/coordination.py`, one script each
    timers         due times of all runs; leases: timers that their owner extends
    holders        which worker holds which token; liveness: signs of life of runs
    run_endings    notices of runs that have ended
    workers        the workers of the cluster
    inspection     snapshots of a run, read only
    connection     from a URL to a server that is checked; health: facts for `onward doctor`

A differential test holds the scripts equal to the pure state machine. May import the kernel and the
ports, no other adapter. The client is an optional dependency.
"""
