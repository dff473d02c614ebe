"""A server that greets and then says nothing more: greeting_server.py GREETING [CERTIFICATE].

It is a process of its own, so that nothing of it is taken for something that a client left open.
"""

from __future__ import annotations

import socket
import ssl
import sys
import threading
from contextlib import suppress


def serve(connection: socket.socket, context: ssl.SSLContext | None, greeting: bytes) -> None:
    """Greet, and read until the client is gone."""
    with suppress(OSError), connection:
        talk = context.wrap_socket(connection, server_side=True) if context else connection
        with talk:
            talk.sendall(greeting)
            while talk.recv(65536):
                pass


def main(greeting: str, *certificate: str) -> None:
    """Say the port, and serve until killed."""
    context = None
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
    server = socket.create_server(("127.0.0.1", 0))
    print(server.getsockname()[1], flush=True)
    body = greeting.encode().decode("unicode_escape").encode()
    while True:
        threading.Thread(
            target=serve, args=(server.accept()[0], context, body), daemon=True
        ).start()


if __name__ == "__main__":
    main(*sys.argv[1:])
