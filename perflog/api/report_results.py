"""What tables, pictures, reports and README files are as results. What is written, is written by ``.write()`` alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perflog.api.options import PathLike
from perflog.api.showing import Result, counted
from perflog.api.terms import in_python_terms

if TYPE_CHECKING:
    import polars as pl

    from perflog.export.columns import TextTable
    from perflog.extraction import Extraction
    from perflog.report.making import MadeTable
    from perflog.report.regenerate import Change, Regenerated, RegeneratedFile
    from perflog.report.table import ReportTable


@dataclass(frozen=True, slots=True, repr=False)
class Table(Result):
    """A report's table; its frame has the table's own rows and columns.

    Attributes:
        made: the objects behind it (:class:`perflog.report.making.MadeTable`).
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
        from perflog.report.making import table_frame

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
        from perflog.report.making import TABLE_FORMATS, encoded_table
        from perflog.settings.config import one_of

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
        from perflog.report.reports import Report as MadeReport

        MadeReport(self.files, self.described).write()

    def __repr__(self) -> str:
        names = ", ".join(file.name for file in self.files)
        return f"<perflog.Report: {names}: {self.described}; .write() writes them>"


@dataclass(frozen=True, slots=True, repr=False)
class Readme(Result):
    """Markdown files with their regions made anew; its frame has a row for everything that differs.

    Attributes:
        regenerated: the objects behind it (:class:`perflog.report.regenerate.Regenerated`).
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
        from perflog.report.regenerated_output import regenerated_document

        return regenerated_document(self.regenerated)

    @in_python_terms
    def write(self) -> None:
        """Write the pictures and texts that differ, each file whole or not at all.

        Raises:
            perflog.errors.PerflogError: when one cannot be written.
        """
        self.regenerated.write()

    def _described(self) -> str:
        from perflog.report.regenerated_output import summary

        return summary(self.regenerated, checked=True)

    def _rows(self) -> Iterable[Mapping[str, Any]]:
        return [{"file": file["file"], **change} for file in self.document()["files"] for change in file["changes"]]

    def _tables(self) -> Sequence[TextTable]:
        from perflog.export.columns import TextTable
        from perflog.report.regenerate import per_cent

        rows = []
        for file in self.files:
            for change in file.changes():
                share = "" if change.difference is None else per_cent(change.difference)
                rows.append([f"{file.path}:{change.line}", change.place, change.old, change.new, share])
        titles = ["place", "what", "is", "the logs say", "change"]
        return [TextTable(titles, rows, [False, False, True, True, True])] if rows else []
