"""Changed cases of a history for other programs: JUnit for CI servers, annotations of GitHub, an Atom feed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from uuid import UUID, uuid5
from xml.etree import ElementTree

from perflog._version import __version__
from perflog.escaping import xml_text
from perflog.history.changed_cases import opening
from perflog.history.following import Outlook, Series, share_words
from perflog.history.level_changes import LevelChange, NewPart, Regressions, State
from perflog.settings.convention import GateResult
from perflog.show.exchange import MOST_OF_A_LEVEL, Annotation, Test, at_most, junit
from perflog.show.text import counted, number

#: The formats of this module; those of :mod:`perflog.history.changed_cases` are for people and for plain data.
FORMATS = ("junit", "github", "atom")
_TITLE = "perflog history"
_MISSING = "no value in the newest campaign"


def render(found: Regressions, form: str, fail_on: Sequence[str] = ()) -> str:
    """Changed cases as ``junit`` or ``atom``; annotations (:func:`findings`) go where GitHub looks for them.

    Args:
        fail_on: the reasons that the gate fails on; empty where none was asked for.
    """
    return junit(_TITLE, tests(found, fail_on)) if form == "junit" else atom(found)


# ---------------------------------------------------------------- sentences


def what_changed(change: LevelChange) -> str:
    """``throughput −7.0 % at v2.12 (370.04 → 344.12 samples/s)``."""
    point, level = change.shift.point, change.shift.change
    unit = point.summary.unit  # the series' own is that of its last part
    levels = f"{number(level.before)} → {number(level.after)} {unit}".rstrip()
    share = share_words(level.ratio)
    head = " ".join(filter(None, [change.series.metric, share, f"at {point.campaign}"]))
    return f"{head} ({levels})"


def _sentence(change: LevelChange) -> str:
    return f"{change.series.name}: {what_changed(change)}, {change.state.word}"


def _outlier(outlook: Outlook) -> str:
    """Where the last value lies, which is not where those before it lead to expect it."""
    prediction = outlook.prediction
    return (
        f"the last value, {number(outlook.point.summary.value)} {outlook.point.summary.unit} at "
        f"{outlook.point.campaign}, lies outside of [{number(prediction.low)}, {number(prediction.high)}]"
    )


# ---------------------------------------------------------------- JUnit


def tests(found: Regressions, fail_on: Sequence[str] = ()) -> list[Test]:
    """A test for each case that was followed: it failed where the gate fails on it.

    A case in which no change can be looked for, or that has no value in the newest campaign, is skipped where the gate
    does not fail on it.

    Args:
        fail_on: the reasons that the gate fails on; empty where none was asked for: then worse cases fail.
    """
    reasons = fail_on or ("slower",)
    unseen = {id(line): why for line, why in found.unseen}
    missing = {id(line) for line in found.missing}
    outlooks = {id(line): outlook for line, outlook in found.unexpected}
    changes: dict[int, list[LevelChange]] = {}
    for change in found.changes:
        changes.setdefault(id(change.series), []).append(change)
    worse = {id(change.series) for change in found.worse}
    too_few = "inconclusive" if "inconclusive" in reasons else ""
    if "nothing-compared" in reasons and not found.looked_at:
        too_few = too_few or "nothing-compared"
    made = []
    for line in found.followed:
        own, key = changes.get(id(line), []), id(line)
        lines = [f"{change.state.word}: {what_changed(change)}" for change in own]
        lines += [_outlier(outlooks[key])] if key in outlooks else []
        lines += [_MISSING] if key in missing else []
        lines += [f"not looked for: {unseen[key]}"] if key in unseen else []
        kind = why = ""
        if key in worse:
            worst = next(change for change in own if change.state is State.WORSE)
            kind, why = "slower" if "slower" in reasons else "", f"{worst.state.word}: {what_changed(worst)}"
        elif key in unseen:
            kind, why = too_few, f"too few comparable campaigns to look for a change: {unseen[key]}"
        if key in missing and not kind:
            kind, why = "missing" if "missing" in reasons else "", why or _MISSING
        skipped = "" if kind or key in worse else why
        made.append(Test(line.name, line.metric, why if kind else "", skipped, kind, lines))
    return made


# ---------------------------------------------------------------- annotations of GitHub Actions


def findings(found: Regressions, fail_on: Sequence[str] = (), result: GateResult | None = None) -> list[Annotation]:
    """What a job shows of a history: worse cases, what is to be looked at, what got better, why the gate failed.

    Args:
        fail_on: the reasons that the gate fails on; worse cases are errors where they are among them.
        result: what the gate says; None where there is none.
    """
    title = f"{_TITLE}: {found.metric}"
    level = "error" if "slower" in fail_on else "warning"
    failed = [Annotation(result.sentence, title=_TITLE)] if result is not None and result.status else []
    worse = [Annotation(_sentence(change), title=title, level=level) for change in found.worse]
    doubts = [_sentence(change) for change in found.changes if change.state is State.ENDED]
    doubts += [f"{line.name}: {_outlier(outlook)}" for line, outlook in found.unexpected]
    doubts += [f"{line.name}: {_MISSING}" for line in found.missing]
    told = {*map(id, found.worse)} | {id(change) for change in found.changes if change.state is State.ENDED}
    news = [*opening(found)[:1], *(border.sentence for border in found.new_parts)]
    news += [_sentence(change) for change in found.changes if id(change) not in told]
    warnings = [Annotation(sentence, title=title, level="warning") for sentence in doubts]
    notices = [Annotation(sentence, title=title, level="notice") for sentence in news]
    if level == "warning":  # both are of one level, and worse cases come first
        worse, warnings = [], [*worse, *warnings]
    return [
        *failed,
        *at_most(worse, MOST_OF_A_LEVEL - len(failed), "{n} more cases got worse"),
        *at_most(warnings, MOST_OF_A_LEVEL, "{n} more cases to look at"),
        *at_most(notices, MOST_OF_A_LEVEL, "{n} more changes"),
    ]  # fmt: skip


# ---------------------------------------------------------------- an Atom feed (RFC 4287)

ATOM = "http://www.w3.org/2005/Atom"
#: What the identifiers of perflog's feeds and their entries are made in (RFC 9562, version 5); never another one.
_NAMESPACE = UUID("b0d7d415-d5d0-4e03-9d81-5eef634bb4b1")
_NEW_PART = "new-part"


def atom(found: Regressions, pages: Mapping[int, str] | None = None) -> str:
    """A feed with an entry for each change of level and each new part, the newest first.

    The same history gives the same bytes: the times are those of the campaigns. An entry's identifier is made of the
    metric, the case and the campaign, so that a reader shows it once, whatever becomes of the change.

    Args:
        found: the events.
        pages: the address of each case's page as seen from the feed, by the id of its series; None: there are none.
    """
    marks = dict(zip(map(id, found.followed), identities(found.followed), strict=True))
    entries = [_change(change, marks[id(change.series)], pages or {}) for change in found.changes]
    entries += [_new_part(border, found.metric, "index.html#parts" if pages else "") for border in found.new_parts]
    entries.sort(key=lambda one: one[0], reverse=True)  # stable: of one time the worst first
    newest = max((time for time, _ in entries), default=None) or max(
        point.date for line in found.followed for point in line.points
    )
    first = next(iter(found.since.ranks))
    feed = ElementTree.Element("feed", {"xmlns": ATOM, "xml:lang": "en"})
    _add(feed, "id", _identifier("feed", found.metric, first))
    _add(feed, "title", f"{_TITLE}: {found.metric}")
    _add(feed, "subtitle", opening(found)[0])
    _add(feed, "updated", _time(newest))
    _add(ElementTree.SubElement(feed, "author"), "name", "perflog")
    _add(feed, "generator", "perflog", version=__version__)
    if pages is not None:
        ElementTree.SubElement(feed, "link", {"rel": "alternate", "type": "text/html", "href": "index.html"})
    feed.extend(entry for _, entry in entries)
    ElementTree.indent(feed)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(feed, encoding="unicode") + "\n"


def identities(followed: Sequence[Series]) -> list[str]:
    """A text for each series that tells it from every other one, the same in every history that has the case."""
    keys = [json.dumps(sorted(line.key.items()), ensure_ascii=True) for line in followed]
    counts = Counter(keys)
    told = ["" if counts[key] == 1 else line.name for key, line in zip(keys, followed, strict=True)]
    return [json.dumps([sorted(line.key.items()), name]) for line, name in zip(followed, told, strict=True)]


def _change(change: LevelChange, identity: str, pages: Mapping[int, str]) -> tuple[datetime, ElementTree.Element]:
    point, level = change.shift.point, change.shift.change
    facts = {
        "before": number(level.before), "after": number(level.after), "unit": point.summary.unit,
        "change": share_words(level.ratio), "now": share_words(change.lasting), "state": change.state.word,
        "version": point.version,
    }  # fmt: skip
    told = [f"{name}: {value}" for name, value in facts.items() if value]
    identifier = _identifier("change", change.series.metric, identity, point.campaign)
    page = pages.get(id(change.series), "")
    return point.date, _entry(identifier, _sentence(change), point.date, change.state.key, told, page)


def _new_part(border: NewPart, metric: str, page: str) -> tuple[datetime, ElementTree.Element]:
    point = border.point
    steps = [f"{line.name}: {share_words(ratio) or 'not compared'}" for line, ratio in border.cases]
    told = [f"changed: {border.changed}", counted(len(border.cases), "case"), *steps]
    identifier = _identifier(_NEW_PART, metric, point.campaign, border.changed)
    return point.date, _entry(identifier, border.sentence, point.date, _NEW_PART, told, page)


def _entry(
    identifier: str, title: str, date: datetime, category: str, told: Iterable[str], page: str
) -> ElementTree.Element:
    entry = ElementTree.Element("entry")
    _add(entry, "id", identifier)
    _add(entry, "title", title)
    _add(entry, "updated", _time(date))
    ElementTree.SubElement(entry, "category", {"term": category})
    if page:
        ElementTree.SubElement(entry, "link", {"rel": "alternate", "type": "text/html", "href": page})
    _add(entry, "content", "; ".join(told), type="text")
    return entry


def _add(parent: ElementTree.Element, tag: str, text: str, **attributes: str) -> None:
    ElementTree.SubElement(parent, tag, attributes).text = xml_text(text)


def _identifier(*parts: str) -> str:
    """A name for one thing alone (urn:uuid), the same whenever it is made."""
    return f"urn:uuid:{uuid5(_NAMESPACE, json.dumps(parts))}"


def _time(date: datetime) -> str:
    """A time as RFC 3339 has it."""
    return date.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
