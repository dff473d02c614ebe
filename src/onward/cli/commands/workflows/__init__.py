"""`onward workflows`: stored workflows and their versions.

`group` holds the commands, `start_rules` those of `onward workflows flow`: how many runs of a
workflow may start, and how often.
"""
