"""A convention: the rule by which a family of published reports made its numbers, as a small TOML file.

Conventions exist to reproduce what others published. The default of perflog is one honest estimator.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from perflog import resources
from perflog.errors import ParserError, UsageError
from perflog.settings.amount import Amount, Window, amount
from perflog.settings.options import AGGREGATES, ESTIMATORS, Options

_KEYS = {"title", "source", "parsers", "warmup", "steps", "last", "estimator", "aggregate", "values", "digits"}


@dataclass(frozen=True, slots=True)
class Convention:
    """A named bundle of options."""

    name: str
    title: str
    source: str
    parsers: tuple[str, ...]
    options: Mapping[str, Any]

    def apply(self, options: Options) -> Options:
        """The options with this convention's rules in place of the window, estimator and values."""
        given = self.options
        window = Window(
            amount(given["warmup"], "warmup") if "warmup" in given else Amount(0),
            amount(given["steps"], "steps") if "steps" in given else None,
            amount(given["last"], "last") if "last" in given else None,
        )
        return replace(
            options,
            window=window,
            estimator=given.get("estimator", options.estimator),
            aggregate=given.get("aggregate", options.aggregate),
            as_printed=given.get("values", "differenced") == "printed",
            digits=given.get("digits", ""),
            convention=self.name,
        )


def load_conventions(folder: Path | None = None) -> dict[str, Convention]:
    """All conventions by name.

    Raises:
        ParserError: for a file that is not well formed.
    """
    place = folder or resources.folder("parsers") / "conventions"
    return {file.stem: _load(file) for file in sorted(place.glob("*.toml"))}


def convention(name: str) -> Convention:
    """The convention of that name. Raises UsageError with those near it."""
    known = load_conventions()
    if name not in known:
        import difflib

        near = difflib.get_close_matches(name, list(known), n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known)}"
        raise UsageError(f"--convention {name!r}: there is no such convention; {hint}")
    return known[name]


def _load(file: Path) -> Convention:
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ParserError(f"{file}: {error}") from None
    for key in data:
        if key not in _KEYS:
            raise ParserError(f"{file}: unknown key '{key}' (known: {', '.join(sorted(_KEYS))})")
    for key, allowed in (("estimator", ESTIMATORS), ("aggregate", AGGREGATES), ("values", ("printed", "differenced"))):
        if key in data and data[key] not in allowed:
            raise ParserError(f"{file}: {key} = {data[key]!r} is not one of {', '.join(allowed)}")
    return Convention(file.stem, data.get("title", file.stem), data.get("source", ""), tuple(data.get("parsers", ())), data)
