"""``python -I -S client.py SOCKET ARGUMENTS``: ``perflog ARGUMENTS`` with this process's streams, folder, environment."""

from __future__ import annotations

import json
import os
import socket
import sys


def ask(
    connection: socket.socket, arguments: list[str], folder: str, environment: dict[str, str], streams: list[int]
) -> None:
    """Ask the server at the other end for a process; its status comes back as a line when it has ended."""
    wanted = json.dumps([arguments, folder, environment]).encode()
    socket.send_fds(connection, [len(wanted).to_bytes(4, "big")], streams)
    connection.sendall(wanted)


def main() -> None:
    """Ask, wait, and end with the same status."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(sys.argv[1])
        ask(connection, sys.argv[2:], os.getcwd(), dict(os.environ), [0, 1, 2])  # noqa: PTH109
        status = int(connection.recv(16))
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
