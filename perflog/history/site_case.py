"""The page of one case: its picture, its changes of level, its points with their logs, and the machines it ran on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perflog.cases.case import BETTER
from perflog.export.columns import number
from perflog.history.charts import chart
from perflog.history.doubts import Part
from perflog.history.following import Series
from perflog.history.level_changes import LevelChange
from perflog.history.level_changes_output import share_words
from perflog.history.points import Point
from perflog.history.run_logs import RunLog
from perflog.report.markdown import address
from perflog.report.markdown import words as report_words
from perflog.report.pages import words
from perflog.stats.changes import LEAST


@dataclass(frozen=True, slots=True)
class CasePage:
    """What a case's page is made of.

    Attributes:
        line: the case over its campaigns.
        along: its parts.
        changes: its changes of level.
        logs: for each point, the logs of its runs.
        folder: where the page will lie: links to logs are relative to it.
        language: of the page.
    """

    line: Series
    along: Sequence[Part]
    changes: Sequence[LevelChange]
    logs: Sequence[Sequence[RunLog]]
    folder: Path
    language: str


def case_page(shown: CasePage) -> dict[str, Any]:
    """The values of the page."""
    line, texts = shown.line, words(shown.language)["history"]
    metric = report_words(shown.language)["metrics"].get(line.metric, line.metric)
    described = texts["picture"].format(metric=metric, name=line.name)
    logs = {id(point): of_point for point, of_point in zip(line.points, shown.logs, strict=True)}
    return {
        "title": line.name,
        "metric": f"{metric} ({line.unit})" if line.unit else metric,
        "key": list(line.key.items()),
        "picture": chart(shown.along, BETTER.get(line.metric), texts, described),
        "described": described,
        "changes": [_change(change, texts) for change in shown.changes],
        "parts": [
            _part(nth, part, [logs[id(point)] for point in part.points], shown, texts)
            for nth, part in reversed(list(enumerate(shown.along)))
        ],
    }


def _change(change: LevelChange, texts: Mapping[str, str]) -> dict[str, Any]:
    point, level = change.shift.point, change.shift.change
    look = {True: "worse", False: "better", None: "open"}[change.is_worse]
    return {
        "campaign": point.campaign, "date": f"{point.date:%Y-%m-%d}", "before": number(level.before),
        "after": number(level.after), "change": share_words(level.ratio), "look": look,
        "now": texts["now"].format(share=share_words(change.lasting)) if change.lasting is not None else "",
    }  # fmt: skip


def _part(
    nth: int, part: Part, logs: Sequence[Sequence[RunLog]], shown: CasePage, texts: Mapping[str, str]
) -> dict[str, Any]:
    """A part of the series, its newest points first."""
    rows = [_row(point, of_point, part, shown) for point, of_point in zip(part.points, logs, strict=True)]
    machines = {tuple(sorted(machine.items())): None for point in part.points for machine in point.machines}
    return {
        "number": nth + 1, "broken": what_changed(part.broken, texts), "rows": rows[::-1],
        "rule": part.points[-1].rule, "machines": list(machines), "prediction": _prediction(part, texts),
        "unseen": texts["unseen"].format(reason=_reason(part, texts)) if part.unseen else "",
    }  # fmt: skip


def _reason(part: Part, texts: Mapping[str, str]) -> str:
    """Why no change of level was looked for, in the page's words where these have it."""
    count = sum(point.summary.value is not None for point in part.points)
    return texts["unseen_points"].format(n=count, least=LEAST) if count < LEAST else part.unseen


def what_changed(broken: str, texts: Mapping[str, str]) -> str:
    """What changed before a part, with the names of what can change in the page's words."""
    for name in ("machine", "rule", "unit"):
        broken = broken.replace(f"the {name}: ", f"{texts[f'the_{name}']}: ", 1)
    return broken


def _prediction(part: Part, texts: Mapping[str, str]) -> str:
    """Whether the last value is where those before it lead to expect it; empty where nothing was expected."""
    outlook = part.outlook
    if outlook is None or outlook.holds is None:
        return ""
    prediction = outlook.prediction
    return texts["expected" if outlook.holds else "not_expected"].format(
        campaign=outlook.point.campaign, low=number(prediction.low), high=number(prediction.high), n=prediction.n,
        level=f"{100 * prediction.level:g} %",
    )  # fmt: skip


def _row(point: Point, logs: Sequence[RunLog], part: Part, shown: CasePage) -> dict[str, Any]:
    s = point.summary
    interval = ""
    if s.low is not None and s.high is not None and s.level is not None:
        interval = f"[{number(s.low)}, {number(s.high)}] {100 * s.level:.4g} %"
    changed = next((shift.change for shift in part.shifts if shift.point is point), None)
    notes = s.reason if s.value is None else "", point.throttling
    return {
        "campaign": point.campaign, "date": f"{point.date:%Y-%m-%d}", "version": point.version,
        "n": f"{s.n}" if s.n == point.runs else f"{s.n}/{point.runs}", "value": number(s.value),
        "sort": "" if s.value is None else repr(s.value), "interval": interval,
        "note": "; ".join(filter(None, notes)), "change": share_words(changed.ratio) if changed else "",
        "logs": [_log(log, shown.folder) for log in logs],
    }  # fmt: skip


def _log(log: RunLog, folder: Path) -> dict[str, str]:
    """A log's name, where its value comes from, and its address where the log is there still."""
    lines = f"{log.first_line}–{log.last_line}" if log.first_line else ""
    return {
        "name": log.name, "lines": lines, "value": number(log.value),
        "address": address(log.path, folder) if Path(log.path).is_file() else "",
    }  # fmt: skip
