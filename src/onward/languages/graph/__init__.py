"""The graph language: nodes and edges, compiled once and then judged token by token.

Reading a document, in this order:

    model            the document as data
    document         text or value to `Document`; `document_shape` reads its fields
    structure        order, regions of splits, pairs, the edges that matter to a merge
    check/           everything that is wrong with it, at once
    control_nodes    the parameters of the nodes that the language carries out itself

Running it:

    compiled_node, compiled_graph    what does not change from run to run
    program          `GraphProgram`: step, settle, wake
    step             one visit: evaluate parameters, decide the outcome of a control node
    routing          take edges, mark the others dead, open merges
    merge, split, failure, signal_waits, node_links    one module for each kind of consequence

`dependents` serves partial reruns, `draw/` the pictures. No module here may import `serverless`.
"""
