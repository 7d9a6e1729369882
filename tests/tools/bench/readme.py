"""How long `perflog readme` takes beyond extraction, on 5,000 lines with 200 regions: ``python -m tests.tools.bench.readme``."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from tests.tools.bench.measure import REPO

LOGS = REPO / "fixtures/seed004/logs_fp32"
TABLE = f"table {LOGS} -w 100 -n 100 --rows nodes,devices --value throughput,speedup --style"
STYLES = ("plain", "dlperf", "paddle")
REGIONS, LINES, REPEATS = 200, 5000, 5


def main() -> None:
    """Print the medians of one table, of the README, and their difference."""
    with tempfile.TemporaryDirectory() as folder:
        readme = Path(folder, "README.md")
        between = (LINES - 2 * REGIONS) // REGIONS
        parts = [
            f"<!-- perflog: {TABLE} {STYLES[n % len(STYLES)]} -->\n<!-- /perflog -->\n" + "text\n" * between
            for n in range(REGIONS)
        ]
        one, all_ = [], []
        for _ in range(REPEATS):
            readme.write_text("".join(parts), encoding="utf-8")
            one.append(_seconds(*TABLE.split(), "plain"))
            all_.append(_seconds("readme", "--allow", str(LOGS), str(readme)))
    print(
        f"one table {median(one):.2f} s; {REGIONS} regions {median(all_):.2f} s; beyond extraction {median(all_) - median(one):.2f} s"
    )


def _seconds(*words: str) -> float:
    start = perf_counter()
    subprocess.run([sys.executable, "-m", "perflog", *words], cwd=REPO, check=True, capture_output=True)
    return perf_counter() - start


if __name__ == "__main__":
    main()
