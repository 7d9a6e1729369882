"""The noise of cases, and the plan made from it, as a table, as CSV and as JSON."""

from __future__ import annotations

from perflog.compare.names import names_of
from perflog.compare.noise import ENOUGH_RUNS, LEVEL, WANTED, CaseNoise, Noise
from perflog.escaping import csv_cell, json_text
from perflog.export.columns import TextTable, number
from perflog.stats.campaigns import CampaignLevel

SCHEMA = "perflog/noise/1"
FORMATS = ("table", "markdown", "csv", "json")
_NOTES = {
    "1": f"fewer than {ENOUGH_RUNS} runs: from the spread of all cases pooled",
    "2": "no spread at all: copies of one log, or too coarse a print",
    "3": "too few runs to say, or too few for a table of so many rows",
}


def noise_table(noise: Noise) -> TextTable:
    """The noise of all cases as rows of text."""
    names = names_of([member.case for member in noise.cases])
    plans = noise.detect is not None
    shows_levels = bool(noise.history)
    rows = [_cells(member, name, plans, shows_levels) for member, name in zip(noise.cases, names, strict=True)]
    footnotes = [f"{mark}. {_NOTES[mark]}" for mark in sorted({row[-1] for row in rows} - {""})]
    titles = ["case", "n", noise.metric, "unit", "spread", "80% interval", "change seen with n"]
    levels = ["campaigns", "between their runs (df)", "between campaigns (df)"] if noise.history else []
    titles += ([f"runs a side for {100 * noise.detect:g}%"] if noise.detect is not None else []) + levels + ["notes"]
    right = [False, True, True, False, True, False, True, *([True] if plans else []), *(True for _ in levels), False]
    spread = "spread between runs: standard deviation of logarithms"
    of_table = f"of {noise.table.rows}" if noise.table.rows > 1 else "alone"
    margin = f"margin {100 * noise.table.margin:g} %, level {100 * LEVEL:g} %"
    test = f"a chance of {100 * WANTED:g} % that `perflog compare` calls one changed case {of_table} ({margin})"
    of_history = (
        f"; campaigns of one version and machine in {noise.history}, their spread beyond that of their runs, df: "
        "degrees of freedom"
    )
    test += of_history if noise.history else ""
    caption = f"{spread}; {test}; estimator {noise.options.estimator}; {noise.options.window}."
    return TextTable(titles, rows, right, footnotes, caption)


def _cells(member: CaseNoise, name: str, plans: bool, shows_levels: bool) -> list[str]:
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
    levels = _levels(member.campaigns) if shows_levels else []
    return [*cells, *([_needed(member)] if plans else []), *levels, _mark(member)]


def _levels(level: CampaignLevel | None) -> list[str]:
    """How many campaigns, and the spreads of both levels with their degrees of freedom."""
    if level is None:
        return ["not known", "", ""]
    runs = f"{100 * level.run_spread:.2f}% ({level.run_freedom})" if level.run_freedom else ""
    return [str(level.campaigns), runs, f"{100 * level.campaign_spread:.2f}% ({level.freedom})"]


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
        "campaigns": _level_document(member.campaigns),
    }  # fmt: skip


def _level_document(level: CampaignLevel | None) -> dict[str, object] | None:
    if level is None:
        return None
    return {
        "campaigns": level.campaigns, "spread": level.campaign_spread, "degrees_of_freedom": level.freedom,
        "run_spread": level.run_spread, "run_degrees_of_freedom": level.run_freedom,
    }  # fmt: skip


def to_csv(noise: Noise) -> str:
    """A row for every case with the numbers of the document; spreads are fractions, not per cent."""
    import csv
    import io

    keys = list(dict.fromkeys(key for member in noise.cases for key in member.case.key))
    columns = ["label", "n", "median", "unit", "spread", "low", "high", "change_seen", "runs_needed", "pooled"]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([csv_cell(name) for name in [*keys, *columns]])
    for member in noise.cases:
        writer.writerow([_csv_cell(value) for value in [*map(member.case.key.get, keys), *_csv_values(member)]])
    return out.getvalue()


def _csv_values(member: CaseNoise) -> list[object]:
    """What stands in a case's row behind its key."""
    interval = [member.low, member.high]
    noise = [member.coefficient_of_variation, *interval, member.change_seen, member.runs_needed]
    return [member.case.label, member.n, member.centre, member.unit, *noise, member.pooled]


def _csv_cell(value: object) -> object:
    """A value as it stands in a cell: text of logs and paths is no formula of a spreadsheet."""
    if isinstance(value, bool):
        return str(value).lower()
    return csv_cell(value) if isinstance(value, str) else value


def to_json(noise: Noise) -> str:
    """The document as indented JSON."""
    return json_text(noise_document(noise)) + "\n"
