"""What a command printed of all its logs, kept for the next time that none of them has changed."""

from __future__ import annotations

import errno
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from perflog.cache.cache import Cache
from perflog.cache.place import Identity, has_settled, identities_of
from perflog.cache.program import (
    hash_of,
    hash_of_machine,
    of_one_log,
    one_of_each_folder,
    scaling_beside,
    surroundings_of,
)
from perflog.evidence.witness import Verdict
from perflog.formats.catalog import Catalog
from perflog.logs.find import LogFile
from perflog.notes import Note, texts
from perflog.parts.rows import packed, unpacked
from perflog.runs.machine import Machine, Machines, store_of
from perflog.runs.metadata import Metadata, device_of, indexed_by_device
from perflog.runs.run import Clock, Metric, Outcome, Run, Skipped
from perflog.runs.sight import Sight
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


# ----------------------------------------------------------------------------------------------------
# The outcomes of logs: those that are kept for logs which have not changed, and the others read and then kept.

#: Reads logs: what becomes of each, in their order.
Read = Callable[[Sequence[LogFile]], Iterable[Outcome]]
#: So many outcomes are kept at once, so that an extraction that is ended keeps most of what it read.
_AT_ONCE = 2_000
#: What is seen of a log is not kept where it takes more bytes.
_LONGEST_SEEN = 4 << 20
#: What the system says when a read fails, which another time may not.
_SYSTEM_ERRORS = frozenset(os.strerror(number) for number in errno.errorcode)


class _Known(msgspec.Struct, frozen=True):
    """A log as it was before it was read: what it is known by, its machine, and its outcome's key; None for none."""

    log: LogFile
    identity: Identity | None
    machine: Machine | None
    key: bytes | None


class _Kept(NamedTuple):
    """What became of a log, and what was seen of its runs; None where that is not known."""

    outcome: Outcome
    seen: Sequence[tuple[int, Any]] | None


class _Surveyed:
    """All logs of an extraction as they are now, with the keys of their outcomes."""

    def __init__(self, logs: Sequence[LogFile], among: Sequence[LogFile], options: Options, catalog: Catalog) -> None:
        self._paths = catalog.path_patterns
        self._indexed = indexed_by_device(among, self._paths)
        self._machines = Machines()
        self._hashes: dict[int, bytes] = {}
        self._surroundings = surroundings_of(of_one_log(options), catalog)
        self.is_certain = self._surroundings is not None
        self.logs = [self._known(log, identity) for log, identity in zip(logs, identities_of(logs), strict=True)]

    def _known(self, log: LogFile, identity: Identity | None) -> _Known:
        if identity is None or self._surroundings is None:
            return _Known(log, None, None, None)
        machine = self._machines.of(log.path, store_of(log))
        if id(machine) not in self._hashes:
            self._hashes[id(machine)] = hash_of_machine(machine)
        device = device_of(log, self._paths) if self._indexed else None
        is_index = device is not None and device[0] in self._indexed
        name = str(log.path), log.member, log.size, str(log.given)
        key = hash_of(self._surroundings, name, identity, self._hashes[id(machine)], is_index)
        return _Known(log, identity, machine, key)


def with_kept(
    cache: Cache, logs: Sequence[LogFile], among: Sequence[LogFile], options: Options, catalog: Catalog, read: Read,
    sight: Sight[Any] | None = None,
) -> Iterator[Outcome]:  # fmt: skip
    """What becomes of each log, in their order: kept from before where it has not changed, else read.

    Args:
        among: all logs whose names may say what a number in a name counts.
        read: called once, with the logs that are not kept.
        sight: what is seen of the runs is kept too, and handed on; of those that are read it has seen them by then.

    Raises:
        UsageError: where others may write to the cache.
    """
    began = cache.clock()
    surveyed = _Surveyed(logs, among, options, catalog)
    if not surveyed.is_certain:
        cache.pass_over("perflog's own files were changed after this process began, or cannot be read")
    kept = _kept(cache, surveyed.logs, sight)
    missing = [known for known, entry in zip(surveyed.logs, kept, strict=True) if entry is None]
    fresh = iter(read([known.log for known in missing]) if missing else ())
    waiting: list[tuple[_Known, Outcome, bytes | None]] = []
    for known, entry in zip(surveyed.logs, kept, strict=True):
        if entry is None:
            new = next(fresh)
            waiting.append((known, new, None if sight is None else sight.content_of(known.log)))
            entry = _Kept(new, _decoded(sight, waiting[-1][2]))
        if sight is not None and entry.seen is not None:
            sight.take(entry.outcome, entry.seen)
        if len(waiting) >= _AT_ONCE:
            cache.add(_to_keep(waiting, began, sight))
            waiting = []
        yield entry.outcome
    for _ in fresh:  # let the readers end
        pass
    cache.add(_to_keep(waiting, began, sight))


