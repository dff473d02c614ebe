"""The ports of security: accounts, the audit log, credentials, and the keys that seal and sign.

- `accounts`: users, tokens, logins and their roles.
- `credentials`, `credential_types`: named secrets, and which fields each type has.
- `crypto`: sealing and signing; the keys are never in the store.
- `audit`: who changed what.

Values and Protocols only; it imports the kernel and nothing else of onward.
"""
