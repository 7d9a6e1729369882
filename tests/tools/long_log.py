"""One log of many gigabytes through a pipe: time, and memory over time.

``python -m tests.tools.long_log --gigabytes 50`` makes the log, gives it to ``perflog extract -`` and looks
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
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tests.tools.bench.lines import OTHER_LINES, _clock, _days, _pool, paddle_records

_LINES_AT_ONCE = 20_000
#: Which share of the lines are records: (so many, out of so many).
DENSE, SPARSE = (9, 10), (1, 1000)
#: So many rows of the table.
_ROWS = 10
#: So many digits of a whole number are printed at most.
_MOST_DIGITS = 11
Characters = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_SECOND = 1.0


def blocks(size: int, dense: bool) -> Iterator[bytes]:
    """The log in blocks of whole lines: at least ``size`` bytes.

    Its lines are those of :func:`tests.tools.bench.lines.mixed` and ``paddle_records``, made many at a time as a table
    of characters, (lines, widest), in which a zero stands for none: line by line they take ten times as long.
    """
    matching, out_of = DENSE if dense else SPARSE
    table, written, record, total = _Table(), 0, 0, 5.0
    for first in count(0, _LINES_AT_ONCE):
        if written >= size:
            return
        line = np.arange(first, first + _LINES_AT_ONCE)
        is_record = line % out_of < matching
        text = table.others[(line // 10 + line) % len(OTHER_LINES)]
        number = record + np.arange(np.count_nonzero(is_record))
        text[is_record], total = table.records(number, total)
        record += len(number)
        block = text[text != 0].tobytes()
        written += len(block)
        yield block


class _Table:
    """What the tables of lines are put together from."""

    def __init__(self) -> None:
        pool, self._shift = _pool(), random.Random("long").randrange(1_000_000)
        self._step_times = 10 * np.array(pool.step_times)
        self._days, self._clock, self._metrics, self._readers = map(
            _characters, (_days(), _clock(), pool.metrics, pool.readers)
        )
        self._width = max(map(len, (*OTHER_LINES, next(paddle_records(random.Random(0), 256))))) + _MOST_DIGITS
        self.others = np.array(OTHER_LINES, f"S{self._width}").view(np.uint8).reshape(-1, self._width)

    def records(self, number: Ints, total: float) -> tuple[Characters, float]:
        """The records of these numbers, (records, widest), and the seconds until the one after them."""
        step, place = 10 * (number + 1), number + self._shift
        totals = np.cumsum(np.append(total, self._step_times[place % 4093]))
        mean = totals[:-1] / step
        day, second = np.divmod(totals[:-1].astype(np.int64) + 74_746, 86_400)
        fields: list[str | Characters] = [
            "[", self._days[day], " ", self._clock[second], "] ppcls INFO: epoch:0   train step:", _digits(step, _MOST_DIGITS),
            "   ", self._metrics[place % 1021], " batch_cost: ", *_fixed(mean), " s, ", self._readers[place % 509],
            ", ips: ", *_fixed(256 / mean), " samples/sec.\n",
        ]  # fmt: skip
        text, end = np.zeros((len(number), self._width), np.uint8), 0
        for field in fields:
            characters = np.frombuffer(field.encode(), np.uint8) if isinstance(field, str) else field
            begin, end = end, end + characters.shape[-1]
            text[:, begin:end] = characters
        return text, float(totals[-1])


def _characters(texts: Sequence[str]) -> Characters:
    """Texts of one length, (texts, length)."""
    return np.array(texts, "S").view(np.uint8).reshape(len(texts), -1)


def _digits(values: Ints, most: int, least: int = 1) -> Characters:
    """Whole numbers of at most and at least so many digits, (values, most); zeros stand where there are none."""
    powers = 10 ** np.arange(most - 1, -1, -1)
    above = values[:, None] // powers
    return np.where((above > 0) | (powers < 10**least), above % 10 + ord("0"), 0).astype(np.uint8)


def _fixed(values: Floats) -> tuple[Characters, str, Characters]:
    """Numbers with five digits behind the point."""
    whole, part = np.divmod(np.rint(values * 1e5).astype(np.int64), 100_000)
    return _digits(whole, 3), ".", _digits(part, 5, 5)


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
