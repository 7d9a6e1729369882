"""The Python interface: the same stages as the command line, with polars frames as results."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perflog.extraction import Extraction, extract_paths
from perflog.formats.catalog import load_catalog
from perflog.settings.config import settings

if TYPE_CHECKING:
    import polars as pl

Path = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Extracted:
    """What was extracted.

    Attributes:
        cases: a frame, one row per case (throughput in ``unit``, n, interval, speedup …).
        runs: a frame, one row per run, with the file and lines of its number.
        skipped: a frame, one row per file that is no training log, with the reason.
        extraction: the objects behind the frames (:class:`perflog.extraction.Extraction`).
    """

    cases: pl.DataFrame
    runs: pl.DataFrame
    skipped: pl.DataFrame
    extraction: Extraction

    def document(self) -> dict[str, Any]:
        """Everything, in the schema of docs/json.md."""
        from perflog.export.data import document

        return document(self.extraction)


def extract(
    paths: Path | Iterable[Path], *, warmup: str | int | None = None, steps: str | int | None = None, last: str | int | None = None,
    estimator: str | None = None, aggregate: str | None = None, baseline: Mapping[str, Any] | None = None, set: Mapping[str, Any] | None = None,
    convention: str | None = None, parser: str | list[str] | None = None, parsers: list[Path] | None = None,
) -> Extracted:  # fmt: skip
    """Extract benchmark numbers from logs; every option has the meaning it has on the command line.

    Args:
        paths: files and folders.
        warmup: steps left out at the start (20), or ``"2epochs"``, ``"10records"``, ``"30s"``, ``"10%"``.
        steps: how many steps after the warm-up; all when None.

    Raises:
        perflog.errors.UsageError: for an option or a path that is not right.
    """
    from perflog.export.data import case_frame, run_frame, skipped_frame

    where = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    names = [parser] if isinstance(parser, str) else parser
    given = {"warmup": warmup, "steps": steps, "last": last, "estimator": estimator, "aggregate": aggregate,
             "baseline": _texts(baseline), "set": _texts(set), "convention": convention, "parser": names, "parsers": parsers}  # fmt: skip
    chosen = settings(given, where)
    catalog = load_catalog(chosen.values["parsers"])
    if chosen.values["parser"]:
        catalog = catalog.only(chosen.values["parser"])
    found = extract_paths(where, chosen.options(), catalog)
    return Extracted(case_frame(found), run_frame(found), skipped_frame(found), found)


def _texts(given: Mapping[str, Any] | None) -> dict[str, str] | None:
    return {k: str(v) for k, v in given.items()} if given else None
