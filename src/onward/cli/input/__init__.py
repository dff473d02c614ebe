"""What a command reads: workflow documents and the input of runs.

`documents` turns a file into a program and lists its problems; `run_input` puts a value together
from `--input` and `-i`. Both raise InputError with the option or the file in the message. Nothing
here imports an engine.
"""
