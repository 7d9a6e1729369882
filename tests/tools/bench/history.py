"""Times the history with many campaigns, on SQLite and on a PostgreSQL of its own; prints a Markdown table.

    python -m tests.tools.bench.history [--campaigns 1000] [--cases 100] [--runs 5]

Loading is timed in new processes too, as a user meets it: starting Python and importing libraries counts there.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from perflog.history import campaigns, load, save, series
from tests import postgresql
from tests.extractions import campaign

BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
LOAD = (
    "import sys; from perflog.history import load; "
    "print(sum(len(load(sys.argv[1], label).extraction.runs) for label in sys.argv[2:]))"
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Times the history.")
    for name, default in (("campaigns", 1000), ("cases", 100), ("runs", 5), ("repeats", 7)):
        parser.add_argument(f"--{name}", type=int, default=default)
    chosen = parser.parse_args()
    columns: dict[str, dict[str, str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "history.sqlite"
        columns["SQLite"] = _times(str(file), chosen)
        columns["SQLite"]["size"] = f"{file.stat().st_size / 1e6:.0f} MB"
    with postgresql.server() as socket:
        if socket is None:
            print(postgresql.MISSING, file=sys.stderr)
        else:
            columns["PostgreSQL"] = _times(postgresql.create(socket, "history"), chosen)
    print(
        f"{chosen.campaigns:,} campaigns × {chosen.cases} cases × {chosen.runs} runs; medians of {chosen.repeats}; {os.cpu_count()} shared cores, Python {platform.python_version()}\n"
    )
    print(f"| | {' | '.join(columns)} |\n|---|{'--:|' * len(columns)}")
    for row in dict.fromkeys(row for column in columns.values() for row in column):
        print(f"| {row} | {' | '.join(column.get(row, '') for column in columns.values())} |")


def _times(database: str, chosen: argparse.Namespace) -> dict[str, str]:
    took = []
    for number in range(chosen.campaigns):
        made = campaign(chosen.cases, chosen.runs, number, f"2.{number}")
        began = time.perf_counter()
        save(database, made, f"v2.{number}", BEGIN + timedelta(days=number))
        took.append(time.perf_counter() - began)
    middle = chosen.campaigns // 2
    two = [f"v2.{middle}", f"v2.{middle + 1}"]

    def repeated(work: Callable[[], Any]) -> str:
        times = []
        for _ in range(chosen.repeats):
            began = time.perf_counter()
            work()
            times.append(time.perf_counter() - began)
        return f"{statistics.median(times):.2f} s"

    def process() -> None:
        done = subprocess.run([sys.executable, "-c", LOAD, database, *two], capture_output=True, text=True, check=True)
        assert int(done.stdout) == 2 * chosen.cases * chosen.runs

    def compare() -> None:
        command = [sys.executable, "-m", "perflog", "compare", *two, "--database", database, "-f", "json", "-q"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert len(json.loads(done.stdout)["comparisons"][0]["rows"]) == chosen.cases

    return {
        "save one campaign, the first hundred": f"{statistics.median(took[:100]):.2f} s",
        "save one campaign, the last hundred": f"{statistics.median(took[-100:]):.2f} s",
        "load two labels": repeated(lambda: [load(database, label) for label in two]),
        "load two labels, as a process": repeated(process),
        "`perflog compare` of two labels": repeated(compare),
        "list all campaigns": repeated(lambda: campaigns(database)),
        "one case's series over all": repeated(
            lambda: series(database, {"model": "rn50", "devices": "8", "precision": "fp32", "batch_size": "32"})
        ),
    }


if __name__ == "__main__":
    main()
