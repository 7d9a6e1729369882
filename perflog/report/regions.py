"""Regions of a README that perflog keeps true: found, regenerated in place, everything else untouched.

A region stands between ``<!-- perflog: table … -->`` and ``<!-- /perflog -->`` on lines of their own. In it,
rows keep their layout: only cells whose text changed are replaced, and rows that the logs at hand do not
cover stay as they are, named in the recipe by ``--keep``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from perflog.errors import PerflogError

_BEGIN = re.compile(r"^([ \t]*)<!--[ \t]*perflog:[ \t]*(.*?)[ \t]*-->[ \t]*$")
_END = re.compile(r"^[ \t]*<!--[ \t]*/perflog[ \t]*-->[ \t]*$")
_LIKE = re.compile(r"<!--[ \t]*/?perflog")
FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})")
_CELL = re.compile(r"(?<!\\)\|")

#: Makes the text of a recipe: (text, how many first cells name a row). It may raise PerflogError.
Make = Callable[[str], tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Region:
    """Lines ``begin`` (the opening marker) to ``end`` (the closing one), counted from 0, and the recipe between."""

    begin: int
    end: int
    indent: str
    recipe: str


def regenerated(path: Path, make: Make) -> tuple[str, str, int]:
    """(old text, new text, number of regions) of a file.

    Raises:
        PerflogError: for a file that is no UTF-8 text, a marker out of place, or a recipe that fails; with the
            file and line. Nothing is written.
    """
    try:
        old = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise PerflogError(f"cannot read {str(path)!r}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise PerflogError(f"{path}: not UTF-8 text (byte {error.start})") from None
    new, count = filled(old, str(path), make)
    return old, new, count


def filled(text: str, name: str, make: Make) -> tuple[str, int]:
    """A text with all its regions made, and how many there are. Raises PerflogError as :func:`regenerated` does."""
    lines = text.split("\n")
    found = regions([line.removesuffix("\r") for line in lines], name)
    for region in reversed(found):
        lines[region.begin : region.end + 1] = _made(lines[region.begin : region.end + 1], region, make, f"{name}:{region.begin + 1}")
    return "\n".join(lines), len(found)


def regions(lines: Sequence[str], name: str) -> list[Region]:
    """The regions in order; markers inside code fences are examples and mean nothing.

    Raises:
        PerflogError: for markers that are nested, unclosed, unopened or cannot be read, with the line.
    """
    found: list[Region] = []
    opened: tuple[int, str, str] | None = None
    fence = ""
    for at, line in enumerate(lines):
        mark = FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
            continue
        begin = None if fence else _BEGIN.match(line)
        if begin:
            if opened:
                raise PerflogError(f"{name}:{at + 1}: a region begins inside the one of line {opened[0] + 1}; close that one first with <!-- /perflog -->")
            opened = (at, begin[1], begin[2])
        elif not fence and _END.match(line):
            if not opened:
                raise PerflogError(f"{name}:{at + 1}: <!-- /perflog --> closes no region")
            found.append(Region(opened[0], at, opened[1], opened[2]))
            opened = None
        elif not fence and _LIKE.search(line):
            raise PerflogError(f"{name}:{at + 1}: a marker must stand alone on its line: <!-- perflog: table … --> or <!-- /perflog -->")
    if opened:
        raise PerflogError(f"{name}:{opened[0] + 1}: the region is never closed; add <!-- /perflog -->")
    return found


def _made(block: list[str], region: Region, make: Make, where: str) -> list[str]:
    ending = "\r" if block[0].endswith("\r") else ""
    old = [line.removesuffix("\r") for line in block[1:-1]]
    try:
        text, keys = make(region.recipe)
    except PerflogError as error:
        raise PerflogError(f"{where}: {error}") from None
    new = [f"{region.indent}{line}" if line else line for line in text.removesuffix("\n").split("\n")]
    try:
        lines, kept = merged(old, new, keys) if keys else (new, [])
    except PerflogError as error:
        raise PerflogError(f"{where}: {error}") from None
    recipe = region.recipe
    named = shlex.split(recipe)
    for row in kept:
        if row not in named:
            recipe += f" --keep {shlex.quote(row)}"
    marker = block[0] if recipe == region.recipe else f"{region.indent}<!-- perflog: {recipe} -->{ending}"
    return [marker, *(line + ending for line in lines), block[-1]]


def merged(old: Sequence[str], new: Sequence[str], keys: int) -> tuple[list[str], list[str]]:
    """The new table in the old one's layout, with its uncovered rows; and the names of those rows.

    Raises:
        PerflogError: when the headings change and uncovered rows would be lost.
    """
    was, now = _table_lines(old), _table_lines(new)
    if not was or not now:
        return list(new), []
    rows = {tuple(row_texts(line)[:keys]): line for line in new[now[0] + 2 : now[1]]}
    if row_texts(old[was[0]]) != row_texts(new[now[0]]):
        lost = [" ".join(key) for line in old[was[0] + 2 : was[1]] if (key := tuple(row_texts(line)[:keys])) not in rows]
        if lost:
            raise PerflogError(
                f"the headings change from {old[was[0]].strip()!r} to {new[now[0]].strip()!r}, and no log covers the rows "
                f"{', '.join(map(repr, lost))}: they cannot be kept under other headings; remove them, or give --title to keep the headings"
            )
        return list(new), []
    out: list[str] = [old[was[0]], old[was[0] + 1]]
    kept: list[str] = []
    seen = set()
    for line in old[was[0] + 2 : was[1]]:
        key = tuple(row_texts(line)[:keys])
        if key in rows and key not in seen:
            out.append(_in_layout(line, rows[key]))
        elif key not in rows:
            out.append(line)
            kept.append(" ".join(key))
        seen.add(key)
    order = list(rows)
    for at, key in enumerate(order):
        if key not in seen:  # a new row goes behind the one it follows in the new table
            before = next((_place(out, k, keys) for k in reversed(order[:at]) if _place(out, k, keys)), 1)
            out.insert(before + 1, rows[key])
    return [*new[: now[0]], *out, *new[now[1] :]], kept


def _table_lines(lines: Sequence[str]) -> tuple[int, int] | None:
    """Where the first table begins and ends."""
    begin = next((at for at, line in enumerate(lines) if "|" in line), None)
    if begin is None or begin + 1 >= len(lines):
        return None
    end = begin
    while end < len(lines) and "|" in lines[end]:
        end += 1
    return (begin, end) if end - begin >= 2 else None


def _cells(line: str) -> list[str]:
    """A row's cells with their blanks; what stands before the first and after the last bar comes first and last."""
    return _CELL.split(line)


def row_texts(line: str) -> list[str]:
    """The cells of a table's row without the blanks around them; the bars at the ends may be missing."""
    parts = _cells(line)
    return [part.strip() for part in (parts[1:] if not parts[0].strip() else parts)[: None if parts[-1].strip() else -1]]


def _place(lines: Sequence[str], key: tuple[str, ...], keys: int) -> int:
    return next((at for at, line in enumerate(lines) if at > 1 and tuple(row_texts(line)[:keys]) == key), 0)


def _in_layout(old: str, new: str) -> str:
    """The old row with the new row's texts; blanks around them stay, and so do columns' widths where they can."""
    was, now = _cells(old), row_texts(new)
    if len(row_texts(old)) != len(now) or was[0].strip():
        return new
    for at, text in enumerate(now, 1):
        cell = was[at]
        if cell.strip() == text:
            continue
        lead = cell[: len(cell) - len(cell.lstrip())] if cell.strip() else " "
        tail = cell[len(cell.rstrip()) :] if cell.strip() else " "
        padded = len(tail) > 1 or not text
        was[at] = f"{lead}{text}{' ' * max(1, len(cell) - len(lead) - len(text))}" if padded else f"{lead}{text}{tail}"
    return "|".join(was)
