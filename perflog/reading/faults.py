"""The last resort: an error that nobody foresaw, while one log is read, becomes that log's reason."""

from __future__ import annotations

import os

from perflog.errors import REFUSED, PerflogError, refused_by_system

#: What ends the command whatever it was reading, and what the user can mend, which is no matter of one log.
_ENDS = (KeyboardInterrupt, SystemExit, GeneratorExit, PerflogError)
#: An error's own text is cut at so many characters: it may quote the log.
_LONGEST = 200


def reason_of(error: BaseException, doing: str = "this log was read") -> str:
    """What is said of a log that could not be read to its end because of the system, or an error in the program.

    Every error counts, those that are no :class:`Exception` too: polars panics with such a one. ``PERFLOG_DEBUG``
    lets the error through, so that its traceback is seen.

    Args:
        doing: what was done when it failed.

    Raises:
        BaseException: the error itself, where it ends the command, can be mended by the user, or is asked for.
    """
    if isinstance(error, _ENDS) or os.environ.get("PERFLOG_DEBUG"):
        raise error
    if refusal := refused_by_system(error):
        return f"{REFUSED}{refusal}"
    text = " ".join(str(error).split())[:_LONGEST]
    name = type(error).__name__ + (f": {text}" if text else "")
    return f"internal error while {doing}, please report it: {name} (PERFLOG_DEBUG=1 shows where)"
