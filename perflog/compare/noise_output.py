"""The noise of cases, and the plan made from it, as a table and as JSON."""

from __future__ import annotations

from perflog.compare.names import names_of
from perflog.compare.noise import ENOUGH_RUNS, LEVEL, WANTED, CaseNoise, Noise
from perflog.escaping import json_text
from perflog.export.columns import TextTable, number

SCHEMA = "perflog/noise/1"
FORMATS = ("table", "markdown", "json")
_NOTES = {
    "1": f"fewer than {ENOUGH_RUNS} runs: from the spread of all cases pooled",
    "2": "no spread at all: copies of one log, or too coarse a print",
    "3": "too few runs to say, or too few for a table of so many rows",
}


def noise_table(noise: Noise) -> TextTable:
    """The noise of all cases as rows of text."""
    names = names_of([member.case for member in noise.cases])
    plans = noise.detect is not None
    rows = [_cells(member, name, plans) for member, name in zip(noise.cases, names, strict=True)]
    footnotes = [f"{mark}. {_NOTES[mark]}" for mark in sorted({row[-1] for row in rows} - {""})]
    titles = ["case", "n", noise.metric, "unit", "spread", "80% interval", "change seen with n"]
    titles += ([f"runs a side for {100 * noise.detect:g}%"] if noise.detect is not None else []) + ["notes"]
    right = [False, True, True, False, True, False, True, *([True] if plans else []), False]
    spread = "spread between runs: standard deviation of logarithms"
    of_table = f"of {noise.table.rows}" if noise.table.rows > 1 else "alone"
    margin = f"margin {100 * noise.table.margin:g} %, level {100 * LEVEL:g} %"
    test = f"a chance of {100 * WANTED:g} % that `perflog compare` calls one changed case {of_table} ({margin})"
    caption = f"{spread}; {test}; estimator {noise.options.estimator}; {noise.options.window}."
    return TextTable(titles, rows, right, footnotes, caption)


def _cells(member: CaseNoise, name: str, plans: bool) -> list[str]:
    variation, low, high = member.coefficient_of_variation, member.low, member.high
    cells = [
        name,
        str(member.n),
        number(member.centre) or "no value",
        member.unit,
        f"{100 * variation:.2f}%" if variation is not None else "",
        f"[{100 * low:.2f}, {100 * high:.2f}]%" if low is not None and high is not None else "",
        f"{100 * member.change_seen:.2g}%" if member.change_seen is not None else "",
    ]
    return [*cells, *([_needed(member)] if plans else []), _mark(member)]


def _needed(member: CaseNoise) -> str:
    if member.runs_needed is not None:
        return str(member.runs_needed)
    return "" if not member.change_seen and not member.coefficient_of_variation else ">1000"


def _mark(member: CaseNoise) -> str:
    """The footnote's mark: where the numbers come from, or why there are none."""
    if member.pooled and (member.runs_needed or member.change_seen):
        return "1"
    if member.coefficient_of_variation == 0:
        return "2"
    return "3" if not member.change_seen and not member.runs_needed else ""


def noise_document(noise: Noise) -> dict[str, object]:
    """The noise of all cases as plain data, in the schema of docs/compare.md."""
    return {
        "schema": SCHEMA,
        "metric": noise.metric,
        "detect": noise.detect,
        "table": {"rows": noise.table.rows, "margin": noise.table.margin, "level": noise.table.level},
        "cases": [_member(member) for member in noise.cases],
    }


def _member(member: CaseNoise) -> dict[str, object]:
    interval = None if member.low is None else {"low": member.low, "high": member.high, "level": 0.8}
    return {
        "case": member.case.key, "label": member.case.label, "n": member.n, "median": member.centre,
        "unit": member.unit, "spread": member.coefficient_of_variation, "interval": interval,
        "change_seen": member.change_seen, "runs_needed": member.runs_needed, "pooled": member.pooled,
    }  # fmt: skip


def to_json(noise: Noise) -> str:
    """The document as indented JSON."""
    return json_text(noise_document(noise)) + "\n"
