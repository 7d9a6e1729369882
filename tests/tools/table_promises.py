"""Parts of the report of ``simulate_tables`` on what is promised beside verdicts: plans, speedups, the command, notes.

Each part draws runs whose truth is known and counts what the program makes of them, by its own functions.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from perflog.cases.pairs import Pair
from perflog.compare.comparing import with_states
from perflog.compare.rows import CaseComparison, compared_cases
from perflog.compare.rule import Rule
from perflog.stats.power import Table, power, runs_needed
from perflog.stats.quotient import quotient_interval
from perflog.stats.separation import rows_for_runs, runs_for_rows
from perflog.stats.verdict import Verdict
from tests import forks
from tests.campaigns import write_run
from tests.tools.pages import percent
from tests.tools.pages import table as markdown
from tests.tools.tables_of_runs import (
    NOISES,
    Noise,
    Sides,
    case_of,
    normal,
    own_gaps_table,
    side_logs,
    standard_error,
    table,
    uniform,
    unlike_table,
)

CALLED = (Verdict.FASTER, Verdict.SLOWER)
#: Tables of a line at scale 1: of one row, and rows in all for larger ones.
_TABLES, _ROWS = 2000, 20_000


def tables_of(rows: int, scale: float) -> int:
    """How many tables of so many rows a line is counted over."""
    return max(10, round(scale * min(_TABLES, _ROWS // rows)))


# ---------------------------------------------------------------- plans

#: (rows, spread, change, margin) of plans: short and long tables, quiet and noisy runs, narrow and wide margins.
PLANS = (
    (1, 0.005, 0.03, 0.02), (1, 0.02, 0.05, 0.02), (1, 0.05, 0.15, 0.02), (1, 0.02, 0.05, 0.0), (1, 0.02, 0.03, 0.02),
    (6, 0.01, 0.05, 0.02), (6, 0.02, 0.05, 0.02), (6, 0.05, 0.10, 0.05), (20, 0.01, 0.05, 0.02), (20, 0.02, 0.05, 0.0),
    (20, 0.03, 0.05, 0.02), (60, 0.01, 0.05, 0.02),
)  # fmt: skip


def found_share(random: Generator, sides: Sides, change: float, plan: Table, tables: int) -> float:
    """How often ``compare``'s own rows call the one changed row of a table, which is faster and slower in turn."""
    rule, hits = Rule(margin=plan.margin, level=plan.level), 0
    for nth in range(tables):
        signed = change if nth % 2 else -change
        row = compared_cases(table(random, normal, plan.rows, sides, [signed]), rule)[0]
        hits += row.verdict is (Verdict.FASTER if signed > 0 else Verdict.SLOWER)
    return hits / tables


def plan_part(random: Generator, scale: float) -> str:
    """What `plan` promises, beside what `compare` finds."""
    lines = []
    for rows, spread, change, margin in PLANS:
        plan = Table(rows, margin)
        n = runs_needed(change, spread, table=plan)
        assert n is not None
        promised = (power(change, spread, n, plan) + power(-change, spread, n, plan)) / 2
        tables = tables_of(rows, scale)
        found = found_share(random, Sides((n, n), (spread, spread)), change, plan, tables)
        error = (found * (1 - found) / tables) ** 0.5
        shown = [percent(spread), percent(change, 0), percent(margin, 0), str(n), percent(promised), percent(found)]
        lines.append([str(rows), *shown, f"{100 * (found - promised):+.1f} ± {100 * error:.1f}"])
    head = ["rows", "spread", "change", "margin", "planned n", "promised", "found", "difference in points"]
    words = (
        "`perflog plan` names the fewest runs a side with a chance of at least 80 %; what it promises for them, and how"
        f" often `compare` then calls the one changed row ({tables_of(1, scale)} tables of 1 row, {tables_of(20, scale)} of"
        " 20; ±: standard error):"
    )
    return f"#### Plans\n\n{words}\n\n{markdown(head, lines)}"


# ---------------------------------------------------------------- rows of unlike noises

#: Sides whose rows' spreads differ twentyfold: alike, and with four runs that spread more than the others do.
UNLIKE = tuple(
    Sides(runs, spreads)
    for runs, spreads in (
        ((4, 4), (0.2, 0.2)), ((5, 5), (0.2, 0.2)), ((10, 10), (0.2, 0.2)), ((5, 20), (0.2, 0.02)),
        ((4, 12), (0.2, 0.03)), ((4, 20), (0.2, 0.01)),
    )
)  # fmt: skip


