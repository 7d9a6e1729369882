"""How much runs differ, how many a change needs to be seen, and what change the runs at hand could show."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from perflog.cases.case import Case
from perflog.cases.choosing import chosen
from perflog.compare.remembering import memories_of_cases
from perflog.compare.rows import centre, values
from perflog.compare.rule import keys_of, names_of
from perflog.compare.sides import NO_HISTORY, History, history_of, open_sides
from perflog.compare.table import Column, value_by
from perflog.errors import UsageError
from perflog.escaping import json_text
from perflog.formats.vocabulary import INTEGERS
from perflog.settings.config import Settings
from perflog.settings.options import Options
from perflog.show.case_table import TITLES, Shown
from perflog.show.extractions import Extractions
from perflog.show.fields import ordered, require_columns
from perflog.show.text import TextTable, number, to_csv, two_digits
from perflog.stats import planning
from perflog.stats.memory import IMPROBABLE, Memory, chance_of_noise
from perflog.stats.power import (
    Table,
    coefficient_of_variation,
    detectable_change,
    pooled_coefficient_of_variation,
    runs_needed,
    variation_bounds,
)
from perflog.stats.verdict import MARGIN

#: The chance of seeing a change that a plan is made for, and the level of the test.
WANTED, LEVEL = 0.8, 0.95
#: A coefficient of variation from fewer runs is too rough to plan with: that of all cases pooled is used.
ENOUGH_RUNS = 4


@dataclass(frozen=True, slots=True)
class CaseNoise:
    """How much the runs of one case differ.

    Attributes:
        case: the case.
        n: how many of its runs have a value.
        centre: their median, in ``unit``.
        unit: the metric's unit.
        coefficient_of_variation: the standard deviation of the logarithms of the run values, a share; None for fewer
            than two runs.
        low, high: its 80 % interval.
        change_seen: the smallest change that `compare` would call with a chance of 80 % with as many runs on both
            sides, a share; None where so many runs carry no table of so many rows.
        runs_needed: runs a side for the change that is planned for, were the runs' spread the one that was estimated;
            None where more than 1000 would be needed. Where campaigns of one version differ, both sides have to be
            measured in turn.
        runs_needed_most: the same for the upper end of the spread's 80 % interval: a spread known from few runs may be
            nearly twice as large, and a plan for the middle then falls short as often as not.
        runs_apart: the same where one side is measured after the other, so that what campaigns differ by counts; None
            where no number of runs suffices, and where the memory does not apply.
        memory: what the earlier campaigns say; None where they say nothing.
        remembered: whether ``change_seen``, ``runs_needed`` and ``runs_apart`` come from the memory: it knows the runs,
            and those at hand are not improbably noisier.
        pooled: whether ``change_seen`` and ``runs_needed`` come from the coefficient of variation of all cases pooled.
    """

    case: Case
    n: int
    centre: float | None
    unit: str
    coefficient_of_variation: float | None = None
    low: float | None = None
    high: float | None = None
    change_seen: float | None = None
    runs_needed: int | None = None
    runs_needed_most: int | None = None
    pooled: bool = False
    runs_apart: int | None = None
    memory: Memory | None = None
    remembered: bool = False


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise of all cases, and with ``detect`` a plan: how many runs a side each case needs.

    Attributes:
        metric: the metric whose run values are looked at.
        detect: the change that must be seen, a share; None where nothing is planned.
        options: how the numbers were made.
        cases: one per case, in the cases' order.
        history: the database that campaigns were looked up in; empty where they were not.
        notes: what the history says of the cases, or why it could not be read.
        table: the table that the changes are to be found in: as many rows as there are cases, the margin, the level.
    """

    metric: str
    detect: float | None
    options: Options
    cases: tuple[CaseNoise, ...]
    table: Table
    history: str = ""
    notes: tuple[str, ...] = ()


