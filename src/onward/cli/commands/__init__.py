"""The commands, by name: `onward run` is in `run.py`, `onward runs` in the folder `runs`.

A module holds one command, or a few that are alike (`operations`, `graph`). It declares arguments
and options, says what it needs of an engine, and prints the answer. Work that commands share is in
`engines`, `input` or `output`; commands import each other only within a group, and from
`completion`, which completes ids in a shell, and `runs/selection`, which says which runs are meant.
"""
