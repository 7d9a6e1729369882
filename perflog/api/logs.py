"""Logs in; numbers, explanations, tables, pictures and reports out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from perflog.api.options import ExtractionOptions, PathLike, Paths, given_options, path_list, settings_of, texts
from perflog.extraction import Extraction
from perflog.report.extractions import Extractions

if TYPE_CHECKING:
    import polars as pl

    from perflog.plot.picture import Picture
    from perflog.report.explain import Explanation
    from perflog.report.making import MadeTable
    from perflog.report.regenerate import Regenerated
    from perflog.report.reports import Report


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
        from perflog.export.document import extraction_document

        return extraction_document(self.extraction)


def extract(paths: Paths, **options: Unpack[ExtractionOptions]) -> Extracted:
    """Extract benchmark numbers from logs (``perflog extract``).

    Args:
        paths: files and folders.
        options: the options of extraction (see :mod:`perflog.api`).

    Returns:
        Frames of cases, runs and skipped files.

    Raises:
        perflog.errors.UsageError: for an option or a path that is not right.
    """
    from perflog.export.frames import case_frame, run_frame, skipped_frame

    logs = path_list(paths)
    extraction = Extractions().of(logs, settings_of(options, logs))
    return Extracted(case_frame(extraction), run_frame(extraction), skipped_frame(extraction), extraction)


def explain(paths: Paths, **options: Unpack[ExtractionOptions]) -> list[Explanation]:
    """Say what was read from each log, what was not understood, and why other parsers were rejected.

    Args:
        paths: files and folders.
        options: the options of extraction (see :mod:`perflog.api`).

    Returns:
        An explanation for every log: its ``log``, its ``text``, and whether its numbers are ``complete``.

    Raises:
        perflog.errors.UsageError: for an option or a path that is not right.
    """
    from perflog.report.explain import explain_logs

    logs = path_list(paths)
    return list(explain_logs(logs, settings_of(options, logs)))


def table(
    paths: Paths,
    rows: str,
    *,
    columns: str = "",
    value: str = "throughput",
    where: Mapping[str, Any] | None = None,
    style: str = "plain",
    language: str = "en",
    templates: Sequence[PathLike] = (),
    notes: bool = True,
    digits: Mapping[str, str] | None = None,
    titles: Mapping[str, str] | None = None,
    names: Mapping[str, str] | None = None,
    missing: str | None = None,
    **options: Unpack[ExtractionOptions],
) -> MadeTable:
    """Make a report's table: cases in rows and columns (``perflog table``).

    Args:
        paths: files and folders.
        rows: the fields of the rows: ``"nodes,devices"``, or ``"devices=1:8:32"``.
        columns: the fields of the columns.
        value: what the cells hold: ``"throughput,speedup"``.
        where: the cases with these values alone: ``{"model": "rn50"}``.
        style: a table style's name (docs/tables.md).
        language: of the headings, ``en`` or ``zh``.
        templates: folders with styles of the user's own.
        notes: whether the table says how its numbers were made, n and doubts.
        digits: by value a printf form: ``{"throughput": "%.2f"}``.
        titles: headings of fields and values.
        names: texts to show in place of fields' values.
        missing: what a cell without a number prints; None: the style's.
        options: the options of extraction (see :mod:`perflog.api`).

    Returns:
        The table: its ``text``, its ``table`` of headings and cells, and the ``extraction``.

    Raises:
        perflog.errors.UsageError: for an option or a path that is not right, or two cases in one cell.
    """
    from perflog.report.making import Look, make_table, projection

    logs = path_list(paths)
    folders = [os.fspath(folder) for folder in templates]
    look = Look(style, language, folders, notes, digits or {}, titles or {}, names or {}, missing)
    shown = projection(rows, columns, value, texts(where))
    return make_table(logs, settings_of(options, logs), Extractions(), shown, look)


def plot(paths: Paths, kind: str = "scaling", *, form: str = "svg", **options: Unpack[ExtractionOptions]) -> Picture:
    """Draw cases (``perflog plot``).

    Args:
        paths: files and folders.
        kind: ``scaling``, ``spread``, ``steps`` or ``versions``.
        form: ``svg`` or ``png``.
        options: the options of extraction (see :mod:`perflog.api`).

    Returns:
        The picture: its bytes as ``data``, and what it shows in words as ``described``.

    Raises:
        perflog.errors.UsageError: for an option or a path that is not right, or when there is nothing to show.
    """
    from perflog.report.making import make_picture

    logs = path_list(paths)
    return make_picture(logs, settings_of(options, logs), Extractions(), kind, form)


def report(
    paths: Paths, output: PathLike, *, html: bool | None = None, language: str = "en",
    **options: Unpack[ExtractionOptions],
) -> Report:  # fmt: skip
    """Make a report (``perflog report``); ``.write()`` of the result writes it.

    Args:
        paths: files and folders.
        output: the report's file; its links and recipes are relative to the file's folder, which is made if it is
            missing.
        html: an HTML page in place of a README; None: by the output's name.
        language: ``en`` or ``zh``.
        options: the options of extraction (see :mod:`perflog.api`).

    Returns:
        What each file is to hold as ``files``, and ``described`` in words; nothing is written yet.

    Raises:
        perflog.errors.UsageError: for an option or a path that is not right, an output that is there and was not made
            by perflog, or when there is no case.
    """
    from perflog.errors import UsageError
    from perflog.report.reports import make_report, refusal
    from perflog.report.table import LANGUAGES
    from perflog.settings.config import one_of

    one_of("lang", language, LANGUAGES)
    file = Path(output)
    as_page = file.suffix.lower() in (".html", ".htm") if html is None else html
    if reason := refusal(file, as_page):
        raise UsageError(reason)
    return make_report(path_list(paths), given_options(options), file, language, as_page, Extractions())


def readme(paths: Paths, *, allow: Paths = ()) -> Regenerated:
    """Make the regions of Markdown files anew (``perflog readme``); ``.write()`` of the result writes what differs.

    Args:
        paths: Markdown files with regions. Their recipes read and write in the repository of the file alone.
        allow: folders outside it that recipes may use too.

    Returns:
        The ``files`` with their old and new texts, and the ``pictures`` that differ; nothing is written yet.

    Raises:
        perflog.errors.PerflogError: for a file that cannot be read, a marker out of place, or a wrong recipe.
    """
    from perflog.report.regenerate import regenerate

    allowed = [Path(folder) for folder in path_list(allow)]
    return regenerate([Path(path) for path in path_list(paths)], Extractions(), allowed)
