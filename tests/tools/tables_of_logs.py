"""Tables judged through the command line: folders of logs written from known runs, ``perflog compare A B -f json``."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from perflog.cases.pairs import Pair
from perflog.compare.rows import compared_cases
from perflog.compare.rule import Rule
from tests import forks
from tests.campaigns import write_run
from tests.tools.simulate_compare import percent
from tests.tools.simulate_compare import table as markdown
from tests.tools.tables_of_runs import NOISES, Sides, case_of, side_logs

#: Steps of a log; the first twenty are warm-up.
STEPS = 30
#: Tables at scale 1, and their rows.
TABLES, ROWS = 100, 6
#: The tables in turn: noise, runs and spreads of the two sides.
KINDS = (
    ("log-normal", Sides((5, 5), (0.05, 0.05))), ("log-normal", Sides((5, 5), (0.2, 0.2))),
    ("log-normal", Sides((5, 10), (0.1, 0.02))), ("heavy tails (t₂)", Sides((6, 6), (0.1, 0.1))),
    ("two states", Sides((5, 5), (0.1, 0.1))),
)  # fmt: skip


def write_side(folder: Path, rates: list[list[float]]) -> None:
    """The logs of one side: a case for each row, with a batch size of its own; a run's steps all have its rate."""
    for row, runs in enumerate(rates):
        for run, rate in enumerate(runs, 1):
            write_run(folder / f"1n8g/rn50_b{8 * (row + 1)}_fp32_{run}.log", [rate] * STEPS, decimals=6)


def compared_by_command(old: Path, new: Path) -> list[dict[str, Any]]:
    """The rows of ``perflog compare``, in the order of their batch sizes.

    Raises:
        CalledProcessError: when the command fails.
    """
    done = forks.perflog("compare", str(old), str(new), "--format", "json", "--quiet")
    done.check_returncode()
    rows: list[dict[str, Any]] = json.loads(done.stdout)["comparisons"][0]["rows"]
    return sorted(rows, key=lambda row: int(row["case"]["batch_size"]))


def is_as_computed(row: dict[str, Any], old: list[float], new: list[float], computed: Any) -> bool:
    """Whether a row of the command is that of its known runs: values, ratio, interval and verdict."""
    values = [[run["value"] for run in row[side]["runs"]] for side in ("old", "new")]
    interval = row["interval"]
    numbers = [row["ratio"], interval["low"], interval["high"]]
    wanted = [computed.ratio.value, computed.ratio.low, computed.ratio.high]
    same = all(np.allclose(a, b, rtol=1e-6) for a, b in zip(values, (old, new), strict=True))
    return same and bool(np.allclose(numbers, wanted, rtol=1e-6)) and row["verdict"] == computed.verdict.value


def one_table(random: Generator, kind: int) -> tuple[bool, int, bool]:
    """(whether any row is called, how many intervals hold the true ratio 1, whether all rows are as computed)."""
    name, sides = KINDS[kind % len(KINDS)]
    logs = side_logs(random, NOISES[name], ROWS, sides)
    rates = [(1000 * np.exp(side)).tolist() for side in logs]
    with tempfile.TemporaryDirectory() as folder:
        for side, values in zip(("old", "new"), rates, strict=True):
            write_side(Path(folder) / side, values)
        rows = compared_by_command(Path(folder) / "old", Path(folder) / "new")
    computed = compared_cases([Pair(case_of(a), case_of(b)) for a, b in zip(*rates, strict=True)], Rule())
    agree = [is_as_computed(row, a, b, c) for row, a, b, c in zip(rows, *rates, computed, strict=True)]
    held = sum(row["interval"]["low"] <= 1 <= row["interval"]["high"] for row in rows)
    return any(row["verdict"] in ("faster", "slower") for row in rows), held, all(agree)


def command_part(random: Generator, scale: float) -> str:
    """Tables of identical versions through the command line."""
    tables = max(5, round(TABLES * scale))
    results = [one_table(random, nth) for nth in range(tables)]
    false, held, agree = (sum(column) for column in zip(*results, strict=True))
    kinds = "; ".join(f"{name}, {sides}" for name, sides in KINDS)
    words = (
        f"Folders of logs written from known runs, `perflog compare old new --format json`: {tables} tables of {ROWS} rows of"
        f" identical versions, in turn {kinds}."
    )
    head = ["tables", "with a false verdict", "intervals that hold the true ratio", "every row as the functions say"]
    line = [str(tables), percent(false / tables), percent(held / tables / ROWS), f"{agree} of {tables}"]
    return f"#### Through the command line\n\n{words}\n\n{markdown(head, [line])}"