def noise(
    cases: Sequence[Case], options: Options, metric: str, detect: float | None = None, margin: float = MARGIN,
    history: History = NO_HISTORY,
) -> Noise:  # fmt: skip
    """The noise of every case.

    Args:
        cases: those that a comparison will have as its rows.
        options: how the numbers were made.
        metric: whose run values are looked at.
        detect: the change, a share, to plan for.
        margin: the change, a share, that does not matter.
        history: whose earlier campaigns say what runs and campaigns spread by.

    Raises:
        UsageError: for a change within the margin, which `compare` never calls; when there is no history yet and it was
            asked for.
        PerflogError: when the history cannot be read and was asked for.
    """
    if detect is not None and detect <= margin:
        raise UsageError(
            f"a change of {100 * detect:.4g} % lies within the margin of {100 * margin:.4g} %, so no number of runs "
            "makes `perflog compare` call it: ask for a larger change (--detect) or set a smaller margin (--margin)"
        )
    table = Table(max(1, len(cases)), margin, LEVEL)
    groups = [[v for v in values(case, metric) if math.isfinite(v) and v > 0] for case in cases]
    pooled = pooled_coefficient_of_variation(groups)
    past = memories_of_cases(cases, metric, options, history, margin)
    members = (
        _with_memory(_case_noise(case, group, metric, detect, pooled, table), group, memory, detect, table)
        for case, group, memory in zip(cases, groups, past.memories, strict=True)
    )
    return Noise(metric, detect, options, tuple(members), table, past.name, (*past.notes, *past.warnings))


def _with_memory(
    one: CaseNoise, group: Sequence[float], memory: Memory | None, detect: float | None, table: Table
) -> CaseNoise:
    """The case with what its memory says, where it applies to the runs at hand."""
    if memory is None:
        return one
    own = [(np.asarray(one.coefficient_of_variation or 0.0) ** 2, len(group) - 1)] if len(group) > 1 else []
    if not memory.knows_runs or (own and float(chance_of_noise(memory, own)[0]) < IMPROBABLE):
        return replace(one, memory=memory)
    middle, upper = (planning.outlook(memory, apart=False, upper=upper) for upper in (False, True))
    seen = planning.detectable_change(max(len(group), 2), middle, WANTED, table)
    one = replace(one, memory=memory, remembered=True, pooled=False, change_seen=seen)
    if detect is None:
        return one
    apart = planning.outlook(memory, apart=True, upper=True)
    needed, most, of_apart = (
        planning.runs_needed(detect, expected, WANTED, table) for expected in (middle, upper, apart)
    )
    return replace(one, runs_needed=needed, runs_needed_most=most, runs_apart=of_apart)


def _case_noise(
    case: Case,
    group: Sequence[float],
    metric: str,
    detect: float | None,
    pooled: tuple[float, int] | None,
    table: Table,
) -> CaseNoise:
    """``pooled``: the spread of all cases together, and its degrees of freedom."""
    own = coefficient_of_variation(group) if len(group) > 1 else None
    low, high = variation_bounds(own, len(group) - 1) if own else (None, None)
    from_pool = len(group) < ENOUGH_RUNS or not own
    variation, freedom = pooled if from_pool and pooled is not None else (own, len(group) - 1)
    seen = needed = most = None
    if variation:
        seen = detectable_change(variation, max(len(group), 2), WANTED, table)
        if detect is not None:
            needed = runs_needed(detect, variation, WANTED, table)
            most = runs_needed(detect, variation_bounds(variation, freedom)[1], WANTED, table)
    unit = case.metrics[metric].unit if metric in case.metrics else ""
    return CaseNoise(case, len(group), centre(group), unit, own, low, high, seen, needed, most, from_pool)


# ----------------------------------------------------------------------------------------------------
# The noise of logs or saved campaigns, from their names.


