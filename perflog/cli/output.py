"""What commands print or write."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perflog.cli.terminal import print_coloured

if TYPE_CHECKING:
    from perflog.export.columns import TextTable

#: What stands for the signs of tables where the terminal's encoding lacks them.
_PLAIN = {ord(sign): "-" for sign in "─−–"} | {ord("±"): "+-", ord("×"): "x", ord("…"): "...", ord("→"): "->"}


def to_terminal(output: Path | None) -> bool:
    """Whether what is printed goes to a person's terminal."""
    return output is None and sys.stdout.isatty()


def width_of(terminal: bool) -> int | None:
    """The terminal's width; None where nothing limits it."""
    import shutil

    return shutil.get_terminal_size().columns if terminal else None


def prose(text: str, output: Path | None = None) -> str:
    """Text whose lines are broken between words where they are wider than the terminal; as it is if it goes elsewhere.

    For sentences and lists: what is copied from a terminal, such as Markdown, CSV and JSON, is printed as it is.
    """
    from perflog.export.text import folded

    return folded(text, width_of(to_terminal(output)))


def tables_text(tables: Sequence[TextTable], form: str, terminal: bool, wide: bool = False) -> str:
    """Tables one after the other, as Markdown or for people; ``wide``: as wide as they are, however wide that is."""
    from perflog.export import text

    if form == "markdown":
        return "\n".join(text.to_markdown(table) for table in tables)
    return "\n".join(text.to_terminal(table, None if wide else width_of(terminal), terminal) for table in tables)


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
