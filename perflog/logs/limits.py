"""What a packed file may cost: how much it may unpack to, and how many members an archive may have.

All reading is streamed, so that these limits bound time and not memory. Logs of trainings compress 5 to 200 times; 30
KB can be made that unpack to gigabytes. Environment variables raise the limits, since neither a ``perflog.toml`` nor a
README's recipe, which others may have written, must be able to.
"""

from __future__ import annotations

import os

from perflog.errors import REFUSED, UsageError

#: The environment variables, and their defaults.
RATIO, MEMBERS = "PERFLOG_UNPACK_RATIO", "PERFLOG_ARCHIVE_MEMBERS"
_DEFAULTS = {RATIO: 1_000, MEMBERS: 200_000}
#: So many bytes every file may unpack to.
FREE = 100 << 20


class UnreadableError(Exception):
    """A file that cannot be read, or whose rest cannot; the text says why.

    ``data`` holds the bytes that could be read before, where the function that raises gives no others.
    """

    def __init__(self, reason: str, data: bytes = b"") -> None:
        super().__init__(reason)
        self.data = data


class LimitError(UnreadableError):
    """A file that is not read to its end because a limit ends it: nothing in it counts."""


class RefusedError(LimitError):
    """A file that the system read no further, though there is more of it: nothing in it counts."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"{REFUSED}{error.strerror or error}")


def limit(variable: str) -> int:
    """The limit of that environment variable, or its default.

    Raises:
        UsageError: when the variable holds no whole number above zero.
    """
    text = os.environ.get(variable, "")
    if not text:
        return _DEFAULTS[variable]
    if not (text.isascii() and text.isdigit() and len(text) <= 18 and int(text)):
        raise UsageError(f"{variable}={text!r}: expected a whole number above zero, such as {_DEFAULTS[variable]}")
    return int(text)


class Budget:
    """What one file may still unpack to, its archive's members and all layers of compression together."""

    def __init__(self, packed: int) -> None:
        self._packed = packed
        self._plain = 0

    def add_packed(self, size: int) -> None:
        """Say that so many more packed bytes came; for what has no size of its own, a pipe."""
        self._packed += size

    def spend(self, size: int) -> None:
        """Count bytes that were unpacked.

        Raises:
            LimitError: when they are more than the file may unpack to.
        """
        self._plain += size
        if self._plain <= FREE:
            return
        ratio = limit(RATIO)
        if self._plain > FREE + ratio * self._packed:
            raise LimitError(
                f"the file unpacks to more than {FREE >> 20} MiB and {ratio:,} times its own size, which no log does: "
                f"it is not read. To have it read, set {RATIO}={10 * ratio}"
            )
