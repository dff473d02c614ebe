"""The simulation of the Serverless Workflow DSL: random documents, as trees of tasks.

    trial           one seed: generate a document, run it under faults, compare
    plan, generate  the plan of a seed: the document, what its calls do, the events it receives
    reference       the result that the plan must have, by recursion over the document
    variables       what the reference computes with: paths, jumps, expressions, events

The worlds and the checkers are those of `simulation`; this package imports no adapter either.
"""
