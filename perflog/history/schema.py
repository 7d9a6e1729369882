"""The tables of the history; runs and options as their rows, and back: what comes back equals what was there."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, convert, to_builtins
from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    ColumnElement,
    DateTime,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
)

from perflog.cases.case import short_labels
from perflog.evidence.witness import Verdict
from perflog.extraction import Extraction
from perflog.formats.vocabulary import CASE_KEYS, INTEGERS
from perflog.logs.find import LogFile
from perflog.notes import Note, texts
from perflog.runs.machine import Facts, Machine, known_facts
from perflog.runs.metadata import Metadata
from perflog.runs.run import Metric, Run, Skipped
from perflog.settings.options import Options

if TYPE_CHECKING:
    from sqlalchemy import Dialect

# ----------------------------------------------------------------------------------------------------
# The history's tables.
#
# What is stored are the runs as extracted, in full: a case's summary follows from its runs and the options. The table
# of cases is for finding them. A campaign is inserted once and never updated; all that belongs to it is keyed by it
# first, so that one range of each table's key is one campaign.

#: The newest migration that this perflog knows; the tables below are as it leaves them.
VERSION = "0002"
#: The key of ``campaign``: SQLite numbers rows of a plain INTEGER only.
Number = BigInteger().with_variant(Integer, "sqlite")
_ESCAPED = "json:"


class Words(TypeDecorator[str]):
    """Text exactly as it is. What no database holds (NUL, undecodable bytes of a file name) is kept in its JSON
    form.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        if value is None:
            return None
        plain = value.isprintable() or not any(c == "\0" or "\ud800" <= c <= "\udfff" for c in value)
        return value if plain and not value.startswith(_ESCAPED) else _ESCAPED + json.dumps(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        return json.loads(value.removeprefix(_ESCAPED)) if value is not None and value.startswith(_ESCAPED) else value


class Moment(TypeDecorator[datetime]):
    """A point in time, in UTC; SQLite knows no time zones."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        return value.astimezone(UTC) if value is not None else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        return None if value is None else value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)


#: What values of a kind of column are, where the column does not say it.
_VALUES: Mapping[type[Any], Any] = {
    Words: str, String: str, Double: float, Moment: datetime, Integer: Annotated[int, Meta(ge=0)],
    BigInteger: Annotated[int, Meta(ge=0)],
}  # fmt: skip


def value_of(column: ColumnElement[Any], may_lack: Table | None) -> Any:
    """The type of the values that perflog writes to a column, for whoever checks what a database gives.

    Args:
        may_lack: a table of which a row may be missing.
    """
    own = getattr(column, "element", column)
    kind = own.info.get("values", _VALUES.get(type(own.type)))
    return kind | None if own.nullable or own.table is may_lack else kind


def _required(name: str, kind: Any, values: Any = None, **options: Any) -> Column[Any]:
    """A column without NULL; ``values``: what it holds, where its kind leaves that open."""
    return Column(name, kind, nullable=False, info={} if values is None else {"values": values}, **options)


def _campaign() -> Column[Any]:
    return Column(
        "campaign", Number, ForeignKey("perflog_campaign.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )


def _number(name: str) -> Column[Any]:
    return Column(name, Integer, primary_key=True, autoincrement=False)


METADATA = MetaData()
#: What JSON of a case's key, or of a run's facts, holds.
_FACTS = dict[str, str | int]

#: ``content``: the hash of what was saved; ``date``: the campaign's place in a series; ``cases``, ``runs``: how many;
#: ``commit_hash``, ``branch``: of the code that was measured, where the saver said so.
campaign = Table(
    "perflog_campaign", METADATA,
    Column("id", Number, primary_key=True),
    _required("label", Words, unique=True),
    _required("content", String(64), unique=True),
    _required("date", Moment),
    _required("saved_at", Moment),
    _required("perflog", String(40)),
    _required("options", JSON, dict[str, Any]),
    _required("skipped", JSON, list[tuple[str, int, str, str]]),
    _required("cases", Integer),
    _required("runs", Integer),
    Column("commit_hash", Words),
    Column("branch", Words),
)  # fmt: skip

machine = Table("perflog_machine", METADATA, _campaign(), _number("number"), _required("facts", JSON, dict[str, Any]))

#: What tells cases apart, to find them by; ``key`` has it in full, ``log`` what their logs' labels do not share.
case = Table(
    "perflog_case", METADATA, _campaign(), _number("number"),
    *(Column(name, BigInteger if name in INTEGERS else Words) for name in CASE_KEYS),
    _required("key", JSON, _FACTS), _required("log", Words), _required("parser", Words),
    Index("perflog_case_model", "model", "devices"),
)  # fmt: skip

#: ``facts``, ``sources``, ``doubts``: the metadata; ``more``: what later versions of perflog know of a run.
run = Table(
    "perflog_run", METADATA, _campaign(), _number("case_number"), _number("number"),
    _required("path", Words), _required("member", Words), _required("size", BigInteger, Annotated[int, Meta(ge=-1)]),
    _required("parser", Words), _required("framework", Words), _required("label", Words),
    _required("window_taken", Words),
    _required("first_line", BigInteger), _required("last_line", BigInteger), _required("lines", BigInteger),
    _required("facts", JSON, _FACTS), _required("sources", JSON, dict[str, str]),
    _required("doubts", JSON, list[str]), _required("notes", JSON, list[str]), _required("more", JSON, dict[str, Any]),
    Column("machine", Integer),
    ForeignKeyConstraint(
        ["campaign", "case_number"], ["perflog_case.campaign", "perflog_case.number"], ondelete="CASCADE"
    ),
    ForeignKeyConstraint(
        ["campaign", "machine"], ["perflog_machine.campaign", "perflog_machine.number"], ondelete="CASCADE"
    ),
)  # fmt: skip

metric = Table(
    "perflog_metric", METADATA, _campaign(), _number("case_number"), _number("run_number"), _number("number"),
    _required("name", Words), Column("value", Double), _required("unit", Words), _required("estimator", Words),
    _required("used", BigInteger), _required("excluded", JSON, dict[str, Annotated[int, Meta(ge=0)]]),
    _required("first_line", BigInteger), _required("last_line", BigInteger),
    Column("first_step", Double), Column("last_step", Double), _required("reason", Words), _required("parser", Words),
    Column("time_per_step", Double), _required("more", JSON, dict[str, Any]),
    ForeignKeyConstraint(
        ["campaign", "case_number", "run_number"],
        ["perflog_run.campaign", "perflog_run.case_number", "perflog_run.number"],
        ondelete="CASCADE",
    ),
)  # fmt: skip

#: The ledger: what was found, said and agreed of the history. Rows are added and never changed or taken away, not even
#: with their campaign: ``content`` is a hash of the row and of the one before it (perflog/history/ledger.py).
event = Table(
    "perflog_event", METADATA,
    Column("number", Number, primary_key=True, autoincrement=False),
    _required("made_at", Moment), _required("kind", String(20)), _required("metric", Words), _required("name", Words),
    _required("key", JSON, _FACTS), _required("campaign", Words), _required("date", Moment),
    _required("author", Words), _required("text", Words), _required("facts", JSON, dict[str, Any]),
    _required("perflog", String(40)), _required("content", String(64)),
)  # fmt: skip

#: What belongs to a campaign, in the order in which it is inserted.
PARTS = (machine, case, run, metric)
version = Table("perflog_version", MetaData(), Column("version_num", String(32), primary_key=True))
#: The fields of a metric that have a column of their own.
_METRIC = tuple(
    column.name
    for column in metric.columns
    if column.name not in ("campaign", "case_number", "run_number", "number", "more")
)


# ----------------------------------------------------------------------------------------------------
# Runs and options as rows of the tables, and back.

#: A row of a table, without the campaign's key.
Record = dict[str, Any]
#: The integers that every database holds; a larger batch size is found by its text alone.
_LARGEST = 2**63 - 1
_RUN = frozenset({
    "log", "parser", "framework", "metadata", "label", "metrics", "notes", "window", "first_line", "last_line", "lines",
    "machine", "clock", "digest",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Records:
    """A campaign as records, without its key in the database.

    Attributes:
        parts: those of each of :data:`PARTS`.
        content: the hash of what the campaign says.
    """

    options: Record
    skipped: list[Any]
    parts: tuple[list[Record], list[Record], list[Record], list[Record]]
    content: str


def records_of(extraction: Extraction) -> Records:
    """Everything of an extraction as records, with the machine facts that lie beside its logs."""
    skipped = [[s.log.path, s.log.size, s.log.member, s.reason] for s in extraction.skipped]
    machines: dict[str, int] = {}  # their facts as text, and their numbers in order
    parts: tuple[list[Record], list[Record], list[Record], list[Record]] = [], [], [], []
    known, cases, runs, metrics = parts
    for number, (case, label) in enumerate(zip(extraction.cases, short_labels(extraction.cases), strict=True)):
        cases.append(_case_row(number, case.key, label, case.runs[0].parser))
        for nth, run in enumerate(case.runs):
            facts = known_facts(run.machine)
            machine = None
            if facts is not None:
                machine = machines.setdefault(json.dumps(facts, sort_keys=True), len(machines))
            runs.append(_run_row(run, number, nth, machine))
            for order, metric in enumerate(run.metrics.values()):
                numbers = {"case_number": number, "run_number": nth, "number": order}
                metrics.append(numbers | _metric_row(metric))
    known += [{"number": number, "facts": json.loads(text)} for text, number in machines.items()]
    options = options_to(extraction.options)
    return Records(options, skipped, parts, content_of(options, parts))


def _case_row(number: int, key: Mapping[str, Any], label: str, parser: str) -> Record:
    row: Record = {"number": number, "key": dict(key), "log": label, "parser": parser}
    for name in CASE_KEYS:
        value = key.get(name)
        if name in INTEGERS:
            row[name] = value if isinstance(value, int) and value <= _LARGEST else None
        else:
            row[name] = None if value is None else str(value)
    return row


def _run_row(run: Run, case: int, number: int, machine: int | None) -> Record:
    return {
        "case_number": case, "number": number, "path": run.log.path, "member": run.log.member, "size": run.log.size,
        "parser": run.parser, "framework": run.framework, "label": run.label, "window_taken": run.window,
        "first_line": run.first_line, "last_line": run.last_line, "lines": run.lines,
        "facts": dict(run.metadata.values), "sources": dict(run.metadata.sources), "doubts": list(run.metadata.doubts),
        "notes": texts(run.notes), "more": _more(run, _RUN), "machine": machine,
    }  # fmt: skip


def _metric_row(metric: Metric) -> Record:
    row = {name: getattr(metric, name) for name in _METRIC}
    for name in ("value", "first_step", "last_step", "time_per_step"):
        if row[name] is not None and math.isnan(row[name]):  # SQLite takes it for NULL; so do we everywhere
            row[name] = None
            if name == "value":
                row["reason"] = row["reason"] or "not a number"
        elif row[name] == 0:
            row[name] = 0.0  # SQLite keeps no sign of zero
    return row | {"more": _more(metric, frozenset(_METRIC))}


def _more(thing: Run | Metric, known: Iterable[str]) -> Record:
    """Fields that have no column, as plain data: evidence, bounds, and what a later perflog may have."""
    more = {f.name: getattr(thing, f.name) for f in fields(thing) if f.name not in known}
    if isinstance(more.get("evidence"), Verdict):
        more["evidence"] = asdict(more["evidence"])
    if isinstance(thing, Run):  # beside their texts, so that a campaign saved before notes had effects is the same
        effects = {str(place): _effect(note) for place, note in enumerate(thing.notes) if note != Note(note.text)}
        more |= {"effects": effects} if effects else {}
    if more.get("rounding") is not None:  # JSON has no infinity, which rounding to a digit of its own size gives
        more["rounding"] = [bound if math.isfinite(bound) else None for bound in more["rounding"]]
    return more


def _effect(note: Note) -> Record:
    plain: Record = to_builtins(note)
    return {name: value for name, value in plain.items() if name != "text"}


def content_of(options: Mapping[str, Any], parts: Sequence[Sequence[Mapping[Any, Any]]]) -> str:
    """The hash of what a campaign says: the same for the same logs in another folder, whatever lies beside them.

    Records and the rows of a database that they were stored in have the same; the campaign's key does not count.
    """
    bare = [[{name: row[name] for name in row if name != "campaign"} for row in part] for part in parts]
    _, cases, runs, _ = bare
    for case in cases:
        case["log"] = ""
    for run, label in zip(runs, _without_shared([run["label"] for run in runs]), strict=True):
        run |= {"path": PurePath(run["path"]).name, "label": label}
    return hashlib.sha256(json.dumps([options, *bare], sort_keys=True).encode()).hexdigest()


def _without_shared(labels: Sequence[str]) -> list[str]:
    """The labels without the folders that all of them begin with: those that the campaign lies in."""
    parts = [label.split("/") for label in labels]
    shared = 0
    while all(len(p) > shared for p in parts) and len({p[shared] for p in parts}) == 1:
        shared += 1
    return ["/".join(p[shared:]) for p in parts]


# ---------------------------------------------------------------- and back


def run_from(row: Mapping[str, Any], metrics: Sequence[Mapping[str, Any]], facts: Facts | None) -> Run:
    """A run from its row and those of its metrics, in order, with the facts of its machine where they are known."""
    metadata = Metadata(dict(row["facts"]), dict(row["sources"]), list(row["doubts"]))
    own = {m["name"]: Metric(**{name: m[name] for name in _METRIC}, **_more_from(Metric, m["more"])) for m in metrics}
    return Run(
        LogFile(row["path"], row["size"], row["member"]), row["parser"], row["framework"], metadata, row["label"], own,
        _notes_from(row["notes"], row["more"].get("effects", {})), row["window_taken"],
        row["first_line"], row["last_line"], row["lines"],
        machine=None if facts is None else Machine("", facts), **_more_from(Run, row["more"]),
    )  # fmt: skip


def _notes_from(sentences: Iterable[str], effects: Mapping[str, Any]) -> list[Note]:
    """Notes from their texts and, by their places, what they change.

    Raises:
        msgspec.ValidationError: where that is nothing that perflog wrote.
    """
    return [convert({"text": text, **effects.get(str(place), {})}, Note) for place, text in enumerate(sentences)]


def _more_from(kind: type[Run | Metric], more: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that this perflog has; one that an older campaign lacks keeps its default."""
    known = {f.name: more[f.name] for f in fields(kind) if f.name in more}
    if known.get("evidence") is not None:
        known["evidence"] = convert(known["evidence"], Verdict)
    if known.get("rounding") is not None:
        known["rounding"] = tuple(math.inf if bound is None else bound for bound in known["rounding"])
    return known


def skipped_from(rows: Iterable[Sequence[Any]]) -> list[Skipped]:
    return [Skipped(LogFile(path, size, member), reason) for path, size, member, reason in rows]


def options_to(options: Options) -> dict[str, Any]:
    plain = asdict(options)
    plain |= {name: dict(plain[name]) for name in ("baseline", "set", "config_set")}
    # a campaign without what came later is the same as one that was saved before there was any
    later = ("aliases", "without_slow", "decided", "said", "sampled")
    return {name: value for name, value in plain.items() if name not in later or value}
