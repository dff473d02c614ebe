"""How this product is installed: the one place that knows what its distribution is called."""

DISTRIBUTION = "onward"
"""The name in pyproject.toml, and what `importlib.metadata` knows it by."""


def install_command(*extras: str) -> str:
    """
    Return the command that installs the named extras.

    It installs from a checkout, because nothing is published yet: the name on a package index could
    belong to another project.
    """
    return f"pip install '.[{','.join(extras)}]' (in a checkout of {DISTRIBUTION})"
