"""Extractions with the cache: the first, of unchanged logs, and where a few have changed: processor time, and the clock.

``python -m tests.tools.cached FOLDER`` makes 20,000 logs of 7 kB in 200 folders below FOLDER, once, and a cache beside
them; of each kind of extraction it prints the best and the worst processor time, and the best by the clock. Run it from a copy that nobody edits: a changed
file of perflog makes every log be read anew.
"""

from __future__ import annotations

import argparse
import os
import time
from functools import partial
from pathlib import Path

from tests.tools.bench import data
from tests.tools.spent import Spent, spent

#: Bytes of a log, and how many logs are changed.
_BYTES, _CHANGED = 6000, 5
#: Seconds after which a file that was written counts as settled.
_SETTLED = 2.5


def told(name: str, times: list[Spent]) -> str:
    """A row: the best processor time and its two parts, the worst, and the best by the clock."""
    best, worst = (choose(times, key=lambda spent: spent.processor) for choose in (min, max))
    parts = f"{best.processor:.2f} s ({best.own:.2f} and {best.system:.2f} of the system)"
    return f"| {name} | {parts} | {worst.processor:.2f} s | {min(spent.clock for spent in times):.2f} s |"


def change_some(logs: Path) -> None:
    """Write a line more into a few logs, and wait until they count as settled."""
    for file in sorted(logs.rglob("*.log"))[:: len(list(logs.rglob("*.log"))) // _CHANGED][:_CHANGED]:
        with file.open("a", encoding="utf-8") as log:
            log.write("one line more\n")
    time.sleep(_SETTLED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--times", type=int, default=6)
    chosen = parser.parse_args()
    data.SMALL_LOG_BYTES = _BYTES
    chosen.folder.mkdir(parents=True, exist_ok=True)
    logs = data.small_logs(chosen.folder, 1.0).path
    cases = str(chosen.folder / "cases.json")
    seconds = partial(spent, environment={**os.environ, "PERFLOG_CACHE": str(chosen.folder / "cache")})
    time.sleep(_SETTLED)
    words = ["extract", str(logs), "--cache", "-q", "-o", cases]
    print("| extraction | best | worst | by the clock |\n|---|--:|--:|--:|")
    print(told("first", [seconds(*words)]), flush=True)
    unchanged = [seconds(*words) for _ in range(chosen.times)]
    print(told("unchanged", unchanged), flush=True)
    changed = []
    for _ in range(3):
        change_some(logs)
        changed.append(seconds(*words))
    print(told(f"{_CHANGED} logs changed", changed), flush=True)
    rows = "label,precision,batch_size,nodes,devices"
    table = ["table", str(logs), "--rows", rows, "--cache", "-q", "-o", f"{cases}.csv"]
    seconds(*table)
    print(told("unchanged, `table`", [seconds(*table) for _ in range(3)]), flush=True)
    print(told("perflog's start (`perflog --version`)", [seconds("--version") for _ in range(3)]))


if __name__ == "__main__":
    main()
