"""The cache: nothing that happens to its file ever ends an extraction or changes a number."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from perflog.cache.entries import FAULTS, LIMIT, EntryFile, ForeignFileError, is_damage
from perflog.errors import PerflogError
from perflog.escaping import named

T = TypeVar("T")
#: Told a remark about the cache, in one line.
Tell = Callable[[str], None]


class Cache:
    """What was read of logs, by keys that say which logs in which state, and how they were read.

    Attributes:
        clock: gives the time, in nanoseconds since 1970.
    """

    def __init__(
        self,
        folder: Path,
        tell: Tell = lambda _: None,
        clock: Callable[[], int] = time.time_ns,
        limit: int = LIMIT,
    ) -> None:
        """Use the cache in a folder, which is made when something is first kept.

        Args:
            tell: told in a line why the cache is not used, or is made anew.
            limit: so many bytes the file may take.
        """
        self.clock = clock
        self._file = EntryFile(folder, limit)
        self._tell = tell
        self._is_given_up = False

    def entries(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """The contents of those keys that are kept.

        Raises:
            UsageError: where others may write to the cache.
        """
        found = self._guarded("read", lambda: self._file.entries(keys))
        if found is None:
            return {}
        contents, damaged = found
        if damaged:
            self._remark(f"{damaged} of its entries are damaged and count as none", "their logs are read again")
        return contents

    def add(self, entries: Mapping[bytes, bytes]) -> None:
        """Keep contents by their keys.

        Raises:
            UsageError: where others may write to the cache.
        """
        if entries:
            self._guarded("written", lambda: self._file.add(entries))

    def pass_over(self, reason: str) -> None:
        """Go without the cache from now on, and say why."""
        self._is_given_up = True
        self._remark(reason, "the logs are read without it")

    def _guarded(self, verb: str, work: Callable[[], T]) -> T | None:
        """What some work on the file gives; None where it fails. A damaged file is removed, and made anew."""
        if self._is_given_up:
            return None
        try:
            return work()
        except ForeignFileError as error:
            self.pass_over(f"{error}; `perflog cache --clear` removes it")
        except OSError as error:
            self.pass_over(f"it cannot be {verb} ({error.strerror or error})")
        except FAULTS as error:
            if is_damage(error):
                return self._anew(error, work)
            self.pass_over(f"it cannot be {verb} ({error})")
        return None

    def _anew(self, damage: Exception, work: Callable[[], T]) -> T | None:
        """Remove the damaged file, and work on a new one."""
        try:
            self._file.remove()
            result = work()
        except (*FAULTS, OSError, ForeignFileError) as error:
            self.pass_over(f"it is damaged ({damage}), and cannot be made anew ({error})")
            return None
        self._remark(f"it was damaged ({damage})", "it is made anew")
        return result

    def _remark(self, what: str, consequence: str) -> None:
        self._tell(f"cache '{named(str(self._file.path))}': {' '.join(what.split())}: {consequence}")


def sizes_of(file: EntryFile) -> tuple[int | None, int]:
    """(how many entries a cache's file holds, its bytes); None for the first where it cannot be read as one.

    Raises:
        UsageError: where others may write to it.
        PerflogError: when it cannot be looked at.
    """
    try:
        return file.measured()
    except (*FAULTS, ForeignFileError):
        return None, file.path.stat().st_size
    except OSError as error:
        raise PerflogError(f"cannot read '{named(str(file.path))}': {error.strerror or error}") from None
