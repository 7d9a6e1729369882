"""Made logs of training loops, read by perflog and judged: ``python -m tests.tools.loops --count 10000 --seed 1``.

Prints a table: of each class how many logs got the truth, a reason, or a wrong number. Each wrong one is listed with its
index, its truth and what was given. Exit status 1 where more than 0.1 % are wrong or invented.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from tests.tools.loops.judge import TOGETHER, Tally, judged, judged_list, made
from tests.tools.loops.kinds import CLASSES

#: More wrong ones than this share are a failure.
MOST_WRONG = 0.001


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help="how many logs (default: 10000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the index of the first log")
    parser.add_argument("--kind", choices=sorted(CLASSES), help="logs of one class alone")
    parser.add_argument("--keep", type=Path, help="a folder to write the logs into")
    parser.add_argument("--show", type=int, metavar="N", help="print log N, its truth, and what perflog says of it")
    parser.add_argument(
        "--reasons", action="store_true", help="count the reasons of logs that hold a number and got none"
    )
    parser.add_argument("--processes", type=int, default=1)
    return parser.parse_args()


def main() -> int:
    given = arguments()
    if given.show is not None:
        return show(given.seed, given.show, given.kind)
    began, tally, reasons = time.monotonic(), Tally(), Counter[str]()
    batches = [
        range(first, min(first + TOGETHER, given.first + given.count))
        for first in range(given.first, given.first + given.count, TOGETHER)
    ]
    work = partial(judged_list, given.seed, given.kind, given.keep)
    with ProcessPoolExecutor(given.processes, get_context("spawn")) as pool:
        for batch in pool.map(work, batches) if given.processes > 1 else map(work, batches):
            for one in batch:
                tally.add(one)
                if one.verdict == "refused" and one.log.truth.holds == "yes":
                    reasons[f"{one.log.kind}: {_alike(one.reason)}"] += 1
    kind = f" --kind '{given.kind}'" if given.kind else ""
    for one in tally.bad:
        print(
            f"{one.verdict}: --seed {given.seed} --show {one.index}{kind} ({one.log.kind}): given {one.given}; {one.log.truth}"
        )
    if given.reasons:
        print("\n".join(f"{count:6d}  {reason}" for reason, count in reasons.most_common(60)))
    print("\n".join(tally.table()))
    print(f"of {tally.must.total()} logs whose lines leave one meaning alone {tally.must['right']} are right")
    print(f"seed {given.seed}, {tally.logs} logs in {time.monotonic() - began:.0f} s")
    return 1 if len(tally.bad) > MOST_WRONG * tally.logs else 0


def _alike(reason: str) -> str:
    """A reason without its numbers."""
    return "".join("0" if letter.isdigit() else letter for letter in reason)[:150]


def show(seed: int, index: int, kind: str | None) -> int:
    """Print a log with its truth, what was drawn for it, and what perflog says."""
    log = made(seed, index, kind)
    print(log.text, end="")
    print("-" * 60)
    (one,) = judged(seed, [index], kind)
    print("\n".join(f"{name}: {value}" for name, value in log.chosen.items()))
    print("-" * 60)
    print(f"{log.kind}: {log.truth}\n{one.verdict}: {one.given or one.reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