def unlike_part(random: Generator, scale: float) -> str:
    """Identical versions, each row with a noise of its own, so that the rows say little of each other's."""
    rows, tables = 20, max(10, round(600 * scale))
    noises = {**NOISES, "uniform": uniform}
    lines = []
    for sides in UNLIKE:
        shares = [
            sum(
                any(row.verdict in CALLED for row in compared_cases(unlike_table(random, noise, rows, sides, 20), Rule()))
                for _ in range(tables)
            ) / tables
            for noise in noises.values()
        ]  # fmt: skip
        lines.append([str(sides), *map(percent, shares)])
    words = (
        f"{rows} rows of identical versions, whose spreads are those of the sides divided by 1 to 20, each row by a number"
        f" of its own: {tables} tables a cell with any row called faster or slower (standard error of 5 %:"
        f" {percent(standard_error(0.05, tables))}). Of uniform noise nothing is promised where four or five runs spread"
        " many times as much as the other side's."
    )
    return f"#### Rows of unlike noises\n\n{words}\n\n{markdown(['sides', *noises], lines)}"


# ---------------------------------------------------------------- coverage

#: Sides of one row whose spreads are alike or not, the wider one with as many runs, with fewer, and with more.
COVERED = tuple(
    Sides(runs, spreads)
    for runs in ((4, 4), (5, 5), (10, 10), (4, 6), (5, 10), (5, 20), (6, 4), (20, 5))
    for spreads in ((0.02, 0.02), (0.04, 0.02), (0.1, 0.02))
)


def covered_and_stated(random: Generator, noise: Noise, sides: Sides, tables: int) -> tuple[float, float]:
    """(how often the interval of a row that stands alone holds the true ratio, the mean of the levels it states)."""
    ratios = [compared_cases(table(random, noise, 1, sides), Rule())[0].ratio for _ in range(tables)]
    held = sum((ratio.low or 0.0) <= 1 <= (ratio.high or 0.0) for ratio in ratios)
    return held / tables, sum(ratio.level or 0.0 for ratio in ratios) / tables


def coverage_part(random: Generator, scale: float) -> str:
    """The coverage of the intervals of rows that stand alone, beside the level that they state."""
    tables = max(50, round(5_000 * scale))
    lines = []
    for sides in COVERED:
        pairs = [covered_and_stated(random, NOISES[name], sides, tables) for name in ("log-normal", "heavy tails (t₂)")]
        lines.append([str(sides), *(f"{percent(held)} ({percent(stated)})" for held, stated in pairs)])
    words = (
        "One row of identical versions: how often its interval holds the true ratio (the level stated, on average), by"
        f" {tables} tables (standard error {percent((0.05 * 0.95 / tables) ** 0.5, 2)}):"
    )
    return f"#### Coverage of a row that stands alone\n\n{words}\n\n{markdown(['sides', 'log-normal', 'heavy tails (t₂)'], lines)}"


# ---------------------------------------------------------------- speedups

#: (runs of the case, runs of the baseline, how many times as much the case's runs spread).
SPEEDUPS = (
    (4, 4, 1.0),
    (5, 5, 1.0),
    (5, 5, 3.0),
    (10, 10, 1.0),
    (10, 10, 3.0),
    (20, 5, 1.0),
    (5, 20, 3.0),
    (20, 4, 0.3),
)


def covered_speedups(random: Generator, noise: Noise, runs: tuple[int, int], wider: float, repeats: int) -> float:
    """How often the interval of a speedup holds the true one, 8; the baseline's runs spread by 2 %."""
    held = 0
    for _ in range(repeats):
        case = 800 * np.exp(0.02 * wider * noise(random, (runs[0],)))
        base = 100 * np.exp(0.02 * noise(random, (runs[1],)))
        shown = float(np.median(case) / np.median(base))
        interval = quotient_interval(case.tolist(), base.tolist(), shown)
        assert interval is not None
        held += interval.low <= 8 <= interval.high
    return held / repeats


def speedup_part(random: Generator, scale: float) -> str:
    """The coverage of the intervals beside the speedups and efficiencies of `extract`, `table`, JSON and HTML."""
    repeats = max(50, round(5_000 * scale))
    lines = []
    for n, base, wider in SPEEDUPS:
        covered = [covered_speedups(random, noise, (n, base), wider, repeats) for noise in NOISES.values()]
        lines.append([f"{n} over {base}", f"{wider:g} ×", *map(percent, covered)])
    words = (
        "How often the 95 % interval beside a speedup holds the true speedup (efficiency: the same divided by a known"
        f" number); the baseline's runs spread by 2 %, the case's by so many times as much; {repeats} speedups each"
        f" (standard error {percent((0.05 * 0.95 / repeats) ** 0.5, 2)}):"
    )
    return f"#### Intervals of speedups\n\n{words}\n\n{markdown(['runs', 'spread', *NOISES], lines)}"


