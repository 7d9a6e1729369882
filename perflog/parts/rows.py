"""Runs as rows of a part: what many share is kept once, and a run's numbers stay packed until they are looked at."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct, structs

from perflog.evidence.witness import About, Agreement, Verdict, Witness
from perflog.logs.find import LogFile, Pipe
from perflog.notes import Note
from perflog.runs.machine import Machine
from perflog.runs.metadata import Metadata
from perflog.runs.run import Metric, Outcome, Run, Skipped

# ----------------------------------------------------------------------------------------------------
# A run is four records that other runs share, its numbers, and its log.


class _Facts(Struct, array_like=True, frozen=True):
    """What runs of one configuration share; ``machine``: its number among the machines of the part, -1 for none."""

    parser: str
    framework: str
    window: str
    metadata: Metadata
    machine: int


class _OfMetric(Struct, array_like=True, frozen=True):
    """The texts of a metric; ``key``: what the run calls it; ``rounded``: whether it has bounds of its rounding."""

    key: str
    name: str
    unit: str
    estimator: str
    reason: str
    parser: str
    definition: str
    excluded: tuple[str, ...]
    rounded: bool


class _OfWitness(Struct, array_like=True, frozen=True):
    """The texts of a witness."""

    name: str
    about: About
    unit: str
    agreement: Agreement
    remark: str


class _Texts(Struct, array_like=True, frozen=True):
    """What stands beside a run's numbers; ``witnesses``: None for a run without evidence; ``clock``: its form."""

    metrics: tuple[_OfMetric, ...]
    witnesses: tuple[_OfWitness, ...] | None
    reason: str
    doubts: tuple[str, ...]
    remarks: tuple[str, ...]
    clock: str | None


class _Numbers(Struct, array_like=True, gc=False):
    """The numbers of a run.

    Attributes:
        shown: those that the JSON document of a run has, in its order (:func:`_shown_of`).
        times: the time per step of each metric.
        clock: its begin and end.
    """

    shown: list[int | float | None]
    times: list[float | None]
    clock: tuple[float, float]
    digest: bytes | None


class _Left(Struct, array_like=True, frozen=True):
    """Why a log has no run."""

    reason: str
    failed: bool


class Row(NamedTuple):
    """A row of a part: a run, or a log that has none. The numbers of shared records begin at 0 in each column.

    Attributes:
        position: the log's place among all logs; runs of one log have the same, and follow each other.
        facts, notes, texts, label: numbers of shared records; a log without a run has ``facts`` -1, and in ``texts``
            why that is so.
        numbers: of a run, packed.
    """

    position: int
    path: bytes
    member: bytes
    size: int
    given: int
    facts: int
    notes: int
    texts: int
    label: int
    numbers: bytes


#: The columns of rows that refer to shared records by their numbers.
SHARED = ("given", "facts", "notes", "texts", "label")
#: The fields of a run that stay packed in its numbers until they are asked for; a test holds all others to be in rows.
PACKED = frozenset({"metrics", "evidence", "clock", "digest"})
IN_ROWS = frozenset({
    "log", "parser", "framework", "window", "metadata", "machine", "label", "notes", "lines", "first_line", "last_line",
})  # fmt: skip
_ENCODER = msgspec.msgpack.Encoder()
_NUMBERS = msgspec.msgpack.Decoder(_Numbers)
#: Stands before packed data whose texts are the characters of their bytes, since some are no UTF-8: names of files are
#: in them. msgpack gives this byte no meaning.
_BY_BYTES = b"\xc1"
_NO_CLOCK = 0.0, 0.0


