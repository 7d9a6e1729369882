"""What `extract` and `merge` print: the cases chosen, as they were kept or anew while logs grow, and what to know."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import typer

from perflog.cli.output import emit, erase_lines, table_width, to_terminal
from perflog.cli.progress import import_numpy, progress_bar
from perflog.escaping import named
from perflog.settings.config import DEFAULTS, FORMATS, names_in, pairs
from perflog.show.options import format_for

if TYPE_CHECKING:
    from perflog.cache.cache import Cache
    from perflog.cache.printed import Printed
    from perflog.extraction import Extraction
    from perflog.settings.config import Settings
    from perflog.show.case_table import Shown


class View(NamedTuple):
    """What of an extraction is shown.

    Attributes:
        where: the cases with these values alone.
        order: fields by which the cases are sorted; empty: as they are.
        columns: these columns alone; empty: those that the format has by itself.
        wide: every column, with the ends of intervals.
        notes: every note, none, or (None) those without which a table would mislead.
        page: the address of the page of runs over time that numbers on a terminal lead to; empty for none.
    """

    where: Mapping[str, str] = MappingProxyType({})
    order: str = ""
    columns: tuple[str, ...] = ()
    wide: bool = False
    notes: bool | None = None
    page: str = ""

    @classmethod
    def asked(
        cls, where: Sequence[str] | None, sort: str, columns: str, wide: bool, notes: bool | None = None,
        page: Path | None = None,
    ) -> View:  # fmt: skip
        """The view that the options of these names ask for.

        Raises:
            UsageError: for a text of ``where`` without ``=``.
        """
        if sort or columns:
            from perflog.cases.pairs import metrics_named

            sort, columns = metrics_named(sort), metrics_named(columns)
        link = "" if page is None else page.resolve().as_uri()
        return cls(pairs(where or [], "where"), sort, names_in(columns), wide, notes, link)

    @property
    def shown(self) -> Shown:
        """The columns and notes of tables."""
        from perflog.show.case_table import Shown

        return Shown(self.columns, self.wide, self.notes, self.page)

    def of(self, extraction: Extraction) -> Extraction:
        """The extraction with the cases chosen, in the order asked for.

        Raises:
            UsageError: for a field or a value that no case has, with the nearest one.
        """
        if not self.where and not self.order:
            return extraction  # and the modules that make tables are not imported
        from dataclasses import replace

        from perflog.cases.choosing import chosen
        from perflog.show.fields import in_order

        cases = chosen(extraction.cases, self.where) if self.where else extraction.cases
        return replace(extraction, cases=in_order(cases, self.order) if self.order else cases)


#: Formats that are no single text or file.
OF_SEVERAL_FILES = ("dlperf", "tensorboard")
#: Formats that are no text.
BINARY = ("parquet", "xlsx")


def form_of(output: Path | None, chosen: Settings) -> str:
    """The format of the cases, by the option where it was given, or else the file's ending.

    Raises:
        UsageError: for a format that does not exist, or an ending that is another format's.
        typer.BadParameter: for one that is no text, without a file.
    """
    given = chosen.values["format"] if chosen.sources["format"] != "default" else None
    form = format_for(output, given, FORMATS, DEFAULTS["format"])
    if form == "tensorboard" and output is None:
        message = "tensorboard writes into a folder: name it with --output FOLDER"
        raise typer.BadParameter(message, param_hint="--format")
    if form in BINARY and output is None:
        raise typer.BadParameter(f"{form} is not text: name a file with --output FILE", param_hint="--format")
    return form


def write_cases(
    extraction: Extraction, form: str, view: View, output: Path | None, quiet: bool, logs: Sequence[str]
) -> None:
    """Write the cases, and say what they do not tell.

    Raises:
        typer.Exit: with status 3 where a log or a case has no value.
    """
    if form == "dlperf":
        _write_dlperf(extraction, output, logs)
    elif form == "tensorboard" and output is not None:
        _write_tensorboard(extraction, output, quiet)
    else:
        emit(_encoded(extraction, form, view, to_terminal(output)), output, quiet)
    _end(_remarks(extraction, form), extraction.complete, quiet)


def _end(remarks: Iterable[str], complete: bool, quiet: bool) -> None:
    """Say the remarks on stderr, and end with status 3 where something has no value."""
    if not quiet:
        for remark in remarks:
            print(remark, file=sys.stderr)
    if not complete:
        raise typer.Exit(3)


def _encoded(extraction: Extraction, form: str, view: View, terminal: bool) -> str | bytes | Iterable[bytes]:
    """The extraction in a format; JSON without the modules that make tables, which take as long as some logs."""
    if form == "json":
        from perflog.show.document import json_pieces

        return json_pieces(extraction)
    from perflog.show.encoding import encoded

    return encoded(extraction, form, None if view.wide else table_width(terminal), terminal, view.shown)


def _write_dlperf(extraction: Extraction, output: Path | None, logs: Sequence[str]) -> None:
    """DLPerf's result file, and what its script prints."""
    from perflog.files import write_atomically
    from perflog.show.exchange import dlperf_console, dlperf_json

    target = output or Path("result") / f"{Path(logs[0]).resolve().name}_result.json"
    write_atomically(target, dlperf_json(extraction), parents=output is None)
    sys.stdout.write(dlperf_console(extraction, str(target) if target.is_absolute() else f"./{target}"))


