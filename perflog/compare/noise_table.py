"""The noise of cases, and the plan made from it, as a table of texts: its columns, and the order of its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from perflog.compare.noise import ENOUGH_RUNS, LEVEL, WANTED, CaseNoise, Noise
from perflog.compare.rule import keys_of, names_of
from perflog.escaping import csv_cell, json_text
from perflog.export.case_table import Shown, ordered, unknown_name, value_of_case
from perflog.export.text import TextTable, number, two_digits
from perflog.formats.vocabulary import INTEGERS
from perflog.stats.campaigns import CampaignLevel

_NOTES = {
    "1": f"fewer than {ENOUGH_RUNS} runs: from the spread of all cases pooled",
    "2": "no spread at all: copies of one log, or too coarse a print",
    "3": "too few runs to say, or too few for a table of so many rows",
}
#: The columns that a table has by itself.
_DEFAULT = Shown()
#: The columns that the history adds.
_OF_HISTORY = ("campaigns", "run_spread", "campaign_spread")
_LEFT = ("case", "unit", "interval", "notes", "label")
#: The fields that rows can be sorted by, beside the case's own and the metric.
NUMBERS: dict[str, Callable[[CaseNoise], float | None]] = {
    "n": lambda member: member.n,
    "spread": lambda member: member.coefficient_of_variation,
    "change_seen": lambda member: member.change_seen,
    "runs_needed": lambda member: member.runs_needed,
}


def noise_table(noise: Noise, shown: Shown = _DEFAULT) -> TextTable:
    """The noise of all cases as rows of text.

    Args:
        shown: the columns, by their names in the document (``change_seen``) or a field of the cases; ``wide`` gives
            each field of the cases a column of its own.

    Raises:
        UsageError: for a column that there is not, with the nearest one.
    """
    names = _columns(noise, shown)
    columns = {name: _cells(noise, name) for name in names}
    marks = _cells(noise, "notes")
    if shown.columns and any(marks) and "notes" not in columns:
        columns["notes"] = marks
    rows = [list(cells) for cells in zip(*columns.values(), strict=True)]
    footnotes = [f"{mark}. {_NOTES[mark]}" for mark in sorted(set(marks) - {""})]
    right = [name in INTEGERS or (name not in _LEFT and name not in _keys(noise)) for name in columns]
    keys = sum(1 for name in columns if name == "case" or name in _keys(noise))
    titles = [_title(noise, name) for name in columns]
    return TextTable(titles, rows, right, footnotes, _caption(noise), keys=max(1, keys))


def sorted_noise(noise: Noise, order: str) -> Noise:
    """The noise with its cases by the fields that ``order`` names: ``-spread,devices``.

    Raises:
        UsageError: for a field that there is not, with the nearest one.
    """

    def value(member: CaseNoise, name: str) -> float | str | None:
        if name == noise.metric:
            return member.centre
        return NUMBERS[name](member) if name in NUMBERS else value_of_case(member.case, name)

    known = [*_keys(noise), "label", noise.metric, *NUMBERS]
    return replace(noise, cases=tuple(ordered(noise.cases, order, known, value)))


def _keys(noise: Noise) -> list[str]:
    """The fields that the cases have."""
    return keys_of([member.case for member in noise.cases])


def _columns(noise: Noise, shown: Shown) -> list[str]:
    """The names of the columns that are shown."""
    numbers = ["n", noise.metric, "unit", "spread", "interval", "change_seen"]
    numbers += [*(["runs_needed"] if noise.detect is not None else []), *(_OF_HISTORY if noise.history else ())]
    if not shown.columns:
        return [*(_keys(noise) if shown.wide else ["case"]), *numbers, "notes"]
    known = ["case", *_keys(noise), "label", *numbers, "notes"]
    for name in shown.columns:
        if name not in known:
            raise unknown_name("columns", name, known)
    return list(dict.fromkeys(shown.columns))


def _title(noise: Noise, name: str) -> str:
    titles = {
        "interval": "80% interval", "change_seen": "change seen with n", "run_spread": "between their runs (df)",
        "campaign_spread": "between campaigns (df)", "batch_size": "batch/device", "framework_version": "version",
        "runs_needed": f"runs a side for {100 * (noise.detect or 0):g}%",
    }  # fmt: skip
    return titles.get(name, name)


def _cells(noise: Noise, name: str) -> list[str]:
    """The texts of one column."""
    if name == "case":
        return names_of([member.case for member in noise.cases])
    readers: dict[str, Callable[[CaseNoise], str]] = {
        "n": lambda member: str(member.n),
        noise.metric: lambda member: number(member.centre) or "no value",
        "unit": lambda member: member.unit,
        "label": lambda member: member.case.label,
        "spread": lambda member: _percent(member.coefficient_of_variation, ".2f"),
        "interval": _interval,
        "change_seen": lambda member: "" if member.change_seen is None else f"{two_digits(100 * member.change_seen)}%",
        "runs_needed": _needed,
        "campaigns": lambda member: "not known" if member.campaigns is None else str(member.campaigns.campaigns),
        "run_spread": _run_spread,
        "campaign_spread": _campaign_spread,
        "notes": _mark,
    }
    if name in readers:
        return [readers[name](member) for member in noise.cases]
    return [str(member.case.key.get(name, "")) for member in noise.cases]


def _percent(share: float | None, form: str) -> str:
    return "" if share is None else f"{100 * share:{form}}%"


def _interval(member: CaseNoise) -> str:
    low, high = member.low, member.high
    return f"[{100 * low:.2f}, {100 * high:.2f}]%" if low is not None and high is not None else ""


def _run_spread(member: CaseNoise) -> str:
    """What runs of one campaign differ by, with its degrees of freedom."""
    level = member.campaigns
    return f"{100 * level.run_spread:.2f}% ({level.run_freedom})" if level is not None and level.run_freedom else ""


def _campaign_spread(member: CaseNoise) -> str:
    """What campaigns differ by beyond their runs, with its degrees of freedom."""
    level = member.campaigns
    return "" if level is None else f"{100 * level.campaign_spread:.2f}% ({level.freedom})"


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


def _caption(noise: Noise) -> str:
    """How the numbers were made."""
    spread = "spread between runs: standard deviation of logarithms"
    of_table = f"of {noise.table.rows}" if noise.table.rows > 1 else "alone"
    margin = f"margin {100 * noise.table.margin:g} %, level {100 * LEVEL:g} %"
    test = f"a chance of {100 * WANTED:g} % that `perflog compare` calls one changed case {of_table} ({margin})"
    of_history = (
        f"; campaigns of one version and machine in {noise.history}, their spread beyond that of their runs, df: "
        "degrees of freedom"
    )
    test += of_history if noise.history else ""
    return f"{spread}; {test}; estimator {noise.options.estimator}; {noise.options.window}."


# ----------------------------------------------------------------------------------------------------
# The noise of cases, and the plan made from it, as CSV and as JSON.

SCHEMA = "perflog/noise/1"
FORMATS = ("table", "markdown", "csv", "json")


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


def to_csv(noise: Noise, columns: Sequence[str] = ()) -> str:
    """A row for every case with the numbers of the document; spreads are fractions, not per cent.

    Args:
        columns: these columns alone, in this order; empty: all.

    Raises:
        UsageError: for a column that there is not, with the nearest one.
    """
    import csv
    import io

    rows = [_csv_row(member) for member in noise.cases]
    keys = dict.fromkeys(key for member in noise.cases for key in member.case.key)
    known = list(dict.fromkeys([*keys, *(name for row in rows for name in row)]))
    for name in columns:
        if name not in known:
            raise unknown_name("columns", name, known)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([csv_cell(name) for name in columns or known])
    for row in rows:
        writer.writerow([_csv_cell(row.get(name)) for name in columns or known])
    return out.getvalue()


def _csv_row(member: CaseNoise) -> dict[str, object]:
    """What stands in a case's row, by column."""
    return {
        **member.case.key,
        "label": member.case.label, "n": member.n, "median": member.centre, "unit": member.unit,
        "spread": member.coefficient_of_variation, "low": member.low, "high": member.high,
        "change_seen": member.change_seen, "runs_needed": member.runs_needed, "pooled": member.pooled,
    }  # fmt: skip


def _csv_cell(value: object) -> object:
    """A value as it stands in a cell: text of logs and paths is no formula of a spreadsheet."""
    if isinstance(value, bool):
        return str(value).lower()
    return csv_cell(value) if isinstance(value, str) else value


def to_json(noise: Noise) -> str:
    """The document as indented JSON."""
    return json_text(noise_document(noise)) + "\n"