class Packer:
    """Makes rows of outcomes; the records and machines that they share are kept once.

    Attributes:
        records: of each column of :data:`SHARED`, the numbers of its records, which rise from 0.
    """

    def __init__(self) -> None:
        self.records: dict[str, dict[bytes, int]] = {column: {} for column in SHARED}
        self._machines: dict[int, tuple[int, Machine]] = {}

    @property
    def machines(self) -> tuple[Machine, ...]:
        """The machines of all outcomes packed so far, by their numbers."""
        return tuple(machine for _, machine in self._machines.values())

    def rows(self, position: int, log: LogFile, outcome: Outcome) -> Iterator[Row]:
        """What became of a log, a row a run."""
        where = position, _bytes_of(log.path), _bytes_of(log.member), log.size
        given = self._number("given", _bytes_of(log.given))
        if isinstance(outcome, Skipped):
            why = self._number("texts", packed(_Left(outcome.reason, outcome.failed)))
            yield Row(*where, given, -1, -1, why, -1, b"")
            return
        for run in outcome:
            yield Row(
                *where,
                given,
                self._number("facts", packed(self._facts(run))),
                self._number("notes", packed(run.notes)),
                self._number("texts", packed(_texts_of(run))),
                self._number("label", _bytes_of(run.label)),
                _ENCODER.encode(_numbers_of(run)),
            )

    def _number(self, column: str, record: bytes) -> int:
        known = self.records[column]
        return known.setdefault(record, len(known))

    def _facts(self, run: Run) -> _Facts:
        number = -1
        if run.machine is not None:  # known by identity: equal ones are kept for each folder
            number, _ = self._machines.setdefault(id(run.machine), (len(self._machines), run.machine))
        return _Facts(run.parser, run.framework, run.window, run.metadata, number)


def _texts_of(run: Run) -> _Texts:
    metrics = tuple(_texts_of_metric(key, metric) for key, metric in run.metrics.items())
    clock, verdict = run.clock and run.clock[0], run.evidence
    if verdict is None:
        return _Texts(metrics, None, "", (), (), clock)
    witnesses = tuple(_OfWitness(w.name, w.about, w.unit, w.agreement, w.remark) for w in verdict.witnesses)
    return _Texts(metrics, witnesses, verdict.reason, verdict.doubts, verdict.remarks, clock)


def _texts_of_metric(key: str, m: Metric) -> _OfMetric:
    excluded, is_rounded = tuple(m.excluded), m.rounding is not None
    return _OfMetric(key, m.name, m.unit, m.estimator, m.reason, m.parser, m.definition, excluded, is_rounded)


def _numbers_of(run: Run) -> _Numbers:
    clock = _NO_CLOCK if run.clock is None else run.clock[1:]
    return _Numbers([*_shown_of(run)], [metric.time_per_step for metric in run.metrics.values()], clock, run.digest)


def _shown_of(run: Run) -> Iterator[int | float | None]:
    """The numbers of a run, of its metrics and of its witnesses; lines that are not known are none."""
    yield from (run.lines, run.first_line, run.last_line)
    for m in run.metrics.values():
        yield from (m.value, m.used, *m.excluded.values(), m.first_line or None, m.last_line or None)
        yield from (m.first_step, m.last_step, *(m.rounding or ()))
    for witness in run.evidence.witnesses if run.evidence else ():
        yield from (witness.measured, witness.told, *witness.lines)


class Shape:
    """What tells how the numbers of runs are shown: their texts, and how many numbers stand where.

    Attributes:
        texts: all that a run's document holds beside its numbers, facts and notes.
        count: of the numbers that are shown.
        places: of each metric's name, where its numbers begin.
    """

    __slots__ = ("count", "places", "texts")

    def __init__(self, texts: _Texts) -> None:
        """Raises ValueError for a run without a throughput, or with two metrics of one name."""
        self.texts = texts
        self.places: dict[str, int] = {}
        at = 3
        for metric in texts.metrics:
            if metric.key in self.places:
                raise ValueError("a run has two metrics of one name")
            self.places[metric.key] = at
            at += _OF_METRIC + len(metric.excluded) + 2 * metric.rounded
        if "throughput" not in self.places:
            raise ValueError("a run has no throughput")
        self.count = at + _OF_WITNESS * len(texts.witnesses or ())

    def throughput(self, numbers: _Numbers) -> Metric:
        """A run's throughput, without making its other metrics."""
        place = [*self.places].index("throughput")
        return _metric_of(self.texts.metrics[place], numbers.shown, self.places["throughput"], numbers.times[place])

    def metrics(self, numbers: _Numbers) -> dict[str, Metric]:
        """A run's metrics."""
        of_all = zip(self.texts.metrics, self.places.values(), numbers.times, strict=True)
        return {texts.key: _metric_of(texts, numbers.shown, at, time) for texts, at, time in of_all}

    def evidence(self, numbers: _Numbers) -> Verdict | None:
        """What else a run's log says of its throughput."""
        texts = self.texts
        if texts.witnesses is None:
            return None
        values: Iterator[Any] = iter(numbers.shown[self.count - _OF_WITNESS * len(texts.witnesses) :])
        witnesses = tuple(_witness_of(text, values) for text in texts.witnesses)
        return Verdict(witnesses, texts.reason, texts.doubts, texts.remarks)


