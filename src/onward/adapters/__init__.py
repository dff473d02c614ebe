"""The technologies behind the ports, one folder for each.

An adapter knows one technology and no other adapter; only `onward.bootstrap` imports one.

    sql         what SQLite and PostgreSQL say alike, on the one seam `SqlDatabase`
    sqlite      the journal of the embedded engine: one file, one writer
    postgres    definitions, history and events of a cluster
    redis       coordination, timers, leases and liveness, as Lua scripts
    rabbitmq    the bus: publish with confirms, consume, reconnect
    host        this machine: clock, chance, HTTP, mail, commands, keys, secrets
    telemetry   Prometheus, OpenTelemetry, and the endpoint that serves probes and metrics
"""
