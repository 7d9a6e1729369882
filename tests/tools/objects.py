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
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from tests.tools.bench.data import small_logs

_PAGE = 1_000
_REQUEST = re.compile(rb"(GET|HEAD) (\S+) HTTP/1\.1\r\n")
_RANGE = re.compile(rb"\r\n[Rr]ange: bytes=(\d+)-(\d+)\r\n")
_TIME = "2026-11-22T04:00:00.000Z", "Sun, 22 Nov 2026 04:00:00 GMT"


class Store:
    """The files of a folder as the objects of a bucket."""

    def __init__(self, folder: Path) -> None:
        files = sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())
        self._objects = {f"logs/{name}": (folder / name).read_bytes() for name in files}
        self._keys = sorted(self._objects)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                writer.write(self._answer(await reader.readuntil(b"\r\n\r\n")))
                await writer.drain()
        writer.close()

    def _answer(self, request: bytes) -> bytes:
        found = _REQUEST.match(request)
        if found is None:
            return b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n"
        target = urlsplit(found[2].decode())
        if "list-type" in target.query:
            return _message(200, self._listing(parse_qs(target.query)), b"application/xml")
        body = self._objects.get(unquote(target.path).removeprefix("/bucket/"))
        if body is None:
            return _message(404, b"<Error><Code>NoSuchKey</Code></Error>", b"application/xml")
        span, size = _RANGE.search(request), len(body)
        if span is not None:
            first, last = int(span[1]), min(int(span[2]), size - 1)
            more = f"Content-Range: bytes {first}-{last}/{size}\r\n".encode()
            return _message(206, body[first : last + 1], b"text/plain", more)
        return _message(200, b"" if found[1] == b"HEAD" else body, b"text/plain", size=size)

    def _listing(self, query: dict[str, list[str]]) -> bytes:
        prefix, start = query.get("prefix", [""])[0], int(query.get("continuation-token", ["0"])[0])
        keys = [key for key in self._keys if key.startswith(prefix)]
        page = keys[start : start + _PAGE]
        more = start + _PAGE < len(keys)
        entries = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>{_TIME[0]}</LastModified><ETag>&quot;one&quot;</ETag>"
            f"<Size>{len(self._objects[key])}</Size></Contents>"
            for key in page
        )
        token = f"<NextContinuationToken>{start + _PAGE}</NextContinuationToken>" if more else ""
        return f"<ListBucketResult><IsTruncated>{str(more).lower()}</IsTruncated>{token}{entries}</ListBucketResult>".encode()


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


async def _serve(folder: Path) -> None:
    server = await asyncio.start_server(Store(folder).serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def _extract(place: str, output: Path, environment: dict[str, str]) -> tuple[float, float]:
    """(seconds, processor seconds) of one extraction."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "perflog", "extract", place, "-f", "json", "-o", str(output), "-q"]
    status = subprocess.run(command, env=environment, check=False).returncode
    seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if status not in (0, 3):
        raise SystemExit(f"{' '.join(command)}: status {status}")
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(count: int, repeats: int, work: Path) -> None:
    """Write the logs, serve them, extract in turn, and print the table."""
    folder = small_logs(work, count / 20_000).path
    files = sum(1 for file in folder.rglob("*") if file.is_file())
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.tools.objects", "--serve", str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    try:
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}"
        keys = {"AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
        environment = {**os.environ, **keys}
        places = {"disk": str(folder), "object store": "s3://bucket/logs/"}
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in places}
        for _ in range(repeats):
            for name, place in places.items():
                taken[name].append(_extract(place, work / f"{name.split()[0]}.json", environment))
    finally:
        server.terminate()
        server.wait()
    print(f"{files} logs of 100 kB, least of {repeats}\n\n| from | seconds | logs a second | processor seconds |")
    print("|---|--:|--:|--:|")
    for name, times in taken.items():
        seconds, processor = min(t[0] for t in times), min(t[1] for t in times)
        print(f"| {name} | {seconds:.1f} | {files / seconds:,.0f} | {processor:.1f} |")


def main() -> None:
    """Compare, or serve a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--serve", type=Path)
    given = parser.parse_args()
    if given.serve is not None:
        asyncio.run(_serve(given.serve))
        return
    with tempfile.TemporaryDirectory() as work:
        compare(given.count, given.repeats, Path(work))


if __name__ == "__main__":
    main()
