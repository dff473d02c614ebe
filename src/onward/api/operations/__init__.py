"""Operations: what an operator asks about the machinery behind runs.

    routes        server, timers, queues, workers, counts of runs, health
    quarantine    messages that could not be handled: inspect, release, discard
    views, examples

It imports `routing` and `api.views`, and no web framework.
"""
