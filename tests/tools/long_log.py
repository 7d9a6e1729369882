"""One log of many gigabytes through a pipe: time, and memory over time.

``python -m tests.tools.long_log --gigabytes 50`` makes the log line by line, gives it to ``perflog extract -`` and looks
at that process's memory every second; nothing of the log is ever on disk. ``--dense`` makes nine lines in ten a record
in place of one in a thousand: perflog then keeps the measurements in a temporary file, whose size is told too.
``--write`` makes the log alone: ``python -m tests.tools.long_log --gigabytes 50 --write | perflog extract -``.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from tests.tools.bench.lines import mixed, paddle_records

_LINES_AT_ONCE = 20_000
#: Which share of the lines are records: (so many, out of so many).
DENSE, SPARSE = (9, 10), (1, 1000)
#: So many rows of the table.
_ROWS = 10
_SECOND = 1.0


def blocks(size: int, dense: bool) -> Iterator[bytes]:
    """The log in blocks of whole lines: at least ``size`` bytes."""
    lines = mixed(paddle_records(random.Random("long"), batch_size=256), *(DENSE if dense else SPARSE))
    written = 0
    while written < size:
        block = "".join(islice(lines, _LINES_AT_ONCE)).encode("ascii")
        written += len(block)
        yield block


def memory_of(process: int) -> tuple[int, int]:
    """(bytes in memory, bytes of the open files that have no name) of a process; zeros once it has ended."""
    resident = unnamed = 0
    with suppress(OSError):
        match = re.search(r"VmRSS:\s*(\d+) kB", Path(f"/proc/{process}/status").read_text(encoding="utf-8"))
        resident = int(match[1]) << 10 if match else 0
    with suppress(OSError):
        for file in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):
                if file.readlink().name.endswith(" (deleted)"):
                    unnamed += file.stat().st_size
    return resident, unnamed


def measure(size: int, dense: bool) -> int:
    """Make the log, let perflog read it, and print what it took; perflog's exit status."""
    begin = time.perf_counter()
    command = [sys.executable, "-m", "perflog", "extract", "-", "-f", "csv", "--quiet"]
    reading = subprocess.Popen(command, stdin=subprocess.PIPE)
    assert reading.stdin is not None
    samples: list[tuple[float, int, int, int]] = []
    written, due = 0, 0.0
    for block in blocks(size, dense):
        reading.stdin.write(block)
        written += len(block)
        now = time.perf_counter() - begin
        if now >= due:
            samples.append((now, written, *memory_of(reading.pid)))
            due = now + _SECOND
    reading.stdin.close()
    samples.append((time.perf_counter() - begin, written, *memory_of(reading.pid)))
    _, status, used = os.wait4(reading.pid, 0)
    seconds = time.perf_counter() - begin
    print("\n| seconds | GB read | MB in memory | MB in temporary files |\n|--:|--:|--:|--:|")
    step = max(1, len(samples) // _ROWS)
    for second, read, resident, unnamed in [*samples[::step][:_ROWS], samples[-1]]:
        print(f"| {second:.0f} | {read / 1e9:.1f} | {resident / 1e6:.0f} | {unnamed / 1e6:.0f} |")
    processor = used.ru_utime + used.ru_stime
    print(
        f"\n{written / 1e9:.1f} GB in {seconds:.0f} s, {processor:.0f} s of processor time for perflog "
        f"({written / processor / 1e6:.0f} MB a second), at most {used.ru_maxrss * 1024 / 1e6:.0f} MB in memory"
    )
    return os.waitstatus_to_exitcode(status)


def main() -> int:
    """Measure, or write the log alone."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--dense", action="store_true")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    size = int(given.gigabytes * 1e9)
    if not given.write:
        return measure(size, given.dense)
    with suppress(BrokenPipeError):
        for block in blocks(size, given.dense):
            sys.stdout.buffer.write(block)
    return 0


if __name__ == "__main__":
    sys.exit(main())
