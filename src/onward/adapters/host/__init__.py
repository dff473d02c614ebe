"""What the host gives to an engine or a worker: clock, HTTP, mail, log, processes and secrets.

- What nodes use: `http`, `mail`, `log`, `commands` (processes, only of the kinds that are allowed)
  and `event_file`; `document_files` fetches what documents refer to.
- Where credentials come from: `secrets` asks the environment, a file of variables, the master and
  `vault`, the encrypted store; `credential` says what one looks like.
- Cryptography: `keys` finds the keys, `sealed_records` seals and opens, `sealer` and `signer` are
  the ports over both; `passwords` hashes those of accounts; `private_file` writes what only its
  owner may read.
- `clock` is the only module of the product that reads the time or draws random numbers; `memory`
  says how large this process is.

These are adapters: they import ports, the kernel and errors, and are imported by `bootstrap` alone.
What belongs to an extra (cryptography, argon2) is imported where it is first needed.
"""
