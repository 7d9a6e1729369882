"""Gigabytes of other lines change nothing: ``python -m tests.tools.noise --gigabytes 1``.

A fixture's lines with other lines in front, in the middle and behind, as one log and in .gz and .zst, against the
fixture alone. Exit status 1 where a number, a fact or a note differs.
"""

from __future__ import annotations

import argparse
import gzip
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import zstandard

from tests.pipeline.test_independence import NOISE, result
from tests.support import FIXTURES

LINES_AT_ONCE = 10_000
LOG = FIXTURES / "parsers/paddleclas/static.log"


def noisy(log: Path, size: int) -> Iterator[bytes]:
    """The log's lines with a third of the noise in front of them, in their middle and behind them.

    The other lines come in random order: a text that packs a thousand times smaller is refused as no log can be.
    """
    lines = log.read_bytes().splitlines(keepends=True)
    rng = random.Random("noise")
    middle = len(lines) // 2
    for part in ([], lines[:middle], lines[middle:]):
        yield b"".join(part)
        written = 0
        while written < size // 3:
            block = b"".join(rng.choices(NOISE, k=LINES_AT_ONCE))
            written += len(block)
            yield block


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    size = int(parser.parse_args().gigabytes * 1e9)
    alone = result(LOG)[0][str(LOG)]
    failures = 0
    with tempfile.TemporaryDirectory(prefix="perflog-") as name:
        for number, ending in enumerate(("", ".gz", ".zst")):
            copy = Path(name) / str(number) / f"{LOG.relative_to(FIXTURES)}{ending}"
            copy.parent.mkdir(parents=True)
            with copy.open("wb") as file:
                out: Any = file
                if ending == ".gz":
                    out = gzip.GzipFile(fileobj=file, mode="wb", compresslevel=1)
                if ending == ".zst":
                    out = zstandard.ZstdCompressor(1).stream_writer(file, closefd=False)
                for block in noisy(LOG, size):
                    out.write(block)
                if out is not file:
                    out.close()
            same = list(result(copy)[0].values()) == [alone]
            failures += not same
            print(
                f"{ending or 'plain'}, {copy.stat().st_size:,} bytes: {'the same' if same else 'DIFFERENT'}", flush=True
            )
            shutil.rmtree(copy.parents[2])
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
