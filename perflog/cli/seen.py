"""The page of runs over time that commands write beside what they make, and lead to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from perflog.cli.output import emit, say_written
from perflog.logs.addresses import is_address

if TYPE_CHECKING:
    from perflog.extraction import Extraction
    from perflog.settings.config import Settings
    from perflog.show.extractions import Extractions
    from perflog.view.records import Seen


def write_view(file: Path, seen: Seen, language: str, quiet: bool) -> None:
    """Write the page of runs over time, and say so.

    Raises:
        PerflogError: when it cannot be written.
    """
    from perflog.show.text import counted
    from perflog.view.page import view_page

    emit(view_page(seen, language), file, quiet=True)
    say_written(file, quiet, counted(len(seen.runs), "run"))


def write_view_of(
    file: Path | None, logs: Sequence[str], chosen: Settings, read: Extractions, quiet: bool, language: str = "en"
) -> Extraction | None:
    """Write the page of runs that another command leads to, and give what was read for it; None for no page.

    Raises:
        UsageError: as reading the logs does; PerflogError: when the page cannot be written.
    """
    if file is None:
        return None
    from perflog.view.records import read_records

    seen = read_records(logs, chosen, read)
    write_view(file, seen, language, quiet)
    return seen.extraction


def address_of_view(file: Path | None, page: Path | None, logs: Sequence[str]) -> str:
    """The address of the page of runs as it stands in a page that leads to it; empty where there is none.

    Raises:
        typer.BadParameter: where logs are those of a saved campaign, which are not kept.
    """
    from perflog.show.contents import address

    saved = [name for name in logs if not Path(name).exists() and not is_address(name)]
    if file is not None and saved:
        message = f"{saved[0]} is a saved campaign, whose logs are not kept: name folders of logs"
        raise typer.BadParameter(message, param_hint="--view")
    return "" if file is None else address(str(file), page.parent if page else Path())
