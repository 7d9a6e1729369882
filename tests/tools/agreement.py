"""perflog's throughput of each log beside the runner's own wall clock over the same steps: ``python -m tests.tools.agreement LOGS``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from perflog.runs.run import Run
from tests.support import extracted

#: The two may differ by so much: what a logger leaves out between two lines, and its rounding.
TOLERANCE = 0.01


def wall_clock(run: Run) -> float:
    """Samples per second of the whole job by the side file, over the steps that perflog took."""
    log = Path(run.log.path)
    side = json.loads(log.with_suffix(".side.json").read_text(encoding="utf-8"))
    first, last = int(run.throughput.first_step or 0), int(run.throughput.last_step or 0)
    ends = [0.0, *next(rank for rank in side["ranks"] if rank["rank"] == 0)["step_ends"]]
    return float((last - first) * side["batch_size"] * side["processes"] / (ends[last] - ends[first]))


def compared(logs: Path) -> Iterator[tuple[Run, float, float]]:
    """(run, perflog's value, the side file's) of every finished log with a side file."""
    for run in extracted(logs).runs:
        if run.throughput.value is not None and Path(run.log.path).with_suffix(".side.json").exists():
            yield run, run.throughput.value, wall_clock(run)


def main() -> None:
    worst, count = 0.0, 0
    for run, value, wall in compared(Path(sys.argv[1])):
        steps = f"{run.throughput.first_step:g}–{run.throughput.last_step:g}"
        print(
            f"{Path(run.log.path).relative_to(sys.argv[1])!s:<48} steps {steps:<7} perflog {value:9.2f}  wall clock {wall:9.2f}  {100 * (value / wall - 1):+.3f} %"
        )
        worst, count = max(worst, abs(value / wall - 1)), count + 1
    print(f"{count} logs, largest difference {100 * worst:.3f} %")
    sys.exit(0 if count and worst <= TOLERANCE else 1)


if __name__ == "__main__":
    main()
