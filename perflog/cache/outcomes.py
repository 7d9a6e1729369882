"""The outcomes of logs: those that are kept for logs which have not changed, and the others read and then kept."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from perflog.cache.cache import Cache
from perflog.cache.identity import Identity, has_settled, identities_of
from perflog.cache.surroundings import hash_of, hash_of_machine, of_one_log, surroundings_of
from perflog.formats.catalog import Catalog
from perflog.logs.find import LogFile
from perflog.parts.outcomes import Packer, outcome_of
from perflog.runs.device_index import device_of, indexed_by_device
from perflog.runs.machine import Machine, Machines, store_of
from perflog.runs.run import Outcome, Skipped
from perflog.settings.options import Options

#: Reads logs: what becomes of each, in their order.
Read = Callable[[Sequence[LogFile]], Iterable[Outcome]]
#: So many outcomes are kept at once, so that an extraction that is ended keeps most of what it read.
_AT_ONCE = 2_000
#: What the system says when a read fails, which another time may not.
_SYSTEM_ERRORS = frozenset(os.strerror(number) for number in errno.errorcode)


class _Known(msgspec.Struct, frozen=True):
    """A log as it was before it was read: what it is known by, its machine, and its outcome's key; None for none."""

    log: LogFile
    identity: Identity | None
    machine: Machine | None
    key: bytes | None


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
    cache: Cache, logs: Sequence[LogFile], among: Sequence[LogFile], options: Options, catalog: Catalog, read: Read
) -> Iterator[Outcome]:
    """What becomes of each log, in their order: kept from before where it has not changed, else read.

    Args:
        among: all logs whose names may say what a number in a name counts.
        read: called once, with the logs that are not kept.

    Raises:
        UsageError: where others may write to the cache.
    """
    began = cache.clock()
    surveyed = _Surveyed(logs, among, options, catalog)
    if not surveyed.is_certain:
        cache.pass_over("perflog's own files were changed after this process began, or cannot be read")
    kept = _kept(cache, surveyed.logs)
    missing = [known for known, outcome in zip(surveyed.logs, kept, strict=True) if outcome is None]
    fresh = iter(read([known.log for known in missing]) if missing else ())
    waiting: list[tuple[_Known, Outcome]] = []
    for known, outcome in zip(surveyed.logs, kept, strict=True):
        if outcome is not None:
            yield outcome
            continue
        new = next(fresh)
        waiting.append((known, new))
        if len(waiting) >= _AT_ONCE:
            cache.add(_to_keep(waiting, began))
            waiting = []
        yield new
    for _ in fresh:  # let the readers end
        pass
    cache.add(_to_keep(waiting, began))


def _kept(cache: Cache, logs: Sequence[_Known]) -> list[Outcome | None]:
    """The outcomes that are kept. An archive is read as a whole: where one member is missing, all are read."""
    contents = cache.entries([known.key for known in logs if known.key is not None])
    outcomes = [None if known.key is None else _outcome(known, contents.get(known.key)) for known in logs]
    lacking = {
        known.log.path for known, outcome in zip(logs, outcomes, strict=True) if known.log.member and outcome is None
    }
    return [
        None if known.log.member and known.log.path in lacking else outcome
        for known, outcome in zip(logs, outcomes, strict=True)
    ]


def _outcome(known: _Known, content: bytes | None) -> Outcome | None:
    if content is None:
        return None
    machines = [] if known.machine is None else [known.machine]
    try:
        return outcome_of(known.log, content, machines)
    except (msgspec.MsgspecError, IndexError, ValueError):
        return None  # packed in another way than this perflog does


def _to_keep(outcomes: Sequence[tuple[_Known, Outcome]], began: int) -> dict[bytes, bytes]:
    """The contents to keep by key: of logs that can be relied on to be what they were before they were read."""
    now = identities_of([known.log for known, _ in outcomes])
    return {
        known.key: Packer().outcome(outcome)
        for (known, outcome), identity in zip(outcomes, now, strict=True)
        if known.key is not None
        and identity == known.identity
        and has_settled(identity, began)
        and is_lasting(outcome)
        and _is_of_machine(outcome, known.machine)
    }


def is_lasting(outcome: Outcome) -> bool:
    """Whether another reading of the same content would give the same: not where the system failed to give it."""
    if isinstance(outcome, Skipped):
        return not outcome.failed
    return all(_SYSTEM_ERRORS.isdisjoint(run.notes) for run in outcome)


def _is_of_machine(outcome: Outcome, machine: Machine | None) -> bool:
    """Whether the ``machine.json`` that was read with a log is the one that was read before."""
    return isinstance(outcome, Skipped) or all(run.machine == machine for run in outcome)
