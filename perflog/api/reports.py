"""Logs in; tables, pictures, reports and README files out. Nothing is written but by ``.write()`` of what they give."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from perflog.api.options import (
    ExtractionOptions,
    PathLike,
    Paths,
    Result,
    counted,
    extractions_of,
    given_options,
    in_python_terms,
    path_list,
    settings_of,
    texts,
)
from perflog.api.viewing import view as viewed
from perflog.extras import plain

if TYPE_CHECKING:
    import polars as pl

    from perflog.extraction import Extraction
    from perflog.show.making import MadeTable
    from perflog.show.regenerate import Change, Regenerated, RegeneratedFile
    from perflog.show.table import ReportTable
    from perflog.show.text import TextTable


# ----------------------------------------------------------------------------------------------------
# What tables, pictures, reports and README files are as results. What is written, is written by ``.write()`` alone.


@dataclass(frozen=True, slots=True, repr=False)
class Table(Result):
    """A report's table; its frame has the table's own rows and columns.

    Attributes:
        made: the objects behind it (:class:`perflog.show.making.MadeTable`).
    """

    made: MadeTable

    @property
    def text(self) -> str:
        """The table as text in its style's layout, with its notes."""
        return self.made.text

    @property
    def table(self) -> ReportTable:
        """Its headings and cells."""
        return self.made.table

    @property
    def extraction(self) -> Extraction:
        """What it was made of."""
        return self.made.extraction

    @property
    def frame(self) -> pl.DataFrame:
        """The cells, as they are printed; columns whose cells are all numbers hold numbers."""
        from perflog.show.making import table_frame

        frame: pl.DataFrame = table_frame(self._plain())
        return frame

    @in_python_terms
    def encoded(self, form: str) -> str | bytes:
        """The table as ``markdown`` (its style's layout), ``html``, ``latex``, ``csv`` or ``xlsx``.

        Args:
            form: one of these.

        Raises:
            perflog.errors.UsageError: for another form.
            perflog.errors.PerflogError: for ``xlsx`` where the package that writes it is not installed.
        """
        from perflog.settings.config import one_of
        from perflog.show.making import TABLE_FORMATS, encoded_table

        one_of("form", form, TABLE_FORMATS)
        return encoded_table(self.made, form)

    def __str__(self) -> str:
        return self.text

    def _plain(self) -> TextTable:
        assert self.made.plain is not None  # table() asks for it
        return self.made.plain

    def _described(self) -> str:
        columns = len(self.table.header) - self.table.keys
        return f"{counted(len(self.table.rows), 'row')}, {counted(columns, 'column')} of values; print() shows it"

    def _tables(self) -> Sequence[TextTable]:
        return (self._plain(),)


@dataclass(frozen=True, slots=True, repr=False)
class Picture:
    """A picture, which notebooks show.

    Attributes:
        form: ``svg``, ``png`` or ``pdf``.
        data: its bytes.
        described: what it shows, in words: its alternative text.
    """

    form: str
    data: bytes
    described: str

    @in_python_terms
    def write(self, file: PathLike) -> None:
        """Write the picture.

        Args:
            file: the file; one that is there is replaced, whole or not at all.

        Raises:
            perflog.errors.PerflogError: when it cannot be written.
        """
        from perflog.files import write_atomically

        write_atomically(Path(file), self.data)

    def __repr__(self) -> str:
        return f"<perflog.Picture: {self.form}: {self.described}>"

    def _repr_html_(self) -> str | None:
        """The picture for notebooks, which show no PDF."""
        from base64 import b64encode
        from html import escape

        kind = {"svg": "image/svg+xml", "png": "image/png"}.get(self.form)
        if kind is None:
            return None
        return f'<img alt="{escape(self.described)}" src="data:{kind};base64,{b64encode(self.data).decode()}">'


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """A report that is not written yet.

    Attributes:
        files: what each file is to hold: the report's own, and those of its pictures.
        described: what it holds, in words.
    """

    files: Mapping[Path, bytes]
    described: str

    @in_python_terms
    def write(self) -> None:
        """Write the files, each whole or not at all.

        Raises:
            perflog.errors.PerflogError: when one cannot be written.
        """
        from perflog.show.reports import Report as MadeReport

        MadeReport(self.files, self.described).write()

    def __repr__(self) -> str:
        names = ", ".join(file.name for file in self.files)
        return f"<perflog.Report: {names}: {self.described}; .write() writes them>"


