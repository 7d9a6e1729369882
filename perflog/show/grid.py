"""Which case stands in which cell: a projection of cases onto rows and columns.

A cell holds one case. Where two cases fall into one cell, a dimension varies that the table does not show,
and that is an error; nothing is averaged that differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import structs

from perflog.cases.case import Case, short_labels
from perflog.cases.choosing import fields_of, require_known, takes
from perflog.errors import UsageError
from perflog.extraction import Extraction
from perflog.formats.vocabulary import CASE_KEYS, Scalar, normal
from perflog.logs.find import natural
from perflog.notes import Note, mark_of
from perflog.spelling import did_you_mean
from perflog.stats.quotient import QuotientInterval

#: Fields that follow from others, beside the case keys and labels.
DERIVED = ("devices_per_node", "case", "repeat", "log")
VALUES = (
    "throughput", "speedup", "efficiency", "step_time", "time_to_train", "accuracy", "loss", "memory", "reported", "n",
    "batch_size",
)  # fmt: skip
_PRECISIONS = ("fp32", "tf32", "fp16", "amp", "bf16", "fp8")


@dataclass(frozen=True, slots=True)
class Field:
    """A dimension of a table; ``only``: the values shown, in this order, whether there are logs for them or not."""

    name: str
    only: tuple[Scalar, ...] = ()


@dataclass(frozen=True, slots=True)
class Projection:
    """What a table shows: the fields of its rows and columns, the values in its cells, the cases it takes."""

    rows: tuple[Field, ...]
    columns: tuple[Field, ...] = ()
    values: tuple[str, ...] = ("throughput",)
    where: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Number:
    """A value for a cell with its interval, which decides on its digits, the level of that, and its warning."""

    value: float | None
    unit: str = ""
    n: int = 0
    low: float | None = None
    high: float | None = None
    reason: str = ""
    level: float | None = None
    mark: Note | None = None


@dataclass(slots=True)
class Item:
    """One case, or one run of it where repeats are shown: its fields and numbers."""

    fields: dict[str, Scalar]
    numbers: dict[str, Number]
    notes: list[Note]
    case: Case


Key = tuple[Scalar | None, ...]


@dataclass(slots=True)
class Grid:
    """Rows and columns in order and the item of each cell; ``notes`` say what varies between cells unshown."""

    projection: Projection
    rows: list[Key]
    columns: list[Key]
    cells: dict[tuple[Key, Key], Item]
    notes: list[str] = field(default_factory=list)


def fields(text: str, option: str) -> tuple[Field, ...]:
    """Read ``precision,batch_size`` or ``devices=1:8:32``.

    Raises:
        UsageError: for an empty name or value, with the right form.
    """
    parsed = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, equals, values = part.partition("=")
        only = tuple(value for v in values.split(":") if (value := normal(name, v)) is not None)
        if not name.isidentifier() or (equals and len(only) != len(values.split(":"))):
            raise UsageError(f"{option} {text!r}: expected fields such as precision,batch_size or devices=1:8:32")
        parsed.append(Field(name, only))
    return tuple(parsed)


def grid(extraction: Extraction, projection: Projection) -> Grid:
    """Place the cases of an extraction.

    Raises:
        UsageError: when a field or value is not known, no case is left, or two cases fall into one cell; it
            names the dimension that varies and how to show or choose it.
    """
    shown = [f.name for f in (*projection.rows, *projection.columns)]
    by_run = "repeat" in shown or "log" in shown
    items = list(_items(extraction, by_run))
    for name, wanted in projection.where.items():
        require_known(name, wanted, [item.fields for item in items])
    items = [item for item in items if takes(item.fields, projection.where)]
    _check_names(items, shown, projection)
    listed = (*projection.rows, *projection.columns)
    placed: dict[tuple[Key, Key], Item] = {}
    for item in items:
        row, column = (tuple(item.fields.get(f.name) for f in part) for part in (projection.rows, projection.columns))
        if any(f.only and value not in f.only for f, value in zip(listed, (*row, *column), strict=True)):
            continue
        if (row, column) in placed:
            raise UsageError(_collision(placed[row, column], item, shown))
        placed[row, column] = item
    if not placed:
        raise UsageError("no case is left for the table: see `perflog extract` for the cases there are")
    rows = _ordered({row for row, _ in placed}, projection.rows)
    columns = _ordered({column for _, column in placed}, projection.columns)
    return Grid(projection, rows, columns, placed, _varying(placed, shown))


def _items(extraction: Extraction, by_run: bool) -> Iterable[Item]:
    for case, label in zip(extraction.cases, short_labels(extraction.cases), strict=True):
        base = {name: value for name, value in fields_of(case).items() if name != "label"}
        base |= {"label": label} if label else {}
        if not by_run:
            yield Item(base, _numbers(case), case.notes, case)
            continue
        for run in case.runs:
            facts = {"repeat": run.values.get("repeat"), "log": run.log.name}
            own = {name: fact for name, fact in facts.items() if fact is not None}
            numbers = {name: Number(m.value, m.unit, 1, reason=m.reason) for name, m in run.metrics.items()}
            _set_marks(numbers, mark_of(run.notes) if run.throughput.value is not None else None)
            yield Item({**base, **own}, numbers, run.notes, case)


def _numbers(case: Case) -> dict[str, Number]:
    numbers = {name: Number(s.value, s.unit, s.n, s.low, s.high, s.reason, s.level) for name, s in case.metrics.items()}
    _set_marks(numbers, case.mark)
    n = case.throughput.n
    speedup = Note("", "number", other=case.other_speedup) if case.is_marked else None
    efficiency = Note("", "number") if case.is_marked else None
    return numbers | {
        "speedup": _quotient(case.speedup, case.speedup_interval, n, speedup),
        "efficiency": _quotient(case.efficiency, case.efficiency_interval, n, efficiency),
        "n": Number(float(n), "", n),
    }  # fmt: skip


def _set_marks(numbers: Mapping[str, Number], mark: Note | None) -> None:
    """Put the warning of a throughput beside it, and beside the step time, which the same records make."""
    if mark is None or mark.move is None:
        return
    numbers["throughput"].mark = mark
    step_time = numbers.get("step_time")
    if step_time is not None and step_time.value is not None:
        step_time.mark = structs.replace(mark, other=step_time.value / (1 + mark.move))


def _quotient(value: float | None, interval: QuotientInterval | None, n: int, mark: Note | None) -> Number:
    if interval is None:
        return Number(value, "", n, mark=mark)
    return Number(value, "", n, interval.low, interval.high, level=interval.level, mark=mark)


def _check_names(items: Sequence[Item], shown: Sequence[str], projection: Projection) -> None:
    fields = {*CASE_KEYS, *DERIVED, "label", *(name for item in items for name in item.fields)}
    values = {*VALUES, *(name for item in items for name in item.numbers)}
    for names, known, kind in ((shown, fields, "field"), (projection.values, values, "value")):
        for name in names:
            if name not in known:
                there = f"there are: {', '.join(sorted(known))}{did_you_mean(name, known)}"
                raise UsageError(f"no case has a {kind} {name!r} ({there})")


def _ordered(keys: set[Key], part: tuple[Field, ...]) -> list[Key]:
    """In natural order; a single field with listed values shows all of them, in the order given."""
    if len(part) == 1 and part[0].only:
        keys = keys | {(value,) for value in part[0].only}
    return sorted(keys, key=lambda key: tuple(_rank(field, value) for field, value in zip(part, key, strict=True)))


def _rank(shown: Field, value: Scalar | None) -> tuple[int, int, Any]:
    """What a value is sorted by: listed values as listed, precisions from wide to narrow, numbers, then texts."""
    if shown.only:
        return 0, shown.only.index(value) if value in shown.only else len(shown.only), []
    if shown.name == "precision" and value in _PRECISIONS:
        return 0, _PRECISIONS.index(str(value)), []
    if isinstance(value, int):
        return 0, value, []
    return 1, 0, natural("" if value is None else str(value))


def _collision(first: Item, second: Item, shown: Sequence[str]) -> str:
    names = [k for k in dict.fromkeys((*first.fields, *second.fields)) if k not in ("case", "devices_per_node")]
    differing = [k for k in names if first.fields.get(k) != second.fields.get(k)]
    cell = _cell(first, shown)
    if not differing:
        return f"two cases fall into the cell {cell} and nothing known tells them apart: name fewer logs"
    values = "; ".join(f"{k} is {_text(first, k)} and {_text(second, k)}" for k in differing)
    hint = f"Show {differing[0]} (--rows or --columns), or choose one (--where {differing[0]}=…)"
    return f"two cases fall into the cell {cell}: {values}. {hint}"


def _varying(placed: Mapping[tuple[Key, Key], Item], shown: Sequence[str]) -> list[str]:
    """What differs between cells without being shown, as notes (a batch size that follows the devices)."""
    notes = []
    items = list(placed.values())
    by_devices = bool({"devices", "case"} & set(shown))
    implied = {"nodes", "label", "unit"} | ({"case", "devices_per_node"} if by_devices else set())
    for name in dict.fromkeys(k for item in items for k in item.fields):
        values = sorted({_text(item, name) for item in items}, key=natural)
        if name in shown or name in implied or len(values) < 2:
            continue
        places = "; ".join(
            f"{value} for " + " and ".join(_cell(item, shown) for item in items if _text(item, name) == value)
            for value in values
        )
        notes.append(f"{name} is {places}" if len(places) < 300 else f"{name} varies: {', '.join(values)}")
    return notes


def _text(item: Item, name: str) -> str:
    return str(item.fields.get(name, "unknown"))


def _cell(item: Item, shown: Sequence[str]) -> str:
    return ", ".join(f"{k}={item.fields.get(k, '?')}" for k in shown)
