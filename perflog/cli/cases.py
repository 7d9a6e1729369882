"""What `extract` and `merge` print: the cases of an extraction, and on stderr what the table does not say."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from perflog.cli.output import emit, to_terminal, width_of
from perflog.cli.progress import skipped
from perflog.escaping import named
from perflog.export.options import format_for
from perflog.settings.config import DEFAULTS, FORMATS

if TYPE_CHECKING:
    from perflog.cli.view import View
    from perflog.extraction import Extraction
    from perflog.settings.config import Settings

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


class Result(NamedTuple):
    """What is printed of an extraction: its content, the remarks for people, and whether every case has a value."""

    content: str | bytes
    remarks: tuple[str, ...]
    complete: bool


def result_of(extraction: Extraction, form: str, view: View, terminal: bool) -> Result:
    """What :func:`write_cases` writes in one of the formats that are one text or file."""
    encoded = _encoded(extraction, form, view, terminal)
    content = encoded if isinstance(encoded, str | bytes) else b"".join(encoded)
    return Result(content, tuple(_remarks(extraction, form)), extraction.complete)


def write_result(result: Result, output: Path | None, quiet: bool) -> None:
    """Write a result as :func:`write_cases` does.

    Raises:
        typer.Exit: with status 3 where a log or a case has no value.
    """
    emit(result.content, output, quiet)
    _end(result.remarks, result.complete, quiet)


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
        from perflog.export.document import json_pieces

        return json_pieces(extraction)
    from perflog.export.encoding import encoded

    return encoded(extraction, form, None if view.wide else width_of(terminal), terminal, view.shown)


def _write_dlperf(extraction: Extraction, output: Path | None, logs: Sequence[str]) -> None:
    """DLPerf's result file, and what its script prints."""
    from perflog.export.exchange import dlperf_console, dlperf_json
    from perflog.files import write_atomically

    target = output or Path("result") / f"{Path(logs[0]).resolve().name}_result.json"
    write_atomically(target, dlperf_json(extraction), parents=output is None)
    sys.stdout.write(dlperf_console(extraction, str(target) if target.is_absolute() else f"./{target}"))


def _write_tensorboard(extraction: Extraction, folder: Path, quiet: bool) -> None:
    """An event file for each case, in a folder of its own."""
    from perflog.cli.output import say_written
    from perflog.export.exchange import to_tensorboard
    from perflog.export.text import counted
    from perflog.files import write_atomically

    files = to_tensorboard(extraction)
    for path, data in files.items():
        write_atomically(folder / path, data, parents=True)
    described = f"{counted(len(files), 'case')}; `tensorboard --logdir {named(str(folder))}` shows them"
    say_written(folder, quiet, described)


def _remarks(extraction: Extraction, form: str) -> Iterator[str]:
    """What a person should know that the table does not say, line by line."""
    if extraction.skipped and form != "json":
        first_failed = sorted(extraction.skipped, key=lambda left_out: not left_out.failed)
        reasons = [(left_out.log.name, left_out.reason) for left_out in first_failed]
        yield from skipped(reasons, "files (--format json lists them)")
    if not extraction.cases:
        yield "no training log found; `perflog explain FILE` says why a file is none"
    if form == "dlperf":
        for run in extraction.runs:
            if run.throughput.value is None:
                yield f"no value {run.log.name}: {run.throughput.reason}"
