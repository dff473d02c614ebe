"""Stand-ins for the services that the examples of this folder call, all on one port.

    python3 examples/serverless/services.py

They need nothing but Python, know no other machine, and forget everything when they end.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qs

PORT = 8642
TOKEN = "a-token-for-pets-client"  # noqa: S105  (it opens nothing)
PETS = {"7": {"id": 7, "name": "Rex", "kind": "dog"}, "8": {"id": 8, "name": "Tom", "kind": "cat"}}
SCRIPT = "import sys\nprint('Hello', ' and '.join(sys.argv[1:]), end='')\n"
PROTO = """\
syntax = "proto3";
package demo;
message Asked { string name = 1; int32 times = 2; }
message Answer { string text = 1; string note = 2; }
service Greeter { rpc Greet(Asked) returns (Answer); }
"""
OPERATION = {
    "operationId": "getPet",
    "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
    "responses": {"200": {"description": "A pet"}},
}
CHANNEL = {"$ref": "#/channels/letters"}


class Handler(BaseHTTPRequestHandler):
    """Answers requests; `letters` is the post box of `/letters`."""

    letters: ClassVar[list[Any]] = []

    def do_GET(self) -> None:
        """Answer what only asks."""
        here = self.headers["host"]
        _, _, last = self.path.rpartition("/")
        match self.path.strip("/").split("/"):
            case ["pets", number] if number in PETS:
                self._say(PETS[number])
            case ["private"]:
                if self.headers.get("authorization") == f"Bearer {TOKEN}":
                    self._say({"welcome": "to the shop"})
                else:
                    self._say({"error": "who?"}, 401)
            case ["openapi.json"]:
                paths = {"/pets/{id}": {"get": OPERATION}}
                self._say(
                    {"openapi": "3.1.0", "servers": [{"url": f"http://{here}"}], "paths": paths}
                )
            case ["asyncapi.json"]:
                self._say(
                    {
                        "asyncapi": "3.0.0",
                        "servers": {"main": {"host": here, "protocol": "http"}},
                        "channels": {"letters": {"address": "letters"}},
                        "operations": {
                            "sendLetter": {"action": "send", "channel": CHANNEL},
                            "receiveLetters": {"action": "receive", "channel": CHANNEL},
                        },
                    }
                )
            case ["letters"]:
                taken, self.letters[:] = list(self.letters), []
                self._say(taken, 200 if taken else 204)
            case ["card.json"]:
                self._say({"name": "Helper", "url": f"http://{here}/helper"})
            case ["greet.py"] | ["greeter.proto"]:
                self._say(SCRIPT if last == "greet.py" else PROTO)
            case _:
                self._say({"error": f"there is no {self.path}"}, 404)

    def do_POST(self) -> None:
        """Answer what changes something, or what asks by JSON-RPC."""
        body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
        match self.path:
            case "/oauth2/token":
                asked = parse_qs(body)
                known = asked.get("client_id") == ["pets-client"]
                token = {"access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600}
                self._say(token if known else {"error": "invalid_client"}, 200 if known else 401)
            case "/letters":
                self.letters.append(json.loads(body))
                self._say({}, 202)
            case "/log":
                self._say({"logged": json.loads(body)})
            case "/mcp" | "/helper":
                message = json.loads(body)
                if "id" not in message:
                    self._say("", 202)
                    return
                self._say({"jsonrpc": "2.0", "id": message["id"], "result": _result(message)})
            case _:
                self._say({"error": f"there is no {self.path}"}, 404)

    def _say(self, value: Any, status: int = 200) -> None:
        plain = isinstance(value, str)
        body = b"" if status == 204 else (value if plain else json.dumps(value)).encode()
        self.send_response(status)
        self.send_header("content-type", "text/plain" if plain else "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _result(message: dict[str, Any]) -> Any:
    given = message.get("params", {})
    match message["method"]:
        case "initialize":
            return {"protocolVersion": given["protocolVersion"], "capabilities": {}}
        case "tools/call":
            total = sum(given["arguments"]["numbers"])
            return {"content": [{"type": "text", "text": str(total)}]}
        case "message/send":
            (part,) = given["message"]["parts"]
            return {"kind": "message", "parts": [{"kind": "text", "text": part["text"].upper()}]}
        case _:
            return {}


def serve(port: int = PORT) -> ThreadingHTTPServer:
    """Return a server that is bound to a port of this machine, and not serving yet."""
    mine = type("Handler", (Handler,), {"letters": []})
    return ThreadingHTTPServer(("127.0.0.1", port), mine)


if __name__ == "__main__":
    sys.stderr.write(f"the services are at http://127.0.0.1:{PORT}; stop them with Ctrl-C\n")
    try:
        serve().serve_forever()
    except KeyboardInterrupt:
        sys.exit(0)
