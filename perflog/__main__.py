"""``perflog`` and ``python -m perflog``: plain errors and stable exit statuses, never a traceback."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from contextlib import suppress


def main() -> None:
    """Run the command line. Exit status: see ``perflog --help``."""
    from perflog.cli import app_for
    from perflog.cli.stand_ins import put_stand_ins
    from perflog.errors import PerflogError

    put_stand_ins()
    _keep_freed_memory()
    gc.set_threshold(_OBJECTS, 20, 20)
    try:
        app_for(sys.argv[1:])(prog_name="perflog")
    except PerflogError as error:
        _stop(f"perflog: {error}", 2)
    except KeyboardInterrupt:
        _stop("perflog: interrupted", 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except Exception as error:
        if os.environ.get("PERFLOG_DEBUG"):
            raise
        _stop(
            f"perflog: internal error, please report it: {type(error).__name__}: {error}\n"
            "(PERFLOG_DEBUG=1 shows where)",
            70,
        )
    finally:
        gc.freeze()  # the process ends: Python need not go through all objects for circles once more


#: So many new objects before circles among them are looked for, rather than 700: importing numpy and typer and making
#: the parsers takes a twentieth less time, and what reading logs makes has no circles.
_OBJECTS = 20_000
#: glibc's ``mallopt`` parameters (malloc.h), and the sizes of arrays and of free memory that are kept.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _KEPT, _TRIMMED = -1, -3, 16 << 20, 32 << 20


def _keep_freed_memory() -> None:
    """Let glibc use the memory of one block of a log for the next.

    By default each block's arrays are mapped anew and given back, and the kernel clears their pages each time: a
    tenth of the time of 20,000 logs. It is the command's own process, so no host program is touched.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError, TypeError):
            libc = ctypes.CDLL(None)
            libc.mallopt(_MMAP_THRESHOLD, _KEPT)
            libc.mallopt(_TRIM_THRESHOLD, _TRIMMED)


def _stop(text: str, status: int) -> None:
    print(text, file=sys.stderr)
    sys.exit(status)


if __name__ == "__main__":
    main()
