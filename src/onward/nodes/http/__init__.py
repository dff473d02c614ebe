"""HTTP as nodes speak it: values to requests, answers to values. Nothing here sends anything.

Read `request` first: the one builder of a node's request, out of `url`, `headers` and `body`, each
of which checks what a document may say. `message_stream` takes messages from an answer. What cannot
be sent is refused with a sentence for the author of the document (`onward.nodes.failures`).
"""