@dataclass(frozen=True, slots=True, repr=False)
class Readme(Result):
    """Markdown files with their regions made anew; its frame has a row for everything that differs.

    Attributes:
        regenerated: the objects behind it (:class:`perflog.show.regenerate.Regenerated`).
    """

    regenerated: Regenerated

    @property
    def files(self) -> tuple[RegeneratedFile, ...]:
        """The files with their ``old`` and ``new`` texts."""
        return self.regenerated.files

    @property
    def pictures(self) -> Mapping[Path, bytes]:
        """By file, the pictures that differ."""
        return self.regenerated.pictures

    @property
    def up_to_date(self) -> bool:
        """Whether no text and no picture differs from the logs."""
        return self.regenerated.up_to_date

    @property
    def changes(self) -> list[Change]:
        """Every cell, and every line outside of tables, that the logs make otherwise."""
        return [change for file in self.files for change in file.changes()]

    def document(self) -> dict[str, Any]:
        """Everything, in the schema of docs/json.md."""
        from perflog.show.regenerate import regenerated_document

        return regenerated_document(self.regenerated)

    @in_python_terms
    def write(self) -> None:
        """Write the pictures and texts that differ, each file whole or not at all.

        Raises:
            perflog.errors.PerflogError: when one cannot be written.
        """
        self.regenerated.write()

    def _described(self) -> str:
        from perflog.show.regenerate import summary

        return summary(self.regenerated, checked=True)

    def _rows(self) -> Iterable[Mapping[str, Any]]:
        return [{"file": file["file"], **change} for file in self.document()["files"] for change in file["changes"]]

    def _tables(self) -> Sequence[TextTable]:
        from perflog.show.regenerate import per_cent
        from perflog.show.text import TextTable

        rows = []
        for file in self.files:
            for change in file.changes():
                share = "" if change.difference is None else per_cent(change.difference)
                rows.append([f"{file.path}:{change.line}", change.place, change.old, change.new, share])
        titles = ["place", "what", "is", "the logs say", "change"]
        return [TextTable(titles, rows, [False, False, True, True, True])] if rows else []


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
    from perflog.show.making import Look, make_table, projection

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
    from perflog.show.making import make_picture

    logs = path_list(paths)
    drawn = make_picture(logs, settings_of(options, logs), extractions_of(cache), kind, form, texts(where), language)
    return Picture(form, drawn.data, drawn.described)


@in_python_terms
def report(
    paths: Paths, output: PathLike, *, html: bool | None = None, language: str = "en", view: PathLike | None = None,
    cache: bool | None = None, **options: Unpack[ExtractionOptions],
) -> Report:  # fmt: skip
    """Make a report (``perflog report``); ``.write()`` of the result writes it.

    Args:
        paths: files and folders.
        output: the report's file; its links and recipes are relative to the file's folder.
        html: an HTML page in place of a README; None: by the output's name.
        language: ``en`` or ``zh``.
        view: the page of runs over time (:func:`perflog.view`) that an HTML page leads to, made with it.
        cache: whether to read the logs alone that have changed (:func:`perflog.extract`).
        options: the options of extraction (see :mod:`perflog.api`).

    Returns:
        What each file is to hold as ``files``, and ``described`` in words; nothing is written yet.

    Raises:
        perflog.errors.UsageError: for an option or a path that is not right, an output that is there and was not made
            by perflog, or when there is no case.
    """
    from perflog.errors import UsageError
    from perflog.show.reports import make_report, refusal
    from perflog.show.words import require_language

    require_language(language)
    file = Path(output)
    as_page = file.suffix.lower() in (".html", ".htm") if html is None else html
    if reason := refusal(file, as_page):
        raise UsageError(reason)
    logs, given, own = path_list(paths), given_options(options), None if view is None else Path(view)
    made = make_report(logs, given, file, language, as_page, extractions_of(cache), view=own)
    if own is None:
        return Report(made.files, made.described)
    page = viewed(paths, language, **options).page
    return Report({**made.files, own: page}, made.described)


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
    from perflog.show.regenerate import regenerate

    allowed = [Path(folder) for folder in path_list(allow)]
    return Readme(regenerate([Path(path) for path in path_list(paths)], extractions_of(cache), allowed))
