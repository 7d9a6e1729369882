"""Whole reports: a README of regions with its pictures, or an HTML page."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from perflog.border import keep_inside
from perflog.cases.choosing import chosen
from perflog.errors import UsageError
from perflog.escaping import visible
from perflog.export.columns import counted
from perflog.files import is_written_into, missing_folder, write_atomically
from perflog.logs.addresses import Address, is_address
from perflog.plot.steps import MOST_RUNS
from perflog.report.contents import Choice, contents
from perflog.report.extractions import Extractions
from perflog.report.html import page
from perflog.report.markdown import Recipe, skeleton, where_words
from perflog.report.options import words_of
from perflog.report.pages import BEGINNING
from perflog.report.provenance import read_with_lines
from perflog.report.regions import Recipes, confined, filled
from perflog.settings.config import settings


@dataclass(frozen=True, slots=True)
class Report:
    """A report that is not written yet.

    Attributes:
        files: what each file is to hold: the report's own, and those of its pictures.
        described: what it holds, in words.
    """

    files: Mapping[Path, bytes]
    described: str

    def write(self) -> None:
        """Write the files, each whole or not at all."""
        for file, data in self.files.items():
            write_atomically(file, data)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A report that is wanted.

    Attributes:
        logs: paths of logs.
        given: the options of extraction that were given; the report says them.
        output: where the report will lie: its links to logs are relative to that folder.
        language: ``en`` or ``zh``.
        choice: its cases, and the rows and columns of its tables.
    """

    logs: Sequence[str]
    given: Mapping[str, Any]
    output: Path
    language: str = "en"
    choice: Choice = field(default_factory=Choice)

    @property
    def words(self) -> list[str]:
        """The logs and options as words of a command in the report's folder."""
        folder = self.output.parent
        options = [*words_of(_near_folders(self.given, folder)), *where_words(self.choice.where)]
        return [*_near(self.logs, folder), *options]


def html_report(wanted: Wanted, extractions: Extractions) -> Report:
    """One HTML page that holds everything.

    Raises:
        UsageError: when there is no case, or the cases do not fit one table.
    """
    given, choice, base = settings(wanted.given, wanted.logs), wanted.choice, wanted.output.parent
    read = read_with_lines(wanted.logs, given, extractions, None if choice.where else MOST_RUNS)
    extraction = replace(read.extraction, cases=chosen(read.extraction.cases, choice.where))
    dimensions = [*_given("--rows", choice.rows), *_given("--columns", choice.columns)]
    in_language = ["--lang", wanted.language] if wanted.language != "en" else []
    commands = [
        shlex.join(["perflog", "extract", *wanted.words]),
        shlex.join(["perflog", "report", *wanted.words, *dimensions, *in_language, "-o", wanted.output.name]),
    ]
    shown = contents(extraction, choice)
    data = page(replace(read, extraction=extraction), shown, commands, base, wanted.language)
    pictures = sum(section.scaling for section in shown.sections) + shown.steps
    described = f"{counted(len(extraction.cases), 'case')}, {counted(pictures, 'picture')}, {len(data) / 1000:,.0f} kB"
    return Report({wanted.output: data}, described)


def markdown_report(wanted: Wanted, extractions: Extractions) -> Report:
    """A README of regions, all made, with its pictures.

    The folder of its output must be there: the recipes' paths lead through it.

    Raises:
        UsageError: when there is no case.
        PerflogError: when a region cannot be made.
    """
    logs, given, output = wanted.logs, wanted.given, wanted.output
    extraction = extractions.of(logs, settings(given, logs), wanted.choice.where)
    _require_writable([*logs, output.name, *wanted.choice.where.values()])
    recipe = Recipe(
        _near(logs, output.parent),
        words_of(_near_folders(given, output.parent)),
        _allowed([*logs, *(given.get("parsers") or ())], output.parent, logs if extraction.parts else ()),
    )
    shown = contents(extraction, wanted.choice)
    if any(run.log.pipe is not None for run in extraction.runs):  # of a part or a pipe: not read again for step times
        shown = replace(shown, steps=False)
    empty = skeleton(recipe, shown, output, wanted.language, wanted.choice)
    recipes = Recipes(output.parent, extractions, None)  # the recipes say what the user named
    text, regions = filled(empty, str(output), recipes.make)
    described = f"{counted(regions, 'region')}, {counted(len(recipes.pictures), 'picture')}"
    return Report({**recipes.pictures, output: text.encode("utf-8")}, described)


def _given(flag: str, text: str) -> list[str]:
    """An option as words of a command; nothing where it was not given."""
    return [flag, text] if text else []


def _require_writable(names: Sequence[str]) -> None:
    """Raise UsageError for a name that no recipe can hold: it would not stand on one line of UTF-8 text."""
    for name in names:
        if isinstance(name, Address) and name != name.whole:
            told = f"a recipe cannot hold the address {str(name)!r}, whose query or user is left out"
            raise UsageError(f"{told}; write a page with --html")
        if visible(name) != name:
            told = f"a recipe cannot hold the name {name!r}: expected UTF-8 text on one line"
            raise UsageError(f"{told}; name a folder above it, or write a page with --html")


def is_page(file: Path) -> bool:
    """Whether a file is a page that perflog made: one may be written over."""
    with file.open("rb") as opened:
        return opened.read(len(BEGINNING)) == BEGINNING.encode()


def _near(logs: Sequence[str], base: Path) -> list[str]:
    """The logs' paths relative to ``base``."""
    return [log if is_address(log) else Path(os.path.relpath(log, base)).as_posix() for log in logs]


def _allowed(paths: Sequence[str], base: Path, parts: Sequence[str] = ()) -> list[str]:
    """The options by which `perflog readme` lets a file in ``base`` lead to those of the paths that lie outside, and
    read those that are parts."""
    confinement = confined(base)
    outside = [path for path in paths if not confinement.holds(path) or path in parts]
    return [word for path in _near(outside, base) for word in ("--allow", path)]


def _near_folders(given: Mapping[str, Any], base: Path) -> dict[str, Any]:
    """Options of extraction with the folders of parsers relative to ``base``."""
    return {**given, "parsers": _near(given["parsers"], base) if given.get("parsers") else None}


def make_report(
    logs: Sequence[str], given: Mapping[str, Any], output: Path, language: str, html: bool, extractions: Extractions,
    choice: Choice | None = None,
) -> Report:  # fmt: skip
    """A report, as a page or as a README; its files are not written yet.

    Raises:
        PerflogError: as :func:`html_report` and :func:`markdown_report` do.
    """
    wanted = Wanted(logs, given, output, language, choice or Choice())
    if html:
        return html_report(wanted, extractions)
    if reason := missing_folder(output):  # the recipes' paths lead through it
        raise UsageError(f"cannot write {str(output)!r}: {reason}")
    return markdown_report(wanted, extractions)


def refusal(output: Path, html: bool) -> str:
    """Why a report may not be written over what is at ``output``; empty when it may be written."""
    keep_inside(output, "the output")
    if is_written_into(output) or not output.exists() or (html and is_page(output)):
        return ""
    hint = f"`perflog readme {output}` makes its regions true"
    if html:
        hint = "only a page that perflog made is written over"
    return f"{output} exists: {hint}; name another file"
