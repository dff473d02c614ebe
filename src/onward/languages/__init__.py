"""The two definition languages: from the text of a document to a Program that the kernel can run.

    document/    what both share: text to value with places, findings, fields of a mapping
    graph/       our own language: nodes and edges
    serverless/  the Serverless Workflow DSL 1.0: a tree of tasks

Read `document` first, then `graph/program.py` or `serverless/program.py`: each implements
`onward.kernel.program.Program`. Everything here is pure: no clock, no chance, no IO, and no node
that touches the world (those are in `onward.nodes`, and meet a language only in a catalogue).
`bootstrap` alone knows both languages; `serverless` borrows from `graph` only the model of a
drawing.
"""
