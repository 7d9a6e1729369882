"""Which case stands in which cell: a projection of cases onto rows and columns.

A cell holds one case. Where two cases fall into one cell, a dimension varies that the table does not show,
and that is an error; nothing is averaged that differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from perflog.cases.case import Case, short_labels
from perflog.errors import UsageError
from perflog.extraction import Extraction
from perflog.formats.vocabulary import CASE_KEYS, INTEGERS, Scalar, normal
from perflog.logs.find import natural

#: Fields that follow from others, beside the case keys and labels.
DERIVED = ("devices_per_node", "case", "repeat", "log")
VALUES = ("throughput", "speedup", "efficiency", "step_time", "time_to_train", "accuracy", "loss", "memory", "reported", "n", "batch_size")
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
    """A value for a cell with what decides on its digits."""

    value: float | None
    unit: str = ""
    n: int = 0
    low: float | None = None
    high: float | None = None
    reason: str = ""


@dataclass(slots=True)
class Item:
    """One case, or one run of it where repeats are shown: its fields and numbers."""

    fields: dict[str, Scalar]
    numbers: dict[str, Number]
    notes: list[str]
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
    out = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, given, values = part.partition("=")
        only = tuple(value for v in values.split(":") if (value := normal(name, v)) is not None)
        if not name.isidentifier() or (given and len(only) != len(values.split(":"))):
            raise UsageError(f"{option} {text!r}: expected fields such as precision,batch_size or devices=1:8:32")
        out.append(Field(name, only))
    return tuple(out)


def grid(extraction: Extraction, projection: Projection) -> Grid:
    """Place the cases of an extraction.

    Raises:
        UsageError: when a field or value is not known, no case is left, or two cases fall into one cell; it
            names the dimension that varies and how to show or choose it.
    """
    shown = [f.name for f in (*projection.rows, *projection.columns)]
    items = [item for item in _items(extraction, "repeat" in shown or "log" in shown) if _chosen(item, projection.where)]
    _known(items, shown, projection)
    placed: dict[tuple[Key, Key], Item] = {}
    for item in items:
        row, column = (_key(item, part) for part in (projection.rows, projection.columns))
        if not all(_listed(f, v) for f, v in zip((*projection.rows, *projection.columns), (*row, *column), strict=True)):
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
        base = _fields(case, label)
        if not by_run:
            numbers = {name: Number(s.value, s.unit, s.n, s.low, s.high, s.reason) for name, s in case.metrics.items()}
            numbers |= {"speedup": Number(case.speedup, "", case.throughput.n), "efficiency": Number(case.efficiency, "", case.throughput.n)}
            numbers["n"] = Number(float(case.throughput.n), "", case.throughput.n)
            yield Item(base, numbers, case.notes, case)
            continue
        for run in case.runs:
            own = {k: v for k, v in {"repeat": run.values.get("repeat"), "log": run.log.name}.items() if v is not None}
            yield Item({**base, **own}, {name: Number(m.value, m.unit, 1, reason=m.reason) for name, m in run.metrics.items()}, run.notes, case)


def _fields(case: Case, label: str) -> dict[str, Scalar]:
    out: dict[str, Scalar] = dict(case.key)
    if label:
        out["label"] = label
    nodes, devices = case.key.get("nodes"), case.key.get("devices")
    if isinstance(nodes, int) and isinstance(devices, int) and devices % nodes == 0:
        out["devices_per_node"] = devices // nodes
        out["case"] = f"{nodes}n{devices // nodes}g"
    return out


def _chosen(item: Item, where: Mapping[str, str]) -> bool:
    return all(str(item.fields.get(k, "")).lower() in {str(normal(k, v)).lower() for v in wanted.split(":")} for k, wanted in where.items())


def _known(items: Sequence[Item], shown: Sequence[str], projection: Projection) -> None:
    known = set(CASE_KEYS) | set(DERIVED) | {"label"} | {k for item in items for k in item.fields}
    for name in (*shown, *projection.where):
        if name not in known:
            raise UsageError(f"no case has a field {name!r} (there are: {', '.join(sorted(known))})")
    values = set(VALUES) | {k for item in items for k in item.numbers}
    for name in projection.values:
        if name not in values:
            raise UsageError(f"no case has a value {name!r} (there are: {', '.join(sorted(values))})")


def _key(item: Item, part: Sequence[Field]) -> Key:
    return tuple(item.fields.get(f.name) for f in part)


def _listed(wanted: Field, value: Scalar | None) -> bool:
    return not wanted.only or value in wanted.only


def _ordered(keys: set[Key], part: tuple[Field, ...]) -> list[Key]:
    """In natural order; a single field with listed values shows all of them, in the order given."""
    if len(part) == 1 and part[0].only:
        keys = keys | {(value,) for value in part[0].only}

    def place(key: Key) -> tuple[object, ...]:
        out: list[object] = []
        for wanted, value in zip(part, key, strict=True):
            if wanted.only:
                out.append((0, wanted.only.index(value) if value in wanted.only else len(wanted.only), []))
            elif wanted.name == "precision" and value in _PRECISIONS:
                out.append((0, _PRECISIONS.index(str(value)), []))
            elif isinstance(value, int):
                out.append((0, value, []))
            else:
                out.append((1, 0, natural("" if value is None else str(value))))
        return tuple(out)

    return sorted(keys, key=place)


def _collision(one: Item, other: Item, shown: Sequence[str]) -> str:
    differ = [k for k in dict.fromkeys((*one.fields, *other.fields)) if one.fields.get(k) != other.fields.get(k) and k not in ("case", "devices_per_node")]
    at = ", ".join(f"{k}={one.fields.get(k, '?')}" for k in shown)
    if not differ:
        return f"two cases fall into the cell {at} and nothing known tells them apart: name fewer logs"
    told = "; ".join(f"{k} is {one.fields.get(k, 'unknown')} and {other.fields.get(k, 'unknown')}" for k in differ)
    return f"two cases fall into the cell {at}: {told}. Show {differ[0]} (--rows or --columns), or choose one (--where {differ[0]}=…)"


def _varying(placed: Mapping[tuple[Key, Key], Item], shown: Sequence[str]) -> list[str]:
    """What differs between cells without being shown, as notes (a batch size that follows the devices)."""
    notes = []
    items = list(placed.values())
    implied = {"case", "devices_per_node", "nodes", "label"} if {"devices", "case"} & set(shown) else {"label"}
    for name in dict.fromkeys(k for item in items for k in item.fields):
        values = {str(item.fields.get(name, "unknown")) for item in items}
        if name in shown or name in implied or len(values) < 2 or (name in INTEGERS and name == "nodes"):
            continue
        told = "; ".join(
            f"{value} for "
            + " and ".join(", ".join(f"{k}={i.fields.get(k, '?')}" for k in shown) for i in items if str(i.fields.get(name, "unknown")) == value)
            for value in sorted(values, key=natural)
        )
        notes.append(f"{name} is {told}" if len(told) < 300 else f"{name} varies: {', '.join(sorted(values, key=natural))}")
    return notes
