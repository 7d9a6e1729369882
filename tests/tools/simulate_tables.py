"""How often a whole table of ``perflog compare`` is wrong, and what it finds: tables whose truth is known.

``python -m tests.tools.simulate_tables`` judges tables of identical and of changed versions through ``compare``'s own
functions and prints Markdown (fixed seed; a few minutes on one core). ``--scale 0.1`` takes a tenth of the tables,
``--write tests/found/tables.md`` puts the text between its two markers on that page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.random import Generator

from perflog.cases.pairs import Pair
from perflog.compare.outputs import gate
from perflog.compare.rows import CaseComparison, Comparison, compared_cases, mean_of
from perflog.compare.rule import Rule
from perflog.settings.options import Options
from perflog.stats.verdict import Verdict
from tests.tools.pages import Part, Simulation, percent
from tests.tools.pages import table as markdown
from tests.tools.plans_from_memory import plans_part
from tests.tools.table_memory import memory_part
from tests.tools.table_methods import capped_part, methods_part, quiet_rows_part
from tests.tools.table_promises import (
    command_part,
    coverage_part,
    derived_part,
    needs_part,
    plan_part,
    quiet_part,
    speedup_part,
    states_part,
    unlike_part,
)
from tests.tools.tables_of_runs import (
    NOISES,
    Array,
    Noise,
    Sides,
    heavy,
    normal,
    speedup_table,
    table,
    truth,
    two_states,
)

CALLED = (Verdict.FASTER, Verdict.SLOWER)
#: Rows judged for every line of a table at scale 1, but no fewer tables than the least.
ROWS_OF_A_LINE, LEAST_TABLES, MOST_TABLES = 4000, 40, 600


@dataclass(frozen=True, slots=True)
class Rates:
    """What happened in tables whose truth is known, each a share.

    Attributes:
        tables: how many there were.
        false: tables with a row called faster or slower whose true change is none; where none has one, also those
            whose mean is called so.
        failed: tables that a gate fails.
        covered: rows whose interval holds the true ratio; ``all_covered``: tables of which all rows do.
        level: the mean of the levels that the intervals are shown with.
        found: changed rows called in the right direction.
        same: unchanged rows called the same.
    """

    tables: int
    false: float
    failed: float
    covered: float
    all_covered: float
    level: float
    found: float
    same: float


def judged(pairs: Sequence[Pair], rule: Rule) -> Comparison:
    """A comparison by ``compare``'s own functions."""
    rows = compared_cases(pairs, rule)
    return Comparison("old", "new", rule, Options(), tuple(rows), (), mean_of(rows, [], rule.level))


def rates(make: Callable[[], Sequence[Pair]], true: Sequence[float], tables: int, rule: Rule | None = None) -> Rates:
    """The rates over so many tables of pairs whose true ratios are known."""
    counts = np.zeros(7)
    for _ in range(tables):
        comparison = judged(make(), rule or Rule())
        counts += _counts(comparison, true)
    unchanged = sum(ratio == 1 for ratio in true)
    per_row = tables * len(true)
    false, failed, covered, all_covered, level, found, same = counts.tolist()
    return Rates(
        tables, false / tables, failed / tables, covered / per_row, all_covered / tables, level / per_row,
        found / max(1, tables * (len(true) - unchanged)), same / max(1, tables * unchanged),
    )  # fmt: skip


def _counts(comparison: Comparison, true: Sequence[float]) -> list[float]:
    rows = list(zip(comparison.rows, true, strict=True))
    covered = [_holds(row, ratio) for row, ratio in rows]
    right = {ratio: Verdict.FASTER if ratio > 1 else Verdict.SLOWER for ratio in true}
    return [
        any(row.verdict in CALLED for row, ratio in rows if ratio == 1)
        or (comparison.only_together is not None and set(true) == {1.0}),
        gate([comparison]).status != 0,
        sum(covered),
        all(covered),
        sum(row.ratio.level or 0.0 for row in comparison.rows),
        sum(row.verdict is right[ratio] for row, ratio in rows if ratio != 1),
        sum(row.verdict is Verdict.SAME for row, ratio in rows if ratio == 1),
    ]


def _holds(row: CaseComparison, ratio: float) -> bool:
    low, high = row.ratio.low, row.ratio.high
    return low is None or high is None or low <= ratio <= high


