"""weft: a workflow engine whose runs are never stuck, doubled or lost."""

__version__ = "0.1.0"
