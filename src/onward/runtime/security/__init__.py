"""Who may do what, and what they did: accounts, credentials, rate limits and the audit.

- `accounts`: users, tokens and logins; `AccessPorts` is what the API needs of all this.
- `credentials`: the credentials in the store: changing, testing, finding who uses them.
- `rate_limit`: how often something may be tried.
- `audit`: the record of a request's changes, and writing it.

Permissions of routes are the API's own; here is nothing of HTTP. Stands on the ports alone.
"""
