"""What the engine needs from the world, as Protocols whose docstrings state obligations.

Nothing here decides anything: rules are in `onward.kernel`, implementations in `onward.adapters`.

    clock       the time, and chance
    telemetry   numbers and traces
    nodes       what a node is, and the tools it gets: HTTP, mail, log, commands, events
    storage     what is kept: journal, history, workflows, triggers, signals, start rules
    cluster     what processes share: bus, coordinator, timers, holders, workers
    security    accounts, audit, credentials, signing and sealing
"""
