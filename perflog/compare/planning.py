"""How many runs a change needs to be seen, and what change the runs at hand could show, for each case."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from perflog.cases.case import Case
from perflog.compare.output import names_of
from perflog.compare.rows import centre, values
from perflog.export.columns import Grid, number
from perflog.settings.options import Options
from perflog.stats.power import detectable_change, log_spread, pooled_spread, runs_needed, spread_bounds

#: The chance of seeing a change that a plan is made for, and the level of the test.
WANTED, LEVEL = 0.8, 0.95
#: A spread from fewer runs is too rough to plan with: that of all cases pooled is used.
ENOUGH_RUNS = 4


@dataclass(slots=True)
class Noise:
    """A case's spread between runs.

    ``spread``: standard deviation of the logarithms of its run values (a share), None for fewer than two runs;
    ``low``, ``high``: its 80 % interval; ``seen``: the smallest change that as many runs on both sides would show with
    a chance of 80 %; ``needed``: runs a side for the change planned for; ``pooled``: these two are from all cases' spread.
    """

    case: Case
    n: int
    centre: float | None
    unit: str
    spread: float | None = None
    low: float | None = None
    high: float | None = None
    seen: float | None = None
    needed: int | None = None
    pooled: bool = False


def noise(cases: Sequence[Case], metric: str, detect: float | None = None) -> list[Noise]:
    """The noise of every case; ``detect``: the change (a share) to plan for."""
    groups = [[v for v in values(case, metric) if math.isfinite(v) and v > 0] for case in cases]
    together = pooled_spread(groups)
    out = []
    for case, group in zip(cases, groups, strict=True):
        unit = case.metrics[metric].unit if metric in case.metrics else ""
        one = Noise(case, len(group), centre(group), unit, log_spread(group) if len(group) > 1 else None)
        if one.spread:
            one.low, one.high = spread_bounds(one.spread, len(group) - 1)
        one.pooled = len(group) < ENOUGH_RUNS or not one.spread
        used = together[0] if one.pooled and together is not None else one.spread
        if used:
            one.seen = detectable_change(used, max(len(group), 2), WANTED, LEVEL)
            if detect is not None:
                one.needed = runs_needed(detect, used, WANTED, LEVEL)
        out.append(one)
    return out


def grid(found: Sequence[Noise], metric: str, options: Options, detect: float | None) -> Grid:
    """The noise of all cases as rows of text."""
    rows, notes = [], []
    for one, name in zip(found, names_of([n.case for n in found]), strict=True):
        spread = f"{100 * one.spread:.2f}%" if one.spread is not None else ""
        between = f"[{100 * one.low:.2f}, {100 * one.high:.2f}]%" if one.low is not None and one.high is not None else ""
        row = [name, str(one.n), number(one.centre) or "no value", one.unit, spread, between]
        row.append(f"{100 * one.seen:.2g}%" if one.seen is not None else "")
        if detect is not None:
            row.append(str(one.needed) if one.needed is not None else "" if not one.seen and not one.spread else ">1000")
        mark = ""
        if one.pooled and (one.needed or one.seen):
            mark = "1"
        elif one.spread == 0:
            mark = "2"
        elif not one.seen and not one.needed:
            mark = "3"
        rows.append([*row, mark])
    told = {"1": f"fewer than {ENOUGH_RUNS} runs: from the spread of all cases pooled", "2": "no spread at all: copies of one log, or too coarse a print",
            "3": "too few runs to say"}  # fmt: skip
    notes = [f"{mark}. {told[mark]}" for mark in sorted({row[-1] for row in rows} - {""})]
    titles = ["case", "n", metric, "unit", "spread", "80% interval", "change seen with n"]
    titles += ([f"runs a side for {100 * detect:g}%"] if detect is not None else []) + ["notes"]
    right = [False, True, True, False, True, False, True, *([True] if detect is not None else []), False]
    how = f"spread between runs: standard deviation of logarithms; chance {100 * WANTED:g} %, Mann–Whitney at {100 * LEVEL:g} %"
    return Grid(titles, rows, right, notes, f"{how}; estimator {options.estimator}; {options.window}.")


def document(found: Sequence[Noise], metric: str, detect: float | None) -> dict[str, object]:
    """The noise of all cases as plain data."""
    return {
        "schema": "perflog/noise/1",
        "metric": metric,
        "detect": detect,
        "cases": [
            {
                "case": one.case.key, "label": one.case.label, "n": one.n, "median": one.centre, "unit": one.unit, "spread": one.spread,
                "interval": None if one.low is None else {"low": one.low, "high": one.high, "level": 0.8},
                "change_seen": one.seen, "runs_needed": one.needed, "pooled": one.pooled,
            }
            for one in found
        ],
    }  # fmt: skip
