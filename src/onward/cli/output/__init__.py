"""What a command prints.

    console      JSON to standard output, lines for people to standard error
    run_result   the result of a run: JSON for programs, a summary for people
    tables       lists and single objects in the form of `--output`
    event_lines  run events as lines of text or JSON
    durations    durations as people read and write them

Results go to standard output, everything else to standard error. Nothing here imports an engine;
rich is imported when a table is printed on a terminal.
"""
