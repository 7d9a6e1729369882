"""A history as a static site: an index of all cases, and a page for each; no server, and nothing from elsewhere."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perflog._version import __version__
from perflog.cases.case import BETTER
from perflog.export.columns import counted, number
from perflog.history.charts import sparkline
from perflog.history.doubts import Part, parts
from perflog.history.following import Series
from perflog.history.level_changes import LevelChange, Regressions, regressions
from perflog.history.level_changes_output import share_words
from perflog.history.listing import Entry, campaigns
from perflog.history.place import Database
from perflog.history.rendering import rule
from perflog.history.run_logs import CaseOfCampaign, RunLog, run_logs
from perflog.history.site_case import CasePage, case_page
from perflog.report.markdown import words as report_words
from perflog.report.pages import BEGINNING, LANGUAGES, environment, words
from perflog.runs.machine import differences
from perflog.stats.verdict import MARGIN

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
        "name": line.name, "place": place, "sparkline": sparkline(along, BETTER.get(line.metric), described),
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
