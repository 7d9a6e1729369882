"""A file's ending in, the format of what is written into it out: one rule for every command that has ``--output``."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from perflog.errors import UsageError
from perflog.escaping import named

#: What a file with this ending holds, in the order in which messages name the endings. Where a command has several of
#: the formats of an ending, the first that it has is meant.
ENDINGS = {
    ".md": ("markdown",),
    ".markdown": ("markdown",),
    ".html": ("html",),
    ".htm": ("html",),
    ".csv": ("csv",),
    ".json": ("json",),
    ".parquet": ("parquet",),
    ".xlsx": ("xlsx",),
    ".tex": ("latex",),
    ".xml": ("junit",),
    ".prom": ("openmetrics",),
    ".svg": ("svg",),
    ".png": ("png",),
    ".pdf": ("pdf",),
    ".diff": ("diff",),
    ".patch": ("diff",),
    ".txt": ("table", "text"),
}
#: The endings that messages offer; the others mean the same.
_SECOND_NAMES = frozenset({".markdown", ".htm", ".patch"})


def format_for(
    output: Path | None, given: str | None, formats: Sequence[str], default: str, *, has_option: bool = True
) -> str:
    """The format of a command's output.

    Args:
        output: the file that is written; None for standard output.
        given: the format that the user named, which counts whatever the file is called; None where none was named.
        formats: the formats that the command has.
        default: the format of standard output, of files without an ending, and of devices.
        has_option: whether the command has ``--format``, which messages then offer.

    Raises:
        UsageError: for a format that the command has not, and for an ending that says another format or none.
        PerflogError: where the package that writes the format is not installed.
    """
    from perflog.files import is_written_into
    from perflog.settings.config import one_of

    if given is not None:
        one_of("format", given, list(formats))
        _require_package(given)
        return given
    if output is None or not output.suffix or is_written_into(output):
        return default
    meant = ENDINGS.get(output.suffix.lower(), ())
    form = next((form for form in meant if form in formats), None)
    if form is None:
        found = f"a file for {meant[0]}" if meant else "an ending that no format has"
        hint = "; --format names the format of a file of any name" if has_option else ""
        raise UsageError(
            f"--output '{named(str(output))}': expected an ending that says what this command writes "
            f"({', '.join(endings_of(formats))}), found {found}{hint}"
        )
    _require_package(form)
    return form


def _require_package(form: str) -> None:
    """Raise PerflogError where what writes a format is not installed: before the work, not after it."""
    if form == "xlsx":
        from perflog.extras import require

        require("xlsxwriter")


def endings_of(formats: Collection[str]) -> list[str]:
    """The endings of files that hold these formats.

    >>> endings_of(["table", "json"])
    ['.json', '.txt']
    """
    return [end for end, meant in ENDINGS.items() if end not in _SECOND_NAMES and not set(meant).isdisjoint(formats)]
