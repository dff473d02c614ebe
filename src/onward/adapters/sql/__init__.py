"""The storage ports on tables, written once for SQLite and for PostgreSQL.

Read `database` first: the seam. A database offers rows, a change and a transaction; a transaction
is a generator of steps, because PostgreSQL is awaited and SQLite runs in a thread. Then any of the
others, each a port of `ports/storage`, `ports/security` or `ports/nodes` on a few tables:

    workflows          workflows and their versions
    triggers           triggers, firings, and which trigger started a run
    event_sets         events that wait for others of their set
    start_rules        start rules and parked runs       (a small part is the database's own)
    run_queries        runs, visits and events in pages  (some statements are the database's own)
    run_decisions      pauses, priorities, deadlines, retries
    signals            signals to runs, and links to child runs
    listeners          subscriptions of runs to events
    publish_positions  how far events were published
    accounts, credentials, audit   users and tokens, sealed credentials, the audit log
    rows               between records and rows

The tables are in `adapters/sqlite/sql/schema.sql` and `adapters/postgres/sql/schema.sql`. Nothing
here may import a driver or one of the two databases. Columns are named in every statement that a
release may run against newer tables.
"""
