"""Errors a user can act on: what was expected, what was found and where, what to do next."""

from __future__ import annotations


class PerflogError(Exception):
    """Something the user can mend. Its text is complete: the command line prints it as it is.

    Attributes:
        code: what kind of error it is, in a word for programs (docs/json.md).
    """

    code = "failed"


class UsageError(PerflogError):
    """An option or argument that cannot be understood (exit status 2)."""

    code = "usage"


class NoSuchPathError(UsageError):
    """A file or folder that is not there."""

    code = "no-such-path"


class ParserError(PerflogError):
    """A parser, convention or path-pattern file that is not well formed, with its file and place."""

    code = "parser"


class ForeignConfigWarning(UserWarning):
    """A ``perflog.toml`` above the logs that is not used, as neither the user nor root owns it."""


class NoReaderError(PerflogError):
    """Nobody reads any more what is printed or written into a FIFO (no message; exit status 141)."""


#: How the reason of a log begins that the system did not let be read.
REFUSED = "could not be read to its end: "
#: How an error says that memory is wanting where it is no MemoryError: FreeType and SQLite, CPython's locks, and a
#: function in C that could not even make an error.
_NO_MEMORY = ("out of memory", "can't allocate", "without exception set", "without setting an exception")


def is_for_want_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory is wanting, whatever it is called."""
    return isinstance(error, MemoryError) or any(text in str(error) for text in _NO_MEMORY)


def refused_by_system(error: BaseException) -> str:
    """What the system refused, in plain words; empty where an error is the program's own."""
    if is_for_want_of_memory(error):
        return "there is not enough memory"
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return "the system lets no further thread start (`ulimit -u` shows the limit)"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror + (f": '{error.filename}'" if isinstance(error.filename, str) else "")
    return ""
