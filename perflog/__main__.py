"""``perflog`` and ``python -m perflog``: plain errors and stable exit statuses, never a traceback."""

from __future__ import annotations

import gc
import os
import signal
import sys
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perflog.errors import PerflogError


def main() -> None:
    """Run the command line. Exit status: see ``perflog --help``."""
    if sys.platform == "win32":  # its locks, descriptors and signals are others
        _say("perflog: expected Linux or macOS, found Windows: run it in WSL, which is Linux (`wsl --install`)")
        sys.exit(2)
    try:
        status = _status()
    except KeyboardInterrupt:
        status = _INTERRUPTED
    finally:
        gc.freeze()  # the process ends: Python need not go through all objects for circles once more
    if status == _INTERRUPTED:
        _say("perflog: interrupted")
        _die_of(signal.SIGINT)
    _close_streams()
    sys.exit(status)


#: What shells give for programs that Ctrl-C and a closed pipe have ended.
_INTERRUPTED, _CLOSED_PIPE = 130, 141
#: An error's own text is cut at so many characters: it may quote a log.
_LONGEST = 500
_AS_IT_WAS = "the logs are as they were, and no file is half written"
_WHAT_TO_DO = (
    f"{_AS_IT_WAS}; `perflog extract LOGS` or another --format may still give the numbers; PERFLOG_DEBUG=1 shows where "
    "it failed"
)


def _status() -> int:
    """Run the command and say its error, if it has one; its exit status.

    Raises:
        KeyboardInterrupt: when the user ends it.
    """
    from perflog.cli.output import guard_streams
    from perflog.errors import NoReaderError, PerflogError, refused_by_system

    try:
        guard_streams()
        _say_warnings()
        status = _command()
        sys.stdout.flush()
    except NoReaderError:
        return _CLOSED_PIPE
    except PerflogError as error:
        return _refused(error)
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # polars panics with an error that is no Exception
        if isinstance(error, ImportError) and (missing := _missing_extra(error)):
            return _refused(missing)
        if os.environ.get("PERFLOG_DEBUG"):
            raise
        if refusal := refused_by_system(error):
            return _refused(PerflogError(f"{refusal}; {_AS_IT_WAS}"))
        return _failed(error)
    return status


def _failed(error: BaseException) -> int:
    """Say an error that nobody foresaw in one line, and in the next what can be done; the exit status."""
    text = " ".join(str(error).split())[:_LONGEST]
    problem = f"internal error, please report it: {type(error).__name__}" + (f": {text}" if text else "")
    _say(f"perflog: {problem}\n  ({_WHAT_TO_DO})")
    return _as_document("internal", problem, 70)


def _refused(error: PerflogError) -> int:
    _say(f"perflog: {error}".replace("\n", "\n  "))  # a line break in a name begins no line of its own
    return _as_document(error.code, str(error), 2)


def _as_document(code: str, message: str, status: int) -> int:
    """Print an error as JSON too where JSON was asked for; the status."""
    from perflog.cli.output import print_error

    print_error(sys.argv[1:], code, message, status)
    return status


def _missing_extra(error: ImportError) -> PerflogError | None:
    from perflog.extras import missing_extra

    return missing_extra(error)


def _command() -> int:
    """Run the command; its exit status. Wrong usage is said as the library of the command line says it."""
    from perflog.cli import app_for
    from perflog.cli.output import say_usage_error
    from perflog.processes import settle

    settle()
    try:
        # on its own typer would give a closed pipe the status 1, and say wrong usage without making its texts visible
        status = app_for(sys.argv[1:])(prog_name="perflog", standalone_mode=False)
    except Exception as error:
        if (said := say_usage_error(error)) is None:
            raise
        words = getattr(error, "format_message", None)
        return _as_document("usage", words(), said) if words else said
    return status if isinstance(status, int) else 0


def _say_warnings() -> None:
    """Let a config file that is not used be said in one plain line, once; nothing is said into a completion."""
    from perflog.errors import ForeignConfigWarning

    shown = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if not issubclass(category, ForeignConfigWarning):
            shown(message, category, *place, **more)
        elif not os.environ.get("_PERFLOG_COMPLETE"):
            _say(f"perflog: {message}")

    warnings.simplefilter("once", ForeignConfigWarning)
    warnings.showwarning = show


def _say(text: str) -> None:
    """Print a message on stderr; one that cannot be printed changes nothing."""
    with suppress(Exception):
        print(text, file=sys.stderr)
        sys.stderr.flush()


def _die_of(number: signal.Signals) -> None:
    """End by a signal, so that a shell's loop or script that called the command ends too."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _close_streams() -> None:
    """Send nowhere what cannot be printed: Python would try it again at its end, and complain."""
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is None:
            continue
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    main()
