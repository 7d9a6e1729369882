"""A progress bar on stderr for long work, on a terminal only."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from perflog.cache.cache import Cache
    from perflog.extraction import Progress
    from perflog.show.extractions import Extractions, ProgressOf

#: Seconds after which people want to know how far the reading is.
PATIENCE = 1.0


def extractions(quiet: bool, cache: Cache | None = None) -> Extractions:
    """What one command reads its logs through: each set of logs once, with a progress bar."""
    import_numpy()
    from perflog.show.extractions import Extractions

    return Extractions(progress_bar(quiet), cache)


def end_where_unread(read: Extractions, quiet: bool, status: int = 0) -> None:
    """Name the logs that could not be read, and end with the command's own status, else with 3 where there are any.

    Raises:
        typer.Exit: where there are any, or for a status that is not 0.
    """
    if read.unread and not quiet:
        from perflog.runs.run import lines_of_skipped

        for line in lines_of_skipped(list(read.unread.items()), "logs"):
            print(line, file=sys.stderr)
    if status or read.unread:
        raise typer.Exit(status or 3)


#: How many threads numpy's linear algebra starts when it is imported.
_LINEAR_ALGEBRA = "OPENBLAS_NUM_THREADS"


def import_numpy() -> None:
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
    """Shows how far the reading of so many bytes is, and of how many files, once it has taken a second."""

    @contextmanager
    def shown(total: int) -> Iterator[Progress | None]:
        if not _is_drawn(quiet):
            yield None
            return
        bar = _Bar(total)
        bar.wait()
        try:
            yield bar
        finally:
            bar.end()

    return shown


@contextmanager
def shares_bar(quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Shows how many shares of many the workers have read; None where nothing is shown."""
    if not _is_drawn(quiet):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = ("shares", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        row = bar.add_task("", total=None)

        def told(done: int, count: int) -> None:
            bar.update(row, completed=done, total=count)

        yield told


def _is_drawn(quiet: bool) -> bool:
    """Whether a bar can be drawn, and is wanted."""
    return not quiet and sys.stderr.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


class _Bar:
    """A bar that comes into sight when the work has taken a while, and goes when it has ended.

    It is told from several threads: what it shows is read when it is drawn.
    """

    def __init__(self, total: int) -> None:
        self._total, self._bytes = total, 0
        self._logs, self._done = 0, 0
        self._timer = threading.Timer(PATIENCE, self._show)
        self._lock = threading.Lock()
        self._drawn: Any = None
        self._has_ended = False

    def __call__(self, size: int) -> None:
        """So many more bytes have been read."""
        self._bytes += size
        self._draw()

    def expect_logs(self, count: int) -> None:
        """So many logs are going to be read."""
        self._logs += count

    def log_read(self) -> None:
        """One more log has been read."""
        self._done += 1
        self._draw()

    def wait(self) -> None:
        """Show the bar after a while."""
        self._timer.daemon = True
        self._timer.start()

    def end(self) -> None:
        """Take the bar away, or never show it."""
        self._timer.cancel()
        with self._lock:
            self._has_ended = True
            if self._drawn is not None:
                self._drawn.stop()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        with self._lock:
            if self._has_ended:
                return
            files = TextColumn("{task.fields[files]}")
            columns = ("reading", BarColumn(), DownloadColumn(), files, TimeRemainingColumn())
            # not redirected: rich would write its colours through our stream, which makes them visible
            console = Console(stderr=True)
            self._drawn = Progress(
                *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False
            )
            self._drawn.add_task("", total=self._total or None, files="")
            self._drawn.start()
        self._draw()

    def _draw(self) -> None:
        if self._drawn is not None:
            files = f"{self._done} of {self._logs} files" if self._logs else ""
            self._drawn.update(self._drawn.task_ids[0], completed=self._bytes, files=files)
