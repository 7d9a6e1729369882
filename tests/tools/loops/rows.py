"""What a loop measures at each line that it prints, by its own timers, before anything is spelled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tests.tools.loops.draw import Draw
from tests.tools.loops.training import Numbers, Pause, Training


@dataclass(slots=True)
class Row:
    """One printed line of steps.

    Attributes:
        at: the moment, in seconds since the process began.
        phase: ``train``, or the evaluation's word.
        counter: the number of the step as it is printed; ``of``: how many there are.
        step: the index of the last step; -1 in an evaluation.
        own: the time of the last step; ``interval``: of all that the timer took since the line before, over ``covered``
            steps, of which the loop believes that they are ``claimed``.
        running: the mean since the run or the epoch began.
        ran: the time since then.
    """

    at: float
    phase: str
    epoch: int
    counter: int
    of: int
    step: int
    own: float
    interval: float
    covered: int
    claimed: int
    running: float
    ran: float


@dataclass(frozen=True, slots=True)
class Habits:
    """How a loop counts and times.

    Attributes:
        by_epoch: the counter, the timer and the running mean begin anew with each epoch.
        wall: the timer runs on between the steps, so that it holds what lies between two lines.
        first: the counter's first number, 0 or 1.
        last_too: the last step of each epoch prints a line too.
        careless: divides by the interval where a line covers fewer steps.
        resets_clock: the printed elapsed time begins anew with each epoch.
    """

    by_epoch: bool
    wall: bool
    first: int
    last_too: bool
    careless: bool
    resets_clock: bool


def habits(draw: Draw, training: Training) -> Habits:
    many = training.per_epoch < training.steps
    return Habits(
        by_epoch=draw.whether("counts within the epoch", 0.7) and many,
        wall=draw.whether("the timer runs on between steps", 0.5),
        first=draw.one("counts from", (0, 1)),
        last_too=draw.whether("prints the last step too", 0.2),
        careless=draw.whether("divides by the interval always", 0.1),
        resets_clock=draw.whether("the elapsed time begins anew", 0.5) and many,
    )


def rows(draw: Draw, training: Training, how: Habits) -> list[Row]:
    """The lines of the steps, and those of evaluations that print lines of the same shape."""
    found: list[Row] = []
    sums = np.concatenate(([0.0], np.cumsum(training.seconds)))
    word = draw.one("an evaluation's word", ("val", "valid", "test", "eval", "Validation", "Test"))
    alike = draw.whether("an evaluation prints lines of the same shape", 0.4)
    pauses = {pause.after: pause for pause in training.pauses if pause.kind == "evaluation"}
    last = -1
    for step in _printed(training, how):
        begun = training.per_epoch * (step // training.per_epoch) if how.by_epoch else 0
        if alike:
            for after in sorted(pauses):
                if last <= after < step:
                    found += _evaluation(training, pauses.pop(after), word)
        found.append(_row(training, how, sums, last, step, begun))
        last = step
    return found


def _printed(training: Training, how: Habits) -> Iterator[int]:
    """The indices of the steps that print a line."""
    length = training.per_epoch if how.by_epoch else training.steps
    for begin in range(0, training.steps, length):
        end = min(begin + length, training.steps)
        # from 0 the first step prints; from 1 the one that makes the interval full
        yield from range(begin + (0 if how.first == 0 else training.every - 1), end, training.every)
        full = (end - 1 - begin + how.first) % training.every == 0
        if how.last_too and not full:
            yield end - 1


def _row(training: Training, how: Habits, sums: Numbers, last: int, step: int, begun: int) -> Row:
    since = max(last + 1, begun)
    covered = step - since + 1
    before = training.end[since - 1] if how.wall and since > begun and since > 0 else training.begin[since]
    interval = training.end[step] - before if how.wall else sums[step + 1] - sums[since]
    clock = training.begin[training.per_epoch * (step // training.per_epoch)] if how.resets_clock else 0.0
    length = min(training.per_epoch, training.steps) if how.by_epoch else training.total
    return Row(
        float(training.end[step]), "train", (step + training.first) // training.per_epoch,
        step - begun + how.first + (0 if how.by_epoch else training.first),
        length, step,
        float(training.seconds[step]), float(interval), covered, training.every if how.careless else covered,
        float((sums[step + 1] - sums[begun]) / (step - begun + 1)), float(training.end[step] - clock),
    )  # fmt: skip


def _evaluation(training: Training, pause: Pause, word: str) -> list[Row]:
    lines, steps = 4, 4 * 10
    begin, own = float(training.end[pause.after]), pause.seconds / steps
    return [
        Row(begin + own * step, word, pause.after // training.per_epoch, step, steps, -1, own, own * 10, 10, 10, own, own * step)
        for step in range(10, 10 * lines + 1, 10)
    ]  # fmt: skip


def column(found: Sequence[Row], name: str) -> Numbers:
    """One number of all rows."""
    return np.array([getattr(row, name) for row in found], float)
