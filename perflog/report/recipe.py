"""A region's recipe in, the text of the region out: a table, a picture or a list."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perflog.border import keep_within
from perflog.errors import UsageError
from perflog.escaping import markdown as escaped
from perflog.logs.addresses import address_in, joined
from perflog.report.extractions import Extractions
from perflog.report.making import Look, make_picture, make_table, projection
from perflog.report.markdown import Facts, environment, links, listed, method
from perflog.report.options import EXTRACTION, extraction_values, read_words
from perflog.report.regions import RegionText
from perflog.report.table import LANGUAGES
from perflog.settings.config import Settings, one_of, pairs, settings
from perflog.settings.confinement import Confinement, repository_of

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
        one_of("lang", language, LANGUAGES)
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


def look_of(values: Mapping[str, Any]) -> Look:
    """How a table looks, from the options of a recipe or a command; one that is not given has its default.

    Raises:
        UsageError: for a ``key=value`` text without ``=``.
    """
    default = Look()
    return Look(
        style=values.get("style", default.style),
        language=values.get("lang", default.language),
        templates=values.get("templates") or (),
        notes=values.get("notes", default.notes),
        digits=pairs(values.get("digits") or [], "digits"),
        titles=pairs(values.get("title") or [], "title"),
        names=pairs(values.get("name") or [], "name"),
        missing=values.get("missing"),
    )
