"""Zips of very many members through the command: ``python -m tests.tools.many_members --members 100000``.

Half as many members and all of them, once texts of no known format and once logs of trainings: processor time and peak
memory of ``perflog extract``, and what each further member takes. Exit status 1 where the second half takes more than
1.5 times what the first takes, or a member more than 10 kB.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

NOTE = b"a note of no known format\n"
STEP = (
    "2021-05-31 18:00:%02d [INFO]\t[TRAIN] epoch: 1, iter: %d/400, loss: 2.61, lr: 0.009095, batch_cost: 0.04, "
    "reader_cost: 0.001, ips: %.3f samples/sec | ETA 00:02:07\n"
)
#: What a further member may take, and how much more than the first half the second may.
MOST_BYTES, MOST_RATIO = 10_000, 1.5


def log(number: int) -> bytes:
    """A log of 15 records with numbers of its own."""
    return "".join(STEP % (step * 4, step * 10, 100 + number % 977 / 1000 + step) for step in range(1, 15)).encode()


def archive(file: Path, members: int, is_log: bool) -> None:
    """Write a zip of so many members, each in a folder of its own."""
    with zipfile.ZipFile(file, "w") as target:
        for number in range(members):
            target.writestr(f"run{number}/a.log", log(number) if is_log else NOTE)


def cost(file: Path) -> tuple[float, int]:
    """(seconds of processor time, peak memory in bytes) of an extraction."""
    words = [sys.executable, "-m", "perflog", "extract", str(file), "-q", "-f", "json", "-o", str(file) + ".json"]
    process = subprocess.Popen(words)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 3):
        raise SystemExit(f"perflog ended with status {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=100_000)
    members = parser.parse_args().members
    failed = False
    print("| members | seconds | MB | a further member | the second half's share |\n|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as scratch:
        for is_log in (False, True):
            costs = []
            for count in (1, members // 2, members):
                file = Path(scratch) / f"{count}.zip"
                archive(file, count, is_log)
                costs.append(cost(file))
                file.unlink()
            (start, _), (half, half_bytes), (whole, whole_bytes) = costs
            each = (whole_bytes - half_bytes) / (members - members // 2)
            ratio = (whole - half) / (half - start)
            failed = failed or ratio > MOST_RATIO or each > MOST_BYTES
            words = f"{members} {'logs' if is_log else 'texts'}"
            print(
                f"| {words} | {whole:.1f} | {whole_bytes / 1e6:.0f} | {each:.0f} bytes | {ratio:.2f} times the first's |"
            )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
