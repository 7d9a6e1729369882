"""Extraction as commands do it: with a progress bar, and each set of logs once."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from perflog.settings.config import Settings

if TYPE_CHECKING:
    from perflog.extraction import Extraction
    from perflog.formats.catalog import Catalog

#: What one command has extracted so far, by everything that decides on it.
_EXTRACTIONS: dict[str, Extraction] = {}


def extracted(logs: list[str], chosen: Settings, quiet: bool) -> Extraction:
    from perflog.extraction import extract_logs
    from perflog.logs.find import find_logs

    options = chosen.options()
    key = repr((logs, chosen.values["parser"], chosen.values["parsers"], options))
    if key not in _EXTRACTIONS:  # a README's regions often stand on the same logs
        found = find_logs(logs)
        catalog = catalog_of(chosen)
        with Progress(sum(max(log.size, 0) for log in found), quiet) as progress:
            _EXTRACTIONS[key] = extract_logs(found, options, catalog, progress)
    return _EXTRACTIONS[key]


def forget() -> None:
    """Begin anew: a process may run several commands (tests do)."""
    from perflog.runs import machine

    _EXTRACTIONS.clear()
    machine.forget()


def database_of(chosen: Settings) -> str:
    """The history's database: the option's, the environment's, the config file's, or the default."""
    from perflog.history.place import default_database

    return str(chosen.values["database"] or default_database())


def catalog_of(chosen: Settings) -> Catalog:
    from perflog.formats.catalog import load_catalog

    catalog = load_catalog(chosen.values["parsers"])
    return catalog.only(chosen.values["parser"]) if chosen.values["parser"] else catalog


class Progress:
    """A progress bar on stderr for long work, on a terminal only."""

    LONG = 64 << 20

    def __init__(self, total: int, quiet: bool) -> None:
        self.total = total
        self.shown = not quiet and total > self.LONG and sys.stderr.isatty()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Any:
        if not self.shown:
            return None
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

        self._bar = Progress("reading", BarColumn(), DownloadColumn(), TimeRemainingColumn(), console=Console(stderr=True), transient=True)
        self._bar.start()
        self._task = self._bar.add_task("", total=self.total)
        return lambda size: self._bar.update(self._task, advance=size)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
