"""The embedded engine's storage: one SQLite file, written by one process at a time.

In the order to read it:

    sql/schema.sql  every table, and what it holds; sql/migrations make the same, step by step
    migrations      the version of a file, and how it is brought up to date
    journal         the journal that the engine writes, and the lock on its file
    rows            reading the journal, for the engine and for others
    history         the journal for other processes, read only
    inspection      snapshots of the coordination state of a run
    connection      a second connection, in a thread, and the seam of `adapters/sql` on it
    run_queries, start_rules   what SQLite does in its own words
    retention       old runs are deleted

May import `adapters/sql` and the kernel and ports below it, no other adapter.
"""