#: So many numbers has a metric beside those of what was excluded and of its rounding, and so many a witness.
_OF_METRIC, _OF_WITNESS = 6, 4


def _metric_of(t: _OfMetric, shown: list[Any], at: int, time: float | None) -> Metric:
    """A metric whose numbers begin at a place among all that are shown of its run."""
    behind = at + 2 + len(t.excluded)
    first_line, last_line, first_step, last_step = shown[behind : behind + 4]
    return Metric(
        t.name, shown[at], t.unit, t.estimator, shown[at + 1], dict(zip(t.excluded, shown[at + 2 :], strict=False)),
        first_line or 0, last_line or 0, first_step, last_step, t.reason, t.parser, time,
        (shown[behind + 4], shown[behind + 5]) if t.rounded else None, t.definition,
    )  # fmt: skip


def _witness_of(t: _OfWitness, values: Iterator[Any]) -> Witness:
    measured, told, lines = next(values), next(values), (next(values), next(values))
    return Witness(t.name, t.about, t.unit, measured, told, t.agreement, lines, t.remark)


class PackedRun(Run):
    """A run of a part: its metrics, evidence, clock and hash are made of packed numbers whenever they are asked for.

    So a run takes a tenth of the memory that its records would. ``value``: that of its throughput.
    """

    __slots__ = ("_numbers", "shape", "value")
    value: float | None
    shape: Shape
    _numbers: bytes

    def __getattr__(self, name: str) -> Any:
        """A field that is packed, or was not set."""
        if name == "value":  # of a run that is not packed: `dataclasses.replace` makes such
            return self.metrics["throughput"].value
        if name not in PACKED:
            raise AttributeError(name)
        shape, numbers = self.shape, _NUMBERS.decode(self._numbers)
        if name == "metrics":
            return shape.metrics(numbers)
        if name == "evidence":
            return shape.evidence(numbers)
        if name == "digest":
            return numbers.digest
        return None if shape.texts.clock is None else (shape.texts.clock, *numbers.clock)

    @property
    def throughput(self) -> Metric:
        """As of every run."""
        return self.shape.throughput(_NUMBERS.decode(self._numbers)) if self.is_packed else self.metrics["throughput"]

    @property
    def metric_names(self) -> Collection[str]:
        """As of every run."""
        return self.shape.places.keys() if self.is_packed else self.metrics.keys()

    @property
    def is_packed(self) -> bool:
        """Whether it is what its numbers tell."""
        return hasattr(self, "_numbers")

    def with_shown(self, shown: list[Any]) -> Run:
        """The run with something else in the place of each of its numbers that are shown."""
        numbers = structs.replace(_NUMBERS.decode(self._numbers), shown=shown)
        return self.changed(metrics=self.shape.metrics(numbers), evidence=self.shape.evidence(numbers))

    @property
    def shown(self) -> list[int | float | None]:
        """The numbers of its JSON document, in their order."""
        return _NUMBERS.decode(self._numbers).shown

    def changed(self, **fields: Any) -> Run:
        """The run with other values of some fields, which stays packed where none of them was."""
        if not PACKED.isdisjoint(fields):
            return super().changed(**fields)
        other = PackedRun.__new__(PackedRun)
        for name in _SET:
            setattr(other, name, fields[name] if name in fields else getattr(self, name))
        return other


#: The slots that are set of a packed run.
_SET = (*IN_ROWS, "_numbers", "shape", "value")


