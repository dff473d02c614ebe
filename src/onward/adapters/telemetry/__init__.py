"""Telemetry for operators: metrics, traces and the endpoint that answers probes.

`prometheus` takes the numbers of `ports.telemetry` and renders them; `otel` sends finished spans to
a collector; `endpoint` is the small HTTP server for /live, /ready and /metrics in the event loop of
the process. Each belongs to an extra and is imported by `bootstrap` only when it is asked for.
"""