def tables_for(rows: int, scale: float) -> int:
    """How many tables of so many rows a line is counted over."""
    return max(10, round(scale * min(MOST_TABLES, max(LEAST_TABLES, ROWS_OF_A_LINE // rows))))


def _line(random: Generator, noise: Noise, rows: int, sides: Sides, scale: float, **more: float) -> Rates:
    return rates(partial(table, random, noise, rows, sides, **more), [1.0] * rows, tables_for(rows, scale))  # type: ignore[arg-type]


#: The sides of tables of identical versions: equal ones at every n and spread, and unequal ones.
EQUAL = [Sides((n, n), (s, s)) for n in (4, 5, 6, 10, 20) for s in (0.05, 0.2)]
UNEQUAL = [
    Sides((5, 20), (0.05, 0.01)), Sides((4, 20), (0.1, 0.01)), Sides((20, 4), (0.2, 0.2)), Sides((10, 10), (0.01, 0.05)),
    Sides((5, 20), (0.01, 0.05)), Sides((4, 20), (0.2, 0.01)),
]  # fmt: skip
ROWS = (1, 6, 20, 200)
_HEAD = ["false verdict", "gate fails", "coverage of a row", "stated", "coverage of all rows", "called same"]


def _shown(result: Rates) -> list[str]:
    numbers = (result.false, result.failed, result.covered, result.level, result.all_covered, result.same)
    return [percent(number) for number in numbers]


def identical_part(name: str, random: Generator, scale: float) -> str:
    """The error rates of identical versions under one noise."""
    lines = []
    for sides in (*EQUAL, *UNEQUAL):
        results = [_line(random, NOISES[name], rows, sides, scale) for rows in ROWS]
        coverages = [f"{percent(r.covered)} ({percent(r.level)})" for r in results]
        lines.append([str(sides), *(percent(max(r.false, r.failed)) for r in results), coverages[0], coverages[2]])
    head = [
        "sides",
        *(f"{rows} row{'s' * (rows > 1)}" for rows in ROWS),
        "coverage, 1 row (stated)",
        "20 rows (stated)",
    ]
    return f"#### {name}\n\n{markdown(head, lines)}"


def _quiet_line(random: Generator, noise: Noise, sides: Sides, scale: float) -> list[str]:
    results = [_line(random, noise, rows, sides, scale) for rows in ROWS]
    return [percent(max(result.false, result.failed)) for result in results]


def _own_gaps(random: Generator, shape: tuple[int, ...]) -> Array:
    """Two states whose gap is scaled with the side's spread."""
    return two_states(random, shape)


def special_part(random: Generator, scale: float) -> str:
    """Ties, rounding, speedups; and what no method on these numbers can tell from a change."""
    five, ten = Sides((5, 5), (0.02, 0.02)), Sides((10, 10), (0.05, 0.05))
    held = [
        ("rates near 100 rounded to 1", _line(random, normal, 20, five, scale, quantum=1.0)),
        ("rates near 100 rounded to 5", _line(random, normal, 20, ten, scale, quantum=5.0)),
        ("two states, rounded to 10", _line(random, two_states, 20, Sides((5, 5), (0.2, 0.2)), scale, quantum=10.0)),
        *(
            (f"speedup, {n} runs over {base} runs of the baseline, spread {percent(s, 0)}", rates(
                partial(speedup_table, random, rows, n, base, s), [1.0] * rows, tables_for(rows, scale), Rule("speedup")))
            for n, base, s, rows in ((5, 5, 0.03, 20), (5, 5, 0.2, 20), (10, 10, 0.02, 20), (20, 5, 0.02, 20), (5, 5, 0.03, 1))
        ),
    ]  # fmt: skip
    broken = [
        ("5 % slower from the first old run to the last new one, n = 5, spread 0.5 %",
         _line(random, normal, 20, Sides((5, 5), (0.005, 0.005)), scale, drift=0.05)),
        ("the same, n = 10", _line(random, normal, 20, Sides((10, 10), (0.005, 0.005)), scale, drift=0.05)),
        ("an effect of each campaign of 0.5 %, n = 5, spread 0.3 %",
         _line(random, normal, 20, Sides((5, 5), (0.003, 0.003)), scale, between=0.005)),
        ("an effect of each campaign of 3 %, n = 5, spread 0.3 %",
         _line(random, normal, 20, Sides((5, 5), (0.003, 0.003)), scale, between=0.03)),
        ("heavy tails, the machine slows by 2 %, n = 10, spread 0.5 %",
         _line(random, heavy, 20, Sides((10, 10), (0.005, 0.005)), scale, drift=0.02)),
    ]  # fmt: skip
    broken += [
        (
            f"two states whose gap is each side's own, {runs[0]} and {runs[1]} runs, 1 row",
            rates(partial(table, random, _own_gaps, 1, Sides(runs, (0.1, 0.01))), [1.0], tables_for(1, scale)),
        )
        for runs in ((4, 20), (5, 20))
    ]
    text = f"#### Rounded prints and derived metrics (20 rows)\n\n{markdown(['tables', *_HEAD], ([n, *_shown(r)] for n, r in held))}"
    words = "Nothing is promised here: what is assumed does not hold."
    return f"{text}\n#### Drift, and effects of a campaign\n\n{words}\n\n{markdown(['tables', *_HEAD], ([n, *_shown(r)] for n, r in broken))}"


def power_part(random: Generator, scale: float) -> str:
    """What changes are found in a table of 20 rows of which two changed."""
    lines = []
    for noise_name, spread in (
        ("log-normal", 0.005),
        ("log-normal", 0.01),
        ("log-normal", 0.02),
        ("heavy tails (t₂)", 0.01),
    ):
        for change in (0.02, 0.05, 0.10):
            cells = []
            for n in (5, 10, 20):
                make = partial(
                    table, random, NOISES[noise_name], 20, Sides((n, n), (spread, spread)), (change, -change)
                )
                result = rates(make, truth((change, -change), 20), tables_for(20, scale) // 2)
                cells.append(percent(result.found, 0))
            lines.append([noise_name, percent(spread), percent(change, 0), *cells])
    head = ["noise", "spread", "change", "n = 5", "n = 10", "n = 20"]
    return (
        "#### What is found\n\n20 rows, two of them changed (one faster, one slower): the share of the changed rows that are"
        f" called so, margin 2 %. A change as large as the margin is never called.\n\n{markdown(head, lines)}"
    )


def together_part(random: Generator, scale: float) -> str:
    """What the mean of all rows decides where all of them changed alike."""
    lines = []
    for rows, n, spread, noise_name in (
        (10, 5, 0.02, "log-normal"), (10, 5, 0.03, "log-normal"), (10, 5, 0.03, "heavy tails (t₂)"),
        (10, 5, 0.05, "log-normal"), (5, 5, 0.03, "log-normal"), (20, 4, 0.05, "log-normal"),
        (10, 5, 0.03, "two states"),
    ):  # fmt: skip
        cells = []
        for change in (-0.05, 0.0):
            make = partial(table, random, NOISES[noise_name], rows, Sides((n, n), (spread, spread)), (change,) * rows)
            tables = [judged(make(), Rule()) for _ in range(tables_for(rows, scale))]
            by_rows = [any(row.verdict in CALLED for row in one.rows) for one in tables]
            by_mean = [gate([one]).status == 1 for one in tables]
            cells += [percent(sum(by_rows) / len(tables)), percent(sum(by_mean) / len(tables))]
        lines.append([f"{rows} rows, {noise_name}, spread {percent(spread, 0)}", str(n), *cells])
    head = ["tables", "n", "any row slower", "gate fails", "no change: any row called", "gate fails"]
    words = "All rows 5 % slower, margin 2 %; then the same tables without a change."
    return f"#### All rows together\n\n{words}\n\n{markdown(head, lines)}"


def many_part(random: Generator, scale: float) -> str:
    """The error rate of 200 rows where few noisy runs stand beside twenty quiet ones, by more tables than above."""
    rows, tables = 200, max(10, round(MOST_TABLES * scale))
    lines = []
    for sides in (Sides((n, 20), (0.2, 0.01)) for n in (4, 5)):
        results = [rates(partial(table, random, noise, rows, sides), [1.0] * rows, tables) for noise in NOISES.values()]
        lines.append([str(sides), *(percent(max(result.false, result.failed)) for result in results)])
    words = (
        f"{rows} rows of identical versions, {tables} tables a cell with any row called faster or slower, or that `--gate`"
        f" fails (standard error of 5 %: {percent((0.05 * 0.95 / tables) ** 0.5)})."
    )
    return f"#### Few noisy runs beside many quiet ones\n\n{words}\n\n{markdown(['sides', *NOISES], lines)}"


PARTS: dict[str, Part] = {
    **{name: partial(identical_part, name) for name in NOISES},
    "special": special_part, "power": power_part, "methods": methods_part,
    "quiet": partial(quiet_part, _quiet_line), "states": states_part, "needs": needs_part, "speedups": speedup_part,
    "plan": plan_part, "command": command_part, "coverage": coverage_part, "unlike": unlike_part,
    "capped": capped_part, "derived": derived_part, "quiet-rows": quiet_rows_part,
    "together": together_part, "memory": memory_part, "memory-plans": plans_part,
    "many": many_part,
}  # fmt: skip


def intro(scale: float) -> str:
    """What stands before all parts."""
    words = (
        "Tables of identical versions with any row called faster or slower, or that `--gate` fails (the larger of the two"
        f" shares), margin 2 %; {tables_for(1, scale)} tables of 1 row, {tables_for(6, scale)} of 6, {tables_for(20, scale)}"
        f" of 20 and {tables_for(200, scale)} of 200. The standard error of 5 % of {tables_for(20, scale)} tables is"
        f" {percent((0.05 * 0.95 / tables_for(20, scale)) ** 0.5)}."
    )
    return f"### Tables of identical versions\n\n{words}\n\n"


SIMULATION = Simulation("tests.tools.simulate_tables", 20261121, PARTS, "tests/found/tables.md", intro)

if __name__ == "__main__":
    SIMULATION.main(__doc__)
