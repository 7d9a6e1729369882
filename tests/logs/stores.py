"""A real S3 server on the loopback address, a faulty proxy before it, and objects in it."""

from __future__ import annotations

import logging
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import quote

import pytest

KEY, SECRET = "AKIDOFTHETEST", "secretofthetest"
#: What must not say anything in a test of stores, though the machine may set it.
_CLOUDS = ("AWS_", "GOOGLE_", "AZURE_", "PERFLOG_STORE", "PERFLOG_ANONYMOUS")


@contextmanager
def s3_server() -> Iterator[str]:
    """The address of an S3 server (moto's), which runs in a thread."""
    server = pytest.importorskip("moto.server")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    try:
        yield f"http://{host}:{port}"
    finally:
        running.stop()


def put(url: str, bucket: str, key: str, body: bytes) -> None:
    """Put an object into a bucket, which is made where it is not there."""
    _client(url, bucket).put(key, body)


def delete(url: str, bucket: str, key: str) -> None:
    """Take an object out of a bucket."""
    _client(url, bucket).delete(key)


def put_folder(url: str, bucket: str, folder: Path, prefix: str) -> None:
    """Put all files of a folder below a prefix."""
    client = _client(url, bucket)
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            client.put(f"{prefix}/{file.relative_to(folder).as_posix()}", file.read_bytes())


def put_raw(url: str, bucket: str, key: str) -> None:
    """Put an empty object whose key no folder's file could have, such as one that ends in a slash."""
    _client(url, bucket)
    urllib.request.urlopen(urllib.request.Request(f"{url}/{bucket}/{quote(key)}", b"", method="PUT")).close()


def _client(url: str, bucket: str) -> Any:
    """A client of a bucket, which is made where it is not there."""
    with suppress(urllib.error.HTTPError):  # it is there
        urllib.request.urlopen(urllib.request.Request(f"{url}/{bucket}", b"", method="PUT")).close()
    store = pytest.importorskip("obstore.store").S3Store
    keys = {"access_key_id": KEY, "secret_access_key": SECRET, "region": "us-east-1"}
    return store(bucket, endpoint=url, client_options={"allow_http": True}, **keys)


@contextmanager
def served(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a web server, which runs in a thread."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = Thread(target=running.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


class RangesOf(BaseHTTPRequestHandler):
    """Gives ranges of a text that is made up on the fly: as many lines as the path's number says."""

    protocol_version = "HTTP/1.1"
    line = b"filler of a line that no parser knows, 63 characters and an end"

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        size = (len(self.line) + 1) * int(self.path.strip("/").partition(".")[0])
        first, end = 0, size
        if span := self.headers.get("Range", ""):
            low, high = span.removeprefix("bytes=").split("-")
            first, end = int(low), int(high) + 1
        self.send_response(206 if span else 200)
        if span:
            self.send_header("Content-Range", f"bytes {first}-{end - 1}/{size}")
        self.send_header("Content-Length", str(end - first))
        self.send_header("ETag", '"one"')
        self.end_headers()
        line = self.line + b"\n"
        start = first - first % len(line)
        with suppress(BrokenPipeError, ConnectionResetError):  # only the beginning was wanted
            for place in range(start, end, 1 << 20):
                piece = line * ((1 << 20) // len(line))
                self.wfile.write(piece[max(first - place, 0) : end - place])


def use(monkeypatch: pytest.MonkeyPatch, url: str, home: Path, **more: str) -> None:
    """Let perflog ask the server at ``url`` with keys, and know nothing of this machine's own settings."""
    for name in list(os.environ):
        if name.startswith(_CLOUDS):
            monkeypatch.delenv(name)
    values: dict[str, Any] = {
        "AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "HOME": str(home),
        "PERFLOG_STORE_RETRIES": "1", **more,
    }  # fmt: skip
    for name, value in values.items():
        monkeypatch.setenv(name, value)
