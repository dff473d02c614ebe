"""Authentication policies of calls.

`policy` is the policy as data, with its secret resolved; `send` sends a request under one; `digest`
answers a challenge, `oauth` fetches and caches access tokens. A token or password is put into a
request and nowhere else: it is removed from answers and never part of a message.
"""
