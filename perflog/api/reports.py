"""Logs in; tables, pictures, reports and README files out. Nothing is written but by ``.write()`` of what they give."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from perflog.api.options import (
    ExtractionOptions,
    PathLike,
    Paths,
    extractions_of,
    given_options,
    path_list,
    settings_of,
    texts,
)
from perflog.api.report_results import Picture, Readme, Report, Table
from perflog.api.terms import in_python_terms
from perflog.extras import plain


@in_python_terms
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
    notes: bool | None = None,
    digits: Mapping[str, str] | None = None,
    titles: Mapping[str, str] | None = None,
    names: Mapping[str, str] | None = None,
    missing: str | None = None,
    cache: bool | None = None,
    **options: Unpack[ExtractionOptions],
) -> Table:
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
        notes: what the table says below it: nothing (False), how its numbers were made, n and every note (True), or
            that with the notes without which it would mislead (None).
        digits: by value a printf form: ``{"throughput": "%.2f"}``.
        titles: headings of fields and values.
        names: texts to show in place of fields' values.
        missing: what a cell without a number prints; None: the style's.
        cache: whether to read the logs alone that have changed (:func:`perflog.extract`).
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
    return Table(make_table(logs, settings_of(options, logs), extractions_of(cache), shown, look, plain=True))


@in_python_terms
def plot(
    paths: Paths, kind: str = "scaling", *, form: str = "svg", where: Mapping[str, Any] | None = None,
    language: str = "en", cache: bool | None = None, **options: Unpack[ExtractionOptions],
) -> Picture:  # fmt: skip
    """Draw cases (``perflog plot``).

    Args:
        paths: files and folders.
        kind: ``scaling``, ``spread``, ``steps`` or ``versions``.
        form: ``svg``, ``png`` or ``pdf``.
        where: the cases with these values alone: ``{"model": "rn50"}``.
        language: of the picture's words, ``en`` or ``zh``.
        cache: whether to read the logs alone that have changed (:func:`perflog.extract`).
        options: the options of extraction (see :mod:`perflog.api`).

    Returns:
        The picture: its bytes as ``data``, and what it shows in words as ``described``.

    Raises:
        perflog.errors.UsageError: for an option or a path that is not right, or when there is nothing to show.
    """
    from perflog.report.making import make_picture

    logs = path_list(paths)
    drawn = make_picture(logs, settings_of(options, logs), extractions_of(cache), kind, form, texts(where), language)
    return Picture(form, drawn.data, drawn.described)


@in_python_terms
def report(
    paths: Paths, output: PathLike, *, html: bool | None = None, language: str = "en",
    cache: bool | None = None, **options: Unpack[ExtractionOptions],
) -> Report:  # fmt: skip
    """Make a report (``perflog report``); ``.write()`` of the result writes it.

    Args:
        paths: files and folders.
        output: the report's file; its links and recipes are relative to the file's folder.
        html: an HTML page in place of a README; None: by the output's name.
        language: ``en`` or ``zh``.
        cache: whether to read the logs alone that have changed (:func:`perflog.extract`).
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
    made = make_report(path_list(paths), given_options(options), file, language, as_page, extractions_of(cache))
    return Report(made.files, made.described)


@plain  # a recipe's errors speak of its options, which are written as on the command line
def readme(paths: Paths, *, allow: Paths = (), cache: bool | None = None) -> Readme:
    """Make the regions of Markdown files anew (``perflog readme``); ``.write()`` of the result writes what differs.

    Args:
        paths: Markdown files with regions. Their recipes read and write in the repository of the file alone.
        allow: folders outside it that recipes may use too.
        cache: whether to read the logs alone that have changed (:func:`perflog.extract`).

    Returns:
        The ``files`` with their old and new texts, the ``changes`` of their cells, and the ``pictures`` that differ;
        nothing is written yet.

    Raises:
        perflog.errors.PerflogError: for a file that cannot be read, a marker out of place, or a wrong recipe.
    """
    from perflog.report.regenerate import regenerate

    allowed = [Path(folder) for folder in path_list(allow)]
    return Readme(regenerate([Path(path) for path in path_list(paths)], extractions_of(cache), allowed))
