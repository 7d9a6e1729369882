"""A table of a logger in (CSV, tabs between columns, MLflow's metric files), lines of ``key=value`` out.

The columns of such a table stand in any order, by the header; its rows become ``csv epoch=0 step=49 loss=0.4``, epoch
and step first, empty fields left out. A line of an MLflow metric becomes ``mlflow time_ms=1714817472123 value=0.4
step=49``.
Each line keeps its place in the file.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from contextlib import suppress

#: A column's name: what loggers call their metrics.
_NAME = re.compile(r"[A-Za-z_][\w./|@()%:\- ]*")
#: A row begins with these columns, in this order.
_FIRST = ("epoch", "step", "time")
#: A training's table has one of these columns: those of loggers for reinforcement learning last.
_KNOWN = frozenset({"epoch", "step", "Epoch", "time/iterations", "time/episodes", "misc/nupdates", "nupdates"})
_NUMBER = re.compile(r"[-+]?(?:[0-9][0-9.eE+-]*|nan|inf|True|False)?", re.IGNORECASE)
_MLFLOW = re.compile(rb"([0-9]{13}) ([-+0-9.eE]+|nan|inf|-inf|NaN|Infinity)(?: ([0-9]+))?\r?")
#: So many columns a table has at least; so many of its first lines are looked at.
_LEAST, _LOOKED_AT = 3, 20

#: One line (without its line feed) as it is given on.
Render = Callable[[bytes], bytes]


def renderer_for(lines: Sequence[bytes]) -> Render | None:
    """How a table is rendered that begins with these lines, of which the last may be unfinished; None for no table."""
    filled = [line for line in (lines[:-1] or lines)[:_LOOKED_AT] if line.strip()]
    if filled and all(_MLFLOW.fullmatch(line) for line in filled):
        return _of_mlflow
    between = "\t" if filled and b"\t" in filled[0] and b"," not in filled[0] else ","
    columns = _columns(filled[0], between) if len(filled) > 1 else []
    if columns and all(_row(line, len(columns), between) for line in filled[1:]):
        return _of_csv(columns, between)
    return None


def _columns(header: bytes, between: str) -> list[str]:
    """A header's names; none where it is no header of a training's table."""
    with suppress(UnicodeDecodeError, csv.Error, StopIteration):
        names = [name.strip() for name in next(csv.reader([header.decode()], delimiter=between))]
        known = not _KNOWN.isdisjoint(names)
        if known and len(names) >= _LEAST and all(map(_NAME.fullmatch, names)) and len(set(names)) == len(names):
            return names
    return []


def _row(line: bytes, count: int, between: str) -> list[str]:
    """A row's fields; none where it is no row of so many numbers."""
    with suppress(UnicodeDecodeError, csv.Error, StopIteration):
        fields = [field.strip() for field in next(csv.reader([line.decode()], delimiter=between))]
        if len(fields) == count and all(map(_NUMBER.fullmatch, fields)):
            return fields
    return []


def _of_csv(columns: Sequence[str], between: str) -> Render:
    order = sorted(range(len(columns)), key=lambda n: (_FIRST.index(columns[n]) if columns[n] in _FIRST else 9, n))
    names = [re.sub(r"\s", "_", name) for name in columns]

    def render(line: bytes) -> bytes:
        fields = _row(line, len(columns), between)
        if not fields:
            return line
        return " ".join(["csv", *(f"{names[n]}={fields[n]}" for n in order if fields[n])]).encode()

    return render


def _of_mlflow(line: bytes) -> bytes:
    found = _MLFLOW.fullmatch(line)
    if found is None:
        return line
    step = b" step=" + found[3] if found[3] else b""
    return b"mlflow time_ms=%s value=%s%s" % (found[1], found[2], step)
