"""``perflog`` and ``python -m perflog``: plain errors and stable exit statuses, never a traceback."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line. Exit status: see ``perflog --help``."""
    from perflog.cli import app
    from perflog.errors import PerflogError

    try:
        app(prog_name="perflog")
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


def _stop(text: str, status: int) -> None:
    print(text, file=sys.stderr)
    sys.exit(status)


if __name__ == "__main__":
    main()
