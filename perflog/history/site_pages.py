"""A history as a static site: an index of all cases, and a page for each; no server, and nothing from elsewhere."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import RowMapping, select

from perflog._version import __version__
from perflog.cases.pairs import metric_kind
from perflog.errors import UsageError
from perflog.history import schema
from perflog.history.database import reading, rows_of
from perflog.history.following import Part, Point, Series, parts, share_words
from perflog.history.ledger import Event
from perflog.history.level_changes import LevelChange, Regressions, State, regressions
from perflog.history.outputs import atom, identities
from perflog.history.pictures import LOOKS, chart, curve, sparkline, what_changed
from perflog.history.place import Database
from perflog.history.rendering import rule
from perflog.history.saving import Entry, campaigns
from perflog.history.site_beside import beside
from perflog.logs.find import LogFile
from perflog.runs.machine import differences
from perflog.show.contents import address
from perflog.show.links import link_to
from perflog.show.text import counted, number
from perflog.show.words import BEGINNING, LANGUAGES, page_templates, words
from perflog.stats.changes import LEAST
from perflog.stats.verdict import MARGIN

#: A campaign's label, and a case's number in it.
_Case = tuple[str, int]
INDEX, CASES, FEED, BESIDE = "index.html", "cases", "feed.xml", "campaigns.html"
#: The most changes of level on the index.
MOST_CHANGES = 30
#: The states of a case, the worst first, and the class of each in the style sheet.
_STATES = {
    State.WORSE.key: State.WORSE.look, "unexpected": "open", State.ACKNOWLEDGED.key: State.ACKNOWLEDGED.look,
    State.ENDED.key: State.ENDED.look, State.MADE_GOOD.key: State.MADE_GOOD.look,
    State.CHANGED.key: State.CHANGED.look, State.BETTER.key: State.BETTER.look, "new_part_state": "open",
    "too_few": "open", "steady": "same",
}  # fmt: skip
#: What the name of a file keeps of a case's name, and how much of it.
#: What stands for a campaign's label in the address of its runs.
_LABEL = "{campaign}"
_PLAIN, _LONGEST_NAME = re.compile(r"[^a-z0-9]+"), 60
#: The address of a repository: nothing that a browser would run.
_ADDRESS = re.compile(r"https?://[^\s/?#]+/[^\s?#]+")


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
    database: Database, folder: Path, metrics: Sequence[str] = ("throughput",), margin: float = MARGIN,
    wanted: Mapping[str, str] | None = None, ignored: Collection[str] = (), language: str = "en",
    branch: str = "", code: str = "", view: str = "",
) -> Site:  # fmt: skip
    """All cases of a history as pages.

    Args:
        folder: where the site will lie: links to logs, where these are there still, are relative to it.
        metrics: what is followed: the first has its index in the folder, each other one in a folder of its own.
        margin: changes of level up to this share do not matter.
        wanted: the cases with these values alone; None: all.
        ignored: machine facts that do not tell machines apart.
        language: ``en`` or ``zh``.
        branch: campaigns of this branch alone; empty: all.
        code: the address of the repository, of whose commits and differences the pages then have links.
        view: the address of the page of a campaign's runs over time, with ``{campaign}`` for its label; numbers lead to
            it. One that is a path begins in the folder, and links are made where the file is there.

    Raises:
        UsageError: when there is no history, no such case or metric, or an address is none.
        PerflogError: when the database cannot be read.
    """
    if code and not _ADDRESS.fullmatch(code):
        raise UsageError(f"--code-url {code}: expected the address of a repository: https://github.com/NAME/NAME")
    if view and _LABEL not in view:
        raise UsageError(f"--view {view}: expected an address with {_LABEL} in it: ../runs/{_LABEL}.html")
    view = view if "://" in view or not view else os.path.normpath(folder / view)
    named = list(dict.fromkeys(metrics))
    followed = [regressions(database, "", metric, margin, wanted, ignored, branch) for metric in named]
    entries = campaigns(database)
    folders = dict(zip(named, ["", *(f"{_PLAIN.sub('-', metric.lower())}/" for metric in named[1:])], strict=True))
    files: dict[str, bytes] = {}
    for found in followed:
        here = folders[found.metric]
        up = "../" * here.count("/")
        others = [(metric, f"{up}{place}{INDEX}") for metric, place in folders.items() if metric != found.metric]
        logs = _run_logs(database, found.metric)
        made = _Pages(found, logs, folder / here, language, code.rstrip("/"), view, others)
        files |= {f"{here}{name}": data for name, data in made.files(entries).items()}
    cases = max(len(found.followed) for found in followed)
    pages = sum(name.endswith(".html") for name in files)
    counts = [counted(cases, "case"), counted(len(entries), "campaign"), f"{pages} pages"]
    size = sum(map(len, files.values())) / 1000
    return Site(files, ", ".join([*counts, f"{size:.0f} kB"]))


@dataclass(frozen=True, slots=True)
class _Pages:
    """The pages of one metric.

    Attributes:
        found: its cases.
        logs: of every case of every campaign.
        folder: where they will lie.
        language: of their words.
        code: the address of the repository; empty: unknown.
        view: the address of the page of a campaign's runs, with ``{campaign}`` in it; empty: there is none.
        others: the other metrics of the site, each with the address of its index.
    """

    found: Regressions
    logs: Mapping[_Case, Sequence[RowMapping]]
    folder: Path
    language: str
    code: str
    view: str
    others: Sequence[tuple[str, str]]

    def files(self, entries: Sequence[Entry]) -> dict[str, bytes]:
        """What each of them is to hold, by its path in the folder."""
        found, files, rows = self.found, {}, []
        places = [f"{CASES}/{name}" for name in _file_names(found.followed)]
        texts = words("pages", self.language)["history"]
        templates = page_templates()
        of_lines = [parts(line, found.margin) for line in found.followed]
        for line, along, place in zip(found.followed, of_lines, places, strict=True):
            changes = [change for change in found.changes if change.series is line]
            own = [event for event in found.notes if not event.key or event.name == line.name]
            values = _case(line, along, changes, own, self.logs, self.folder / CASES, self.language, self.code)
            for row in (row for part in values["parts"] for row in part["rows"]):
                row["view"] = self._view(row["campaign"], [log["name"] for log in row["logs"]])
            files[place] = self._page(templates, "history_case.html.j2", values)
            rows.append(_row(line, along, changes, place, self.language))
        by_line = dict(zip(map(id, found.followed), places, strict=True))
        index = _index(found, rows, by_line, entries, self.language, self.code)
        names = words("reports", self.language)["metrics"]
        index["metrics"] = [(names.get(metric, metric), place) for metric, place in self.others]
        files[INDEX] = self._page(templates, "history_index.html.j2", index)
        files[FEED] = atom(found, by_line).encode()
        if len(labels := [entry.label for entry in entries]) > 1:
            values = beside(found.followed, of_lines, places, labels, texts) | {"metric": index["metric"]}
            files[BESIDE] = self._page(templates, "history_campaigns.html.j2", values)
        return files

    def _view(self, campaign: str, logs: Sequence[str]) -> str:
        """The address of runs of a campaign over time, as it stands in a case's page; empty where there is none."""
        if not self.view or not logs:
            return ""
        if "://" in self.view:
            return link_to(self.view.replace(_LABEL, quote(campaign, safe="")), logs)
        file = self.view.replace(_LABEL, campaign)
        return link_to(address(file, self.folder / CASES), logs) if Path(file).is_file() else ""

    def _page(self, templates: Any, name: str, values: Mapping[str, Any]) -> bytes:
        text = templates.get_template(name).render(
            beginning=BEGINNING, version=__version__, language=LANGUAGES[self.language],
            words=words("pages", self.language)["history"], names=words("reports", self.language)["environment"],
            **values,
        )  # fmt: skip
        return str(text).encode("utf-8", "backslashreplace")


