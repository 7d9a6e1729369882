"""A progress bar on stderr for long work, on a terminal only."""

from __future__ import annotations

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
    from perflog.report.extractions import Extractions

    return Extractions(progress_bar(quiet))


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
