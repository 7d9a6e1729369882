"""The command cache: where what was read of logs is kept, and how much that is."""

from __future__ import annotations

from typing import Annotated

import typer

from perflog.cli.base import app, examples
from perflog.cli.options import Quiet

Clear = Annotated[bool, typer.Option("--clear", help="Remove everything that is kept.")]


@app.command(epilog=examples("perflog cache", "perflog cache --clear"))
def cache(clear: Clear = False, quiet: Quiet = False) -> None:
    """Say where `perflog extract --cache` keeps what it read, and how much that is."""
    from perflog.cache.cache import EntryFile, sizes_of
    from perflog.cache.place import folder_of_cache
    from perflog.errors import PerflogError
    from perflog.escaping import named

    file = EntryFile(folder_of_cache())
    count, size = sizes_of(file)
    held = "damaged, or not perflog's" if count is None else f"{count} {'entry' if count == 1 else 'entries'}"
    described = f"{named(str(file.path))}: {held}, {size / 1e6:.1f} MB"
    if clear:
        try:
            file.remove()
        except OSError as error:
            raise PerflogError(f"cannot remove '{named(str(file.path))}': {error.strerror}") from None
        described += ", removed"
    if not quiet:
        print(described)