def _kept(cache: Cache, logs: Sequence[_Known], sight: Sight[Any] | None) -> list[_Kept | None]:
    """What is kept of each log. An archive is read as a whole: where one member is missing, all are read."""
    keys = [known.key for known in logs if known.key is not None]
    if sight is not None:
        keys += [_key_of_seen(key, sight) for key in keys]
    contents = cache.entries(keys)
    entries = [_entry(known, contents, sight) for known in logs]
    lacking = {known.log.path for known, entry in zip(logs, entries, strict=True) if known.log.member and entry is None}
    return [
        None if known.log.member and known.log.path in lacking else entry
        for known, entry in zip(logs, entries, strict=True)
    ]


def _entry(known: _Known, contents: Mapping[bytes, bytes], sight: Sight[Any] | None) -> _Kept | None:
    content = None if known.key is None else contents.get(known.key)
    if known.key is None or content is None:
        return None
    try:
        outcome = _outcome_from(content, known.log, known.machine)
    except (msgspec.MsgspecError, ValueError):
        return None  # packed in another way than this perflog does
    if sight is None:
        return _Kept(outcome, None)
    seen = _decoded(sight, contents.get(_key_of_seen(known.key, sight)))
    return None if seen is None else _Kept(outcome, seen)


class _Run(msgspec.Struct, array_like=True):
    """A run without its log and machine, which are at hand."""

    parser: str
    framework: str
    metadata: Metadata
    label: str
    metrics: dict[str, Metric]
    notes: list[Note]
    window: str
    first_line: int
    last_line: int
    lines: int
    evidence: Verdict | None
    clock: Clock | None
    digest: bytes | None


class _Outcome(msgspec.Struct, array_like=True):
    """The runs of a log, or the reason why it has none."""

    runs: list[_Run]
    reason: str = ""
    failed: bool = False


#: The fields that both have; a test holds them to be all that a run has, but its log and its machine.
ALIKE = _Run.__struct_fields__


def _content_of(outcome: Outcome) -> bytes:
    if isinstance(outcome, Skipped):
        return packed(_Outcome([], outcome.reason, outcome.failed))
    return packed(_Outcome([_Run(*(getattr(run, name) for name in ALIKE)) for run in outcome]))


def _outcome_from(content: bytes, log: LogFile, machine: Machine | None) -> Outcome:
    """What became of a log.

    Raises:
        msgspec.MsgspecError, UnicodeError: where the bytes are none.
    """
    kept: _Outcome = unpacked(content, _Outcome)
    if kept.reason:
        return Skipped(log, kept.reason, kept.failed)
    return [Run(log=log, machine=machine, **{name: getattr(run, name) for name in ALIKE}) for run in kept.runs]


def _decoded(sight: Sight[Any] | None, content: bytes | None) -> Sequence[tuple[int, Any]] | None:
    if sight is None or content is None:
        return None
    try:
        return sight.decoded(content)
    except msgspec.MsgspecError:
        return None


def _key_of_seen(key: bytes, sight: Sight[Any]) -> bytes:
    """The key of what is seen of a log, by that of its outcome."""
    return hash_of(key, sight.kind)


def _to_keep(
    outcomes: Sequence[tuple[_Known, Outcome, bytes | None]], began: int, sight: Sight[Any] | None
) -> dict[bytes, bytes]:
    """The contents to keep by key: of logs that can be relied on to be what they were before they were read."""
    now = identities_of([known.log for known, _, _ in outcomes])
    contents: dict[bytes, bytes] = {}
    for (known, outcome, seen), identity in zip(outcomes, now, strict=True):
        if known.key is None or identity != known.identity or not has_settled(identity, began):
            continue
        if not is_lasting(outcome) or not _is_of_machine(outcome, known.machine):
            continue
        contents[known.key] = _content_of(outcome)
        if sight is not None and seen is not None and len(seen) <= _LONGEST_SEEN:
            contents[_key_of_seen(known.key, sight)] = seen
    return contents


def is_lasting(outcome: Outcome) -> bool:
    """Whether another reading of the same content would give the same: not where the system failed to give it."""
    if isinstance(outcome, Skipped):
        return not outcome.failed
    return all(_SYSTEM_ERRORS.isdisjoint(texts(run.notes)) for run in outcome)


def _is_of_machine(outcome: Outcome, machine: Machine | None) -> bool:
    """Whether the ``machine.json`` that was read with a log is the one that was read before."""
    return isinstance(outcome, Skipped) or all(run.machine == machine for run in outcome)
