"""The program's own account of the whole run, held against all its measurements, the warm-up's too."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from perflog.evidence.witness import About, Agreement, Witness, near_factor

#: A mean over the same run agrees within this much.
TOLERANCE = 0.05
#: A program's mean holds evaluations and its start too; it may be so many times lower without a word.
OUTSIDE = 1.5
#: The time of a whole run holds its start too, which may be long beside few steps.
WITH_START = 1.9


class Account(Struct, frozen=True):
    """What a program says of its whole run, in the unit of the measurements it is compared with.

    ``quantity``: *throughput*, *time per step* (seconds), or *run time* (seconds of the whole run).
    """

    name: str
    quantity: str
    value: float
    unit: str
    line: int


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
        if account.quantity == "throughput" and whole.throughput is not None and account.unit == whole.unit:
            witness = _mean(account, whole.throughput, _of_steps_made(account.value, whole.throughput, whole), factors)
        elif account.quantity == "time per step" and whole.seconds_per_step is not None and account.value > 0:
            witness = _mean(account, whole.seconds_per_step, account.value, factors)
        elif account.quantity == "run time" and whole.seconds is not None:
            witness = _run_time(account, whole.seconds)
        if witness is not None:
            found.append(witness)
    return found


def _of_steps_made(told: float, measured: tuple[float, float], whole: Whole) -> float:
    """A rate over the steps that were made; programs that resume often count those before the checkpoint too."""
    made = told * whole.made
    nearest = min(max(made, min(measured)), max(measured))
    return made if whole.made < 1 and abs(made / nearest - 1) <= TOLERANCE else told


def _mean(account: Account, measured: tuple[float, float], told: float, factors: Sequence[float]) -> Witness | None:
    if min(measured) <= 0 or told <= 0:
        return None
    low, high = min(measured), max(measured)
    nearest = min(max(told, low), high)
    ratio = told / nearest
    faster = ratio if account.quantity == "throughput" else 1 / ratio
    about: About = "throughput" if account.quantity == "throughput" else "time per step"
    agreement = _agreement(faster, factors)
    return Witness(account.name, about, account.unit, nearest, told, agreement, (account.line, account.line))


def _agreement(faster: float, factors: Sequence[float]) -> Agreement:
    """``faster``: how many times as fast the program says that it was."""
    if 1 / (1 + TOLERANCE) <= faster <= 1 + TOLERANCE:
        return "agrees"
    if near_factor(faster, factors):
        return "contradicts"
    if faster > 1 + 2 * TOLERANCE or faster < 1 / OUTSIDE:
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
