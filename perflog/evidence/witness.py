"""A witness: what else in the log speaks of the number, and how far it agrees."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from perflog.formats.printed import half_digit
from perflog.notes import LEADS_NOTHING, Note
from perflog.stats.centre import median

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


# ----------------------------------------------------------------------------------------------------
# The printed digits of a number bound it: ``1s`` is anything from half a second to one and a half.

#: The standard deviation of normal numbers is so many times their median absolute deviation.
_NORMAL = 1.4826


def decimals_of(numbers: Sequence[float], most: int) -> int | None:
    """The least number of decimals that some finite numbers have; None where it is more than ``most``.

    >>> decimals_of([0.5, 1.25], 4), decimals_of([0.1234567], 4)
    (2, None)
    """
    decimals = 0
    for number in numbers:
        if round(number, decimals) == number:
            continue
        text = repr(number)  # the shortest decimal number that is read as this one
        point = text.find(".")
        needed = len(text) - point - 1 if point >= 0 else 0
        if "e" in text:
            needed = -int(Decimal(text).as_tuple().exponent)
        if needed > most:  # nearly always the first one's
            return None
        if needed > decimals:
            decimals = needed
    return decimals


def mean_share(share: float, numbers: Sequence[float], used: int) -> float:
    """How much rounding may hide of a mean over ``used`` printed numbers, as a share of it.

    Numbers that vary by more than their last digit lose their rounding in a mean: its error is that of ``used``
    independent ones (W. F. Sheppard 1898; uniform within a digit, so a standard deviation of digit/√12). Numbers that
    do not vary may all be rounded the same way. They vary where their median absolute deviation does: one slow step
    among equal ones makes a large standard deviation, and takes no rounding from the others.

    Args:
        share: how much it may hide of one of them.
        numbers: some of them.
    """
    if len(numbers) < 3:
        return share
    centre = median(numbers)
    varies = _NORMAL * median([abs(number - centre) for number in numbers]) >= share * abs(centre)
    return share * min(1.0, 2 / math.sqrt(3 * max(used, 1))) if varies else share


def number_share(printed: Sequence[str], numbers: Sequence[float]) -> float:
    """How much rounding may hide of one of some printed numbers, as a share of it; 0 where none has digits."""
    shares = sorted(_shares(printed, numbers))
    return shares[len(shares) // 2] if shares else 0.0


def total_share(printed: Sequence[str], numbers: Sequence[float]) -> float:
    """How much rounding may hide of the last of some printed totals or running means, as a share of it."""
    shares = _shares(printed[-1:], numbers[-1:])
    return shares[0] if shares else 0.0


def clock_share(digit: float, time: float, bars: int, stretches: int) -> float:
    """How much the last digit of a clock may hide of the time that it tells, as a share of it.

    Each stretch of the clock is the difference of two cut stamps, and so up to a digit longer or shorter. Bars of one
    length may all be cut alike, so that their errors add up. Stretches of one bar, which parts that are left out lie
    between, are cut at moments that have nothing to do with each other: two standard deviations of the sum of so many
    differences count, each of variance digit²/6.

    Args:
        digit: the worth of the last digit, in the unit of ``time``.
        bars: how often the clock began anew, at least 1.
        stretches: in how many pieces the time is, as many as bars or more.
    """
    return digit / time * (bars + 2 * math.sqrt((stretches - bars) / 6)) if time > 0 else float("inf")


def _shares(printed: Sequence[str], numbers: Sequence[float]) -> list[float]:
    halves = [(half_digit(text), abs(number)) for text, number in zip(printed, numbers, strict=True)]
    return [half / number for half, number in halves if half is not None and number > 0]


def bounds(value: float, share: float) -> tuple[float, float]:
    """What a rate may be whose times (or which itself) were rounded by at most ``share``: (low, high)."""
    return value / (1 + share), value / (1 - share) if share < 1 else float("inf")
