"""A proxy before a real HTTP server that fails as servers do: it throttles, denies, cuts connections in mid-object.

It writes down what was asked, so that a test can say what was not.
"""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import urlsplit

_HOP = {"connection", "transfer-encoding", "keep-alive", "content-length", "server", "date"}
#: Answers that take the place of the server's: status and body.
ANSWERS = {
    "busy": (503, b"<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>SECRET</Message></Error>"),
    "denied": (403, b"<?xml version='1.0'?><Error><Code>AccessDenied</Code><Message>SECRET</Message></Error>"),
    "broken": (500, b"SECRET"),
    "expired": (400, b"<?xml version='1.0'?><Error><Code>ExpiredToken</Code><Message>SECRET</Message></Error>"),
}


@dataclass
class Fault:
    """What happens to requests whose path holds a text.

    Attributes:
        kind: a name in :data:`ANSWERS`; ``cut`` (half of the body, then the end of the connection); or ``before``.
        times: so many requests; -1 for all.
        call: called before the request is passed on (``before``).
    """

    part: str
    kind: str
    times: int = -1
    call: Callable[[], None] | None = None
    method: str = "GET"


@dataclass(frozen=True)
class Request:
    """What was asked."""

    method: str
    path: str
    span: str
    authorization: str


@dataclass
class FaultyProxy:
    """The proxy, which runs while it is entered. ``url``: its own address."""

    backend: str
    faults: list[Fault] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    url: str = ""

    def __enter__(self) -> FaultyProxy:
        proxy = self

        class Handler(_Handler):
            owner = proxy

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def fault_for(self, method: str, path: str) -> Fault | None:
        """The fault that a request meets, which is counted."""
        for fault in self.faults:
            if fault.part in path and fault.method == method and fault.times:
                fault.times -= 1
                return fault
        return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: FaultyProxy

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        headers = self.headers
        asked = Request(self.command, self.path, headers.get("Range", ""), headers.get("Authorization", ""))
        self.owner.requests.append(asked)
        fault = self.owner.fault_for(self.command, self.path)
        if fault is not None and fault.kind in ANSWERS:
            self._answer(*ANSWERS[fault.kind], {})
            return
        if fault is not None and fault.call is not None:
            fault.call()
        backend = urlsplit(self.owner.backend)
        connection = http.client.HTTPConnection(backend.hostname or "", backend.port)
        try:
            connection.request(self.command, self.path, headers=dict(headers))
            answer = connection.getresponse()
            body, known = answer.read(), {k: v for k, v in answer.headers.items() if k.lower() not in _HOP}
            size = int(answer.headers.get("Content-Length", len(body)))
        finally:
            connection.close()
        self._answer(answer.status, body, known, size, cut=fault is not None and fault.kind == "cut")

    def do_HEAD(self) -> None:
        self.do_GET()

    def _answer(
        self, status: int, body: bytes, headers: dict[str, str], size: int | None = None, cut: bool = False
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if size is None else size))
        self.end_headers()
        if self.command == "HEAD":
            return
        self.wfile.write(body[: len(body) // 2] if cut else body)
        if cut:
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
