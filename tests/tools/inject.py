"""How many faults of its logs perflog finds under each estimator: ``python -m tests.tools.inject``.

Every log of the fixtures and of the corpus that has a number is read anew with each fault in it: misreadings of the
measured numbers in the logs that have a witness of them, and what happens to logs in all. What an estimator says of the
clean log is the truth for it, where that is no factor from the total; where it is, the row of the clean logs counts it.

A number within 1 % is *harmless*; *given in another unit* is steps or one device's, which is true. One that is not is
*refused* (there is none), *doubted* (something is said against it, by a sentence that the clean log does not have and
whose other number, where it has one, is nearer to the truth), *off* by less than a factor of 1.5 without a word, or by
such a factor: *missed*, or *nothing could tell* where no witness of the clean log stands otherwise to the number now. A
log that has more runs than there were is *split*, whatever their numbers are.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from perflog.evidence.clock import NAME as CLOCK
from perflog.evidence.witness import Witness
from perflog.formats.catalog import Catalog
from perflog.formats.parser import Pattern, Value
from perflog.runs.run import Run
from perflog.settings.options import ESTIMATORS
from tests.support import catalog
from tests.tools import faults, faults_of_logs
from tests.tools.laboratory import A_FACTOR, Fault, Faulty, Laboratory, Made, Result, Subject, copied, subjects

#: A number that moved by no more than this share is as it was.
SAME = 0.01
#: A witness is at odds with the number where the ratio between them moved by more than this share.
MOVED = 0.25
#: ``--quick`` puts the faults in one of so many logs, where it names no other number.
QUICK = 8
#: A log without a fault.
CLEAN = "none"


# ---------------------------------------------------------------- the faults


class Kind(NamedTuple):
    """Faults of one kind.

    Attributes:
        make: the faults; each log is read once with each that it can have.
        everywhere: whether it is put in the logs without a witness too.
        remarks_count: whether remarks about a record, stamps or ranks, which give no other number, are doubts of it.
        of_facts: whether it is a fault of what is known of a run, and not of its number.
    """

    make: Sequence[Fault]
    everywhere: bool = False
    remarks_count: bool = False
    of_facts: bool = False


def _factor(of: Callable[[Subject], float | None]) -> Kind:
    def fault(subject: Subject, inverse: bool) -> str | None:
        factor = of(subject)
        return None if not factor else faults.by_factor(subject, 1 / factor if inverse else factor)

    return Kind([partial(fault, inverse=False), partial(fault, inverse=True)])


def _everywhere(*make: Fault) -> Kind:
    return Kind(make, everywhere=True)


KINDS: Mapping[str, Kind] = {
    "2 ×": _factor(lambda _: 2.0),
    "devices ×": _factor(lambda subject: float(subject.devices or 0)),
    "1,000 ×": _factor(lambda _: 1000.0),
    "print interval ×": _factor(lambda subject: subject.interval),
    "batch size of another start": Kind([faults.failed_start]),
    "batch size of one device × devices": Kind([faults.batch_of_all_devices]),
    "running mean for the last value": Kind([faults.running_mean]),
    "configuration cut": Kind([faults.cut_configuration]),
    "a rank printed twice": Kind([faults.doubled_rank], remarks_count=True),
    "evaluation inside a record": Kind([faults.evaluation_inside], True, True),
    "evaluation between the lines": Kind([faults.evaluation_between], True, True),
    "one step 50 × as long": Kind([partial(faults.long_step, times=50)], True, True),
    "slow last record, 60 ×": Kind([faults.slow_last], True, True),
    "one line lost, at each tenth": Kind(
        [partial(faults_of_logs.line_lost, share=n / 10) for n in range(1, 10)], True, True
    ),
    "bar of epochs around": _everywhere(faults_of_logs.outer_bar),
    "bar of each epoch": _everywhere(faults_of_logs.bar_of_an_epoch),
    "bar of each shard": _everywhere(faults_of_logs.bar_of_a_shard),
    "clock in whole seconds": _everywhere(faults_of_logs.coarse_clock),
    "clock set back": Kind([faults_of_logs.set_back, faults_of_logs.begun_anew], True, True),
    "resume, with the summary of all": _everywhere(faults_of_logs.resumed),
    "summary 2 × (its own account)": _everywhere(
        partial(faults_of_logs.summary_times, times=2), partial(faults_of_logs.summary_times, times=0.5)
    ),
    "summary of an evaluation behind it": _everywhere(faults_of_logs.second_summary),
    "columns cut": _everywhere(
        *(partial(faults_of_logs.cut_columns, width=n) for n in (60, 80, 90, 100, 120, 150)),
        faults_of_logs.cut_in_number,
    ),
    "defaults of features that are off": Kind([faults_of_logs.defaults], True, of_facts=True),
}


def of_pairs(chosen: Sequence[Subject]) -> Mapping[str, Kind]:
    """The faults that two logs make together."""
    partner = {subject.name: other for subject, other in faults_of_logs.partners(chosen)}

    def together(subject: Subject, how: Callable[[Subject, Subject], Faulty | None]) -> Faulty | None:
        return how(subject, partner[subject.name]) if subject.name in partner else None

    return {
        "another run inside": _everywhere(partial(together, how=faults_of_logs.inside)),
        "two processes' blocks of 4 kB": _everywhere(partial(together, how=faults_of_logs.mixed)),
    }


def _scope(value: Value) -> Value | None:
    if value.quantity != "rate":
        return None
    return replace(value, scope="device" if value.scope == "job" else "job")


def _unit(value: Value) -> Value | None:
    if value.quantity == "rate":
        return replace(value, unit=f"K{value.unit}") if value.unit and value.unit[:1] not in "kKmM" else None
    if value.quantity in ("step_time", "interval_time", "elapsed") and value.unit in ("s", "", "ms"):
        return replace(value, unit="s" if value.unit == "ms" else "ms")
    return None


def _interval(value: Value) -> Value | None:
    other = {"step_time": "interval_time", "interval_time": "step_time"}.get(value.quantity)
    return replace(value, quantity=other) if other and value.span == "interval" else None


def _span(value: Value) -> Value | None:
    if value.quantity not in ("rate", "step_time") or value.span not in ("interval", "cumulative"):
        return None
    return replace(value, span="cumulative" if value.span == "interval" else "interval")


DECLARED: Mapping[str, Callable[[Value], Value | None]] = {
    "scope × N (declared)": _scope,
    "unit ms for s (declared)": _unit,
    "interval × k (declared)": _interval,
    "span: mean, last value (declared)": _span,
}


def declared(formats: Catalog, chosen: Sequence[Subject], change: Callable[[Value], Value | None]) -> Catalog:
    """The catalogue with the measured values of all subjects declared differently."""
    wanted = {(s.measured.pattern.key, s.measured.basis.value.group) for s in chosen}

    def pattern(old: Pattern) -> Pattern:
        values = [(change(v) or v) if (old.key, v.group) in wanted else v for v in old.values]
        return replace(old, values=tuple(values))

    parsers = tuple(replace(p, patterns=tuple(map(pattern, p.patterns)), own=True) for p in formats.parsers)
    return Catalog(parsers, formats.path_patterns)


# ---------------------------------------------------------------- what became of them

#: What becomes of a faulty log, the worst first.
COLUMNS = (
    "split", "missed", "nothing could tell", "off", "doubted", "refused", "refused though right", "another unit", "harmless",
)  # fmt: skip


def became(subject: Subject, fault: Faulty, result: Result | None, kind: Kind, estimator: str) -> str:
    """What became of a faulty log under an estimator: the worst of its runs (:data:`COLUMNS`)."""
    made = result.runs.get(estimator, ()) if result is not None else ()
    if result is None or not made:
        return "refused"
    if kind.of_facts:
        return "harmless" if _same_facts(subject.clean["total"].run, made[-1].run) else "missed"
    truths = [(subject.truth(estimator) or subject.value) * fault.times]
    if fault.also is not None:
        truths.append(fault.also.truth(estimator) or fault.also.value)
    of_runs = {_of_run(subject, truths, of_one, kind, estimator, result) for of_one in made}
    most = subject.runs + (2 * fault.also.runs if fault.also is not None else 0)
    if len(made) > most:
        of_runs.add("split")
    return next(column for column in COLUMNS if column in of_runs)


def _same_facts(clean: Run, faulty: Run) -> bool:
    """Whether the same is known of a run, but for a precision that nothing told before."""
    before, now = dict(clean.values), dict(faulty.values)
    if "precision" not in before and now.get("precision") == "fp32":
        now.pop("precision")
    return before == now


def _of_run(subject: Subject, truths: Sequence[float], made: Made, kind: Kind, estimator: str, result: Result) -> str:
    raw = made.raw.throughput if made.raw is not None else made.run.throughput
    if made.value is None:
        right = raw.value is not None and raw.unit == subject.unit and _error(raw.value, truths) <= SAME
        return "refused though right" if right else "refused"
    if made.run.throughput.unit != subject.unit:
        return "another unit"
    if _error(made.value, truths) <= SAME:
        return "harmless"
    if is_doubted(subject, truths, made, kind, estimator):
        return "doubted"
    if _error(made.value, truths) < A_FACTOR - 1:
        return "off"
    return "missed" if could_tell(subject, made, estimator, result) else "nothing could tell"


def _error(value: float, truths: Sequence[float]) -> float:
    """By how much a number is off the nearest truth, upwards or downwards: 0.5 is half as much again or a third less."""
    return min(math.exp(abs(math.log(value / truth))) for truth in truths) - 1 if value > 0 else math.inf


def is_doubted(subject: Subject, truths: Sequence[float], made: Made, kind: Kind, estimator: str) -> bool:
    """Whether something is said against a number that is wrong, and not of something else.

    A doubt that gives another number is one where that is nearer to the truth; a remark without one counts where the
    fault is of its kind and the clean log has none like it.
    """
    clean = (
        {_wordings(doubt.text) for doubt in subject.clean[estimator].doubts} if estimator in subject.clean else set()
    )
    for doubt in made.doubts:
        if doubt.other is not None and doubt.other > 0:
            if _error(doubt.other, truths) < _error(made.value or 0.0, truths):
                return True
        elif kind.remarks_count and _wordings(doubt.text) not in clean:
            return True
    return False


def _wordings(text: str) -> str:
    """A sentence without its numbers."""
    return "".join(letter for letter in text if not letter.isdigit())


def could_tell(subject: Subject, made: Made, estimator: str, result: Result) -> bool:
    """Whether a witness of the clean log stands otherwise to the number now, or the total does."""
    total = result.runs["total"][-1].run.throughput if result.runs.get("total") else None
    value = total.value if total is not None and estimator != "total" else None
    if value and made.value and _error(made.value, [value]) >= A_FACTOR - 1:
        return True
    verdict = made.run.evidence
    now = {witness.name: witness for witness in verdict.witnesses} if verdict else {}
    rated = subject.measured.basis.is_rate and not subject.measured.basis.real_time
    return any(
        _at_odds(w, now.get(w.name))
        for w in (subject.verdict.witnesses if subject.verdict is not None else ())
        if w.agreement in ("agrees", "slower")
        # a clock that speaks of the printed time beside a rate knows nothing of the rate
        and not (rated and w.name == CLOCK and w.about == "time per step" and w.name not in now)
    )


def _at_odds(clean: Witness, faulty: Witness | None) -> bool:
    if faulty is None:
        return True
    if min(clean.measured, clean.told, faulty.measured, faulty.told) <= 0:
        return True
    moved = (faulty.told / faulty.measured) / (clean.told / clean.measured)
    return not 1 / (1 + MOVED) <= moved <= 1 + MOVED


# ---------------------------------------------------------------- the tables


@dataclass
class Row:
    """What became of the logs with one fault, by estimator and column: their names, a log once for each fault."""

    names: dict[str, defaultdict[str, list[str]]] = field(
        default_factory=lambda: {estimator: defaultdict(list) for estimator in ESTIMATORS}
    )

    def add(self, subject: Subject, fault: Faulty, result: Result | None, kind: Kind, place: str = "") -> None:
        for estimator in ESTIMATORS:
            if subject.truth(estimator) is not None:
                column = became(subject, fault, result, kind, estimator)
                self.names[estimator][column].append(f"{subject.name}{place}")

    def count(self, estimator: str) -> Counter[str]:
        return Counter({column: len(names) for column, names in self.names[estimator].items()})


def injected(lab: Laboratory, chosen: Sequence[Subject], kind: Kind, folder: Path, kept: Path | None) -> Row:
    row = Row()
    able = [subject for subject in chosen if kind.everywhere or subject.is_witnessed]
    for number, fault in enumerate(kind.make):
        became_of = lab.with_fault(able, fault, (kept or folder) / str(number), keep=kept is not None)
        mark = f" ({number + 1})" if len(kind.make) > 1 else ""
        for subject in able:
            if subject.name in became_of:
                row.add(subject, *became_of[subject.name], kind, mark)
    return row


def redeclared(
    lab: Laboratory, chosen: Sequence[Subject], change: Callable[[Value], Value | None], folder: Path
) -> Row:
    row = Row()
    affected = [s for s in chosen if s.is_witnessed and change(s.measured.basis.value) is not None]
    affected = [s for s in affected if change is not _scope or (s.devices or 1) > 1]
    results = lab.results(folder, declared(catalog(), affected, change), [subject.name for subject in affected])
    for subject in affected:
        row.add(subject, Faulty(""), results.get(subject.name), Kind([]))
    return row


def unharmed(chosen: Sequence[Subject], results: Mapping[str, Result]) -> Row:
    """The clean logs: what an estimator gives, beside the total; and those whose number the evidence refuses."""
    row = Row()
    for name, result in results.items():
        for estimator, of_one in result.runs.items():
            verdict = of_one[-1].run.evidence
            if of_one[-1].value is None and verdict is not None and verdict.reason:
                row.names[estimator]["refused"].append(name)
    for subject in chosen:
        for estimator, made in subject.clean.items():
            if made.value is None:
                continue
            if made.run.throughput.unit != subject.unit:
                column = "another unit"
            elif subject.truth(estimator) is None:
                column = "doubted" if is_doubted(subject, [subject.value], made, Kind([]), "") else "missed"
            else:
                verdict = made.run.evidence
                column = "doubted" if verdict is not None and verdict.doubts else "harmless"
            row.names[estimator][column].append(subject.name)
    return row


def of_clean(row: Row, chosen: Sequence[Subject]) -> str:
    """How many of the clean logs with a number are doubted, refused by the evidence, and marked by a note that moves it."""
    count = row.count("total")
    marked = sum(any(doubt.other is not None for doubt in subject.clean["total"].doubts) for subject in chosen)
    return (
        f"clean logs with a number by the total: {len(chosen)}; a witness doubts {count['doubted']} "
        f"({count['doubted'] / len(chosen):.1%}), the evidence refuses {count['refused']}, another number stands beside "
        f"{marked} ({marked / len(chosen):.1%})"
    )


def shares(rows: Mapping[str, Row]) -> Iterator[str]:
    """By fault and estimator: errors by a factor that are refused or doubted, of all that something could tell."""
    yield "| fault | " + " | ".join(ESTIMATORS) + " |"
    yield "|---|" + "--:|" * len(ESTIMATORS)
    yield from (share(name, row) for name, row in rows.items())
    every = Row()
    for row in (row for name, row in rows.items() if name != CLEAN):
        for estimator, columns in row.names.items():
            for column, names in columns.items():
                every.names[estimator][column] += names
    yield share("all faults", every)


def share(name: str, row: Row) -> str:
    """A line of the table of shares: a dash where no number is wrong by a factor, nothing where there is no log."""
    cells = []
    for estimator in ESTIMATORS:
        count = row.count(estimator)
        missed = count["missed"] + count["split"]
        of = missed + count["refused"] + count["doubted"]
        cells.append(f"{(of - missed) / of:.1%} of {of}" if of else f"– ({sum(count.values())})" if count else "")
    return f"| {name} | " + " | ".join(cells) + " |"


def table(rows: Mapping[str, Row], estimator: str) -> Iterator[str]:
    """What became of the logs with each fault under one estimator."""
    shown = tuple(reversed(COLUMNS))
    yield f"| fault | {estimator} | " + " | ".join(shown) + " |"
    yield "|---|" + "--:|" * (len(shown) + 1)
    for name, row in rows.items():
        count = row.count(estimator)
        if count:
            yield f"| {name} | {sum(count.values())} | " + " | ".join(str(count[column]) for column in shown) + " |"


def examples(rows: Mapping[str, Row], columns: Sequence[str], most: int | None) -> Iterator[str]:
    """The logs of some columns, by fault; estimators with the same logs together."""
    for name, row in rows.items():
        for column in columns:
            of_logs: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
            for estimator in ESTIMATORS:
                if row.names[estimator][column]:
                    of_logs[tuple(row.names[estimator][column])].append(estimator)
            for logs, estimators in of_logs.items():
                more = f" and {len(logs) - most} more" if most is not None and len(logs) > most else ""
                yield f"{name}: {column} ({', '.join(estimators)}), {len(logs)}: {'; '.join(logs[:most])}{more}"


def made_rows(quick: int, only: str, kept: Path | None) -> dict[str, Row]:
    """What became of the logs with each fault; each row is shown when it is made."""
    rows: dict[str, Row] = {}

    def add(name: str, row: Row) -> None:
        rows[name] = row
        print(share(name, row), file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as scratch:
        folder, faulty = Path(scratch) / "clean", Path(scratch) / "faulty"
        lab = Laboratory(copied(folder))
        clean = lab.results(folder, catalog())
        everything = list(subjects(folder, lab.given, clean))
        chosen = everything[::quick]
        add(CLEAN, unharmed(everything, clean))
        print(of_clean(rows[CLEAN], everything))
        for name, kind in {**KINDS, **of_pairs(everything)}.items():
            if only in name:
                add(name, injected(lab, chosen, kind, faulty, kept and kept / name))
        for name, change in DECLARED.items():
            if only in name:
                add(name, redeclared(lab, chosen, change, folder))
    return rows


def main() -> int:
    arguments_of = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments_of.add_argument("--quick", nargs="?", type=int, const=QUICK, default=1, help=f"one of N logs, of {QUICK}")
    arguments_of.add_argument("--only", metavar="WORDS", default="", help="the faults whose name holds these words")
    arguments_of.add_argument(
        "--names", metavar="COLUMN", action="append", help="name all logs of a column, as 'missed'"
    )
    arguments_of.add_argument("--keep", metavar="FOLDER", type=Path, help="keep the faulty logs, by fault and number")
    given = arguments_of.parse_args()
    begun = time.monotonic()
    rows = made_rows(given.quick, given.only, given.keep)
    print(f"{time.monotonic() - begun:.0f} s")
    print("\n".join(shares(rows)))
    for estimator in ESTIMATORS:
        print("\n".join(["", *table(rows, estimator)]))
    print("\n".join(["", *examples(rows, given.names or ("split", "missed"), None if given.names else 5)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
