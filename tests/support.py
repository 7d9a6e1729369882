"""What several tests share: places, a catalog loaded once, and extraction of one text."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from perflog.extraction import Extraction, extract_paths
from perflog.formats.catalog import Catalog, load_catalog
from perflog.settings.config import pairs, settings
from perflog.settings.options import Options

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "fixtures"
SHARED = ROOT.parent / "shared"
CORPUS = SHARED / "corpus"
#: Whether tests that try a part of all that they could, try all of it: `make fuzz`.
CAMPAIGN = os.environ.get("PERFLOG_CAMPAIGN") == "1"

needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of real logs (../shared/corpus) is not here")


def examples(count: int) -> int:
    """How many examples hypothesis tries where the profile's number does not fit: 40 times as many by `make fuzz`."""
    return count * 40 if CAMPAIGN else count


@lru_cache(maxsize=1)
def catalog() -> Catalog:
    return load_catalog()


def options(**given: Any) -> Options:
    """Options as the command line makes them: ``options(warmup=100, set={"devices": "8"})``."""
    return settings({k: (str(v) if isinstance(v, int) else v) for k, v in given.items()}).options()


def extracted(*paths: str | os.PathLike[str], **given: Any) -> Extraction:
    return extract_paths(paths, options(**given), catalog())


def another_training(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Write a log that measured the same as another one and is no copy of it, which would count once."""
    place = Path(target)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(Path(source).read_bytes() + f"# {place}\n".encode())


def arguments(texts: list[str]) -> dict[str, Any]:
    """``--warmup 1records --set devices=8`` as options."""
    given: dict[str, Any] = {}
    for name, value in zip(texts[::2], texts[1::2], strict=True):
        if name == "--set":
            given.setdefault("set", {}).update(pairs([value], "set"))
        else:
            given[name.removeprefix("--")] = value
    return given


@lru_cache(maxsize=1)
def parser_fixtures() -> Sequence[tuple[str, Path, dict[str, Any]]]:
    """(parser, or the name of a program that needs none; log; side file) of every fixture of lines."""
    return [
        (side.parent.name, side.with_suffix(""), tomllib.loads(side.read_text(encoding="utf-8")))
        for side in sorted((FIXTURES / "parsers").glob("*/*.toml"))
    ]


def mostly_long(values: Iterable[Any], every: int) -> list[Any]:
    """Parameters of a test of which each ``every``-th belongs to `make test`, and the others take long together."""
    rows = (value if isinstance(value, tuple) else (value,) for value in values)
    return [pytest.param(*row, marks=[pytest.mark.long] if number % every else []) for number, row in enumerate(rows)]
