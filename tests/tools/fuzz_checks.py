"""What must hold of every mutated log, and what was tried and found (see :mod:`tests.tools.fuzz`)."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perflog.extraction import Extraction
from tests.tools.fuzz_seeds import Said, Seed
from tests.tools.mutations import MUTATIONS, Mutation

#: A number that moved by more than this factor without a word is absurd, whatever was done to the log.
ABSURD = 1000.0


@dataclass(frozen=True, slots=True)
class Mutant:
    """A mutated log: the two logs that it was made of, what was done, and its bytes."""

    seed: Seed
    other: Seed
    mutation: Mutation
    data: bytes

    def may_say(self, given: int) -> dict[str, list[float]]:
        """The throughputs that it may have, by unit; ``given``: which of the options."""
        values = {unit: list(numbers) for unit, numbers in self.seed.said[given].values.items()}
        for unit, numbers in self.other.said[given].values.items() if self.mutation.two else ():
            values.setdefault(unit, []).extend(numbers)
        return values


#: What a log's bytes say under the mutant's path.
Reread = Callable[[bytes], Said]


def faults_of(mutant: Mutant, said: Said, given: int, reread: Reread) -> Iterator[tuple[str, str]]:
    """(kind, words) of what should not be.

    ``reread``: the other log's facts may come of its path, which a mutant does not have: it is read once more under the
    mutant's own.
    """
    if said.fault.startswith("internal error"):
        yield "exception", said.fault
    for unit, numbers in said.values.items():
        for number in numbers:
            if not (math.isfinite(number) and number > 0):
                yield "no number", f"{number!r} {unit}"
    unharmed = mutant.seed.said[given]
    if said.kinds - unharmed.kinds or said.unread > unharmed.unread or said.fault:
        return
    found = list(_moved(mutant.may_say(given), said, mutant.mutation))
    if found and mutant.mutation.two:
        values = mutant.may_say(given)
        for unit, numbers in reread(mutant.other.data).values.items():
            values.setdefault(unit, []).extend(numbers)
        found = list(_moved(values, said, mutant.mutation))
    yield from found


def _moved(may_say: Mapping[str, Sequence[float]], said: Said, mutation: Mutation) -> Iterator[tuple[str, str]]:
    """Numbers that are not the log's own, of which nothing new is said; another unit is something that is said.

    A number is the log's own where the rounding that is said of it leaves it so.
    """
    for unit, numbers in said.values.items():
        own = may_say.get(unit, ())
        bounds = said.bounds.get(unit) or [(number, number) for number in numbers]
        for number, (low, high) in zip(numbers, bounds, strict=True) if own else ():
            if any(low <= value <= high for value in own):
                continue
            ratio = min((number / value for value in own), key=lambda ratio: abs(math.log(ratio)))
            words = f"{number:.6g} {unit} for {', '.join(f'{value:.6g}' for value in own[:4])}"
            if not 1 / ABSURD < ratio < ABSURD and not mutation.steady:
                yield "absurd", words
            elif mutation.keeps is not None and abs(ratio - 1) > mutation.keeps:
                yield "changed", words


def metric_faults(extraction: Extraction) -> Iterator[tuple[str, str, str]]:
    """(folder, kind, words): no metric of a run or a case may be infinite or not a number, whatever it is called."""
    for run in extraction.runs:
        for metric in run.metrics.values():
            numbers = (metric.value, metric.time_per_step, *(metric.rounding or ()))
            if any(number is not None and not math.isfinite(number) for number in numbers):
                yield run.log.given, "no number", f"{metric.name} {numbers}"
    for case in extraction.cases:
        for summary in case.metrics.values():
            if summary.value is not None and not math.isfinite(summary.value):
                yield case.runs[0].log.given, "no number", f"{summary.name} of the case: {summary.value}"


def differences(together: Said, alone: Said) -> Sequence[str]:
    """In what a log says something else when it is read by itself."""
    one, other = ({unit: sorted(numbers) for unit, numbers in said.values.items()} for said in (together, alone))
    return [f"{one} together, {other} alone"] if one != other else []


# ---------------------------------------------------------------- what was tried and what was found


@dataclass(slots=True)
class Tally:
    """What was tried and what was found, by mutation.

    Attributes:
        tried: logs; ``numbers``: those with a throughput.
        found: what should not be, by mutation and kind; ``lines``: the same in words, with the batch of each.
        also: what else was tried.
        seconds: the processor time that it took.
    """

    tried: Counter[str] = field(default_factory=Counter)
    numbers: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    also: Counter[str] = field(default_factory=Counter)
    lines: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, other: Tally) -> None:
        for mine, theirs in ((self.tried, other.tried), (self.numbers, other.numbers), (self.found, other.found),
                             (self.also, other.also)):  # fmt: skip
            mine.update(theirs)
        self.lines += other.lines
        self.seconds += other.seconds

    def report(self, batch: str, mutation: str, kind: str, words: str, place: str) -> None:
        """Note something that should not be."""
        self.found[f"{mutation}|{kind}"] += 1
        self.lines.append(f"batch {batch} {place}: {mutation}: {kind}: {words}")

    def summary(self) -> str:
        """So many logs and findings in one line."""
        rate = self.tried.total() / self.seconds if self.seconds else 0.0
        return (
            f"{self.tried.total()} logs, {self.numbers.total()} with a number, {self.found.total()} findings, "
            f"{rate:.0f} logs per second of processor time"
        )


def table(tally: Tally) -> Iterator[str]:
    """The table of a run, in Markdown."""
    kinds = sorted({key.split("|")[1] for key in tally.found})
    yield "| group | mutation | logs | with a number | " + "".join(f"{kind} | " for kind in kinds)
    yield "|---|---|--:|--:|" + "--:|" * len(kinds)
    for mutation in MUTATIONS:
        counts = "".join(f"{tally.found[f'{mutation.name}|{kind}']} | " for kind in kinds)
        yield (
            f"| {mutation.group} | {mutation.name} | {tally.tried[mutation.name]} | {tally.numbers[mutation.name]} "
            f"| {counts}"
        )
    totals = "".join(f"{sum(n for key, n in tally.found.items() if key.endswith(f'|{kind}'))} | " for kind in kinds)
    yield f"| | all | {tally.tried.total()} | {tally.numbers.total()} | {totals}"


def load(state: Path | None, seed: int, together: int) -> tuple[int, Tally]:
    """(the next batch, the counts so far) of a state's file; nothing where there is none.

    Raises:
        SystemExit: where the file is of another seed, or its batches were of another size.
    """
    if state is None or not state.is_file():
        return 0, Tally()
    kept = json.loads(state.read_text())
    if (kept["seed"], kept["together"]) != (seed, together):
        raise SystemExit(
            f"{state} counts batches of {kept['together']} logs with seed {kept['seed']}, not of {together} with seed "
            f"{seed}: name that seed, or another file"
        )
    counts = [Counter(kept[name]) for name in ("tried", "numbers", "found", "also")]
    return kept["next"], Tally(counts[0], counts[1], counts[2], counts[3], kept["lines"], kept["seconds"])


def keep(state: Path, seed: int, together: int, following: int, tally: Tally) -> None:
    """Write the counts; the file is always whole, the old or the new one."""
    document: Mapping[str, object] = {
        "seed": seed, "together": together, "next": following, "tried": tally.tried, "numbers": tally.numbers,
        "found": tally.found, "also": tally.also, "lines": tally.lines, "seconds": tally.seconds,
    }  # fmt: skip
    new = state.with_suffix(".new")
    new.write_text(json.dumps(document))
    new.replace(state)
