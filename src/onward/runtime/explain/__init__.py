"""Why a run is not moving: from facts to sentences, the same for a file and for a cluster.

- `explain`: the types, and the way from `Facts` to a `RunExplanation`; read it first.
- `facts`: the facts that follow from a definition or a snapshot, and explaining a run in a file.
- `token_locator`: where the tokens of a graph are, worked out from the ids that are stored.
- `holders`: which worker holds a token, and what happens if that worker is silent.
- `signal_waits`, `serverless`: the words for signals, and for runs of the Serverless DSL.

All but `facts` is pure. It may not import an engine, a cluster or a backend: they import it.
"""
