"""Time and memory of very many small logs: ``python -m tests.tools.million --counts 10000,100000,1000000``.

A server in a process of its own makes up an object store as it is asked: each log of 3 to 30 kB follows from its number
alone, so nothing is kept, on disk or in memory. The logs are read as one machine reads them (``perflog extract``) and as
shares (``--shares 4``: four parts, one after the other, and their merge), each in a process of its own, whose processor
time and largest memory the kernel counts. The time of the server, which shares the machine, is not in them.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from tests.tools.bench.data import CASES
from tests.tools.bench.lines import mixed, ngc_records, paddle_records
from tests.tools.objects import PAGE, serve, server_of

SMALLEST, LARGEST = 3_000, 30_000
REPEATS = 10
_CASES = sorted(CASES)
#: Jobs are named by letters: a number in a folder's name may count repeats.
_LETTERS, _DIGITS = str.maketrans("0123456789", "abcdefghij"), str.maketrans("abcdefghij", "0123456789")
_PER_JOB = REPEATS * len(_CASES)
#: Bytes of a line that is no shorter than most.
_WIDEST_PADDLE, _WIDEST_NGC = 206, 126
_KEY = re.compile(r"logs/([a-j]{6})/([0-9a-z]+)/rn50_b32_fp32_([0-9])\.log")


class MadeUp:
    """So many logs: ten repeats of each case of as many jobs as it takes, whose logs are of two formats in turn."""

    def __init__(self, count: int) -> None:
        self._count = count

    def page(self, prefix: str, start: int) -> tuple[list[tuple[str, int]], bool]:
        """As :meth:`tests.tools.objects.Bucket.page` says."""
        if not "logs/".startswith(prefix):
            return [], False
        end = min(start + PAGE, self._count)
        return [(key_of(number), size_of(number)) for number in range(start, end)], end < self._count

    def body(self, key: str) -> bytes | None:
        """As :meth:`tests.tools.objects.Bucket.body` says."""
        match = _KEY.fullmatch(key)
        if match is None or match[2] not in _CASES:
            return None
        number = int(match[1].translate(_DIGITS)) * _PER_JOB + _CASES.index(match[2]) * REPEATS + int(match[3])
        return text_of(number) if number < self._count else None


def key_of(number: int) -> str:
    """The key of a log; keys are in the order of the numbers, as a store lists them."""
    job, rest = divmod(number, _PER_JOB)
    name = f"{job:06}".translate(_LETTERS)
    return f"logs/{name}/{_CASES[rest // REPEATS]}/rn50_b32_fp32_{rest % REPEATS}.log"


def size_of(number: int) -> int:
    """The size of a log in bytes: that of all repeats of its case, evenly spread over the cases."""
    return SMALLEST + number // REPEATS * 7_919 % (LARGEST - SMALLEST)


def text_of(number: int) -> bytes:
    """A log: records and other lines, as many in each repeat of a case, and a last line that fills it to its size."""
    rng, size = random.Random(number), size_of(number)
    nodes, devices = _CASES[number % _PER_JOB // REPEATS].removesuffix("g").split("n")
    is_paddle = number // _PER_JOB % 2 == 0
    records = paddle_records(rng, 32) if is_paddle else ngc_records(rng, 32 * int(nodes) * int(devices))
    lines = islice(mixed(records, 9, 10), size // (_WIDEST_PADDLE if is_paddle else _WIDEST_NGC) - 1)
    text = f"Corrupt JPEG data: {number} extraneous bytes before marker 0xd9\n" + "".join(lines)
    return (text + "#" * (size - 1 - len(text)) + "\n").encode("ascii")


@dataclass(frozen=True, slots=True)
class Used:
    """What a command took: seconds by the clock, seconds of processor time, and the most bytes in memory."""

    seconds: float
    processor: float
    memory: int


def run(environment: dict[str, str], *words: str) -> Used:
    """Run a perflog command quietly, and count what it takes."""
    begin = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "perflog", *words, "--quiet"], env=environment)
    _, status, used = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"perflog {' '.join(words)}: status {os.waitstatus_to_exitcode(status)}")
    return Used(time.perf_counter() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss << 10)


def measure(count: int, shares: int, whole: bool, folder: Path) -> None:
    """Read so many logs, and print a row for each command."""
    with server_of("-m", "tests.tools.million", "--serve", str(count)) as environment:
        place, one, merged = ("s3://bucket/logs/", "--warmup", "10"), folder / "one.json", folder / "merged.json"
        if whole:
            _row(count, "extract", run(environment, "extract", *place, "-f", "json", "-o", str(one)), one)
        parts = [folder / f"part{number}.parquet" for number in range(1, shares + 1)]
        for number, part in enumerate(parts, 1):
            used = run(environment, "extract", *place, "--shard", f"{number}/{shares}", "-o", str(part))
            _row(count, f"share {number}/{shares}", used, part)
    if parts:
        _row(count, "merge", run(environment, "merge", *map(str, parts), "-f", "json", "-o", str(merged)), merged)
    if parts and whole and one.read_bytes() != merged.read_bytes():
        raise SystemExit("the merge is not what one machine gives")


def _row(count: int, command: str, used: Used, file: Path) -> None:
    print(
        f"| {count:,} | {command} | {used.seconds:.1f} | {used.processor:.1f} | {1e6 * used.processor / count:.0f} | "
        f"{used.memory / 1e6:.0f} | {file.stat().st_size / count:.0f} |",
        flush=True,
    )


def main() -> None:
    """Measure, or serve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", default="1000,10000")
    parser.add_argument("--shares", type=int, default=0, help="also read as so many shares, and merge them")
    parser.add_argument("--only-shares", action="store_true", help="do not read as one machine does")
    parser.add_argument("--serve", type=int)
    given = parser.parse_args()
    if given.serve is not None:
        asyncio.run(serve(MadeUp(given.serve)))
        return
    print("| logs | command | seconds | processor s | µs a log | MB of memory | bytes written a log |")
    print("|--:|---|--:|--:|--:|--:|--:|")
    for count in map(int, given.counts.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            measure(count, given.shares, not given.only_shares, Path(folder))


if __name__ == "__main__":
    main()
