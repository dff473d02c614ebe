"""The kernel: what the engine decides, as pure functions and frozen data.

Nothing here reads a clock, rolls dice, logs or does IO: time and chance are arguments, and what is
to be done is a value, an *effect*, for one of three interpreters (the embedded engine, the worker
of a cluster, the simulator). The kernel imports `errors` and itself; every other package may import
it. Read it in this order:

    messages        the three messages; a `Token` executes one node. With `envelope` (versions),
                    `context`, `lineage`, `ids`, `json`, `schema` (what is published about them)
    outcome         what a node can return: a closed sum
    effects         what a judgement may ask for: a closed sum, and the answers
    program         what a language compiles a definition to: `step`, `settle`, `wake`, `finish`
    verdicts        the answers to "may I execute this token?"
    coordination    the rules of exactly-once routing, on the `cells` of one run
    flow            what every language shares: paths end, scopes close, barriers fill
    signal_waits    a wait is a timer, and a signal fires it
    retry, cron     delays between attempts; times of a schedule

The past of a run has the same rules in every store:

    records         definitions, runs, visits, quarantined messages
    history         what a batch of messages adds to them
    run_events      the numbered log of a run
    log_lines       what its nodes wrote

`lru` (a cache) and `timestamps` stand alone.
"""
