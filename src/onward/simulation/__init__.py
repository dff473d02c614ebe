"""The simulator: real programs, real rules, a world in which anything may fail, and a reference.

A seed decides everything: the workflow, its tasks, the order of every step and every fault. The
same seed is the same world, so a seed is a bug report. `World` interprets the effects of the kernel
as the worker and the engine do; the reference computes the result by plain recursion and knows
nothing of tokens; the checkers compare. Read it in this order:

    trial           one seed: generate, run under faults, compare
    generate, tasks, signals
                    the plan of a seed: a graph workflow, what its tasks do, what is sent to it
    world           several workers, crashes, duplicates, redelivery, virtual time
    lost_state      a world that also loses state and messages, and repairs the run
    attempts        a world that pauses the run, and retries it from its history
    reference       the result that the plan must have
    checkers        the invariants of every run
    own_workflow    the same for a workflow of the user, with stubs as activities
    serverless/     the same for the Serverless Workflow DSL

It stands above `runtime`, `nodes`, `languages` and `ports` and may import no adapter: there is no
database, no broker and no clock here.
"""