# ---------------------------------------------------------------- what is said

#: Versions whose runs fall in two states with a gap of each side's own.
OWN_STATES = tuple(
    Sides(runs, spreads)
    for runs, spreads in (
        ((4, 4), (0.1, 0.01)), ((5, 5), (0.1, 0.01)), ((6, 6), (0.1, 0.01)), ((4, 20), (0.1, 0.01)),
        ((5, 20), (0.1, 0.01)), ((6, 20), (0.1, 0.01)), ((8, 20), (0.2, 0.005)), ((20, 4), (0.01, 0.1)),
    )
)  # fmt: skip


def _is_said(rows: Sequence[CaseComparison]) -> bool:
    """Whether each row that is called has a note on states or on unequal spreads."""
    return all(any("by chance" in note for note in row.notes) for row in rows if row.verdict in CALLED)


def _silent(make: Callable[[], Sequence[Pair]], tables: int) -> tuple[float, float]:
    """(the share of tables with a false verdict, the share of those in which a false verdict stands without a note)."""
    false = silent = 0
    for _ in range(tables):
        rows, _ = with_states(compared_cases(make(), Rule()), Rule())
        called = any(row.verdict in CALLED for row in rows)
        false += called
        silent += called and not _is_said(rows)
    return false / tables, silent / tables


def states_part(random: Generator, scale: float) -> str:
    """States of each side's own, with which few runs cannot keep the promise: what is called, and what is said."""
    lines = []
    for sides in OWN_STATES:
        cells: list[str] = []
        for rows, tables in ((1, max(10, round(1500 * scale))), (20, max(10, round(100 * scale)))):
            cells += map(percent, _silent(partial(own_gaps_table, random, rows, sides), tables))
        lines.append([str(sides), *cells])
    head = ["sides", "1 row: false verdict", "without a note", "20 rows: false verdict", "without a note"]
    words = (
        "Versions with the same centre whose runs fall in two states, half of them in each, with a gap of each side's own"
        " (spread: half of it). Four runs are all in one state with a chance of 12.5 %, so nothing on them can keep 5 %;"
        " such a verdict has a note, and the comparison a warning:"
    )
    return f"#### States of each side's own\n\n{words}\n\n{markdown(head, lines)}"


def needs_part(random: Generator, scale: float) -> str:
    """Tables with too many rows for their runs: what the number of runs that is named is worth."""
    tables = max(10, round(60 * scale))
    lines = []
    for rows in (6, 7, 25, 26, 102, 103):
        needed = runs_for_rows(rows)
        shares = []
        for n in (needed - 1, needed):
            make = partial(table, random, normal, rows, Sides((n, n), (0.001, 0.001)), [0.5])
            shares.append(
                sum(compared_cases(make(), Rule())[0].verdict is Verdict.FASTER for _ in range(tables)) / tables
            )
        lines.append([str(rows), str(needed), str(rows_for_runs(needed, needed)), *(percent(s, 0) for s in shares)])
    head = [
        "rows",
        "runs a side that are named",
        "these carry so many rows",
        "found with one run fewer",
        "with so many",
    ]
    words = (
        "One row of a table is 50 % faster, runs spread by 0.1 %: a change that only the number of runs can hide."
        f" {tables} tables each:"
    )
    return f"#### Too few runs for the rows\n\n{words}\n\n{markdown(head, lines)}"


def quiet_part(line: Callable[..., Iterable[str]], random: Generator, scale: float) -> str:
    """Identical versions on a quiet machine: a spread of 1 %, half of the margin.

    Args:
        line: gives the cells of one line for a noise and sides.
        random: the generator.
        scale: the share of the tables.
    """
    lines = [
        [name, str(sides), *line(random, noise, sides, scale)]
        for name, noise in NOISES.items()
        for sides in (Sides((4, 4), (0.01, 0.01)), Sides((10, 10), (0.01, 0.01)), Sides((5, 20), (0.01, 0.01)))
    ]
    return f"#### A spread of 1 %\n\n{markdown(['noise', 'sides', '1 row', '6 rows', '20 rows', '200 rows'], lines)}"


# ---------------------------------------------------------------- ratios of speedups

