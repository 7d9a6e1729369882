"""A witness: what else in the log speaks of the number, and how far it agrees."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from perflog.notes import LEADS_NOTHING, Note

#: *agrees*: within the tolerance. *slower*: the witness leaves room for work beside the measured steps, as evaluation
#: or saving make it. *doubts*: it differs by more than any such cause explains well. *contradicts*: by a factor, or
#: the other way round than any such cause could. *silent*: it is there and tells nothing.
Agreement = Literal["agrees", "slower", "doubts", "contradicts", "silent"]
About = Literal["time per step", "time of the run", "work per step", "throughput"]
#: Both are of the time that steps take: the one witness settles what the other contradicts.
_TIMES = frozenset({"time per step", "time of the run"})

#: Misreadings of unit, scope or coverage lie near one of these, within :data:`NEAR`.
FACTORS = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 10.0, 100.0, 1000.0, 60.0, 3600.0)
NEAR = 0.03
#: Two numbers that differ by less are slightly apart; beyond :data:`MOST_OUTSIDE` they are far apart.
SMALL = 0.05
#: Where even the stretches with the fewest pauses take so many times as long by a clock, more than a third of the time
#: of each lies outside what the lines measure: no evaluation now and then does that.
MOST_OUTSIDE = 1.5


@dataclass(frozen=True, slots=True)
class Witness:
    """One statement of the log beside the measurements.

    Attributes:
        name: who speaks, in words.
        about: which quantity both tell.
        unit: of ``measured``, what the measurements say, and of ``told``, what the witness says.
        lines: the first and the last line that the comparison stands on.
        remark: a sentence for the reader, empty where the numbers say all.
    """

    name: str
    about: About
    unit: str
    measured: float
    told: float
    agreement: Agreement
    lines: tuple[int, int]
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What follows from all witnesses: a reason to refuse the number, doubts about it, and what is said beside it."""

    witnesses: tuple[Witness, ...] = ()
    reason: str = ""
    doubts: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def corroborated(self) -> bool:
        return any(witness.agreement == "agrees" for witness in self.witnesses)


def near_factor(ratio: float, factors: Iterable[float]) -> float:
    """The factor above 1 that a ratio, or its inverse, lies near; 0 for none."""
    upward = ratio if ratio >= 1 else 1 / ratio if ratio > 0 else float("inf")
    for factor in factors:
        if factor > 1.5 and abs(upward / factor - 1) <= NEAR:
            return factor
    return 0.0


def judged(witnesses: Sequence[Witness]) -> Verdict:
    """The verdict: a contradiction refuses the number unless another witness of the same quantity agrees with it."""
    contradictions = [witness for witness in witnesses if witness.agreement == "contradicts"]
    unsettled = [witness for witness in contradictions if not _settled(witness, witnesses)]
    return Verdict(
        witnesses=tuple(witnesses),
        reason="; ".join(sentence(witness) for witness in unsettled[:2]),
        doubts=tuple(dict.fromkeys(sentence(witness) for witness in doubting(witnesses))),
        remarks=tuple(dict.fromkeys(witness.remark for witness in witnesses if witness.remark)),
    )


def doubting(witnesses: Sequence[Witness]) -> list[Witness]:
    """The witnesses that speak against a number without refusing it."""
    settled = [w for w in witnesses if w.agreement == "contradicts" and _settled(w, witnesses)]
    return [witness for witness in witnesses if witness.agreement == "doubts"] + settled


def note_of(witness: Witness, decided: bool) -> Note:
    """What a witness holds against a number, with how far the number would move.

    Of the work of a step it is not known which of its parts is another one.

    Args:
        decided: whether another witness agrees with the number.
    """
    faster = witness.told / witness.measured if witness.measured > 0 and witness.told > 0 else math.nan
    if witness.about == "work per step" or not 0 < faster < math.inf:
        return Note(sentence(witness), "number")
    move = (faster if witness.about == "throughput" else 1 / faster) - 1
    if decided and abs(move) >= LEADS_NOTHING:  # the witness that agrees speaks for a few per cent, and against this
        return Note(sentence(witness))
    return Note(sentence(witness), "number", move, label=f"by {witness.name}", undecided=True)


def note_against(witness: Witness) -> Note:
    """What the measurements hold against a rate of the program's own, with how far that rate would move to theirs."""
    faster = witness.measured / witness.told
    move = (faster if witness.about == "throughput" else 1 / faster) - 1
    return Note(sentence(witness), "number", move, label="by the measurements", undecided=True)


def _settled(contradiction: Witness, witnesses: Iterable[Witness]) -> bool:
    """Whether a witness of the very quantity, or of the throughput as a whole, agrees with the measurements."""
    abouts = {contradiction.about, "throughput", *(_TIMES if contradiction.about in _TIMES else ())}
    return any(witness.agreement == "agrees" and witness.about in abouts for witness in witnesses)


def sentence(witness: Witness) -> str:
    """What a witness holds against the measurements, with both numbers, in words by how much they differ."""
    first, last = witness.lines
    place = f"line {first}" if first == last else f"lines {first} to {last}"
    return (
        f"{_how_far(witness)}: {witness.about} is {_shown(witness.measured)} {witness.unit} by the measurements "
        f"and {_shown(witness.told)} {witness.unit} by {witness.name} ({place})"
    )


def _how_far(witness: Witness) -> str:
    if witness.agreement == "contradicts":
        return "the log contradicts itself"
    low, high = sorted((abs(witness.measured), abs(witness.told)))
    times = high / low if low > 0 else float("inf")
    share = f"{times - 1:.1%}" if times - 1 < SMALL else f"{times - 1:.0%}" if times < 2 else f"{times:.3g} times"
    if times - 1 < SMALL:
        return f"two numbers of the log are slightly apart ({share})"
    return f"two numbers of the log are {'far ' if times > MOST_OUTSIDE else ''}apart ({share})"


def _shown(number: float) -> str:
    """A number in four digits, or whole where it has more before the point."""
    return f"{number:.0f}" if 1e4 <= abs(number) < 1e9 else f"{number:.4g}"
