"""Extraction with the cache: logs that have not changed are not read, nor their cases made anew."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perflog.cli.cases import Result, result_of, write_result
from perflog.cli.output import to_terminal, width_of
from perflog.cli.progress import import_numpy, progress_bar

if TYPE_CHECKING:
    from perflog.cache.cache import Cache
    from perflog.cache.printed import Printed
    from perflog.cli.view import View
    from perflog.extraction import Extraction
    from perflog.settings.config import Settings


def cache_of(asked: bool | None, quiet: bool) -> Cache | None:
    """The cache, where it is asked for, which says its remarks on stderr.

    Raises:
        UsageError: where there is no place for it.
    """
    from perflog.cache.place import cache_if_wanted

    def tell(remark: str) -> None:
        if not quiet:
            print(remark, file=sys.stderr)

    return cache_if_wanted(asked, tell)


def write_kept_cases(
    cache: Cache, logs: Sequence[str], chosen: Settings, form: str, view: View, output: Path | None, quiet: bool
) -> None:
    """Write the cases as they were written before where no log has changed, else made anew.

    Raises:
        UsageError: as extraction does, and where others may write to the cache.
        typer.Exit: with status 3 where a log or a case has no value.
    """
    from perflog.cache.printed import Listing
    from perflog.logs.find import find_logs

    files, options, catalog = find_logs(logs), chosen.options(), chosen.catalog()
    terminal = to_terminal(output)
    listing = Listing(cache, files, options, catalog)
    shown = (
        form,
        list(view.where.items()),
        view.order,
        view.columns,
        view.wide,
        view.notes,
        terminal,
        width_of(terminal),
    )
    printed = listing.printed(shown)
    if printed is not None:
        write_result(_unpacked(printed), output, quiet)
        return
    import_numpy()
    from perflog.extraction import extract_logs

    with progress_bar(quiet)(sum(max(file.size, 0) for file in files)) as progress:
        extraction = extract_logs(files, options, catalog, progress, cache=cache, named=chosen.parts)
    result = result_of(view.of(extraction), form, view, terminal)
    if _is_lasting(extraction):
        listing.keep(shown, _packed(result))
    write_result(result, output, quiet)


def _is_lasting(extraction: Extraction) -> bool:
    """Whether the same logs would give the same another time: not where one could not be read."""
    from perflog.cache.printed import is_lasting

    return all(map(is_lasting, extraction.skipped)) and is_lasting(extraction.runs)


def _packed(result: Result) -> Printed:
    from perflog.cache.printed import Printed

    content = result.content
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return Printed(data, isinstance(content, str), result.remarks, result.complete)


def _unpacked(printed: Printed) -> Result:
    content = printed.content.decode("utf-8", "surrogatepass") if printed.is_text else printed.content
    return Result(content, printed.remarks, printed.complete)