def noise_of(
    names: Sequence[str], settings: Settings, extractions: Extractions, metric: str, detect: float | None = None,
    margin: float = MARGIN, history: bool | None = None, where: Mapping[str, str] | None = None,
) -> Noise:  # fmt: skip
    """The noise of every case of logs, or of labels of saved campaigns.

    Args:
        names: files and folders of logs, all one set; or, where one of them is a campaign's label, sides of their own.
        metric: one of :data:`perflog.compare.rule.METRICS`.
        detect: the change (a share) to plan for; None: none.
        margin: the change (a share) that does not matter.
        history: whether to look up in the history what runs and campaigns spread by; None: where a database is named.
        where: the cases with these values alone, as a comparison with the same ``where`` has them.

    Raises:
        UsageError: for a name that is neither, when there is no training log, for a change within the margin, or for a
            field or value of ``where`` that no case has.
    """
    if all(Path(name).exists() for name in names):
        extraction = extractions.of(names, settings)
        cases, options = extraction.cases, settings.options()
        if not cases:
            raise UsageError(extraction.why_none)
    else:
        opened = open_sides(names, settings, extractions)
        cases, options = [case for side in opened.sides for case in side.extraction.cases], opened.options
    if where:
        cases = chosen(cases, where)
    return noise(cases, options, metric, detect, margin, history_of(settings, history))


# ----------------------------------------------------------------------------------------------------
# The noise of cases, and the plan made from it, as a table: its columns, and the order of its rows.

_NOTES = {
    "1": f"fewer than {ENOUGH_RUNS} runs: from the spread of all cases pooled",
    "2": "no spread at all: copies of one log, or too coarse a print",
    "3": "too few runs to say, or too few for a table of so many rows",
    "4": "the runs at hand are noisier than the history by more than chance, and are planned for alone",
}
#: The columns beside the case's and the metric's, in the order that a table has by itself.
_COLUMNS: tuple[Column[CaseNoise, Noise], ...] = (
    Column("n", lambda one, _: str(one.n), lambda one: one.n),
    Column("unit", lambda one, _: one.unit, is_right=False),
    Column("spread", lambda one, _: _spread(one), lambda one: one.coefficient_of_variation),
    Column("interval", lambda one, _: _interval(one), title="80% interval", is_right=False),
    Column("change_seen", lambda one, _: _change_seen(one), lambda one: one.change_seen, "change seen with n"),
    Column("runs_needed", lambda one, _: _needed(one), lambda one: one.runs_needed),
    Column("runs_apart", lambda one, _: _apart(one), lambda one: one.runs_apart, "one side after the other"),
    Column("campaigns", lambda one, _: "not known" if one.memory is None else str(one.memory.campaigns)),
    Column("run_spread", lambda one, _: _run_spread(one), title="between their runs (df)"),
    Column("campaign_spread", lambda one, _: _campaign_spread(one), title="between campaigns (df)"),
    Column("notes", lambda one, _: _mark(one), is_right=False),
)
COLUMNS = {column.name: column for column in _COLUMNS}
#: The fields that rows can be sorted by, beside the case's own and the metric.
SORTED_BY = tuple(name for name, column in COLUMNS.items() if column.value is not None)
#: The columns that a table has by itself.
_DEFAULT = Shown()
#: The columns that the history adds.
_OF_HISTORY = ("campaigns", "run_spread", "campaign_spread")


def noise_table(noise: Noise, shown: Shown = _DEFAULT) -> TextTable:
    """The noise of all cases as rows of text.

    Args:
        shown: the columns, by their names in the document (``change_seen``) or a field of the cases; ``wide`` gives
            each field of the cases a column of its own.

    Raises:
        UsageError: for a column that there is not, with the nearest one.
    """
    fields, marks = keys_of([one.case for one in noise.cases]), [_mark(one) for one in noise.cases]
    numbers = ["n", noise.metric, "unit", "spread", "interval", "change_seen"]
    if noise.detect is not None:
        numbers += ["runs_needed", *(["runs_apart"] if noise.history else [])]
    numbers += _OF_HISTORY if noise.history else ()
    require_columns(shown.columns, ["case", *fields, "label", *numbers, "notes"])
    names = list(dict.fromkeys(shown.columns)) or [*(fields if shown.wide else ["case"]), *numbers, "notes"]
    if any(marks) and "notes" not in names:
        names.append("notes")
    rows = [list(cells) for cells in zip(*(_cells(noise, name) for name in names), strict=True)]
    footnotes = [f"{mark}. {_NOTES[mark]}" for mark in sorted(set(marks) - {""})]
    columns = _columns(noise)
    right = [columns[name].is_right if name in columns else name in INTEGERS for name in names]
    keys = sum(1 for name in names if name == "case" or name in fields)
    titles = [_title(noise, name) for name in names]
    return TextTable(titles, rows, right, footnotes, _caption(noise), keys=max(1, keys))