def _packed_run(
    log: LogFile, facts: _Facts, machine: Machine | None, label: str, notes: list[Note], shape: Shape, packed: bytes
) -> PackedRun:
    """A run of its records.

    Raises:
        msgspec.MsgspecError, ValueError: where its numbers are none, or not as many as its texts tell of.
    """
    numbers = _NUMBERS.decode(packed)
    shown: list[Any] = numbers.shown
    if len(shown) != shape.count or len(numbers.times) != len(shape.texts.metrics):
        raise ValueError("a run has more or fewer numbers than texts")
    run = PackedRun.__new__(PackedRun)
    run.log, run.parser, run.framework, run.window = log, facts.parser, facts.framework, facts.window
    run.metadata, run.machine, run.label, run.notes = facts.metadata, machine, label, notes
    run.lines, run.first_line, run.last_line = shown[:3]
    run.value, run.shape, run._numbers = shown[shape.places["throughput"]], shape, packed
    return run


# ----------------------------------------------------------------------------------------------------
# Rows out again.


class Unpacker:
    """Makes outcomes of the rows of one part."""

    def __init__(self, records: Mapping[str, Sequence[bytes]], machines: Sequence[Machine]) -> None:
        """``records``: of each column of :data:`SHARED`, in the order of their numbers.

        Raises:
            msgspec.MsgspecError, ValueError: where the bytes are no such records.
        """
        self._machines = machines
        self._known = [[_RECORDS[column](data) for data in records[column]] for column in SHARED]
        self._before = -1, LogFile("", 0)

    def outcomes(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[int, Run | Skipped]]:
        """(the position of a log, one of its runs or why it has none), a row each.

        Args:
            rows: what :class:`Row` names, a slice of the part's at a time.

        Raises:
            msgspec.MsgspecError, IndexError, ValueError, TypeError, AttributeError: where the rows are none that were
                written.
        """
        given, facts, notes, texts, labels = self._known
        for position, path, member, size, of_given, of_facts, of_notes, of_texts, of_label, numbers in rows:
            log = self._log(position, path, member, size, given[of_given])
            words = texts[of_texts]
            if of_facts < 0:
                yield position, Skipped(log, words.reason, words.failed)
                continue
            known = facts[of_facts]
            machine = self._machines[known.machine] if known.machine >= 0 else None
            yield position, _packed_run(log, known, machine, labels[of_label], notes[of_notes], words, numbers)

    def _log(self, position: int, path: bytes, member: bytes, size: int, given: str) -> LogFile:
        """A log, the same one for all its runs. It counts as a pipe that was read: nothing looks for it here."""
        if position != self._before[0]:
            log = LogFile(_text_of(path), size, _text_of(member) if member else "", given, _READ)
            self._before = position, log
        return self._before[1]


_READ = Pipe()
_READ.taken = True


def _bytes_of(text: str) -> bytes:
    """A path or label, whatever stands in it."""
    return str(text).encode("utf-8", "surrogatepass")  # an address of a store is a text of its own kind


def _text_of(data: bytes) -> str:
    return str(data, "utf-8", "surrogatepass")


def packed(record: Any) -> bytes:
    """A record as bytes, whatever stands in its texts."""
    try:
        return _ENCODER.encode(record)
    except UnicodeEncodeError:
        return _BY_BYTES + _ENCODER.encode(_with_texts(msgspec.to_builtins(record, builtin_types=(bytes,)), _by_bytes))


def unpacked(data: bytes, kind: Any) -> Any:
    """The record that :func:`packed` was given.

    Raises:
        msgspec.MsgspecError, UnicodeError: where the bytes are none.
    """
    if not data.startswith(_BY_BYTES):
        return msgspec.msgpack.decode(data, type=kind)
    plain = _with_texts(msgspec.msgpack.decode(data[1:]), _from_bytes)
    return msgspec.convert(plain, kind, builtin_types=(bytes,))


def _texts_from(data: bytes) -> Shape | _Left:
    """The texts of a run, or why a log has none: the records have six fields and two."""
    is_left = len(msgspec.msgpack.decode(data.removeprefix(_BY_BYTES))) == len(_Left.__struct_fields__)
    record: _Texts | _Left = unpacked(data, _Left if is_left else _Texts)
    return record if isinstance(record, _Left) else Shape(record)


_RECORDS: Mapping[str, Callable[[bytes], Any]] = {
    "given": _text_of,
    "facts": lambda data: unpacked(data, _Facts),
    "notes": lambda data: unpacked(data, list[Note]),
    "texts": _texts_from,
    "label": _text_of,
}


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
