"""Regions of a README that perflog keeps true: found, regenerated in place, everything else untouched.

A region stands between ``<!-- perflog: table … -->`` and ``<!-- /perflog -->`` on lines of their own. In it,
rows keep their layout: only cells whose text changed are replaced, and rows that the logs at hand do not
cover stay as they are, named in the recipe by ``--keep``.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perflog.border import keep_inside, keep_within
from perflog.errors import PerflogError, UsageError
from perflog.escaping import markdown as escaped
from perflog.files import LONGEST_DOCUMENT, read_limited
from perflog.logs.addresses import address_in, joined
from perflog.logs.find import nearest_path
from perflog.settings.config import Settings, pairs, settings
from perflog.settings.confinement import Confinement, repository_of
from perflog.show.contents import Facts, environment, links, listed, method
from perflog.show.extractions import Extractions
from perflog.show.making import look_of, make_picture, make_table, projection
from perflog.show.options import EXTRACTION, extraction_values, read_words
from perflog.show.words import require_language

_BLANKS = " \t"
_OPENED, _MARK, _CLOSED = "<!--", "perflog:", "-->"
_END = re.compile(r"^[ \t]*<!--[ \t]*/perflog[ \t]*-->[ \t]*$")
_LIKE = re.compile(r"<!--[ \t]*/?perflog")
FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})")
_CELL = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class RegionText:
    """The text of a region; ``keys``: how many first cells of its table's rows name the row, 0 for no table."""

    text: str
    keys: int = 0


#: Makes the text of a recipe. It may raise PerflogError.
Make = Callable[[str], RegionText]


@dataclass(frozen=True, slots=True)
class Region:
    """Lines ``begin`` (the opening marker) to ``end`` (the closing one), counted from 0, and the recipe between."""

    begin: int
    end: int
    indent: str
    recipe: str


