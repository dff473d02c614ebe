"""The cluster's storage: one PostgreSQL that any number of processes share.

In the order to read it:

    sql/schema.sql  every table, and what it holds; sql/migrations make the same, step by step
    migrations      how a database is brought up to date while processes of two releases use it
    connection      addresses and errors in plain words, a pool, and the seam of `adapters/sql`
    store           definitions, history and payloads; a fold writes a batch in one transaction
    statements      the statements of the store, with arrays for the columns of a batch
    event_log       the event log of runs, written inside a fold
    notifications   notices of new events, to every master
    run_queries, start_rules   what PostgreSQL does in its own words
    health          facts for `onward doctor`

May import `adapters/sql` and the kernel and ports below it, no other adapter. The driver is an
optional dependency: import these modules only where a cluster is opened.
"""
