"""What a command printed of all its logs, kept for the next time that none of them has changed."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from perflog.cache.cache import Cache
from perflog.cache.identity import Identity, has_settled, identities_of
from perflog.cache.surroundings import hash_of, hash_of_machine, one_of_each_folder, scaling_beside, surroundings_of
from perflog.formats.catalog import Catalog
from perflog.logs.find import LogFile
from perflog.runs.machine import Machines
from perflog.settings.options import Options

#: What is longer is not kept.
LONGEST = 256 << 20
_FAST = 1


class Printed(msgspec.Struct, frozen=True, array_like=True):
    """What a command gave.

    Attributes:
        content: the result: its bytes, or its text in UTF-8.
        is_text: whether it is a text.
        remarks: the lines beside it, which go to people.
        complete: whether every log and case has a value.
    """

    content: bytes
    is_text: bool
    remarks: tuple[str, ...]
    complete: bool


class _State(NamedTuple):
    """What each log is known by, the hash of what all depend on, and the hash of the files beside them."""

    logs: list[Identity | None]
    surroundings: bytes | None
    beside: bytes


class Listing:
    """All logs of a command as they were when it began, and what they stand among."""

    def __init__(self, cache: Cache, logs: Sequence[LogFile], options: Options, catalog: Catalog) -> None:
        self._cache = cache
        self._began = cache.clock()
        self._logs, self._options, self._catalog = logs, options, catalog
        self._state = self._state_now()

    def printed(self, shown: object) -> Printed | None:
        """What was printed before of the same logs in the same state; None where that is not kept.

        Args:
            shown: plain values that say what is shown, and how.
        """
        key = self._key(shown)
        content = None if key is None else self._cache.entries([key]).get(key)
        if content is None:
            return None
        try:
            packed = zlib.decompressobj()
            data = packed.decompress(content, LONGEST)
            return msgspec.msgpack.decode(data, type=Printed) if packed.eof else None
        except (zlib.error, msgspec.MsgspecError):
            return None

    def keep(self, shown: object, printed: Printed) -> None:
        """Keep what was printed, unless a log has changed since the command began, or may yet without being seen."""
        key = self._key(shown)
        if key is None or len(printed.content) > LONGEST // 2:
            return
        settled = all(has_settled(identity, self._began) for identity in self._state.logs)
        if settled and self._state_now() == self._state:
            self._cache.add({key: zlib.compress(msgspec.msgpack.encode(printed), _FAST)})

    def _key(self, shown: object) -> bytes | None:
        identities, surroundings, beside = self._state
        if surroundings is None or None in identities or any(log.stored is not None for log in self._logs):
            return None
        names = [(str(log.path), log.member, log.size, str(log.given)) for log in self._logs]
        plain = [tuple(identity or ()) for identity in identities]  # printed in half the time of a named tuple
        return hash_of(surroundings, names, plain, beside, shown)

    def _state_now(self) -> _State:
        files = [log for log in self._logs if log.stored is None]
        return _State(
            identities_of(self._logs),
            surroundings_of(self._options, self._catalog),
            hash_of(_machines_beside(files), scaling_beside(files)),
        )


def _machines_beside(logs: Sequence[LogFile]) -> list[tuple[str, bytes]]:
    """A log of each folder, with a hash of what the ``machine.json`` beside or above it says."""
    machines = Machines()
    return [(path, hash_of_machine(machines.of(path))) for path in one_of_each_folder(logs)]