def sorted_noise(noise: Noise, order: str) -> Noise:
    """The noise with its cases by the fields that ``order`` names: ``-spread,devices``.

    Raises:
        UsageError: for a field that there is not, with the nearest one.
    """
    known = [*keys_of([one.case for one in noise.cases]), "label", noise.metric, *SORTED_BY]
    value = value_by(_columns(noise), lambda one: one.case)
    return replace(noise, cases=tuple(ordered(noise.cases, order, known, value)))


def _columns(noise: Noise) -> dict[str, Column[CaseNoise, Noise]]:
    """The columns with the metric's."""
    metric: Column[CaseNoise, Noise] = Column(
        noise.metric, lambda one, _: number(one.centre) or "no value", lambda one: one.centre
    )
    return {**COLUMNS, noise.metric: metric}


def _title(noise: Noise, name: str) -> str:
    if name == "runs_needed":
        return f"runs a side for {100 * (noise.detect or 0):g}%"
    return (COLUMNS[name].title if name in COLUMNS else TITLES.get(name, "")) or name


def _cells(noise: Noise, name: str) -> list[str]:
    """The texts of one column."""
    if name == "case":
        return names_of([one.case for one in noise.cases])
    column = _columns(noise).get(name)
    if column is not None:
        return [column.text(one, noise) for one in noise.cases]
    return [one.case.label if name == "label" else str(one.case.key.get(name, "")) for one in noise.cases]


def _spread(one: CaseNoise) -> str:
    return "" if one.coefficient_of_variation is None else f"{100 * one.coefficient_of_variation:.2f}%"


def _change_seen(one: CaseNoise) -> str:
    return "" if one.change_seen is None else f"{two_digits(100 * one.change_seen)}%"


def _interval(one: CaseNoise) -> str:
    low, high = one.low, one.high
    return f"[{100 * low:.2f}, {100 * high:.2f}]%" if low is not None and high is not None else ""


def _run_spread(one: CaseNoise) -> str:
    """What runs of one campaign differ by, with its degrees of freedom."""
    memory = one.memory
    return f"{100 * memory.run_spread:.2f}% ({memory.known_freedom})" if memory and memory.known_freedom else ""


def _campaign_spread(one: CaseNoise) -> str:
    """What campaigns differ by beyond their runs, with its degrees of freedom."""
    memory = one.memory
    return "" if memory is None else f"{100 * memory.campaign_spread:.2f}% ({memory.freedom})"


def _needed(one: CaseNoise) -> str:
    if not one.change_seen and not one.coefficient_of_variation and not one.remembered:
        return ""
    needed, most = ("> 1000" if runs is None else str(runs) for runs in (one.runs_needed, one.runs_needed_most))
    return needed if needed == most else f"{needed} to {most}"


def _apart(one: CaseNoise) -> str:
    """Runs a side where one side is measured after the other; not known without a memory."""
    if not one.remembered:
        return "not known"
    return "none will do" if one.runs_apart is None else str(one.runs_apart)


def _mark(one: CaseNoise) -> str:
    """The footnote's mark: where the numbers come from, or why there are none."""
    if one.pooled and (one.runs_needed or one.change_seen):
        return "1"
    if one.memory is not None and one.memory.knows_runs and not one.remembered:
        return "4"
    if one.coefficient_of_variation == 0:
        return "2"
    return "3" if not one.change_seen and not one.runs_needed else ""