def _file_names(followed: Sequence[Series]) -> list[str]:
    """A name for the page of each series, the same in every site that has it."""
    names = []
    for line, told_by in zip(followed, identities(followed), strict=True):
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
    state = _state(along, newest)
    texts = words("pages", language)["history"]
    ratio = newest.shift.change.ratio if newest is not None else None
    described = texts["sparkline"].format(name=line.name, points=len(line.points))
    return {
        "name": line.name, "place": place, "sparkline": sparkline(along, metric_kind(line.metric).better, described),
        "points": len(line.points), "value": number(last.summary.value) if last is not None else "",
        "sort": repr(last.summary.value) if last is not None else "", "unit": line.unit,
        "change": share_words(ratio), "change_sort": "" if ratio is None else repr(ratio),
        "change_at": newest.shift.point.campaign if newest is not None else "",
        "state": texts[state], "rank": list(_STATES).index(state), "look": _STATES[state],
        "last": f"{line.points[-1].date:%Y-%m-%d}",
    }  # fmt: skip


def _state(along: Sequence[Part], newest: LevelChange | None) -> str:
    """The state of a case, as a key of the words."""
    last = along[-1]
    if newest is not None and newest.state is State.WORSE:
        return newest.state.key
    if last.outlook is not None and last.outlook.holds is False:
        return "unexpected"
    if newest is not None:
        return newest.state.key
    if last.unseen:
        return "new_part_state" if len(along) > 1 else "too_few"
    return "steady"


