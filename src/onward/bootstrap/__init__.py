"""The composition root: settings in, a wired process out."""
