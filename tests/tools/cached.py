"""Extractions with the cache: the first, of unchanged logs, and where a few have changed, by processor time.

``python -m tests.tools.cached FOLDER`` makes 20,000 logs of 7 kB in 200 folders below FOLDER, once, and a cache beside
them; of each kind of extraction it prints the best and the worst time. Run it from a copy that nobody edits: a changed
file of perflog makes every log be read anew.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.tools.bench import data

#: Bytes of a log, and how many logs are changed.
_BYTES, _CHANGED = 6000, 5
#: Seconds after which a file that was written counts as settled.
_SETTLED = 2.5


def seconds(*words: str, cache: Path) -> tuple[float, float]:
    """(processor time of the command's own code, of the system for it) in seconds, with all its processes."""
    command = [sys.executable, "-m", "perflog", *words]
    process = subprocess.Popen(command, env={**os.environ, "PERFLOG_CACHE": str(cache)}, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime, used.ru_stime


def told(name: str, times: list[tuple[float, float]]) -> str:
    """A row: the best and the worst sum, and the two parts of the best."""
    best, worst = min(times, key=sum), max(times, key=sum)
    return f"| {name} | {sum(best):.2f} s ({best[0]:.2f} and {best[1]:.2f} of the system) | {sum(worst):.2f} s |"


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
    cache, cases = chosen.folder / "cache", str(chosen.folder / "cases.json")
    time.sleep(_SETTLED)
    words = ["extract", str(logs), "--cache", "-q", "-o", cases]
    print("| extraction | best | worst |\n|---|--:|--:|")
    print(told("first", [seconds(*words, cache=cache)]), flush=True)
    unchanged = [seconds(*words, cache=cache) for _ in range(chosen.times)]
    print(told("unchanged", unchanged), flush=True)
    changed = []
    for _ in range(3):
        change_some(logs)
        changed.append(seconds(*words, cache=cache))
    print(told(f"{_CHANGED} logs changed", changed), flush=True)
    table = ["table", str(logs), "--rows", "label,nodes,devices", "--cache", "-q", "-o", f"{cases}.csv"]
    seconds(*table, cache=cache)
    print(told("unchanged, `table`", [seconds(*table, cache=cache) for _ in range(3)]), flush=True)
    print(told("perflog's start (`perflog --version`)", [seconds("--version", cache=cache) for _ in range(3)]))


if __name__ == "__main__":
    main()
