"""Logs in; numbers and explanations out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from perflog.api.options import (
    ExtractionOptions,
    PathLike,
    Paths,
    Result,
    counted,
    extractions_of,
    in_python_terms,
    pandas_frame,
    path_list,
    settings_of,
)
from perflog.extraction import Extraction

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from perflog.show.explain import Explanation
    from perflog.show.text import TextTable


@dataclass(frozen=True, slots=True, repr=False)
class Extracted(Result):
    """What was extracted.

    Attributes:
        cases: a frame, one row per case (throughput in ``unit``, n, interval, speedup …).
        runs: a frame, one row per run, with the file and lines of its number.
        skipped: a frame, one row per file that is no training log, with the reason.
        extraction: the objects behind the frames (:class:`perflog.extraction.Extraction`).
        read_again: gives the records; None where no logs are at hand.
    """

    cases: pl.DataFrame
    runs: pl.DataFrame
    skipped: pl.DataFrame
    extraction: Extraction
    read_again: Callable[[], pl.DataFrame] | None = None

    @property
    @in_python_terms
    def records(self) -> pl.DataFrame:
        """The measurements behind every number, one a row (:func:`perflog.records`): the logs are read again for them.

        Raises:
            perflog.errors.UsageError: where the numbers come from parts, or from a cluster, and no logs are at hand.
        """
        from perflog.errors import UsageError

        if self.read_again is None:
            raise UsageError("these numbers come from parts, and records from logs: perflog.records(logs) reads them")
        return self.read_again()

    @property
    def frame(self) -> pl.DataFrame:
        """The cases, one a row."""
        return self.cases

    @property
    def notes(self) -> list[str]:
        """Every doubt about a number, each once."""
        of_cases = (note.text for case in self.extraction.cases for note in case.notes)
        return list(dict.fromkeys([*of_cases, *self.extraction.notes]))

    @in_python_terms
    def to_pandas(self, what: str = "cases") -> pd.DataFrame:
        """One of the frames as a pandas frame.

        Args:
            what: ``cases``, ``runs`` or ``skipped``.

        Raises:
            perflog.errors.UsageError: for another name.
            perflog.errors.PerflogError: when pandas is not installed.
        """
        from perflog.settings.config import one_of

        one_of("what", what, ["cases", "runs", "skipped"])
        return pandas_frame({"cases": self.cases, "runs": self.runs, "skipped": self.skipped}[what])

    def document(self) -> dict[str, Any]:
        """Everything, in the schema of docs/json.md."""
        from perflog.show.document import extraction_document

        return extraction_document(self.extraction)

    @in_python_terms
    def encoded(self, form: str) -> str | bytes:
        """The cases as the command prints them.

        Args:
            form: ``table``, ``markdown``, ``csv``, ``json``, ``parquet``, ``xlsx``, ``latex`` or ``openmetrics``.

        Raises:
            perflog.errors.UsageError: for another form.
            perflog.errors.PerflogError: for ``xlsx`` where the package that writes it is not installed.
        """
        from perflog.settings.config import FORMATS, one_of
        from perflog.show.encoding import encoded

        one_of("form", form, [name for name in FORMATS if name != "dlperf"])
        return encoded(self.extraction, form)

    @in_python_terms
    def write(self, file: PathLike) -> None:
        """Write the cases into a file whose ending says the format: .csv, .json, .xlsx, .tex …

        Args:
            file: the file; one that is there is replaced, whole or not at all.

        Raises:
            perflog.errors.UsageError: for an ending that no format has.
            perflog.errors.PerflogError: when it cannot be written.
        """
        from perflog.files import write_atomically
        from perflog.settings.config import FORMATS
        from perflog.show.options import format_for

        form = format_for(Path(file), None, [name for name in FORMATS if name != "dlperf"], "table", has_option=False)
        write_atomically(Path(file), self.encoded(form))

    def _described(self) -> str:
        with_value = sum(case.throughput.value is not None for case in self.extraction.cases)
        parts = [counted(self.cases.height, "case"), counted(self.runs.height, "run")]
        if with_value < self.cases.height:
            parts[0] += f" ({self.cases.height - with_value} without a throughput)"
        return ", ".join([*parts, f"{counted(self.skipped.height, 'file')} skipped"])

    def _tables(self) -> Sequence[TextTable]:
        from perflog.show.case_table import case_table

        return (case_table(self.extraction),)


@dataclass(frozen=True, slots=True, repr=False)
class Explanations(Result, Sequence["Explanation"]):
    """What was read from each log: a sequence of explanations, each with its ``log``, ``text`` and ``complete``.

    Attributes:
        explanations: one for every log.
    """

    explanations: tuple[Explanation, ...]

    @property
    def complete(self) -> bool:
        """Whether every log has a run, and every run a value."""
        return all(explanation.complete for explanation in self.explanations)

    @property
    def text(self) -> str:
        """All explanations as the command prints them."""
        return "\n\n".join(explanation.text for explanation in self.explanations)

    def document(self) -> dict[str, Any]:
        """Everything, in the schema of docs/json.md."""
        from perflog.show.explain import document

        return document(self.explanations)

    def __len__(self) -> int:
        return len(self.explanations)

    def __getitem__(self, place: Any) -> Any:
        return self.explanations[place]

    def __str__(self) -> str:
        return self.text

    def _described(self) -> str:
        without = sum(not explanation.complete for explanation in self.explanations)
        return f"{counted(len(self), 'log')}, {without} without a number; print() shows them"

    def _repr_html_(self) -> str:
        from html import escape

        from perflog.escaping import visible

        return f"<pre>{escape(visible(self.text, lines=True))}</pre>\n"

    def _rows(self) -> Iterable[Mapping[str, Any]]:
        return [{"log": one.log, "complete": one.complete, "text": one.text} for one in self.explanations]


@in_python_terms
def extract(paths: Paths, cache: bool | None = None, **options: Unpack[ExtractionOptions]) -> Extracted:
    """Extract benchmark numbers from logs (``perflog extract``).

    Args:
        paths: files and folders.
        cache: whether to keep what is read, and to read the logs alone that have changed since (``docs/scale.md``);
            None: where ``PERFLOG_CACHE`` is set, but not in CI.
        options: ``warmup``, ``steps`` and ``last`` (which steps count), ``estimator``, ``aggregate`` and ``values``
            (how the number is made), ``baseline`` (of speedups), ``set`` (facts that logs do not tell), ``convention``,
            ``without_slow``, ``parser`` and ``parsers``; ``help(perflog.api)`` has the values of each.

    Returns:
        Frames of cases, runs and skipped files.

    Raises:
        perflog.errors.UsageError: for an option or a path that is not right, and for a cache that others may write to.
    """
    from perflog.api.viewing import records

    logs = path_list(paths)
    of_logs = extracted(extractions_of(cache).of(logs, settings_of(options, logs)))
    return of_logs if of_logs.extraction.parts else replace(of_logs, read_again=partial(records, logs, **options))


def extracted(extraction: Extraction) -> Extracted:
    """An extraction with its frames."""
    from perflog.show.encoding import case_frame, run_frame, skipped_frame

    return Extracted(case_frame(extraction), run_frame(extraction), skipped_frame(extraction), extraction)


@in_python_terms
def explain(paths: Paths, *, why_not: str = "", **options: Unpack[ExtractionOptions]) -> Explanations:
    """Say what was read from each log, on which lines and by which parser, or what a log lacks.

    Args:
        paths: files and folders.
        why_not: a parser of which the text says too why it was rejected, or ``all``.
        options: the options of extraction (see :mod:`perflog.api`).

    Returns:
        An explanation for every log: its ``log``, its ``text``, and whether its numbers are ``complete``.

    Raises:
        perflog.errors.UsageError: for an option or a path that is not right.
    """
    from perflog.show.explain import explain_logs

    logs = path_list(paths)
    return Explanations(tuple(explain_logs(logs, settings_of(options, logs), why_not)))


# ----------------------------------------------------------------------------------------------------
# Logs that many workers read: a share into a part, all parts together, or both on a cluster.


@in_python_terms
def extract_share(paths: Paths, share: str, file: PathLike, **options: Unpack[ExtractionOptions]) -> int:
    """Read a share of the logs and write it as a part (``perflog extract --shard``).

    Args:
        paths: files and folders; every worker gives the same.
        share: ``"3/10"`` for the third of ten.
        file: the part, a name that ends in ``.parquet``.
        options: the options of extraction (see :mod:`perflog.api`).

    Returns:
        How many logs the part holds.

    Raises:
        perflog.errors.UsageError: for a share, an option or a path that is not right.
        perflog.errors.PerflogError: when the part cannot be written.
    """
    from perflog.cluster.shares import write_share

    logs = path_list(paths)
    return write_share(share, logs, settings_of(options, logs), Path(os.fspath(file))).logs


@in_python_terms
def merge(parts: Paths, aggregate: str | None = None, baseline: dict[str, Any] | None = None) -> Extracted:
    """Make of all parts what one machine would have made of all logs (``perflog merge``).

    Args:
        parts: the files that :func:`extract_share` wrote, or their folder.
        aggregate: as for :func:`perflog.extract`, as is ``baseline``; all other options are those of the parts.
        baseline: the case that speedups are relative to.

    Returns:
        Frames of cases, runs and skipped files.

    Raises:
        perflog.errors.UsageError: where a part is missing, there twice, or of another whole.
        perflog.errors.PerflogError: where one is damaged, or a file is no part.
    """
    from perflog.cluster.shares import require_parts

    require_parts(path_list(parts))
    return extract(parts, aggregate=aggregate, baseline=baseline)


@in_python_terms
def extract_on(
    cluster: str, paths: Paths, shards: int | None = None, cache: bool | None = None,
    **options: Unpack[ExtractionOptions],
) -> Extracted:  # fmt: skip
    """Let a Ray cluster read logs, and merge what its workers read (``perflog extract --on``).

    Args:
        cluster: ``"ray"`` for the cluster that this machine belongs to, or ``"ray://HOST:PORT"``.
        paths: files and folders, as every worker finds them.
        shards: in how many shares; four for each processor of the cluster when None.
        cache: whether each worker reads the logs alone that have changed (:func:`perflog.extract`).
        options: the options of extraction (see :mod:`perflog.api`).

    Returns:
        Frames of cases, runs and skipped files.

    Raises:
        perflog.errors.UsageError: where no cluster answers, or its workers do not find the logs.
        perflog.errors.PerflogError: where a share could not be read, or Ray is not installed.
    """
    from perflog.cache.place import is_wanted
    from perflog.cluster.shares import extraction_on

    logs = path_list(paths)
    chosen = settings_of(options, logs)
    return extracted(extraction_on(cluster, logs, chosen, shards, cache=is_wanted(cache)))
