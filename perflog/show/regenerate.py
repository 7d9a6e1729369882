"""Markdown files in, the same files with all their regions made anew out; nothing is written before all are made."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

from perflog._version import __version__
from perflog.errors import PerflogError
from perflog.escaping import exact, json_text, named, visible
from perflog.escaping import markdown as escaped
from perflog.files import write_atomically
from perflog.settings.confinement import leads_out
from perflog.show.exchange import Annotation, commands
from perflog.show.extractions import Extractions
from perflog.show.regions import (
    Recipes,
    Region,
    RegionText,
    confined,
    filled,
    regions,
    row_texts,
    table_lines,
    text_of,
)
from perflog.show.text import counted

# ----------------------------------------------------------------------------------------------------
# Two texts in, what differs between them out, line by line.

#: From so many lines on, lines are not matched with each other: a README of repeated lines would take minutes, or days.
MOST_MATCHED = 4_000


def differences(old: str, new: str, old_name: str, new_name: str) -> Iterator[str]:
    """The lines of a unified difference; of long texts, all between the first and the last change as one change."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    if len(before) + len(after) <= MOST_MATCHED:
        yield from difflib.unified_diff(before, after, old_name, new_name)
        return
    head, end, _, new_end = _between(before, after)
    yield f"--- {old_name}\n"
    yield f"+++ {new_name}\n"
    yield f"@@ -{head + 1},{end - head} +{head + 1},{new_end - head} @@\n"
    yield from (f"-{line}" for line in before[head:end])
    yield from (f"+{line}" for line in after[head:new_end])


def _between(old: Sequence[str], new: Sequence[str]) -> tuple[int, int, int, int]:
    """The lines of both texts between what they begin with and what they end with alike."""
    shorter = min(len(old), len(new))
    head = next((n for n in range(shorter) if old[n] != new[n]), shorter)
    tail = next((n for n in range(shorter - head) if old[-1 - n] != new[-1 - n]), shorter - head)
    return head, len(old) - tail, head, len(new) - tail


# ----------------------------------------------------------------------------------------------------
# What regeneration changes in a file: cell by cell, and line by line outside of tables.

#: A cell that is one number, with marks of emphasis or a unit of share around it.
_NUMBER = re.compile(r"[*_~]*([+-]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?) ?%?[*_~]*")


@dataclass(frozen=True, slots=True)
class Change:
    """One place of a file that its logs make otherwise.

    Attributes:
        line: where it stands in the file as it is, counted from 1; a new row's is that of the row above it.
        kind: ``cell`` of a table, ``row`` that is new, ``headings`` of a table, ``line`` outside of tables, or
            ``recipe``, in which rows without logs are named.
        old, new: the texts; empty where there is none.
        row: the cells that name the row, by their headings.
        column: the heading of the cell's column.
        difference: by which share the new number is more than the old one; None where the two are no numbers.
    """

    line: int
    kind: str
    old: str
    new: str
    row: Mapping[str, str] = field(default_factory=dict)
    column: str = ""
    difference: float | None = None

    @property
    def place(self) -> str:
        """The row and column in words, as ``devices=8 fp32 throughput``; what the line is where it is no cell."""
        named = " ".join(f"{name}={value}" for name, value in self.row.items())
        row = f"{'row' if self.old else 'new row'} {named}".rstrip()
        words = {"row": row, "headings": "headings", "recipe": "recipe", "line": ""}
        return words.get(self.kind, f"{named} {self.column}".strip())

    def __str__(self) -> str:
        """The change in one line, without its file: ``devices=8 fp32 throughput 43.21 → 41.04 (−5.0 %)``."""
        if self.kind == "row" and not self.old:
            return f"{self.place}: {self.new}"
        share = "" if self.difference is None else f" ({per_cent(self.difference)})"
        return f"{self.place} {self.old or '(nothing)'} → {self.new or '(nothing)'}{share}".strip()


def per_cent(share: float) -> str:
    """A share of change as people read it: with its sign, and at least two digits that are not nought.

    >>> per_cent(-0.0502), per_cent(0.000123), per_cent(1.5)
    ('−5.0 %', '+0.012 %', '+150 %')
    """
    size = abs(share) * 100
    text = f"{size:.0f}" if size >= 99.5 else f"{size:.1f}" if size >= 0.95 else f"{size:.2g}"
    return f"{'−' if share < 0 else '+'}{text} %"


