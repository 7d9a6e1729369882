"""How fast logs of 100 kB are read from an object store, against the same logs on disk.

``python -m tests.tools.objects --count 2000`` writes the logs, serves them over the loopback address by a small server
that speaks S3 (a process of its own, which answers out of memory), and extracts from both places in turn. Seconds are
those of the clock; processor seconds are perflog's alone, without the server's, which shares the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Protocol
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from tests.tools.bench.data import small_logs
from tests.tools.spent import Spent, spent

#: So many objects are listed at once.
PAGE = 1_000
_REQUEST = re.compile(rb"(GET|HEAD) (\S+) HTTP/1\.1\r\n")
_RANGE = re.compile(rb"\r\n[Rr]ange: bytes=(\d+)-(\d+)\r\n")
_TIME = "2026-11-22T04:00:00.000Z", "Sun, 22 Nov 2026 04:00:00 GMT"


class Bucket(Protocol):
    """What a server gives as the objects of a bucket, by their keys."""

    def page(self, prefix: str, start: int) -> tuple[list[tuple[str, int]], bool]:
        """(keys and sizes from the ``start``th below a prefix, at most :data:`PAGE`; whether there are more)."""

    def body(self, key: str) -> bytes | None:
        """The bytes of an object; None where there is none."""


class Files:
    """The files of a folder, below ``logs/``."""

    def __init__(self, folder: Path) -> None:
        files = sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())
        self._objects = {f"logs/{name}": (folder / name).read_bytes() for name in files}
        self._keys = sorted(self._objects)

    def page(self, prefix: str, start: int) -> tuple[list[tuple[str, int]], bool]:
        """As :meth:`Bucket.page` says."""
        keys = [key for key in self._keys if key.startswith(prefix)]
        return [(key, len(self._objects[key])) for key in keys[start : start + PAGE]], start + PAGE < len(keys)

    def body(self, key: str) -> bytes | None:
        """As :meth:`Bucket.body` says."""
        return self._objects.get(key)


async def serve(bucket: Bucket) -> None:
    """Serve a bucket for ever, on a free port of the loopback address, which is printed."""
    server = await asyncio.start_server(partial(_talk, bucket), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def _talk(bucket: Bucket, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection."""
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            writer.write(_answer(bucket, await reader.readuntil(b"\r\n\r\n")))
            await writer.drain()
    writer.close()


def _answer(bucket: Bucket, request: bytes) -> bytes:
    found = _REQUEST.match(request)
    if found is None:
        return b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n"
    target = urlsplit(found[2].decode())
    if "list-type" in target.query:
        return _message(200, _listing(bucket, parse_qs(target.query)), b"application/xml")
    body = bucket.body(unquote(target.path).removeprefix("/bucket/"))
    if body is None:
        return _message(404, b"<Error><Code>NoSuchKey</Code></Error>", b"application/xml")
    span, size = _RANGE.search(request), len(body)
    if span is not None:
        first, last = int(span[1]), min(int(span[2]), size - 1)
        more = f"Content-Range: bytes {first}-{last}/{size}\r\n".encode()
        return _message(206, body[first : last + 1], b"text/plain", more)
    return _message(200, b"" if found[1] == b"HEAD" else body, b"text/plain", size=size)


def _listing(bucket: Bucket, query: dict[str, list[str]]) -> bytes:
    start = int(query.get("continuation-token", ["0"])[0])
    page, more = bucket.page(query.get("prefix", [""])[0], start)
    entries = "".join(
        f"<Contents><Key>{escape(key)}</Key><LastModified>{_TIME[0]}</LastModified><ETag>&quot;one&quot;</ETag>"
        f"<Size>{size}</Size></Contents>"
        for key, size in page
    )
    token = f"<NextContinuationToken>{start + PAGE}</NextContinuationToken>" if more else ""
    return (
        f"<ListBucketResult><IsTruncated>{str(more).lower()}</IsTruncated>{token}{entries}</ListBucketResult>".encode()
    )


def _message(status: int, body: bytes, kind: bytes, more: bytes = b"", size: int | None = None) -> bytes:
    head = f'HTTP/1.1 {status} X\r\nContent-Length: {len(body) if size is None else size}\r\nETag: "one"\r\n'
    return (
        head.encode()
        + f"Last-Modified: {_TIME[1]}\r\n".encode()
        + b"Content-Type: "
        + kind
        + b"\r\n"
        + more
        + b"\r\n"
        + body
    )


@contextmanager
def server_of(*words: str) -> Iterator[dict[str, str]]:
    """A server in a process of its own; the environment in which perflog asks it.

    Args:
        words: what this Python runs, and which prints the port: ``-m``, a module, and its arguments.
    """
    with subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            url = f"http://127.0.0.1:{server.stdout.readline().strip()}"
            keys = {"AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
            yield {**os.environ, **keys}
        finally:
            server.terminate()


def compare(count: int, repeats: int, work: Path) -> None:
    """Write the logs, serve them, extract in turn, and print the table."""
    folder = small_logs(work, count / 20_000).path
    files = sum(1 for file in folder.rglob("*") if file.is_file())
    places = {"disk": str(folder), "object store": "s3://bucket/logs/"}
    taken: dict[str, list[Spent]] = {name: [] for name in places}
    with server_of("-m", "tests.tools.objects", "--serve", str(folder)) as environment:
        for _ in range(repeats):
            for name, place in places.items():
                output = str(work / f"{name.split()[0]}.json")
                taken[name].append(spent("extract", place, "-f", "json", "-o", output, "-q", environment=environment))
    print(f"{files} logs of 100 kB, least of {repeats}\n\n| from | seconds | logs a second | processor seconds |")
    print("|---|--:|--:|--:|")
    for name, times in taken.items():
        seconds, processor = min(t.clock for t in times), min(t.processor for t in times)
        print(f"| {name} | {seconds:.1f} | {files / seconds:,.0f} | {processor:.1f} |")


def main() -> None:
    """Compare, or serve a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--serve", type=Path)
    given = parser.parse_args()
    if given.serve is not None:
        asyncio.run(serve(Files(given.serve)))
        return
    with tempfile.TemporaryDirectory() as work:
        compare(given.count, given.repeats, Path(work))


if __name__ == "__main__":
    main()