def _index(
    found: Regressions, rows: Sequence[Mapping[str, Any]], places: Mapping[int, str], entries: Sequence[Entry],
    language: str, code: str,
) -> dict[str, Any]:  # fmt: skip
    """The values of the index."""
    texts = words("pages", language)["history"]
    metric = words("reports", language)["metrics"].get(found.metric, found.metric)
    ordered = sorted(rows, key=lambda row: (row["rank"], row["name"]))
    counts: dict[str, int] = {}
    for row in ordered:
        counts[row["state"]] = counts.get(row["state"], 0) + 1
    lead = texts["lead"].format(
        cases=len(rows), campaigns=len(entries), first=f"{entries[0].date:%Y-%m-%d}",
        last=f"{entries[-1].date:%Y-%m-%d}",
    )  # fmt: skip
    changes = [
        _change(change, code) | {
            "place": places[id(change.series)], "now": share_words(change.lasting), "look": change.state.look,
            "state": texts[change.state.key],
        }
        for change in found.changes[:MOST_CHANGES]
    ]  # fmt: skip
    return {
        "notes": [_said(event, texts) for event in found.notes],
        "title": texts["title"].format(metric=metric), "feed": FEED, "metric": metric, "lead": lead,
        "beside": BESIDE if len(entries) > 1 else "",
        "counts": texts["separator"].join(f"{count} {state}" for state, count in counts.items()),
        "changes": changes, "more_changes": max(len(found.changes) - MOST_CHANGES, 0), "rows": ordered,
        "new_parts": [
            {
                "campaign": border.point.campaign, "date": f"{border.point.date:%Y-%m-%d}",
                "changed": border.changed, "cases": len(border.cases), "span": border.span,
            }
            for border in found.new_parts
        ],
        "margin": f"{100 * found.margin:g} %", "machines": _machines(found.followed),
        "campaigns": [
            {
                "label": entry.label, "date": f"{entry.date:%Y-%m-%d}", "cases": entry.cases, "runs": entry.runs,
                "frameworks": ", ".join(entry.frameworks), "options": rule(entry.options),
            }
            for entry in reversed(entries)
        ],
    }  # fmt: skip


def _change(change: LevelChange, code: str) -> dict[str, Any]:
    """A change of level, as both kinds of pages have it."""
    point, level = change.shift.point, change.shift.change
    return {
        "name": change.series.name, "campaign": point.campaign, "date": f"{point.date:%Y-%m-%d}",
        "before": number(level.before), "after": number(level.after), "unit": change.series.unit,
        "change": share_words(level.ratio), "difference": _difference(change, code),
    }  # fmt: skip


def _difference(change: LevelChange, code: str) -> str:
    """The address of what changed in the code between the campaigns on both sides; empty where that is not known."""
    points = change.part.points
    place = points.index(change.shift.point)
    ends = [point.code.commit for point in points[place - 1 : place + 1]]
    if not code or place == 0 or None in ends or len(set(ends)) == 1:
        return ""
    return f"{code}/compare/{'...'.join(quote(str(end), safe='') for end in ends)}"


def _commit(point: Point, code: str) -> str:
    """The address of a point's commit; empty where it is not known."""
    return f"{code}/commit/{quote(point.code.commit, safe='')}" if code and point.code.commit else ""


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


# ----------------------------------------------------------------------------------------------------
# The page of one case: its picture, its changes of level, its points with their logs, and the machines it ran on.