def changes(old: str, new: str, name: str, keys: Sequence[int]) -> list[Change]:
    """Every place in which two texts of a file differ, in the order of the lines.

    Args:
        old: the text as it is.
        new: the text with its regions made anew; nothing outside of regions differs.
        name: the file's name, for messages.
        keys: for every region, how many first cells of its table's rows name the row; 0 for no table.
    """
    before, after = ([line.removesuffix("\r") for line in text.split("\n")] for text in (old, new))
    found: list[Change] = []
    for was, now, count in zip(regions(before, name), regions(after, name), keys, strict=True):
        if was.recipe != now.recipe:
            found.append(Change(was.begin + 1, "recipe", was.recipe, now.recipe))
        inside = before[was.begin + 1 : was.end], after[now.begin + 1 : now.end]
        if inside[0] != inside[1]:
            found += _of_region(was, *inside, count)
    return found


def _of_region(region: Region, old: Sequence[str], new: Sequence[str], keys: int) -> list[Change]:
    """The changes of a region whose lines differ; of tables those of the cells, where there are any."""
    first = region.begin + 2
    table, new_table = table_lines(old), table_lines(new)
    if not keys or table is None or new_table is None:
        return list(_of_lines(old, new, first))
    (begin, end), (new_begin, new_end) = table, new_table
    found = [
        *_of_lines(old[:begin], new[:new_begin], first),
        *_of_table(old[begin:end], new[new_begin:new_end], keys, first + begin),
        *_of_lines(old[end:], new[new_end:], first + end),
    ]
    return found or list(_of_lines(old, new, first))  # blanks between cells


def _of_table(old: Sequence[str], new: Sequence[str], keys: int, first: int) -> Iterator[Change]:
    """The changes of a table, whose heading stands on the line ``first``."""
    headings, new_headings = row_texts(old[0]), row_texts(new[0])
    if headings != new_headings:
        yield Change(first, "headings", " | ".join(headings), " | ".join(new_headings))
    rows: dict[tuple[str, ...], list[str]] = {}
    for text in new[2:]:
        cells = row_texts(text)
        rows.setdefault(tuple(cells[:keys]), cells)
    places: dict[tuple[str, ...], int] = {}
    for line, text in enumerate(old[2:], first + 2):
        cells = row_texts(text)
        key = tuple(cells[:keys])
        if key in places and key in rows:
            yield Change(line, "row", " | ".join(cells[keys:]), "", dict(zip(headings[:keys], key, strict=False)))
        else:
            made = dict(zip(new_headings, rows.get(key, ()), strict=False))
            row = dict(zip(new_headings[:keys], list(made.values())[:keys], strict=False))
            for heading, old_text in dict(zip(headings, cells, strict=False)).items():
                new_text = made.get(heading, old_text)  # a row that is gone has new headings, which are reported
                if new_text != old_text:
                    yield Change(line, "cell", old_text, new_text, row, heading, _difference(old_text, new_text))
        places[key] = line
    above = first + 1
    for key, cells in rows.items():
        above = places.get(key, above)
        if key not in places:
            named = dict(zip(new_headings[:keys], key, strict=False))
            yield Change(above, "row", "", " | ".join(cells[keys:]), named)


def _difference(old: str, new: str) -> float | None:
    """By which share a cell's number is more than another's; None where one is no number, or the old one nought."""
    numbers = [_NUMBER.fullmatch(text) for text in (old, new)]
    values = [float(match[1].replace(",", "")) for match in numbers if match is not None]
    return values[1] / values[0] - 1 if len(values) == 2 and values[0] else None


def _of_lines(old: Sequence[str], new: Sequence[str], first: int) -> Iterator[Change]:
    """The lines that differ, in pairs; of long texts, all between the first and the last that differ."""
    if len(old) + len(new) > MOST_MATCHED:
        blocks = [_between(old, new)]
    else:
        matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
        blocks = [codes[1:] for codes in matcher.get_opcodes() if codes[0] != "equal"]
    for begin, end, new_begin, new_end in blocks:
        pairs = zip_longest(old[begin:end], new[new_begin:new_end])
        for place, (was, now) in enumerate(pairs):
            if (was or "") != (now or ""):
                line = first + min(begin + place, max(len(old) - 1, 0))
                yield Change(line, "line", (was or "").strip(), (now or "").strip())