def _write_tensorboard(extraction: Extraction, folder: Path, quiet: bool) -> None:
    """An event file for each case, in a folder of its own."""
    from perflog.cli.output import say_written
    from perflog.files import write_atomically
    from perflog.show.exchange import to_tensorboard
    from perflog.show.text import counted

    files = to_tensorboard(extraction)
    for path, data in files.items():
        write_atomically(folder / path, data, parents=True)
    described = f"{counted(len(files), 'case')}; `tensorboard --logdir {named(str(folder))}` shows them"
    say_written(folder, quiet, described)


def _remarks(extraction: Extraction, form: str) -> Iterator[str]:
    """What a person should know that the table does not say, line by line."""
    if extraction.skipped and form != "json":
        from perflog.runs.run import lines_of_skipped

        first_failed = sorted(extraction.skipped, key=lambda left_out: not left_out.failed)
        reasons = [(left_out.log.name, left_out.reason) for left_out in first_failed]
        yield from lines_of_skipped(reasons, "files (--format json lists them)")
    if not extraction.cases:
        yield "no training log found; `perflog explain FILE` says why a file is none"
    if form == "dlperf":
        for run in extraction.runs:
            if run.throughput.value is None:
                yield f"no value {run.log.name}: {run.throughput.reason}"


# ----------------------------------------------------------------------------------------------------
# Extraction with the cache: logs that have not changed are not read, nor their cases made anew.


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
    shown = (form, list(view.where.items()), *view[1:], terminal, table_width(terminal))
    printed = listing.printed(shown)
    if printed is None:
        import_numpy()
        from perflog.extraction import extract_logs

        with progress_bar(quiet)(sum(max(file.size, 0) for file in files)) as progress:
            extraction = extract_logs(files, options, catalog, progress, cache=cache, named=chosen.parts)
        printed = _printed(view.of(extraction), form, view, terminal)
        if _is_lasting(extraction):
            listing.keep(shown, printed)
    content = printed.content
    emit(content.decode("utf-8", "surrogatepass") if printed.is_text else content, output, quiet)
    _end(printed.remarks, printed.complete, quiet)


def _printed(extraction: Extraction, form: str, view: View, terminal: bool) -> Printed:
    """What :func:`write_cases` writes in one of the formats that are one text or file."""
    from perflog.cache.printed import Printed

    encoded = _encoded(extraction, form, view, terminal)
    content = encoded.encode("utf-8", "surrogatepass") if isinstance(encoded, str) else encoded
    whole = content if isinstance(content, bytes) else b"".join(content)
    return Printed(whole, isinstance(encoded, str), tuple(_remarks(extraction, form)), extraction.complete)


def _is_lasting(extraction: Extraction) -> bool:
    """Whether the same logs would give the same another time: not where one could not be read."""
    from perflog.cache.printed import is_lasting

    return all(map(is_lasting, extraction.skipped)) and is_lasting(extraction.runs)


# ----------------------------------------------------------------------------------------------------
# The table shown anew while logs grow.

#: Seconds between two looks at the logs.
EVERY = 1.0


def show_again_and_again(logs: Sequence[str], settings: Settings, view: View) -> NoReturn:
    """Show the table of cases whenever a log has grown, until the user ends it; the last table stays.

    On a terminal each table takes the place of the one before; elsewhere they follow on each other.

    Raises:
        KeyboardInterrupt: when the user ends it.
        UsageError: as reading the logs does.
    """
    from perflog.logs.find import find_logs
    from perflog.show.case_table import case_tables
    from perflog.show.extractions import Extractions
    from perflog.show.text import to_people

    terminal, before, lines = to_terminal(None), None, 0
    while True:
        state = [(log.name, log.size, log.member) for log in find_logs(logs)]
        if state != before:
            extraction = view.of(Extractions().of(logs, settings))
            width = None if view.wide else table_width(terminal)
            text = to_people(case_tables(extraction, view.shown, width), width, terminal)
            text += f"{time.strftime('%H:%M:%S')}, shown anew when a log grows; Ctrl-C ends it\n"
            if terminal:
                erase_lines(lines)
            emit(text if terminal or before is None else f"\n{text}", None, True)
            sys.stdout.flush()
            before, lines = state, text.count("\n")
        time.sleep(EVERY)
