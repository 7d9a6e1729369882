"""Runs as rows of a part: what many share is kept once, and a run's numbers stay packed until they are looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

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
    """The texts of a metric; ``key``: what the run calls it."""

    key: str
    name: str
    unit: str
    estimator: str
    reason: str
    parser: str
    definition: str
    excluded: tuple[str, ...]


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


class _MetricNumbers(Struct, array_like=True, gc=False):
    value: float | None
    used: int
    excluded: tuple[int, ...]
    first_line: int
    last_line: int
    first_step: float | None
    last_step: float | None
    time_per_step: float | None
    rounding: tuple[float, float] | None


class _Numbers(Struct, array_like=True, gc=False):
    """The numbers of a run; ``witnesses``: (measured, told, first line, last line); ``clock``: begin and end."""

    lines: int
    first_line: int
    last_line: int
    metrics: tuple[_MetricNumbers, ...]
    witnesses: tuple[tuple[float, float, int, int], ...]
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
    metrics = tuple(
        _OfMetric(key, m.name, m.unit, m.estimator, m.reason, m.parser, m.definition, tuple(m.excluded))
        for key, m in run.metrics.items()
    )
    clock, verdict = run.clock and run.clock[0], run.evidence
    if verdict is None:
        return _Texts(metrics, None, "", (), (), clock)
    witnesses = tuple(_OfWitness(w.name, w.about, w.unit, w.agreement, w.remark) for w in verdict.witnesses)
    return _Texts(metrics, witnesses, verdict.reason, verdict.doubts, verdict.remarks, clock)


def _numbers_of(run: Run) -> _Numbers:
    metrics = tuple(
        _MetricNumbers(
            m.value, m.used, tuple(m.excluded.values()), m.first_line, m.last_line, m.first_step, m.last_step,
            m.time_per_step, m.rounding,
        )
        for m in run.metrics.values()
    )  # fmt: skip
    witnesses = tuple((w.measured, w.told, *w.lines) for w in (run.evidence.witnesses if run.evidence else ()))
    clock = _NO_CLOCK if run.clock is None else run.clock[1:]
    return _Numbers(run.lines, run.first_line, run.last_line, metrics, witnesses, clock, run.digest)


class PackedRun(Run):
    """A run of a part: its metrics, evidence, clock and hash are made of packed numbers whenever they are asked for.

    So a run takes a tenth of the memory that its records would. ``value``: that of its throughput.
    """

    __slots__ = ("_numbers", "_texts", "value")
    value: float | None
    _numbers: bytes
    _texts: _Texts

    def __getattr__(self, name: str) -> Any:
        """A field that is packed, or was not set."""
        if name in ("value", "throughput"):  # of a run that is not packed: `dataclasses.replace` makes such
            throughput = self.metrics["throughput"]
            return throughput.value if name == "value" else throughput
        if name not in PACKED:
            raise AttributeError(name)
        texts, numbers = self._texts, _NUMBERS.decode(self._numbers)
        if name == "metrics":
            return _metrics_of(texts, numbers)
        if name == "evidence":
            return _evidence_of(texts, numbers)
        if name == "digest":
            return numbers.digest
        return None if texts.clock is None else (texts.clock, *numbers.clock)

    @property
    def throughput(self) -> Metric:
        """Its first number, without making the others."""
        texts = self._texts.metrics
        place = next(place for place, metric in enumerate(texts) if metric.key == "throughput")
        return _metric_of(texts[place], _NUMBERS.decode(self._numbers).metrics[place])

    def changed(self, **fields: Any) -> Run:
        """The run with other values of some fields, which stays packed where none of them was."""
        if not PACKED.isdisjoint(fields):
            return super().changed(**fields)
        other = PackedRun.__new__(PackedRun)
        for name in _SET:
            setattr(other, name, fields[name] if name in fields else getattr(self, name))
        return other


#: The slots that are set of a packed run.
_SET = (*IN_ROWS, "_numbers", "_texts", "value")


def _packed_run(
    log: LogFile, facts: _Facts, machine: Machine | None, label: str, notes: list[Note], texts: _Texts, packed: bytes
) -> PackedRun:
    """A run of its records.

    Raises:
        msgspec.MsgspecError, ValueError: where its numbers are none, or not as many as its texts tell of.
    """
    numbers = _NUMBERS.decode(packed)
    run = PackedRun.__new__(PackedRun)
    run.log, run.parser, run.framework, run.window = log, facts.parser, facts.framework, facts.window
    run.metadata, run.machine, run.label, run.notes = facts.metadata, machine, label, notes
    run.lines, run.first_line, run.last_line = numbers.lines, numbers.first_line, numbers.last_line
    run.value, run._texts, run._numbers = _value(texts, numbers), texts, packed
    return run


def _value(texts: _Texts, numbers: _Numbers) -> float | None:
    """The value of a run's throughput, once all its numbers have texts."""
    if len(numbers.witnesses) != len(texts.witnesses or ()):
        raise ValueError("its witnesses have more or fewer numbers than texts")
    value, there = None, False
    for of_metric, metric in zip(texts.metrics, numbers.metrics, strict=True):
        if len(of_metric.excluded) != len(metric.excluded):
            raise ValueError("a metric has more or fewer numbers than texts")
        if of_metric.key == "throughput":
            value, there = metric.value, True
    if not there:
        raise ValueError("a run has no throughput")
    return value


def _metrics_of(texts: _Texts, numbers: _Numbers) -> dict[str, Metric]:
    return {t.key: _metric_of(t, n) for t, n in zip(texts.metrics, numbers.metrics, strict=True)}


def _metric_of(t: _OfMetric, n: _MetricNumbers) -> Metric:
    excluded = dict(zip(t.excluded, n.excluded, strict=True)) if t.excluded else {}
    return Metric(
        t.name, n.value, t.unit, t.estimator, n.used, excluded, n.first_line, n.last_line, n.first_step, n.last_step,
        t.reason, t.parser, n.time_per_step, n.rounding, t.definition,
    )  # fmt: skip


def _evidence_of(texts: _Texts, numbers: _Numbers) -> Verdict | None:
    if texts.witnesses is None:
        return None
    witnesses = tuple(
        Witness(t.name, t.about, t.unit, n[0], n[1], t.agreement, n[2:], t.remark)
        for t, n in zip(texts.witnesses, numbers.witnesses, strict=True)
    )
    return Verdict(witnesses, texts.reason, texts.doubts, texts.remarks)


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


def _texts_from(data: bytes) -> _Texts | _Left:
    """The texts of a run, or why a log has none: the records have six fields and two."""
    is_left = len(msgspec.msgpack.decode(data.removeprefix(_BY_BYTES))) == len(_Left.__struct_fields__)
    record: _Texts | _Left = unpacked(data, _Left if is_left else _Texts)
    return record


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