def _case(
    line: Series, along: Sequence[Part], changes: Sequence[LevelChange], notes: Sequence[Event],
    logs: Mapping[_Case, Sequence[RowMapping]], folder: Path, language: str, code: str,
) -> dict[str, Any]:  # fmt: skip
    """The values of the page; ``folder``: where it will lie, which links to logs are relative to."""
    texts = words("pages", language)["history"]
    metric = words("reports", language)["metrics"].get(line.metric, line.metric)
    described = texts["picture"].format(metric=metric, name=line.name)
    return {
        "title": line.name,
        "metric": f"{metric} ({line.unit})" if line.unit else metric,
        "key": list(line.key.items()),
        "picture": chart(along, metric_kind(line.metric).better, texts, described),
        "described": described,
        "curve": json.dumps(curve(along, metric_kind(line.metric).better, texts)),
        "changes": [
            _change(change, code) | {
                "look": LOOKS[change.is_worse],
                "now": "" if change.lasting is None else texts["now"].format(share=share_words(change.lasting)),
                "said": "" if change.acknowledged is None else _words(change.acknowledged, texts["answered"]),
            }
            for change in changes
        ],
        "notes": [_said(event, texts) for event in notes],
        "parts": [_part(nth, part, logs, folder, texts, code) for nth, part in reversed(list(enumerate(along, 1)))],
    }  # fmt: skip


def _said(event: Event, texts: Mapping[str, str]) -> str:
    """What somebody said of a campaign or a case."""
    place = event.campaign if not event.name else f"{event.name}, {event.campaign}"
    return f"{place}: {_words(event, texts['said'])}"


def _words(event: Event, template: str) -> str:
    return template.format(text=event.text, author=event.author, day=f"{event.made_at:%Y-%m-%d}")


def _part(
    nth: int, part: Part, logs: Mapping[_Case, Sequence[RowMapping]], folder: Path, texts: Mapping[str, str], code: str
) -> dict[str, Any]:
    """A part of the series, its newest points first."""
    rows = [
        _point(point, part, logs.get((point.campaign, point.number), ()), folder, code)
        for point in reversed(part.points)
    ]
    machines = {tuple(sorted(machine.items())): None for point in part.points for machine in point.machines}
    return {
        "number": nth, "broken": what_changed(part.broken, texts), "rows": rows,
        "rule": part.points[-1].rule, "machines": list(machines), "prediction": _prediction(part, texts),
        "unseen": texts["unseen"].format(reason=_reason(part, texts)) if part.unseen else "",
    }  # fmt: skip


def _reason(part: Part, texts: Mapping[str, str]) -> str:
    """Why no change of level was looked for, in the page's words where these have it."""
    count = len(part.valued)
    return texts["unseen_points"].format(n=count, least=LEAST) if count < LEAST else part.unseen


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


def _point(point: Point, part: Part, logs: Sequence[RowMapping], folder: Path, code: str) -> dict[str, Any]:
    s = point.summary
    interval = ""
    if s.low is not None and s.high is not None and s.level is not None:
        interval = f"[{number(s.low)}, {number(s.high)}] {100 * s.level:.4g} %"
    changed = next((shift.change for shift in part.shifts if shift.point is point), None)
    notes = s.reason if s.value is None else "", point.throttling
    return {
        "campaign": point.campaign, "date": f"{point.date:%Y-%m-%d}", "version": point.version,
        "code": " ".join(filter(None, (point.code.short, point.code.branch))), "commit": _commit(point, code),
        "n": f"{s.n}" if s.n == point.runs else f"{s.n}/{point.runs}", "value": number(s.value),
        "sort": "" if s.value is None else repr(s.value), "interval": interval,
        "note": "; ".join(filter(None, notes)), "change": share_words(changed.ratio) if changed else "",
        "logs": [_log(log, folder) for log in logs],
    }  # fmt: skip


def _log(log: RowMapping, folder: Path) -> dict[str, str]:
    """A log's name, where its value comes from, and its address where the log is there still."""
    return {
        "name": LogFile(log["path"], 0, log["member"]).name, "value": number(log["value"]),
        "lines": f"{log['first_line']}–{log['last_line'] or 0}" if log["first_line"] else "",
        "address": address(log["path"], folder) if Path(log["path"]).is_file() else "",
    }  # fmt: skip


def _run_logs(database: Database, metric: str) -> dict[_Case, list[RowMapping]]:
    """The logs of every case of every campaign, in the order of the runs: path, lines, and the value of each."""
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
    logs: dict[_Case, list[RowMapping]] = {}
    with reading(database) as connection:
        rows = [] if connection is None else rows_of(connection, query, schema.run.name, may_lack=schema.metric)
    for row in rows:
        logs.setdefault((row["label"], row["case_number"]), []).append(row)
    return logs