@dataclass(frozen=True, slots=True)
class RegeneratedFile:
    """A file's text as it is and as its logs make it.

    Attributes:
        old, new: the two texts.
        keys: for every region, how many first cells of its table's rows name the row; 0 for no table.
    """

    path: Path
    old: str = field(repr=False)  # whole files, which no notebook need show
    new: str = field(repr=False)
    keys: tuple[int, ...]

    @property
    def regions(self) -> int:
        """How many regions it has."""
        return len(self.keys)

    def changes(self) -> list[Change]:
        """Every cell, and every line outside of tables, that its logs make otherwise."""
        return changes(self.old, self.new, str(self.path), self.keys) if self.old != self.new else []


@dataclass(frozen=True, slots=True)
class Regenerated:
    """What regeneration gives.

    Attributes:
        files: all files, in the order given.
        pictures: by file, the pictures that differ from what is there.
    """

    files: tuple[RegeneratedFile, ...]
    pictures: Mapping[Path, bytes]

    @property
    def stale(self) -> list[RegeneratedFile]:
        """The files whose text differs from their logs."""
        return [file for file in self.files if file.old != file.new]

    @property
    def up_to_date(self) -> bool:
        """Whether no text and no picture differs from the logs."""
        return not self.stale and not self.pictures

    @property
    def regions(self) -> int:
        """How many regions all files have."""
        return sum(file.regions for file in self.files)

    def changes(self) -> list[tuple[RegeneratedFile, Change]]:
        """Every change of every file."""
        return [(file, change) for file in self.files for change in file.changes()]

    def write(self) -> None:
        """Write the pictures and texts that differ, each file whole or not at all."""
        for picture, data in self.pictures.items():
            write_atomically(picture, data)
        for file in self.stale:
            write_atomically(file.path, file.new)


def regenerate(paths: Sequence[Path], extractions: Extractions, allowed: Sequence[Path] = ()) -> Regenerated:
    """Make all regions of all files.

    A file's recipes read and write in its repository alone, for others may have written them.

    Args:
        allowed: folders outside that recipes may use too.

    Raises:
        PerflogError: for a file that is no UTF-8 text, or a link that leads out of its repository, a marker out of
            place, or a recipe that fails, also where one of its logs cannot be read; with the file and line.
    """
    pictures: dict[Path, bytes] = {}
    files = [_regenerated(path, extractions, allowed, pictures) for path in paths]
    differing = {
        file: data
        for file, data in pictures.items()
        if not file.is_file() or file.stat().st_size != len(data) or file.read_bytes() != data
    }
    return Regenerated(tuple(files), differing)


def _regenerated(
    path: Path, extractions: Extractions, allowed: Sequence[Path], pictures: dict[Path, bytes]
) -> RegeneratedFile:
    """One file; the pictures of its recipes go into ``pictures``. Raises PerflogError as :func:`regenerate` does."""
    if leads_out(path):
        raise PerflogError(f"{path}: expected a file of its repository, found a link out of it; name the file itself")
    recipes = Recipes(path.parent, extractions, confined(path.parent, allowed), pictures)
    made: list[RegionText] = []

    def make(recipe: str) -> RegionText:
        made.append(recipes.make(recipe))
        extractions.require_all_read("published")
        return made[-1]

    old = text_of(path)
    new, _ = filled(old, str(path), make)
    keys = tuple(text.keys for text in reversed(made))  # regions are made from the last to the first
    return RegeneratedFile(path, old, new, keys)


# ----------------------------------------------------------------------------------------------------
# What regeneration gives in, texts for people and machines out: what differs, cell by cell.

SCHEMA = "perflog/readme/1"
FORMATS = ("text", "markdown", "diff", "json", "github")
_PICTURE = "the picture differs from its logs"
#: A comment that begins with a word and a colon, as markers do.
_COMMENT = re.compile(r"<!--[ \t]*/?([A-Za-z_-]{1,20})[ \t]*(?::|-->)")


