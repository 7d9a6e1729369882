"""A history as a static site: an index of all cases, and a page for each; no server, and nothing from elsewhere."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct
from sqlalchemy import select

from perflog._version import __version__
from perflog.cases.pairs import metric_kind
from perflog.export.columns import counted, number
from perflog.history import schema
from perflog.history.charts import chart, sparkline
from perflog.history.database import reading, rows_of
from perflog.history.following import Part, Series, parts
from perflog.history.level_changes import LevelChange, Regressions, regressions, share_words
from perflog.history.place import Database
from perflog.history.points import Point
from perflog.history.rendering import Entry, campaigns, rule
from perflog.logs.find import LogFile
from perflog.report.markdown import address
from perflog.report.markdown import words as report_words
from perflog.report.pages import BEGINNING, LANGUAGES, environment, words
from perflog.runs.machine import differences
from perflog.stats.changes import LEAST
from perflog.stats.verdict import MARGIN

# ----------------------------------------------------------------------------------------------------
# Which logs the points of a history stand on: the names of the runs' logs, with their lines and values.

#: A campaign's label, and a case's number in it.
CaseOfCampaign = tuple[str, int]


class _LogRow(Struct):
    """A run's log, with the metric where the run has it."""

    label: str
    case_number: Annotated[int, Meta(ge=0)]
    path: str
    member: str
    first_line: Annotated[int, Meta(ge=0)] | None
    last_line: Annotated[int, Meta(ge=0)] | None
    value: float | None


@dataclass(frozen=True, slots=True)
class RunLog:
    """The log of one run.

    Attributes:
        path: where it lay when its campaign was saved.
        name: its name for people.
        first_line, last_line: the lines that the metric's value comes from; 0 where none are known.
        value: the run's value, in the unit of the point; None where there is none.
    """

    path: str
    name: str
    first_line: int
    last_line: int
    value: float | None


def run_logs(database: Database, metric: str) -> dict[CaseOfCampaign, list[RunLog]]:
    """The logs of every case of every campaign, in the order of the runs.

    Raises:
        PerflogError: when the database cannot be read.
    """
    campaign, run, of_metric = schema.campaign.c, schema.run.c, schema.metric.c
    same_run = (of_metric.case_number == run.case_number) & (of_metric.run_number == run.number)
    same = (of_metric.campaign == run.campaign) & same_run & (of_metric.name == metric)
    query = (
        select(
            campaign.label, run.case_number, run.path, run.member, of_metric.first_line, of_metric.last_line,
            of_metric.value,
        )
        .join_from(schema.run, schema.campaign, run.campaign == campaign.id)
        .outerjoin(schema.metric, same)
        .order_by(campaign.date, campaign.id, run.case_number, run.number)
    )  # fmt: skip
    logs: dict[CaseOfCampaign, list[RunLog]] = {}
    with reading(database) as connection:
        rows = [] if connection is None else rows_of(connection, query, _LogRow, schema.run.name)
    for row in rows:
        name = LogFile(row["path"], 0, row["member"]).name
        lines = row["first_line"] or 0, row["last_line"] or 0
        logs.setdefault((row["label"], row["case_number"]), []).append(RunLog(row["path"], name, *lines, row["value"]))
    return logs


# ----------------------------------------------------------------------------------------------------
# The page of one case: its picture, its changes of level, its points with their logs, and the machines it ran on.


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
        "picture": chart(shown.along, metric_kind(line.metric).better, texts, described),
        "described": described,
        "changes": [_change_of_case(change, texts) for change in shown.changes],
        "parts": [
            _part(nth, part, [logs[id(point)] for point in part.points], shown, texts)
            for nth, part in reversed(list(enumerate(shown.along)))
        ],
    }


def _change_of_case(change: LevelChange, texts: Mapping[str, str]) -> dict[str, Any]:
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
    rows = [_row_of_case(point, of_point, part, shown) for point, of_point in zip(part.points, logs, strict=True)]
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


def _row_of_case(point: Point, logs: Sequence[RunLog], part: Part, shown: CasePage) -> dict[str, Any]:
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


