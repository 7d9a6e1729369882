"""Whole reports: a README of regions with its pictures, or an HTML page."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perflog.errors import UsageError
from perflog.escaping import visible
from perflog.files import is_written_into, missing_folder, write_atomically
from perflog.report.extractions import Extractions
from perflog.report.html import BEGINNING, page
from perflog.report.making import make_picture
from perflog.report.markdown import contents, skeleton
from perflog.report.options import words_of
from perflog.report.recipe import Recipes, confined
from perflog.report.regions import filled
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


def html_report(
    logs: Sequence[str], given: Mapping[str, Any], output: Path, language: str, extractions: Extractions
) -> Report:
    """One HTML page that holds everything.

    Args:
        given: the options of extraction that were given; the page says them.
        output: where the page will lie: its links to logs are relative to that folder.
        language: ``en`` or ``zh``.

    Raises:
        UsageError: when there is no case, or the cases do not fit one table.
    """
    chosen = settings(given, logs)
    extraction = extractions.of(logs, chosen)
    pictures = []
    for kind in contents(extraction).pictures:
        try:
            pictures.append(make_picture(logs, chosen, extractions, kind, "svg"))
        except UsageError as error:
            raise UsageError(f"the picture of {kind}: {error}") from None
    words = [*_near(logs, output.parent), *words_of(_near_folders(given, output.parent))]
    in_language = ["--lang", language] if language != "en" else []
    commands = [
        shlex.join(["perflog", "extract", *words]),
        shlex.join(["perflog", "report", *words, *in_language, "--html", "--output", output.name]),
    ]
    data = page(extraction, pictures, commands, output.parent, language)
    described = f"{len(extraction.cases)} cases, {len(pictures)} pictures, {len(data) / 1000:.0f} kB"
    return Report({output: data}, described)


def markdown_report(
    logs: Sequence[str], given: Mapping[str, Any], output: Path, language: str, extractions: Extractions
) -> Report:
    """A README of regions, all made, with its pictures.

    The folder of ``output`` must be there: the recipes' paths lead through it.

    Args:
        given: the options of extraction that were given; every recipe repeats them.
        output: where the report will lie: the recipes' paths are relative to that folder.
        language: ``en`` or ``zh``.

    Raises:
        UsageError: when there is no case.
        PerflogError: when a region cannot be made.
    """
    extraction = extractions.of(logs, settings(given, logs))
    _require_writable([*logs, output.name])
    options = words_of(_near_folders(given, output.parent))
    allowed = _allowed([*logs, *(given.get("parsers") or ())], output.parent)
    empty = skeleton(extraction, _near(logs, output.parent), options, allowed, output, language)
    recipes = Recipes(output.parent, extractions, None)  # the recipes say what the user named
    text, regions = filled(empty, str(output), recipes.make)
    described = f"{regions} regions, {len(recipes.pictures)} pictures"
    return Report({**recipes.pictures, output: text.encode("utf-8")}, described)


def _require_writable(names: Sequence[str]) -> None:
    """Raise UsageError for a name that no recipe can hold: it would not stand on one line of UTF-8 text."""
    for name in names:
        if visible(name) != name:
            told = f"a recipe cannot hold the name {name!r}: expected UTF-8 text on one line"
            raise UsageError(f"{told}; name a folder above it, or write a page with --html")


def is_page(file: Path) -> bool:
    """Whether a file is a page that perflog made: one may be written over."""
    with file.open("rb") as opened:
        return opened.read(len(BEGINNING)) == BEGINNING.encode()


def _near(logs: Sequence[str], base: Path) -> list[str]:
    """The logs' paths relative to ``base``."""
    return [Path(os.path.relpath(log, base)).as_posix() for log in logs]


def _allowed(paths: Sequence[str], base: Path) -> list[str]:
    """The options by which `perflog readme` lets a file in ``base`` lead to those of the paths that lie outside."""
    confinement = confined(base)
    outside = [path for path in paths if not confinement.holds(path)]
    return [word for path in _near(outside, base) for word in ("--allow", path)]


def _near_folders(given: Mapping[str, Any], base: Path) -> dict[str, Any]:
    """Options of extraction with the folders of parsers relative to ``base``."""
    return {**given, "parsers": _near(given["parsers"], base) if given.get("parsers") else None}


def make_report(
    logs: Sequence[str], given: Mapping[str, Any], output: Path, language: str, html: bool, extractions: Extractions
) -> Report:
    """A report, as a page or as a README; its files are not written yet.

    Raises:
        PerflogError: as :func:`html_report` and :func:`markdown_report` do.
    """
    if html:
        return html_report(logs, given, output, language, extractions)
    if reason := missing_folder(output):  # the recipes' paths lead through it
        raise UsageError(f"cannot write {str(output)!r}: {reason}")
    return markdown_report(logs, given, output, language, extractions)


def refusal(output: Path, html: bool) -> str:
    """Why a report may not be written over what is at ``output``; empty when it may be written."""
    if is_written_into(output) or not output.exists() or (html and is_page(output)):
        return ""
    hint = f"`perflog readme {output}` makes its regions true"
    if html:
        hint = "only a page that perflog made is written over"
    return f"{output} exists: {hint}; name another file"
