"""What must hold of every mutated log (see :mod:`tests.tools.fuzz`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from perflog.extraction import Extraction
from tests.tools.fuzz_seeds import Said, Seed
from tests.tools.mutations import Mutation

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
