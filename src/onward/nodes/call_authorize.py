"""What a call will show of who calls, for arguments that want to pass it on."""

from __future__ import annotations

import msgspec

from onward.kernel.outcome import Failed, NodeError, Succeeded
from onward.nodes.authentication import Authentication
from onward.nodes.calling import authorization
from onward.nodes.refused import Refused
from onward.ports.node import Tools
from onward.ports.outside import OutsideError


class Authorize(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Find out what a policy puts into an Authorization header. Its output is never recorded."""

    authentication: Authentication

    async def run(self, tools: Tools) -> Succeeded | Failed:
        """Return the scheme and the parameter."""
        try:
            header = await authorization(tools, self.authentication)
        except Refused as verdict:
            return Failed(NodeError(str(verdict), verdict.code))
        except OutsideError as error:
            return Failed(NodeError(str(error), error.code))
        scheme, _, parameter = header.partition(" ")
        return Succeeded({"scheme": scheme, "parameter": parameter})
