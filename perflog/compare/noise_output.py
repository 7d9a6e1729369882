"""The noise of cases, and the plan made from it, as CSV and as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from perflog.compare.noise import CaseNoise, Noise
from perflog.escaping import csv_cell, json_text
from perflog.export.case_table import unknown_name
from perflog.stats.campaigns import CampaignLevel

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
