"""The page of runs over time, served to this machine alone and kept up to date while logs grow.

Nothing but the loopback address is listened on. Every request must carry the token of the address that was printed, and
name this server as its host, so that no page of another site can read it, by a form, a frame or a name that resolves
to this machine. Nothing is written.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from perflog.errors import PerflogError, UsageError
from perflog.escaping import json_text
from perflog.logs.find import find_logs
from perflog.settings.config import settings
from perflog.show.extractions import Extractions
from perflog.show.words import require_language
from perflog.view.page import number_of, view_data, view_page
from perflog.view.records import Seen, read_records

#: What a reader may ask numbers for.
_SETTINGS = ("warmup", "steps", "last", "estimator")
#: Headers of every answer: nothing is kept, framed, or handed to another site.
_HEADERS = {
    "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}  # fmt: skip


class Served:
    """Logs that are read anew whenever one of them has changed."""

    def __init__(self, logs: Sequence[str], given: Mapping[str, Any], where: Mapping[str, str], language: str) -> None:
        """``given``: the options as the command line gave them."""
        self.language = language
        self._logs, self._given, self._where = logs, dict(given), where
        self._lock = threading.Lock()
        self._stamp: tuple[object, ...] = ()
        self._seen: Seen | None = None
        self._version = 0

    def now(self) -> tuple[int, Seen]:
        """(how often the logs have changed, what they hold now)."""
        with self._lock:
            stamp = self._stamp_of_logs()
            if self._seen is None or stamp != self._stamp:
                self._seen, self._stamp = self._read({}), stamp
                self._version += 1
            return self._version, self._seen

    def numbers(self, asked: Mapping[str, str]) -> list[dict[str, Any]]:
        """The number of each run under other settings, as the command gives it.

        Raises:
            UsageError: for a setting that is not right.
        """
        chosen = {name: asked.get(name) or None for name in _SETTINGS}
        if chosen["last"]:
            del chosen["warmup"]  # the last steps are taken whatever the warm-up
        return [number_of(run, self.language) for run, _ in self._read(chosen).runs]

    def _read(self, changed: Mapping[str, Any]) -> Seen:
        return read_records(
            self._logs, settings({**self._given, **changed}, self._logs), Extractions(), self._where, growing=True
        )

    def _stamp_of_logs(self) -> tuple[object, ...]:
        """What changes when a log grows, comes or goes."""
        stamps: list[object] = []
        for path in sorted({log.path for log in find_logs(self._logs)}):
            try:
                found = Path(path).stat()
            except OSError:
                continue
            stamps.append((path, found.st_size, found.st_mtime_ns))
        return tuple(stamps)


class Handler(BaseHTTPRequestHandler):
    """Answers what the page asks for, to those who have the token."""

    server: PageServer

    def do_GET(self) -> None:
        """Answer."""
        address = urlsplit(self.path)
        asked = {name: values[-1] for name, values in parse_qs(address.query).items()}
        hosts = {f"127.0.0.1:{self.server.server_port}", f"localhost:{self.server.server_port}"}
        is_ours = hmac.compare_digest(asked.get("token", "").encode(), self.server.token.encode())
        if self.headers.get("Host") not in hosts or not is_ours:
            self._answer(HTTPStatus.FORBIDDEN, b"this page needs the address that perflog printed\n", "text/plain")
            return
        try:
            self._answer(*self._content(address.path, asked))
        except UsageError as error:
            self._answer(HTTPStatus.BAD_REQUEST, str(error).encode("utf-8", "replace"), "text/plain")

    def _content(self, path: str, asked: Mapping[str, str]) -> tuple[HTTPStatus, bytes, str, dict[str, str]]:
        served = self.server.served
        version, seen = served.now()
        own = {"X-Version": str(version)}
        if path == "/":
            page = view_page(seen, served.language, (self.server.token, version))
            return HTTPStatus.OK, page, "text/html; charset=utf-8", own
        if path == "/numbers":
            return HTTPStatus.OK, _json(served.numbers(asked)), "application/json", own
        if path != "/data":
            return HTTPStatus.NOT_FOUND, b"", "text/plain", own
        if asked.get("version") == str(version):
            return HTTPStatus.NO_CONTENT, b"", "application/json", own
        return HTTPStatus.OK, _json(view_data(seen, served.language)), "application/json", own

    def _answer(self, status: HTTPStatus, content: bytes, kind: str, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**_HEADERS, "Content-Type": kind, **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Say nothing of each request: the token is in its address."""


class PageServer(ThreadingHTTPServer):
    """A server of the page on this machine's loopback address; its requests may run beside each other."""

    daemon_threads = True

    def __init__(self, served: Served, port: int = 0) -> None:
        """``port``: 0 for any that is free. Raises PerflogError when it is taken."""
        self.served, self.token = served, secrets.token_urlsafe(24)
        try:
            super().__init__(("127.0.0.1", port), Handler)
        except OSError as error:
            raise PerflogError(f"port {port}: {error.strerror}; leave out --port to take any that is free") from error

    @property
    def address(self) -> str:
        """The address of the page, with its token."""
        return f"http://127.0.0.1:{self.server_port}/?token={self.token}"


def _json(value: Any) -> bytes:
    return json_text(value, indent=None).encode("utf-8", "backslashreplace")


def serve(
    logs: Sequence[str], given: Mapping[str, Any], where: Mapping[str, str], language: str, port: int,
    say: Callable[[str], None],
) -> None:  # fmt: skip
    """Serve the page until it is interrupted.

    Args:
        say: is given the page's address.

    Raises:
        UsageError: when a path does not exist, or an option is not right.
        PerflogError: when the port is taken.
    """
    require_language(language)
    served = Served(logs, given, where, language)
    served.now()  # what is wrong is said before an address is
    with PageServer(served, port) as server:
        say(server.address)
        server.serve_forever()
