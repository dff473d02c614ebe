"""The node types of the graph language that touch the world, registered by `catalogue`.

`http` calls an endpoint, `smtp` sends a mail (`mail_message` composes it, with every header
checked), `sub_workflow` runs another workflow. The nodes that touch nothing are control nodes, in
`onward.languages.graph.control_nodes`.
"""
