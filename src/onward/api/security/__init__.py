"""Access: who may call the API, which credentials workflows use, and who changed what.

    login         log in and out with a browser, the caller itself, its password
    users         users and tokens, for administrators
    credentials   sealed, tried, replaced, and never read back
    audit         the audit log
    views, examples

Who may call which operation is in `routing.permissions`. No module here imports a web framework.
"""
