"""Runs over time: their records as frames, and the page to look at them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from perflog.api.options import (
    ExtractionOptions,
    PathLike,
    Paths,
    counted,
    extractions_of,
    in_python_terms,
    path_list,
    settings_of,
)

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, repr=False)
class View:
    """A page of runs over time.

    Attributes:
        page: the HTML page, whole.
        runs: how many runs it shows.
    """

    page: bytes
    runs: int

    def __repr__(self) -> str:
        return f"<View: {counted(self.runs, 'run')}; .write() writes it>"

    @in_python_terms
    def write(self, file: PathLike) -> None:
        """Write the page into a file.

        Args:
            file: the file; one that is there is replaced, whole or not at all.

        Raises:
            perflog.errors.PerflogError: when it cannot be written.
        """
        from perflog.files import write_atomically

        write_atomically(Path(file), self.page)


@in_python_terms
def view(paths: Paths, language: str = "en", **options: Unpack[ExtractionOptions]) -> View:
    """Make a page of runs over time (``perflog view``).

    Args:
        paths: files and folders.
        language: ``en`` or ``zh``.
        options: the options of extraction (see :mod:`perflog.api`).

    Returns:
        The page; nothing is written yet.

    Raises:
        perflog.errors.UsageError: for an option or a path that is not right.
    """
    from perflog.show.words import require_language
    from perflog.view.page import view_page
    from perflog.view.records import read_records

    require_language(language)
    logs = path_list(paths)
    seen = read_records(logs, settings_of(options, logs), extractions_of(False))
    return View(view_page(seen, language), len(seen.runs))


@in_python_terms
def records(paths: Paths, **options: Unpack[ExtractionOptions]) -> pl.DataFrame:
    """The measurements behind every number, one a row (``perflog records``; :func:`perflog.view.records.frame_of`).

    Args:
        paths: files and folders.
        options: the options of extraction (see :mod:`perflog.api`).

    Returns:
        A frame: log, run, rank, step, epoch, first and last line, covers, work, time, rate, unit, whether each is in
        the window, and why it is left out.

    Raises:
        perflog.errors.UsageError: for an option or a path that is not right.
    """
    from perflog.view.records import frame_of, read_records

    logs = path_list(paths)
    return frame_of(read_records(logs, settings_of(options, logs), extractions_of(False)))
