"""A server of the Model Context Protocol as a program: it talks over its input and output.

It asks something itself before it answers, and says things that are no answers, as servers do.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def say(message: dict[str, Any]) -> None:
    """Send a message."""
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def result_of(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return what is asked for."""
    match method:
        case "initialize":
            return {"protocolVersion": params["protocolVersion"], "serverInfo": {"name": "pets"}}
        case "tools/list":
            if "cursor" in params:
                return {"tools": [{"name": "rest"}]}
            return {"tools": [{"name": "add"}], "nextCursor": "2"}
        case "tools/call":
            total = sum(params["arguments"]["numbers"])
            return {"content": [{"type": "text", "text": f"{total} {os.environ.get('UNIT', '')}"}]}
        case _:
            raise LookupError(method)


def questioned() -> None:
    """Ask the client whether it is alive, and for something that it cannot do."""
    say({"method": "notifications/message", "params": {"data": "busy"}})
    print("this line is no message at all", flush=True)
    say({"id": "p", "method": "ping"})
    assert {} == json.loads(sys.stdin.readline())["result"]
    say({"id": "r", "method": "roots/list"})
    assert -32601 == json.loads(sys.stdin.readline())["error"]["code"]


def main() -> None:
    """Serve until the input ends."""
    if "--broken" in sys.argv:
        sys.exit("the server has no configuration")
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            assert "notifications/initialized" == message["method"]
            continue
        try:
            result = result_of(message["method"], message.get("params", {}))
        except LookupError:
            say({"id": message["id"], "error": {"code": -32601, "message": "no such method"}})
            continue
        if message["method"] == "tools/call":
            questioned()
        if "--silent" not in sys.argv or message["method"] == "initialize":
            say({"id": message["id"], "result": result})


if __name__ == "__main__":
    main()