def text_of(path: Path) -> str:
    """A file's text.

    Raises:
        PerflogError: for a file that cannot be read, or is no UTF-8 text.
    """
    keep_inside(path, "the file")
    try:
        return read_limited(path, LONGEST_DOCUMENT).decode("utf-8")
    except FileNotFoundError:
        raise PerflogError(f"no such file: {str(path)!r}{nearest_path(str(path))}") from None
    except IsADirectoryError:
        raise PerflogError(f"{str(path)!r} is a folder: expected a Markdown file, such as {path}/README.md") from None
    except OSError as error:
        raise PerflogError(f"cannot read {str(path)!r}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise PerflogError(f"{path}: not UTF-8 text (byte {error.start})") from None


def filled(text: str, name: str, make: Make) -> tuple[str, int]:
    """A text with all its regions made, and how many there are.

    Args:
        name: the file's name, for messages.
        make: makes the text of a recipe.

    Raises:
        PerflogError: for a marker out of place, or a recipe that fails; with the file and line.
    """
    lines = text.split("\n")
    in_order = regions([line.removesuffix("\r") for line in lines], name)
    for region in reversed(in_order):
        block = slice(region.begin, region.end + 1)
        lines[block] = _filled_block(lines[block], region, make, f"{name}:{region.begin + 1}")
    return "\n".join(lines), len(in_order)


def regions(lines: Sequence[str], name: str) -> list[Region]:
    """The regions in order; markers inside code fences are examples and mean nothing.

    Raises:
        PerflogError: for markers that are nested, unclosed, unopened or cannot be read, with the line.
    """
    complete: list[Region] = []
    opened: tuple[int, str, str] | None = None
    for place, line in _outside_fences(lines):
        where = f"{name}:{place + 1}"
        recipe = _recipe_of(line)
        if recipe is not None:
            if opened:
                hint = "close that one first with <!-- /perflog -->"
                raise PerflogError(f"{where}: a region begins inside the one of line {opened[0] + 1}; {hint}")
            opened = (place, line[: len(line) - len(line.lstrip(_BLANKS))], recipe)
        elif _END.match(line):
            if not opened:
                raise PerflogError(f"{where}: <!-- /perflog --> closes no region")
            complete.append(Region(opened[0], place, opened[1], opened[2]))
            opened = None
        elif _LIKE.search(line):
            forms = "<!-- perflog: table … --> or <!-- /perflog -->"
            raise PerflogError(f"{where}: a marker must stand alone on its line: {forms}")
    if opened:
        raise PerflogError(f"{name}:{opened[0] + 1}: the region is never closed; add <!-- /perflog -->")
    return complete


def _recipe_of(line: str) -> str | None:
    """The recipe in an opening marker; None where the line is none.

    No regex: one that tries every way of parting blanks takes hours for a line of blanks.
    """
    text = line.strip(_BLANKS)
    if not (text.startswith(_OPENED) and text.endswith(_CLOSED) and len(text) >= len(_OPENED + _CLOSED)):
        return None
    inside = text[len(_OPENED) : -len(_CLOSED)].strip(_BLANKS)
    return inside[len(_MARK) :].strip(_BLANKS) if inside.startswith(_MARK) else None


def _outside_fences(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The lines outside code fences, with their places."""
    fence = ""
    for place, line in enumerate(lines):
        mark = FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence:
            yield place, line


def _filled_block(block: list[str], region: Region, make: Make, where: str) -> list[str]:
    """The lines of a region with its text made, from its opening marker to its closing one."""
    ending = "\r" if block[0].endswith("\r") else ""
    old = [line.removesuffix("\r") for line in block[1:-1]]
    try:
        region_text = make(region.recipe)
        new = [f"{region.indent}{line}" if line else line for line in region_text.text.removesuffix("\n").split("\n")]
        lines, kept = merged(old, new, region_text.keys) if region_text.keys else (new, [])
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
    was, now = table_lines(old), table_lines(new)
    if not was or not now:
        return list(new), []
    rows = {tuple(row_texts(line)[:keys]): line for line in new[now[0] + 2 : now[1]]}
    covered = [(tuple(row_texts(line)[:keys]), line) for line in old[was[0] + 2 : was[1]]]
    kept = [" ".join(key) for key, _ in covered if key not in rows]
    headings, new_headings = old[was[0]], new[now[0]]
    if row_texts(headings) != row_texts(new_headings):
        if kept:
            raise PerflogError(
                f"the headings change from {headings.strip()!r} to {new_headings.strip()!r}, and no log covers the "
                f"rows {', '.join(map(repr, kept))}: they cannot be kept under other headings; remove them, or give "
                "--title to keep the headings"
            )
        return list(new), []
    there, order = {key for key, _ in covered}, list(rows)
    followers = {order[place - 1] if place else None: key for place, key in enumerate(order) if key not in there}

    def behind(key: tuple[str, ...] | None) -> Iterator[str]:
        """The new rows that follow a row of the new table; of None, those that stand before all others."""
        while (follower := followers.pop(key, None)) is not None:
            yield rows[follower]
            key = follower

    table = [*old[was[0] : was[0] + 2], *behind(None)]
    seen = set()
    for key, line in covered:
        if key not in rows:
            table.append(line)
        elif key not in seen:
            table.append(_in_layout(line, rows[key]))
        table += behind(key)
        seen.add(key)
    return [*new[: now[0]], *table, *new[now[1] :]], kept


def table_lines(lines: Sequence[str]) -> tuple[int, int] | None:
    """Where the first table begins and ends."""
    begin = next((place for place, line in enumerate(lines) if "|" in line), None)
    if begin is None or begin + 1 >= len(lines):
        return None
    end = begin
    while end < len(lines) and "|" in lines[end]:
        end += 1
    return (begin, end) if end - begin >= 2 else None


def row_texts(line: str) -> list[str]:
    """The cells of a table's row without the blanks around them; the bars at the ends may be missing."""
    parts = _CELL.split(line)  # what stands before the first and after the last bar comes first and last
    first = 0 if parts[0].strip() else 1
    last = len(parts) if parts[-1].strip() else len(parts) - 1
    return [part.strip() for part in parts[first:last]]


def _in_layout(old: str, new: str) -> str:
    """The old row with the new row's texts; blanks around them stay, and so do columns' widths where they can."""
    cells, texts = _CELL.split(old), row_texts(new)
    if len(row_texts(old)) != len(texts) or cells[0].strip():
        return new
    for place, text in enumerate(texts, 1):
        cell = cells[place]
        if cell.strip() == text:
            continue
        lead = cell[: len(cell) - len(cell.lstrip())] if cell.strip() else " "
        tail = cell[len(cell.rstrip()) :] if cell.strip() else " "
        padded = len(tail) > 1 or not text
        width = max(1, len(cell) - len(lead) - len(text))
        cells[place] = f"{lead}{text}{' ' * width}" if padded else f"{lead}{text}{tail}"
    return "|".join(cells)


# ----------------------------------------------------------------------------------------------------
# A region's recipe in, the text of the region out: a table, a picture or a list.

#: Regions that hold a list, all made by ``perflog report`` alone.
LISTS = ("environment", "method", "links")
#: Options that name folders; in a recipe they are relative to the file, as logs are.
_FOLDERS = ("parsers", "templates")
#: The options that each kind of recipe may hold: those of the command that makes the same.
_LIST_OPTIONS = (*EXTRACTION, "where", "output", "lang", "html", "quiet")
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "table": (
        *EXTRACTION, "rows", "columns", "value", "where", "style", "lang", "templates", "notes", "digits", "title",
        "name", "missing", "output", "quiet",
    ),
    "plot": (*EXTRACTION, "kind", "where", "lang", "output", "quiet"),
    **dict.fromkeys(LISTS, _LIST_OPTIONS),
}  # fmt: skip


def confined(folder: Path, allowed: Sequence[Path] = (), with_parts: bool = True) -> Confinement:
    """Where the recipes of a file in ``folder`` may lead: its repository, and what the user allows beside it.

    Args:
        with_parts: whether parts of logs that lie in what is allowed are read too.

    Raises:
        UsageError: for a folder in the repository that is allowed, and in truth is a link out of it.
    """
    addresses = tuple(filter(None, map(address_in, allowed)))
    repository = repository_of(folder)
    for place in allowed:
        if not address_in(place):
            keep_within(repository, place, "--allow", "name the folder itself, where it lies")
    roots = [repository, *(Path(os.path.realpath(place)) for place in allowed if not address_in(place))]
    way_out = "`perflog readme --allow FOLDER` lets recipes use a folder outside it too"
    return Confinement(tuple(roots), way_out, addresses, tuple(roots[1:]) if with_parts else ())


@dataclass(slots=True)
class Recipes:
    """Makes the regions of one file.

    Attributes:
        base: the folder that the recipes' paths are relative to.
        extractions: what logs are read through.
        confinement: where the recipes' paths may lead; None where the user's own words are made into recipes.
        pictures: by file, the pictures of the recipes made so far. They are collected, not written: a wrong recipe
            further on must leave everything as it is.
    """

    base: Path
    extractions: Extractions
    confinement: Confinement | None
    pictures: dict[Path, bytes] = field(default_factory=dict)

    def make(self, recipe: str) -> RegionText:
        """The text of a region, by its recipe, written as on the command line with paths relative to ``base``.

        Raises:
            UsageError: for a recipe that cannot be read, or what its table or picture cannot show.
        """
        kind, logs, values = self._read(recipe)
        values |= {name: [str(self.base / folder) for folder in values[name]] for name in _FOLDERS if name in values}
        if kind == "table":
            return self._table(logs, values)
        if kind == "plot":
            return self._picture(logs, values)
        return self._list(kind, logs, values)

    def logs_of(self, recipe: str) -> list[str]:
        """The paths of the logs that a recipe names. Raises UsageError for one that cannot be read."""
        return self._read(recipe)[1]

    def _read(self, recipe: str) -> tuple[str, list[str], dict[str, Any]]:
        """A recipe's kind, its logs and its options."""
        kind, words = _kind_and_words(recipe)
        places, values = read_words(words, _OPTIONS[kind])
        if "-" in places:
            raise UsageError("the log '-': expected a file or a folder: a recipe reads no standard input")
        return kind, [joined(self.base, place) for place in places], values

    def _settings(self, logs: Sequence[str], values: Mapping[str, Any]) -> Settings:
        """The options in force. Raises UsageError for a path that leads out of the confinement too."""
        return settings(extraction_values(values), logs, self.confinement)

    def _table(self, logs: list[str], values: Mapping[str, Any]) -> RegionText:
        if "rows" not in values:
            raise UsageError("the recipe is wrong: a table needs --rows, such as --rows devices")
        where = pairs(values.get("where", []), "where")
        shown = projection(values["rows"], values.get("columns", ""), values.get("value", "throughput"), where)
        if self.confinement is not None:
            for folder in values.get("templates", ()):
                self.confinement.admit_files(folder, "*.toml", "--templates")
        table = make_table(logs, self._settings(logs, values), self.extractions, shown, look_of(values))
        return RegionText(table.text, table.table.keys)

    def _picture(self, logs: list[str], values: Mapping[str, Any]) -> RegionText:
        if "output" not in values:
            raise UsageError("a picture needs a file: -o scaling.svg")
        file = Path(values["output"])
        if self.confinement is not None:
            self.confinement.admit(self.base / file, "--output")
        form = file.suffix.removeprefix(".")
        chosen = self._settings(logs, values)
        where, language = pairs(values.get("where", []), "where"), values.get("lang", "en")
        picture = make_picture(logs, chosen, self.extractions, values.get("kind", "scaling"), form, where, language)
        self.pictures[self.base / file] = picture.data
        return RegionText(f"![{escaped(picture.described)}]({file})\n")

    def _list(self, kind: str, logs: list[str], values: Mapping[str, Any]) -> RegionText:
        where = pairs(values.get("where", []), "where")
        extraction = self.extractions.of(logs, self._settings(logs, values), where)
        if kind == "links":
            return RegionText(links(extraction, self.base))
        language = values.get("lang", "en")
        require_language(language)
        if kind == "environment":
            return RegionText(listed(environment(extraction, language)))
        return RegionText(listed([Facts("", tuple(method(extraction, language)))]))


def _kind_and_words(recipe: str) -> tuple[str, list[str]]:
    """A recipe's first word and the others, without the marker's own ``--keep ROW``: rows without logs."""
    try:
        words = shlex.split(recipe)
    except ValueError as error:
        raise UsageError(f"the recipe cannot be read: {error}") from None
    if not words or words[0] not in _OPTIONS:
        kinds = "a region holds a table, plot, environment, method or links"
        raise UsageError(f"{kinds}: expected `perflog: table LOGS --rows …`, found {recipe[:40]!r}")
    kept = {place + offset for place, word in enumerate(words) if word == "--keep" for offset in (0, 1)}
    return words[0], [word for place, word in enumerate(words) if place and place not in kept]
