"""A progress bar on stderr for long work, on a terminal only."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perflog.extraction import Progress
    from perflog.report.extractions import Extractions, ProgressOf

#: Bytes from which on reading takes long enough to be shown.
LONG = 64 << 20


def extractions(quiet: bool) -> Extractions:
    """What one command reads its logs through: each set of logs once, with a progress bar."""
    _import_numpy()
    from perflog.report.extractions import Extractions

    return Extractions(progress_bar(quiet))


#: How many threads numpy's linear algebra starts when it is imported.
_LINEAR_ALGEBRA = "OPENBLAS_NUM_THREADS"


def _import_numpy() -> None:
    """Import numpy without the threads of its linear algebra, which perflog does not use.

    To start one for each processor takes a third of the import. The environment is then as it was, since trainings
    that a command starts inherit it.
    """
    if "numpy" in sys.modules or _LINEAR_ALGEBRA in os.environ:
        return
    os.environ[_LINEAR_ALGEBRA] = "1"
    try:
        import numpy  # noqa: F401 - for what it does when it is imported
    finally:
        del os.environ[_LINEAR_ALGEBRA]


def progress_bar(quiet: bool) -> ProgressOf:
    """Shows how far the reading of so many bytes is."""

    @contextmanager
    def shown(total: int) -> Iterator[Progress | None]:
        if quiet or total <= LONG or not sys.stderr.isatty():
            yield None
            return
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = ("reading", BarColumn(), DownloadColumn(), TimeRemainingColumn())
        with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("", total=total)
            yield lambda size: bar.update(task, advance=size)

    return shown
