"""Zips of very many members through the command: ``python -m tests.tools.many_members --members 100000``.

Half as many members and all of them: texts of no known format, logs of trainings, and of each the same number in turn.
Processor time and peak memory of ``perflog extract``, and what each further member takes. Exit status 1 where the
second half takes more than 1.5 times what the first takes, or a member more than 10 kB.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import zipfile
from pathlib import Path

from tests.tools.spent import spent

NOTE = b"a note of no known format\n"
STEP = (
    "2021-05-31 18:00:%02d [INFO]\t[TRAIN] epoch: 1, iter: %d/400, loss: 2.61, lr: 0.009095, batch_cost: 0.04, "
    "reader_cost: 0.001, ips: %.3f samples/sec | ETA 00:02:07\n"
)
#: Of how many members one is a log, by what the table calls them; 0: none.
KINDS = {"texts": 0, "logs": 1, "texts and logs in turn": 2}
#: What a further member may take, and how much more than the first half the second may.
MOST_BYTES, MOST_RATIO = 10_000, 1.5


def log(number: int) -> bytes:
    """A log of 15 records with numbers of its own."""
    return "".join(STEP % (step * 4, step * 10, 100 + number % 977 / 1000 + step) for step in range(1, 15)).encode()


def archive(file: Path, members: int, every: int) -> None:
    """Write a zip of so many members, each in a folder of its own; every so many-th is a log (0: none is)."""
    with zipfile.ZipFile(file, "w") as target:
        for number in range(members):
            target.writestr(f"run{number}/a.log", log(number) if every and number % every == 0 else NOTE)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=100_000)
    parser.add_argument("--kind", choices=KINDS, action="append", help="these kinds of members alone")
    given = parser.parse_args()
    members, kinds = given.members, given.kind or list(KINDS)
    failed = False
    print("| members | seconds | MB | a further member | the second half's share |\n|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as scratch:
        for kind in kinds:
            costs = []
            for count in (1, members // 2, members):
                file = Path(scratch) / f"{count}.zip"
                archive(file, count, KINDS[kind])
                cost = spent("extract", str(file), "-q", "-f", "json", "-o", f"{file}.json")
                costs.append((cost.processor, cost.memory))
                file.unlink()
            (start, _), (half, half_bytes), (whole, whole_bytes) = costs
            each = (whole_bytes - half_bytes) / (members - members // 2)
            ratio = (whole - half) / (half - start)
            failed = failed or ratio > MOST_RATIO or each > MOST_BYTES
            print(
                f"| {members} {kind} | {whole:.1f} | {whole_bytes / 1e6:.0f} | {each:.0f} bytes | {ratio:.2f} times the first's |"
            )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
