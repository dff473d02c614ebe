"""How the parts of a node say that its parameters cannot be carried out."""

from __future__ import annotations


class Refused(Exception):  # noqa: N818  (a verdict on the parameters, not a fault of the program)
    """The parameters do not make a request that may be sent; the node turns this into `Failed`."""

    def __init__(self, message: str, code: str) -> None:
        self.code = code
        super().__init__(message)
