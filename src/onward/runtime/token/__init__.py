"""One token, wherever it is handled: the steps that the worker, the embedded engine and the
simulator share.

Read `pipeline.py` first: what a claimed token asks for, what makes an outcome storable, and in
which order a judgement's effects are performed. Then, in the order in which a run needs them:

- `start.py`           the options of a run and its first tokens
- `programs.py`        from a token to its compiled program
- `context_reader.py`  from a token to the values that its node reads
- `statuses.py`        from a report of the kernel to the messages that the world reads
- `restore.py`         from a run's history back to outcomes on record, after its state was lost

Nothing here knows where a message came from or where an effect goes. These modules import the
kernel, the ports and each other; no other room of the runtime.
"""
