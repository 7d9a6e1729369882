"""What commands print or write."""

from __future__ import annotations

import io
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from perflog.errors import NoReaderError, PerflogError
from perflog.escaping import visible, workflow

if TYPE_CHECKING:
    from perflog.show.exchange import Annotation
    from perflog.show.text import TextTable


# ----------------------------------------------------------------------------------------------------
# The two streams of the command line: whatever is printed, no name and no content of a log commands a terminal.
#
# Both streams are wrapped once, when the command starts, so that every message goes through here: the program's own,
# the command line library's, and what Python says itself. What has escape sequences on purpose (coloured tables,
# progress bars, the help) is written by rich, which looks for ``rich_proxied_file``, or by :func:`print_coloured`; the
# texts in it are made visible where they are put in.

#: No terminal is narrower: what is shorter fits.
_NARROWEST = 20
#: What sets a colour or takes it away (ECMA-48, SGR), or begins or ends a link (OSC 8), and does nothing else.
_COLOUR = re.compile(r"(\x1b\[[0-9;]*m|\x1b\]8;;[!-~]*\x1b\\)")


class Stream:
    """A text stream whose errors are perflog's: its reader has gone, its disk is full, it is closed."""

    def __init__(self, stream: TextIO | None, name: str) -> None:
        """``stream``: None for one that was closed before the command began; ``name``: its name in messages."""
        self._stream = stream
        self._name = name

    def write(self, text: str) -> int:
        """Write a text.

        Raises:
            NoReaderError: when nobody reads any more.
            PerflogError: when it cannot be written.
        """
        self._call("write", text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts one after the other. Raises as :meth:`write` does."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Write what is kept back. Raises as :meth:`write` does."""
        if self._stream is not None:
            self._call("flush")

    def isatty(self) -> bool:
        """Whether a person reads it."""
        return self._stream is not None and self._stream.isatty()

    def _call(self, method: str, *arguments: str) -> None:
        try:
            if self._stream is None:
                raise OSError("it is closed")
            getattr(self._stream, method)(*arguments)
        except BrokenPipeError:
            raise NoReaderError(f"nobody reads {self._name}") from None
        except OSError as error:
            raise PerflogError(f"cannot write to {self._name}: {error.strerror or error}") from None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Guarded(Stream):
    """A stream that shows control characters instead of sending them, and gives GitHub Actions no commands."""

    def __init__(self, stream: TextIO | None, name: str) -> None:
        super().__init__(stream, name)
        self.rich_proxied_file = Stream(stream, name)
        self._is_log = os.environ.get("GITHUB_ACTIONS") == "true" and not _is_file(stream)
        self._line = ""
        self._is_folded = name == "standard error"  # messages alone are written there, each at once

    def write(self, text: str) -> int:
        """Write a text of any number of lines. Raises as :meth:`Stream.write` does."""
        shown = visible(text, lines=True)
        if self._is_folded and len(shown) > _NARROWEST and self.isatty():
            shown = _folded(shown, self._stream)
        if self._is_log:
            shown, self._line = workflow(shown, self._line), (self._line + shown).rpartition("\n")[2]
        super().write(shown)
        return len(text)


def _folded(text: str, stream: TextIO | None) -> str:
    """A message with its lines broken between words where they are wider than the terminal that it goes to."""
    from perflog.show.text import folded

    with suppress(OSError, ValueError, AttributeError):
        width = int(os.environ.get("COLUMNS", "0") or 0) or os.get_terminal_size(stream.fileno()).columns  # type: ignore[union-attr]
        return folded(text, width or None)
    return text


def _is_file(stream: TextIO | None) -> bool:
    """Whether a stream leads into a file, which no runner reads."""
    if stream is None:
        return False
    with suppress(OSError, ValueError):
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    return False


def guard_streams() -> None:
    """Wrap both streams. Text that their encoding does not have is written as ``\\u4e2d``."""
    output: Any = _buffered(sys.stdout)
    sys.__stdout__ = sys.stdout = output  # type: ignore[misc]
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.stdout, sys.stderr = Guarded(sys.stdout, "standard output"), Guarded(sys.stderr, "standard error")


def _buffered(stream: TextIO | None) -> TextIO | None:
    """Standard output with a buffer, which Python leaves out under PYTHONUNBUFFERED: it then loses what a full disk or
    a signal cuts from a write, and says nothing. Lines go out at once, as was asked for.
    """
    if not isinstance(getattr(stream, "buffer", None), io.RawIOBase):
        return stream
    assert stream is not None
    raw = io.FileIO(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(io.BufferedWriter(raw), stream.encoding, stream.errors, line_buffering=True)


def has_colours() -> bool:
    """Whether a terminal may be given colours: it can show them, and the user has not refused them (no-color.org)."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def print_coloured(text: str) -> None:
    """Print a text with colours that perflog put there, where the terminal may have any: the texts of its cells are
    visible already."""
    sys.stdout.flush()
    stream = getattr(sys.stdout, "rich_proxied_file", None) or sys.stdout
    pieces = _COLOUR.split(text if has_colours() else _COLOUR.sub("", text))
    stream.write("".join(piece if place % 2 else visible(piece, lines=True) for place, piece in enumerate(pieces)))


def erase_lines(count: int) -> None:
    """Take back the last lines that were printed on a terminal, or all that it shows of them."""
    import shutil

    if not count or os.environ.get("TERM", "").lower() in ("dumb", "unknown"):
        return
    sys.stdout.flush()
    stream = getattr(sys.stdout, "rich_proxied_file", None) or sys.stdout
    whole = count >= shutil.get_terminal_size().lines
    stream.write("\x1b[H\x1b[2J" if whole else f"\x1b[{count}A\x1b[J")


def say_usage_error(error: Exception) -> int | None:
    """Say an error of the command line as typer does; its exit status, or None where it is no such error."""
    from typer import Abort

    if isinstance(error, Abort):
        print("Aborted.", file=sys.stderr)
        return 1
    message, status = getattr(error, "format_message", None), getattr(error, "exit_code", None)
    if message is None or status is None:
        return None
    error.format_message = lambda: visible(message(), lines=True)  # type: ignore[attr-defined]
    error.show()  # type: ignore[attr-defined]
    return int(status)


#: What stands for the signs of tables where the terminal's encoding lacks them.
_PLAIN = {ord(sign): "-" for sign in "─−–"} | {ord("±"): "+-", ord("×"): "x", ord("…"): "...", ord("→"): "->"}


def to_terminal(output: Path | None) -> bool:
    """Whether what is printed goes to a person's terminal."""
    return output is None and sys.stdout.isatty()


def width_of(terminal: bool) -> int | None:
    """The terminal's width; None where nothing limits it."""
    import shutil

    return shutil.get_terminal_size().columns if terminal else None


#: How wide the table of cases is where it goes to no terminal: that of a job's log, an editor, a mail.
_PIPED = 120


def table_width(terminal: bool) -> int:
    """How wide the table of cases may be."""
    return width_of(terminal) or _PIPED


def prose(text: str, output: Path | None = None) -> str:
    """Text whose lines are broken between words where they are wider than the terminal; as it is if it goes elsewhere.

    For sentences and lists: what is copied from a terminal, such as Markdown, CSV and JSON, is printed as it is.
    """
    from perflog.show.text import folded

    return folded(text, width_of(to_terminal(output)))


def tables_text(tables: Sequence[TextTable], form: str, terminal: bool, wide: bool = False) -> str:
    """Tables one after the other, as Markdown or for people; ``wide``: as wide as they are, however wide that is."""
    from perflog.show import text

    if form == "markdown":
        return "\n".join(text.to_markdown(table) for table in tables)
    return text.to_people(tables, None if wide else width_of(terminal), terminal)


def emit(data: str | bytes | Iterable[bytes], output: Path | None, quiet: bool, described: str = "") -> None:
    """Print the result, whole or in pieces of whole characters, or write it to a file and say so."""
    from perflog.files import write_atomically

    if output is None:
        for piece in (data,) if isinstance(data, str | bytes) else data:
            _print(piece if isinstance(piece, str) else piece.decode("utf-8", "replace"))
        return
    write_atomically(output, data)
    say_written(output, quiet, described)


def _print(text: str) -> None:
    """Print a result; on a terminal it may have colours, which perflog put there; its texts are visible already."""
    if not _has_signs(getattr(sys.stdout, "encoding", None)):  # none: it is closed, which writing says
        text = text.translate(_PLAIN)
    if sys.stdout.isatty():
        print_coloured(text)
    else:
        sys.stdout.write(text)


def _has_signs(encoding: str | None) -> bool:
    """Whether an encoding has the signs that tables are drawn with."""
    try:
        "".join(map(chr, _PLAIN)).encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def say_written(output: Path, quiet: bool, described: str = "") -> None:
    """Say on stderr what was written."""
    if not quiet:
        print(f"wrote {output}{f': {described}' if described else ''}", file=sys.stderr)


def say_lacking(output: Path, lacking: Sequence[str]) -> None:
    """Say on stderr what a picture shows for want of a font; nothing where it lacks nothing."""
    if lacking:
        print(
            f"perflog: {output} shows {' and '.join(lacking)}: no font that is installed has the characters that it "
            "needs. Install one, such as Noto Sans CJK SC (apt install fonts-noto-cjk), or write an SVG, which needs "
            "none.",
            file=sys.stderr,
        )


def emit_commands(text: str) -> None:
    """Print commands to GitHub Actions, past the stream that would make them harmless: perflog put them there."""
    sys.stdout.flush()
    stream = getattr(sys.stdout, "rich_proxied_file", None) or sys.stdout
    stream.write(text)


#: The variable that names the file of a job's summary, and the one that says that a runner reads the output.
_SUMMARY, _IS_RUNNER = "GITHUB_STEP_SUMMARY", "GITHUB_ACTIONS"


def emit_to_github(
    markdown: str, table: Callable[[], str], findings: Iterable[Annotation], output: Path | None, quiet: bool
) -> None:
    """Write the job's summary and annotations where GitHub's variables are set; print the Markdown elsewhere.

    Args:
        markdown: what the summary shows, and a file.
        table: what a job's log shows.
        findings: what the annotations say.
    """
    from perflog.show.exchange import commands

    summary, is_runner = os.environ.get(_SUMMARY, ""), os.environ.get(_IS_RUNNER) == "true"
    if summary:
        _append(Path(summary), markdown)
    if is_runner:
        emit_commands(commands(findings))
    if output is not None:
        emit(markdown, output, quiet)
    elif summary or is_runner:
        sys.stdout.write(table())
    else:
        sys.stdout.write(markdown)


def _append(file: Path, markdown: str) -> None:
    """Append to the job's summary, which earlier steps may have begun. Raises PerflogError where it cannot be."""
    from perflog.escaping import named

    try:
        with file.open("a", encoding="utf-8", errors="backslashreplace") as summary:
            summary.write(f"{markdown}\n")
    except OSError as error:
        what = f"cannot write the job's summary '{named(str(file))}' ({_SUMMARY})"
        raise PerflogError(f"{what}: {error.strerror or error}") from None


# ----------------------------------------------------------------------------------------------------
# Errors for machines: where a command was asked for JSON, its error is a JSON document too (docs/json.md).

ERROR_SCHEMA = "perflog/error/1"
#: The option that names a format.
_FORMAT = ("-f", "--format")


def asks_for_json(words: Sequence[str]) -> bool:
    """Whether the words of a command line ask for JSON. The ending of a file's name does not: that asks for a file.

    >>> asks_for_json(["extract", "logs", "-f", "json"]), asks_for_json(["extract", "logs", "-o", "cases.json"])
    (True, False)
    """
    return [value.lower() for value in _values(words, _FORMAT)][-1:] == ["json"]


def print_error(words: Sequence[str], code: str, message: str, status: int) -> None:
    """Print an error on standard output in place of the document that was asked for; nothing where none was.

    Args:
        words: the command line.
        code: what kind of error it is.
        message: the same text as on standard error.
        status: the exit status.
    """
    if not asks_for_json(words):
        return
    from perflog._version import __version__
    from perflog.escaping import json_text

    error = {"code": code, "message": message, "exit_status": status}
    with suppress(Exception):  # standard output may be what failed
        sys.stdout.write(json_text({"schema": ERROR_SCHEMA, "perflog": __version__, "error": error}) + "\n")
        sys.stdout.flush()


def _values(words: Sequence[str], flags: tuple[str, str]) -> list[str]:
    """The values of an option, in any of the ways that it may be written."""
    from itertools import zip_longest

    short, long = flags
    values = []
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        if word == "--":
            break
        if word in flags:
            values.append(following)
        elif word.startswith(f"{long}="):
            values.append(word.removeprefix(f"{long}="))
        elif word.startswith(short) and not word.startswith("--"):
            values.append(word.removeprefix(short))
    return values