INDEX, CASES = "index.html", "cases"
#: So many changes of level stand on the index.
MOST_CHANGES = 30
#: How a case may stand, the worst first.
_STATES = ("worse", "unexpected", "made_good", "changed", "better", "new_part_state", "too_few", "steady")
#: What the name of a file keeps of a case's name, and how much of it.
_PLAIN, _LONGEST_NAME = re.compile(r"[^a-z0-9]+"), 60


@dataclass(frozen=True, slots=True)
class Site:
    """A site that is not written yet.

    Attributes:
        files: what each of its files is to hold, by its path in the site's folder.
        described: what it holds, in words.
    """

    files: Mapping[str, bytes]
    described: str


def site(
    database: Database, folder: Path, metric: str = "throughput", margin: float = MARGIN,
    wanted: Mapping[str, str] | None = None, ignored: Collection[str] = (), language: str = "en",
) -> Site:  # fmt: skip
    """All cases of a history as pages.

    Args:
        folder: where the site will lie: links to logs, where these are there still, are relative to it.
        metric: what is followed.
        margin: changes of level up to this share do not matter.
        wanted: the cases with these values alone; None: all.
        ignored: machine facts that do not tell machines apart.
        language: ``en`` or ``zh``.

    Raises:
        UsageError: when there is no history, or no such case or metric.
        PerflogError: when the database cannot be read.
    """
    found = regressions(database, "", metric, margin, wanted, ignored)
    logs, entries = run_logs(database, metric), campaigns(database)
    names = _file_names(found.followed)
    templates = environment()
    files: dict[str, bytes] = {}
    rows = []
    for line, name in zip(found.followed, names, strict=True):
        along = parts(line, margin)
        changes = [change for change in found.changes if change.series is line]
        shown = CasePage(line, along, changes, _logs_of(line, logs), folder / CASES, language)
        files[f"{CASES}/{name}"] = _page(templates, "history_case.html.j2", language, case_page(shown))
        rows.append(_row(line, along, changes, f"{CASES}/{name}", language))
    places = {id(line): f"{CASES}/{name}" for line, name in zip(found.followed, names, strict=True)}
    index = _index(found, rows, places, entries, language)
    files[INDEX] = _page(templates, "history_index.html.j2", language, index)
    size = sum(map(len, files.values())) / 1000
    counts = [counted(len(found.followed), "case"), counted(len(entries), "campaign"), f"{len(files)} pages"]
    return Site(files, ", ".join([*counts, f"{size:.0f} kB"]))


def _page(templates: Any, name: str, language: str, values: Mapping[str, Any]) -> bytes:
    text = templates.get_template(name).render(
        beginning=BEGINNING, version=__version__, language=LANGUAGES[language], words=words(language)["history"],
        names=report_words(language)["environment"], **values,
    )  # fmt: skip
    return str(text).encode("utf-8", "backslashreplace")


def _logs_of(line: Series, logs: Mapping[CaseOfCampaign, list[RunLog]]) -> list[list[RunLog]]:
    """The logs of each point of a series."""
    return [logs.get((point.campaign, point.number), []) for point in line.points]


def _file_names(followed: Sequence[Series]) -> list[str]:
    """A name for the page of each series, the same in every site that has it."""
    names = []
    for line in followed:
        alone = sum(other.key == line.key for other in followed) == 1
        told_by = json.dumps([sorted(line.key.items()), "" if alone else line.name], ensure_ascii=True)
        mark = hashlib.sha256(told_by.encode()).hexdigest()[:10]
        plain = _PLAIN.sub("-", line.name.lower()).strip("-")[:_LONGEST_NAME].strip("-")
        names.append(f"{plain}-{mark}.html" if plain else f"{mark}.html")
    return names


# ---------------------------------------------------------------- the index


def _row(
    line: Series, along: Sequence[Part], changes: Sequence[LevelChange], place: str, language: str
) -> dict[str, Any]:
    """A case in the table of the index."""
    last = next((point for point in reversed(line.points) if point.summary.value is not None), None)
    newest = max(changes, key=lambda change: change.shift.point.date, default=None)
    state, look = _state(along, newest)
    texts = words(language)["history"]
    ratio = newest.shift.change.ratio if newest is not None else None
    described = texts["sparkline"].format(name=line.name, points=len(line.points))
    return {
        "name": line.name, "place": place, "sparkline": sparkline(along, metric_kind(line.metric).better, described),
        "points": len(line.points), "value": number(last.summary.value) if last is not None else "",
        "sort": repr(last.summary.value) if last is not None else "", "unit": line.unit,
        "change": share_words(ratio), "change_sort": "" if ratio is None else repr(ratio),
        "change_at": newest.shift.point.campaign if newest is not None else "",
        "state": texts[state], "rank": _STATES.index(state), "look": look, "last": f"{line.points[-1].date:%Y-%m-%d}",
    }  # fmt: skip