#: What is said of sides that are measured apart.
_AFTER = (
    "; one side after the other: what campaigns differ by counts, and more runs do not make it smaller; where none "
    "will do, measure in turn (`perflog run --against`)"
)


def _caption(noise: Noise) -> str:
    """How the numbers were made."""
    spread = "spread between runs: standard deviation of logarithms"
    of_table = f"of {noise.table.rows}" if noise.table.rows > 1 else "alone"
    margin = f"margin {100 * noise.table.margin:g} %, level {100 * LEVEL:g} %"
    test = f"a chance of {100 * WANTED:g} % that `perflog compare` calls one changed case {of_table} ({margin})"
    of_history = (
        "; where a case has a memory, from the spread of its earlier runs, both sides measured in turn"
        f"{_AFTER if noise.detect is not None else ''}; campaigns: their spread beyond that of their runs, df: degrees "
        "of freedom"
    )
    test += (
        "; of two numbers of runs the second is for the upper end of the spread's interval"
        if noise.detect is not None
        else ""
    )
    test += of_history if noise.history else ""
    made = f"{spread}; {test}; estimator {noise.options.estimator}; {noise.options.window}."
    return " ".join([made, *noise.notes])


# ----------------------------------------------------------------------------------------------------
# The same as CSV and as JSON.

SCHEMA = "perflog/noise/1"
FORMATS = ("table", "markdown", "csv", "json")


def noise_document(noise: Noise) -> dict[str, Any]:
    """The noise of all cases as plain data, in the schema of docs/compare.md."""
    return {
        "schema": SCHEMA,
        "metric": noise.metric,
        "detect": noise.detect,
        "table": {"rows": noise.table.rows, "margin": noise.table.margin, "level": noise.table.level},
        "notes": list(noise.notes),
        "cases": [_member(one) for one in noise.cases],
    }


def _member(one: CaseNoise) -> dict[str, Any]:
    memory = one.memory
    return {
        "case": one.case.key, "label": one.case.label, "n": one.n, "median": one.centre,
        "unit": one.unit, "spread": one.coefficient_of_variation,
        "interval": None if one.low is None else {"low": one.low, "high": one.high, "level": 0.8},
        "change_seen": one.change_seen, "runs_needed": one.runs_needed, "runs_needed_most": one.runs_needed_most,
        "runs_apart": one.runs_apart, "pooled": one.pooled, "remembered": one.remembered,
        "campaigns": None if memory is None else {
            "campaigns": memory.campaigns, "spread": memory.campaign_spread, "degrees_of_freedom": memory.freedom,
            "run_spread": memory.run_spread, "run_degrees_of_freedom": memory.known_freedom,
        },
    }  # fmt: skip


def noise_csv(noise: Noise, columns: Sequence[str] = ()) -> str:
    """A row for every case with the numbers of the document; spreads are fractions, not per cent.

    Args:
        columns: these columns alone, in this order; empty: all.

    Raises:
        UsageError: for a column that there is not, with the nearest one.
    """
    rows = [_csv_row(one) for one in noise.cases]
    keys = dict.fromkeys(key for one in noise.cases for key in one.case.key)
    known = list(dict.fromkeys([*keys, *(name for row in rows for name in row)]))
    require_columns(columns, known)
    names = columns or known
    return to_csv(names, [[row.get(name) for name in names] for row in rows])


def _csv_row(one: CaseNoise) -> dict[str, Any]:
    """A case's row, by column."""
    member = _member(one)
    interval = member["interval"] or {"low": None, "high": None}
    return {
        **one.case.key, **{name: member[name] for name in ("label", "n", "median", "unit", "spread")},
        "low": interval["low"], "high": interval["high"], "change_seen": one.change_seen,
        "runs_needed": one.runs_needed, "runs_needed_most": one.runs_needed_most, "runs_apart": one.runs_apart,
        "pooled": str(one.pooled).lower(), "remembered": str(one.remembered).lower(),
    }  # fmt: skip


def noise_json(noise: Noise) -> str:
    """The document as indented JSON."""
    return json_text(noise_document(noise)) + "\n"