#: Runs of the case and of its baseline on the old and on the new side, and by how much each spreads.
RATIOS_OF_SPEEDUPS = (
    ((4, 4, 4, 4), (0.02, 0.02, 0.02, 0.02)), ((10, 10, 10, 10), (0.05, 0.02, 0.05, 0.02)),
    ((4, 20, 20, 20), (0.06, 0.02, 0.02, 0.02)), ((4, 20, 4, 20), (0.05, 0.01, 0.05, 0.01)),
    ((20, 20, 20, 4), (0.005, 0.05, 0.005, 0.05)),
)  # fmt: skip


def _ratio_of_speedups(random: Generator, noise: Noise, runs: tuple[int, ...], spreads: tuple[float, ...]) -> bool:
    """Whether the interval of one row of ``--metric speedup`` holds the true ratio, 1."""
    old, old_base, new, new_base = (
        (level * np.exp(spread * noise(random, (n,)))).tolist()
        for n, spread, level in zip(runs, spreads, (780, 100, 780, 100), strict=True)
    )
    pair = Pair(case_of(old, case_of(old_base)), case_of(new, case_of(new_base)))
    ratio = compared_cases([pair], Rule("speedup"))[0].ratio
    return (ratio.low or 0.0) <= 1 <= (ratio.high or 0.0)


def derived_part(random: Generator, scale: float) -> str:
    """The coverage of the intervals of ``compare --metric speedup`` (and efficiency, a known number of times it)."""
    tables = max(50, round(4_000 * scale))
    lines = []
    for runs, spreads in RATIOS_OF_SPEEDUPS:
        shares = [
            sum(_ratio_of_speedups(random, noise, runs, spreads) for _ in range(tables)) / tables
            for noise in NOISES.values()
        ]
        sides = [f"{n} at {percent(spread)}" for n, spread in zip(runs, spreads, strict=True)]
        lines.append([f"{sides[0]} over {sides[1]}", f"{sides[2]} over {sides[3]}", *map(percent, shares)])
    words = (
        "`compare --metric speedup` of one row of identical versions: how often its 95 % interval holds the true ratio, by"
        f" {tables} tables (standard error {percent((0.05 * 0.95 / tables) ** 0.5, 2)}); runs and their spread, case over"
        " baseline:"
    )
    return f"#### Ratios of speedups\n\n{words}\n\n{markdown(['old side', 'new side', *NOISES], lines)}"


# ---------------------------------------------------------------- through the command line

#: Steps of a log; the first twenty are warm-up.
_STEPS = 30
#: Tables at scale 1, and their rows.
COMMAND_TABLES, COMMAND_ROWS = 100, 6
#: The tables in turn: noise, runs and spreads of the two sides.
COMMAND_KINDS = (
    ("log-normal", Sides((5, 5), (0.05, 0.05))), ("log-normal", Sides((5, 5), (0.2, 0.2))),
    ("log-normal", Sides((5, 10), (0.1, 0.02))), ("heavy tails (t₂)", Sides((6, 6), (0.1, 0.1))),
    ("two states", Sides((5, 5), (0.1, 0.1))),
)  # fmt: skip


def write_side(folder: Path, rates: list[list[float]]) -> None:
    """The logs of one side: a case for each row, with a batch size of its own; a run's steps all have its rate."""
    for row, runs in enumerate(rates):
        for run, rate in enumerate(runs, 1):
            write_run(folder / f"1n8g/rn50_b{8 * (row + 1)}_fp32_{run}.log", [rate] * _STEPS, decimals=6)


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
    name, sides = COMMAND_KINDS[kind % len(COMMAND_KINDS)]
    logs = side_logs(random, NOISES[name], COMMAND_ROWS, sides)
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
    tables = max(5, round(COMMAND_TABLES * scale))
    results = [one_table(random, nth) for nth in range(tables)]
    false, held, agree = (sum(column) for column in zip(*results, strict=True))
    kinds = "; ".join(f"{name}, {sides}" for name, sides in COMMAND_KINDS)
    words = (
        f"Folders of logs written from known runs, `perflog compare old new --format json`: {tables} tables of {COMMAND_ROWS} rows of"
        f" identical versions, in turn {kinds}."
    )
    head = ["tables", "with a false verdict", "intervals that hold the true ratio", "every row as the functions say"]
    line = [str(tables), percent(false / tables), percent(held / tables / COMMAND_ROWS), f"{agree} of {tables}"]
    return f"#### Through the command line\n\n{words}\n\n{markdown(head, [line])}"
