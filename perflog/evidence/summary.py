"""The program's own account of the whole run, held against all its measurements, the warm-up's too."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from perflog.evidence.witness import About, Agreement, Witness, near_factor

#: A mean over the same run agrees within this much.
TOLERANCE = 0.05
#: A program's mean holds evaluations and its start too; it may be so many times lower without a word.
OUTSIDE = 1.5
#: Two accounts of the same steps agree within this.
CLOSE = 0.02
#: A number that rounding hides more of says nothing.
MOST_ROUNDED = 0.25
#: The time of a whole run holds its start too, which may be long beside few steps.
WITH_START = 1.9


class Account(Struct, frozen=True):
    """What a program says of its whole run, in the unit of the measurements it is compared with.

    ``quantity``: *throughput*, *time per step* (seconds), or *run time* (seconds of the whole run). ``rounding``: what
    the printed digits may hide of it, as a share. ``close``: it is of the very steps of the
    window, of which the measurements are means that overlap, so that nothing explains more than :data:`CLOSE`.
    """

    name: str
    quantity: str
    value: float
    unit: str
    line: int
    rounding: float = 0.0
    close: bool = False


class Whole(Struct, frozen=True):
    """The run by its measurements.

    Attributes:
        throughput: of the window and of all measurements, in ``unit``; None where there is none.
        seconds_per_step: of the window and of all measurements; None where the log's times are not in seconds.
        seconds: of all measured steps; None where unknown.
        made: steps of this log, as a share of those that a program counts which went on from a checkpoint.
    """

    throughput: tuple[float, float] | None
    unit: str
    seconds_per_step: tuple[float, float] | None
    seconds: float | None
    made: float = 1.0


def summary_witnesses(accounts: Sequence[Account], whole: Whole, factors: Sequence[float]) -> list[Witness]:
    """Hold each account against the measurements; those of another unit are left out."""
    found = []
    for account in accounts:
        witness = None
        measured = _measured(account, whole)
        if account.quantity == "throughput" and measured is not None and account.unit == whole.unit:
            witness = _mean(account, measured, _of_steps_made(account.value, measured, whole), factors)
        elif account.quantity == "time per step" and measured is not None and account.value > 0:
            told = 1 / _of_steps_made(1 / account.value, _inverse(measured), whole)
            witness = _mean(account, measured, told, factors)
        elif account.quantity == "run time" and whole.seconds is not None:
            witness = _run_time(account, whole.seconds)
        if witness is not None:
            found.append(witness)
    return found


def counts_steps_before(account: Account, whole: Whole) -> bool:
    """Whether a rate or a time per step counts the steps before a checkpoint in the time of those of this log."""
    measured = _measured(account, whole)
    if measured is None or account.value <= 0:
        return False
    told = account.value
    if account.quantity == "time per step":
        measured, told = _inverse(measured), 1 / told
    agrees = min(measured) / (1 + TOLERANCE) <= told <= max(measured) * (1 + TOLERANCE)
    return not agrees and _of_steps_made(told, measured, whole) != told


def _measured(account: Account, whole: Whole) -> tuple[float, float] | None:
    """What an account is held against; None where it was not measured, or as nothing."""
    measured = {"throughput": whole.throughput, "time per step": whole.seconds_per_step}.get(account.quantity)
    return measured if measured is not None and min(measured) > 0 else None


def _inverse(numbers: tuple[float, float]) -> tuple[float, float]:
    return 1 / numbers[0], 1 / numbers[1]


def _of_steps_made(told: float, measured: tuple[float, float], whole: Whole) -> float:
    """A rate over the steps that were made; programs that resume often count those before the checkpoint too."""
    made = told * whole.made
    nearest = min(max(made, min(measured)), max(measured))
    return made if whole.made < 1 and abs(made / nearest - 1) <= TOLERANCE else told


def _mean(account: Account, measured: tuple[float, float], told: float, factors: Sequence[float]) -> Witness | None:
    if told <= 0 or account.rounding > MOST_ROUNDED:
        return None
    low, high = (measured[0], measured[0]) if account.close else (min(measured), max(measured))
    nearest = min(max(told, low), high)
    ratio = told / nearest
    faster = ratio if account.quantity == "throughput" else 1 / ratio
    about: About = "throughput" if account.quantity == "throughput" else "time per step"
    agreement = _agreement(faster, factors, TOLERANCE + account.rounding)
    off = abs(faster - 1) > CLOSE + account.rounding
    if account.close and off and agreement != "contradicts":
        agreement = "doubts"
    return Witness(account.name, about, account.unit, nearest, told, agreement, (account.line, account.line))


def _agreement(faster: float, factors: Sequence[float], tolerance: float) -> Agreement:
    """``faster``: how many times as fast the program says that it was."""
    if 1 / (1 + tolerance) <= faster <= 1 + tolerance:
        return "agrees"
    if near_factor(faster, factors):
        return "contradicts"
    if faster > 1 + 2 * tolerance or faster < 1 / OUTSIDE:
        return "doubts"
    return "slower" if faster < 1 else "silent"


def _run_time(account: Account, seconds: float) -> Witness | None:
    if seconds <= 0 or account.value <= 0:
        return None
    ratio = account.value / seconds
    agreement: Agreement = "slower"
    if ratio < 1 / (1 + 2 * TOLERANCE):
        agreement = "contradicts"  # the measured steps alone took longer than the whole run
    elif ratio <= 1 + TOLERANCE:
        agreement = "agrees"
    elif ratio > WITH_START:
        agreement = "doubts"
    lines = account.line, account.line
    return Witness(account.name, "time of the run", "s", seconds, account.value, agreement, lines)