def render(regenerated: Regenerated, form: str) -> str:
    """What differs, in one of :data:`FORMATS`; ``github`` are commands to GitHub Actions, which annotate lines."""
    if form == "json":
        return json_text(regenerated_document(regenerated)) + "\n"
    if form == "github":
        return commands(_annotations(regenerated))
    if form == "markdown":
        return _markdown(regenerated)
    lines = [f"{named(str(picture))}: {_PICTURE}\n" for picture in regenerated.pictures]
    if form == "diff":
        for file in regenerated.stale:
            lines += differences(file.old, file.new, str(file.path), f"{file.path} (from the logs)")
    else:
        found = regenerated.changes()
        lines += [f"{named(str(file.path))}:{change.line} {visible(str(change))}\n" for file, change in found]
    return "".join(lines)


def summary(regenerated: Regenerated, checked: bool) -> str:
    """What was found in one sentence; ``checked``: nothing was written."""
    counts = {"file": len(regenerated.stale), "picture": len(regenerated.pictures)}
    differing = " and ".join(counted(count, noun) for noun, count in counts.items() if count)
    if not regenerated.regions:
        return without_regions(regenerated)
    verdict = "all are what their logs say"
    if differing:
        one, several = (
            ("differs from its logs", "differ from their logs") if checked else ("was rewritten", "were rewritten")
        )
        verdict = f"{differing} {one if sum(counts.values()) == 1 else several}"
    return f"{counted(regenerated.regions, 'region')} in {counted(len(regenerated.files), 'file')}: {verdict}"


def without_regions(regenerated: Regenerated) -> str:
    """That there is no region, with what may be a misspelt marker, in one sentence."""
    names = ", ".join(named(str(file.path)) for file in regenerated.files)
    near = []
    for file in regenerated.files:
        for number, line in enumerate(file.old.split("\n"), 1):
            comment = _COMMENT.search(line)
            if comment and difflib.get_close_matches(comment[1].lower(), ["perflog"], cutoff=0.75):
                near.append(f"on line {number} {visible(line.strip())[:60]!r}, which may be a misspelt marker")
    expected = "expected <!-- perflog: table LOGS --rows devices --> and <!-- /perflog --> on lines of their own"
    return f"no region in {names}: {expected}" + (f"; found {'; '.join(near)}" if near else "")


def regenerated_document(regenerated: Regenerated) -> dict[str, Any]:
    """Everything as plain data, in the schema ``readme.schema.json`` (docs/json.md)."""
    return {
        "schema": SCHEMA,
        "perflog": __version__,
        "up_to_date": regenerated.up_to_date,
        "files": [
            {
                "file": exact(str(file.path)),
                "regions": file.regions,
                "changes": [
                    {
                        "line": change.line, "kind": change.kind, "row": dict(change.row),
                        "column": change.column or None, "old": change.old, "new": change.new,
                        "difference": change.difference,
                    }
                    for change in file.changes()
                ],
            }
            for file in regenerated.files
        ],
        "pictures": [exact(str(picture)) for picture in regenerated.pictures],
    }  # fmt: skip


def _markdown(regenerated: Regenerated) -> str:
    """For a page or a job's summary."""
    rows = [[named(str(picture)), _PICTURE, "", "", ""] for picture in regenerated.pictures]
    for file, change in regenerated.changes():
        text = str(change).rpartition("(")[2].rstrip(")") if change.difference is not None else ""
        rows.append([f"{named(str(file.path))}:{change.line}", change.place, change.old, change.new, text])
    if not rows:
        return f"{escaped(summary(regenerated, checked=True))}\n"
    lines = ["| place | what | is | the logs say | change |", "|---|---|--:|--:|--:|"]
    lines += ["| " + " | ".join(escaped(cell) for cell in row) + " |" for row in rows]
    return "\n".join([*lines, "", escaped(summary(regenerated, checked=True))]) + "\n"


def _annotations(regenerated: Regenerated) -> list[Annotation]:
    """One finding a change. Files are named as seen from the working folder, as GitHub looks them up."""
    if not regenerated.regions:
        return [Annotation(without_regions(regenerated), os.path.relpath(regenerated.files[0].path))]
    found = [Annotation(_PICTURE, os.path.relpath(picture)) for picture in regenerated.pictures]
    changed = regenerated.changes()
    return found + [Annotation(str(change), os.path.relpath(file.path), change.line) for file, change in changed]