def _state(along: Sequence[Part], newest: LevelChange | None) -> tuple[str, str]:
    """How a case stands, as a key of the words, and the class that it looks by."""
    last = along[-1]
    if newest is not None and newest.is_worse and newest.lasts:
        return "worse", "worse"
    if last.outlook is not None and last.outlook.holds is False:
        return "unexpected", "open"
    if newest is not None:
        return ("made_good", "open") if newest.is_worse else ("better", "better") if newest.is_worse is False else (
            "changed", "open"
        )  # fmt: skip
    if last.unseen:
        return ("new_part_state" if len(along) > 1 else "too_few"), "open"
    return "steady", "same"


def _index(
    found: Regressions, rows: Sequence[Mapping[str, Any]], places: Mapping[int, str], entries: Sequence[Entry],
    language: str,
) -> dict[str, Any]:  # fmt: skip
    """The values of the index."""
    texts = words(language)["history"]
    metric = report_words(language)["metrics"].get(found.metric, found.metric)
    ordered = sorted(rows, key=lambda row: (row["rank"], row["name"]))
    counts: dict[str, int] = {}
    for row in ordered:
        counts[row["state"]] = counts.get(row["state"], 0) + 1
    lead = texts["lead"].format(
        cases=len(rows), campaigns=len(entries), first=f"{entries[0].date:%Y-%m-%d}",
        last=f"{entries[-1].date:%Y-%m-%d}",
    )  # fmt: skip
    changes = [_change(change, places[id(change.series)], texts) for change in found.changes[:MOST_CHANGES]]
    return {
        "title": texts["title"].format(metric=metric), "metric": metric, "lead": lead,
        "counts": texts["separator"].join(f"{count} {state}" for state, count in counts.items()),
        "changes": changes, "more_changes": max(len(found.changes) - MOST_CHANGES, 0), "rows": ordered,
        "margin": f"{100 * found.margin:g} %", "machines": _machines(found.followed),
        "campaigns": [
            {
                "label": entry.label, "date": f"{entry.date:%Y-%m-%d}", "cases": entry.cases, "runs": entry.runs,
                "frameworks": ", ".join(entry.frameworks), "options": rule(entry.options),
            }
            for entry in reversed(entries)
        ],
    }  # fmt: skip


def _change(change: LevelChange, place: str, texts: Mapping[str, str]) -> dict[str, Any]:
    point, level = change.shift.point, change.shift.change
    states = {True: "worse" if change.lasts else "made_good", False: "better", None: "changed"}
    looks = {True: "worse" if change.lasts else "open", False: "better", None: "open"}
    return {
        "name": change.series.name, "place": place, "campaign": point.campaign, "date": f"{point.date:%Y-%m-%d}",
        "version": point.version, "before": number(level.before), "after": number(level.after),
        "unit": change.series.unit, "change": share_words(level.ratio), "now": share_words(change.lasting),
        "state": texts[states[change.is_worse]], "look": looks[change.is_worse],
    }  # fmt: skip


def _machines(followed: Sequence[Series]) -> list[dict[str, Any]]:
    """The machines of all points in the order in which they come, each with its campaigns and what is new of it."""
    known: dict[str, tuple[Mapping[str, str], dict[str, None]]] = {}
    points = sorted((point for line in followed for point in line.points), key=lambda point: point.date)
    for point in points:
        for machine in point.machines:
            _, labels = known.setdefault(json.dumps(machine, sort_keys=True), (machine, {}))
            labels[point.campaign] = None
    machines, before = [], None
    for machine, labels in known.values():
        new = differences(before, machine, most=6) if before is not None else ""
        machines.append({"facts": sorted(machine.items()), "campaigns": list(labels), "new": new})
        before = machine
    return machines
