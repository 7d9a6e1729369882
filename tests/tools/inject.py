"""How many faults the evidence of a log finds, and how often it doubts a clean log: ``python -m tests.tools.inject``.

Every log of the fixtures and of the corpus that has a number and a witness is read anew with each fault in it. A fault
that leaves the number as it was (within 1 %) did no harm. Of the others, *could tell* counts those where a witness of
the clean log is at odds with the number now; what nothing in a log speaks of nobody can find.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from perflog.evidence.clock import NAME as CLOCK
from perflog.evidence.witness import Witness
from perflog.formats.catalog import Catalog
from perflog.formats.parser import Pattern, Value
from perflog.runs.run import Run
from tests.support import catalog
from tests.tools import faults
from tests.tools.faults import Subject
from tests.tools.laboratory import Laboratory, Result, copied, subjects

#: A number that moved by no more than this share is as it was.
SAME = 0.01
#: A witness is at odds with the number where the ratio between them moved by more than this share.
MOVED = 0.25


# ---------------------------------------------------------------- the faults

Fault = Callable[[Subject], str | None]


def _factor(of: Callable[[Subject], float | None], inverse: bool = False) -> Fault:
    def fault(subject: Subject) -> str | None:
        factor = of(subject)
        return None if not factor else faults.by_factor(subject, 1 / factor if inverse else factor)

    return fault


def _both(of: Callable[[Subject], float | None]) -> tuple[Fault, Fault]:
    return _factor(of), _factor(of, inverse=True)


FACTORS: Mapping[str, tuple[Fault, Fault]] = {
    "2 ×": _both(lambda _: 2.0),
    "devices ×": _both(lambda subject: float(subject.devices or 0)),
    "1,000 ×": _both(lambda _: 1000.0),
    "print interval ×": _both(lambda subject: subject.interval),
}
TEXTS: Mapping[str, tuple[Fault, ...]] = {
    "batch size of another start": (faults.failed_start,),
    "batch size of one device × devices": (faults.batch_of_all_devices,),
    "evaluation inside the time": (faults.evaluation_inside,),
    "evaluation between the lines": (faults.evaluation_between,),
    "running mean for the last value": (faults.running_mean,),
    "one step 50 × as long": (lambda subject: faults.long_step(subject, 50),),
    "a rank printed twice": (faults.doubled_rank,),
    "configuration cut": (faults.cut_configuration,),
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


def outcome(subject: Subject, result: Result | None, remarks_count: bool) -> tuple[str, bool]:
    """(what became of a faulty log, whether a witness could tell).

    Args:
        remarks_count: whether a new remark about a record, stamps or ranks is what the fault asks for.
    """
    if result is None:
        return "refused", True
    raw, run = result.raw.throughput, result.run
    could = could_tell(subject, run)
    if raw.value is not None and raw.unit == subject.unit and abs(raw.value / subject.value - 1) <= SAME:
        if run.throughput.value is None:
            return "refused though right", could
        return "no harm", could
    if run.throughput.value is None:
        return "refused", could or not (run.evidence and run.evidence.reason)
    if raw.unit != subject.unit:
        return "another unit", could
    remarked = remarks_count and bool(result.remarks - subject.remarks)
    return ("doubted" if result.doubted or remarked else "missed"), could


def could_tell(subject: Subject, run: Run) -> bool:
    """Whether a witness of the clean log stands otherwise to the number now, or is no longer heard."""
    now = {witness.name: witness for witness in run.evidence.witnesses} if run.evidence else {}
    rated = subject.measured.basis.is_rate and not subject.measured.basis.real_time
    return any(
        _at_odds(w, now.get(w.name))
        for w in subject.verdict.witnesses
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


@dataclass
class Row:
    """One line of the table, with the names of the logs of each column; ``said``: how many without harm are remarked."""

    remarks_count: bool
    said: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    names: dict[str, list[str]] = field(default_factory=dict)

    def add(self, subject: Subject, result: Result | None) -> None:
        became, could = outcome(subject, result, self.remarks_count)
        if became == "missed" and not could:
            became = "nothing could tell"
        self.counts[became] += 1
        self.said += became == "no harm" and result is not None and bool(result.remarks - subject.remarks)
        self.names.setdefault(became, []).append(subject.name)


COLUMNS = ("no harm", "another unit", "refused", "doubted", "missed", "nothing could tell", "refused though right")


def run_texts(
    lab: Laboratory, chosen: Sequence[Subject], kinds: Sequence[Fault], folder: Path, remarks_count: bool
) -> Row:
    row = Row(remarks_count)
    for number, fault in enumerate(kinds):
        place, faulty = folder / str(number), []
        for subject in chosen:
            text = fault(subject)
            if text is None:
                continue
            (place / subject.name).parent.mkdir(parents=True, exist_ok=True)
            (place / subject.name).write_bytes(text.encode("latin-1"))
            faulty.append(subject)
        results = lab.results(place, catalog()) if faulty else {}
        for subject in faulty:
            row.add(subject, results.get(subject.name))
        shutil.rmtree(place, ignore_errors=True)
    return row


def run_declared(
    lab: Laboratory, chosen: Sequence[Subject], change: Callable[[Value], Value | None], folder: Path
) -> Row:
    row = Row(remarks_count=False)
    affected = [s for s in chosen if change(s.measured.basis.value) is not None]
    affected = [s for s in affected if change is not _scope or (s.devices or 1) > 1]
    results = lab.results(folder, declared(catalog(), affected, change))
    for subject in affected:
        row.add(subject, results.get(subject.name))
    return row


def table(rows: Mapping[str, Row]) -> Iterator[str]:
    yield "| fault | logs | " + " | ".join(COLUMNS) + " | caught |"
    yield "|---|" + "--:|" * (len(COLUMNS) + 2)
    for name, row in rows.items():
        caught = row.counts["refused"] + row.counts["doubted"]
        of = caught + row.counts["missed"]
        share = f"{caught / of:.0%}" if of else "–"
        counts = " | ".join(str(row.counts[column]) for column in COLUMNS)
        yield f"| {name} | {sum(row.counts.values())} | {counts} | {share} |"


def clean_line(results: Mapping[str, Result]) -> str:
    numbers = [r for r in results.values() if r.raw.throughput.value is not None and r.run.evidence is not None]
    doubted = [n for n, r in results.items() if r in numbers and r.run.evidence and r.run.evidence.doubts]
    refused = [n for n, r in results.items() if r in numbers and r.run.evidence and r.run.evidence.reason]
    heard = sum(bool(r.run.evidence and r.run.evidence.witnesses) for r in numbers)
    names = "".join(f"\n  {n}" for n in [*doubted, *refused])
    return (f"clean logs with a number: {len(numbers)}, {heard} of them with a witness; doubted {len(doubted)}, "
            f"refused by the evidence {len(refused)}{names}")  # fmt: skip


def main() -> int:
    arguments_of = argparse.ArgumentParser(description=__doc__)
    arguments_of.add_argument("--names", metavar="COLUMN", help="name the logs of a column, such as 'missed'")
    shown = arguments_of.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "clean"
        lab = Laboratory(copied(folder))
        clean = lab.results(folder, catalog())
        chosen = list(subjects(folder, lab.given, clean))
        faulty = Path(scratch) / "faulty"
        rows = {name: run_texts(lab, chosen, kinds, faulty, False) for name, kinds in FACTORS.items()}
        rows |= {name: run_texts(lab, chosen, kinds, faulty, True) for name, kinds in TEXTS.items()}
        rows |= {name: run_declared(lab, chosen, change, folder) for name, change in DECLARED.items()}
    print(f"{len(chosen)} logs with a number and a witness")
    print("\n".join(table(rows)))
    between = rows["evaluation between the lines"]
    print(
        f"an evaluation between the lines: {between.counts['no harm']} numbers stay, {between.said} say how much time it took"
    )
    print(clean_line(clean))
    for name, row in rows.items():
        for log in row.names.get(shown.names or "", ()):
            print(f"{shown.names}: {name}: {log}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
