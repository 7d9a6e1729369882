"""What became of one log, as bytes and back: its runs, or why it was left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from perflog.evidence.witness import Verdict
from perflog.logs.find import LogFile, Pipe
from perflog.notes import Note
from perflog.runs.machine import Machine
from perflog.runs.metadata import Metadata
from perflog.runs.run import Clock, Metric, Outcome, Run, Skipped


class _Run(Struct, array_like=True):
    """A run without its log; ``machine``: its number among the machines of the part, -1 for none."""

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
    machine: int


class _Outcome(Struct, array_like=True):
    """The runs of a log, or the reason why it has none.

    ``by_bytes``: its texts stand as the characters of their bytes, since some are no UTF-8: names of files are in them.
    """

    runs: list[_Run]
    reason: str = ""
    failed: bool = False
    by_bytes: bool = False


class _Log(Struct, array_like=True):
    path: str
    size: int
    member: str
    given: str


#: The fields that both have; a test holds them to be all that a run has, but its log and its machine.
ALIKE = tuple(name for name in _Run.__struct_fields__ if name != "machine")
_ENCODER = msgspec.msgpack.Encoder()
_OUTCOME = msgspec.msgpack.Decoder(_Outcome)
_LOG = msgspec.msgpack.Decoder(_Log)


class Packer:
    """Makes bytes of outcomes; the machines that they name are kept once."""

    def __init__(self) -> None:
        self._machines: dict[int, tuple[int, Machine]] = {}

    def outcome(self, outcome: Outcome) -> bytes:
        """What became of a log."""
        if isinstance(outcome, Skipped):
            packed = _Outcome([], outcome.reason, outcome.failed)
        else:
            packed = _Outcome([self._run(run) for run in outcome])
        try:
            return _ENCODER.encode(packed)
        except UnicodeEncodeError:
            packed.by_bytes = True
            return _ENCODER.encode(_with_texts(msgspec.to_builtins(packed, builtin_types=(bytes,)), _by_bytes))

    @property
    def machines(self) -> tuple[Machine, ...]:
        """The machines of all outcomes packed so far, by their numbers."""
        return tuple(machine for _, machine in self._machines.values())

    def _run(self, run: Run) -> _Run:
        number = -1
        if run.machine is not None:  # known by identity: equal ones are kept for each folder
            number, _ = self._machines.setdefault(id(run.machine), (len(self._machines), run.machine))
        values = {name: getattr(run, name) for name in ALIKE}
        return _Run(**values, machine=number)


def packed_log(log: LogFile) -> bytes:
    """A log's name and size."""
    return _ENCODER.encode(_Log(_storable(log.path), log.size, _storable(log.member), _storable(log.given)))


def outcome_from(log: bytes, outcome: bytes, machines: Sequence[Machine]) -> tuple[LogFile, Outcome]:
    """A log and what became of it. The log counts as a pipe that was read: nothing looks for it on this machine.

    Raises:
        msgspec.MsgspecError, IndexError, UnicodeError: where the bytes are none.
    """
    packed = _LOG.decode(log)
    pipe = Pipe()
    pipe.taken = True
    found = LogFile(_path(packed.path), packed.size, _path(packed.member), _path(packed.given), pipe)
    return found, outcome_of(found, outcome, machines)


def outcome_of(log: LogFile, outcome: bytes, machines: Sequence[Machine]) -> Outcome:
    """What became of a log that is at hand.

    Raises:
        msgspec.MsgspecError, IndexError, UnicodeError: where the bytes are none.
    """
    content = _OUTCOME.decode(outcome)
    if content.by_bytes:
        plain = _with_texts(msgspec.msgpack.decode(outcome), _from_bytes)
        content = msgspec.convert(plain, _Outcome, builtin_types=(bytes,))
    if content.reason:
        return Skipped(log, content.reason, content.failed)
    return [_run_from(run, log, machines) for run in content.runs]


def _run_from(packed: _Run, log: LogFile, machines: Sequence[Machine]) -> Run:
    machine = machines[packed.machine] if packed.machine >= 0 else None
    return Run(log=log, machine=machine, **{name: getattr(packed, name) for name in ALIKE})


def _with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Plain data with every text in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list | tuple):
        return [_with_texts(item, change) for item in value]
    if isinstance(value, dict):
        return {_with_texts(key, change): _with_texts(item, change) for key, item in value.items()}
    return value


def _by_bytes(text: str) -> str:
    """A text as the characters of its bytes; ASCII stays as it is."""
    return text.encode("utf-8", "surrogatepass").decode("latin-1")


def _from_bytes(text: str) -> str:
    """The text that :func:`_by_bytes` was given."""
    return text.encode("latin-1").decode("utf-8", "surrogatepass")


def _storable(path: str) -> str:
    """A path whose bytes that are no UTF-8 stand as NUL and two digits, which no path holds."""
    path = str(path)  # an address of a store is a text of its own kind
    if path.isascii():
        return path
    return "".join(f"\0{ord(c) - 0xDC00:02x}" if "\udc80" <= c <= "\udcff" else c for c in path)


def _path(text: str) -> str:
    """The path that :func:`_storable` was given."""
    first, *others = text.split("\0")
    return first + "".join(chr(0xDC00 + int(other[:2], 16)) + other[2:] for other in others)
