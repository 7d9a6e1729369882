"""Atomic writing: a file is the old one or the new one, never a mixture."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from perflog.errors import PerflogError


def write_atomically(path: Path, data: str | bytes) -> None:
    """Write ``data`` to ``path`` through a temporary file beside it.

    Raises:
        PerflogError: when the folder cannot be made or written to.
    """
    raw = data.encode("utf-8") if isinstance(data, str) else data
    name = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
        os.chmod(name, mode)  # noqa: PTH101
        os.replace(name, path)  # noqa: PTH105
    except OSError as error:
        if name:
            Path(name).unlink(missing_ok=True)
        raise PerflogError(f"cannot write {str(path)!r}: {error.strerror}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
