"""Runs shown on a terminal while they execute.

Read `run_progress` first: the state of a run, folded from its messages. `run_tree` draws one run as
a tree, `run_list` several as a list, `screen` refreshes the drawing, and `lines` is the way without
a drawing. All but `run_progress` and `lines` import rich, so commands import them only when
standard error is a terminal.
"""
