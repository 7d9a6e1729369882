"""The rows of a table as a series of steps with a clock, and numbers of the rows held against that clock."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from perflog.formats.moments import DAY, moment_by_shape
from perflog.formats.printed import half_digit, kind, rate_unit, seconds_in
from perflog.inference.columns import Columns
from perflog.inference.formats import Value
from perflog.inference.measures import Meaning
from perflog.inference.words import ELAPSED_KEY, PAUSES
from perflog.matching.tables import Table
from perflog.measurements.rows import Floats
from perflog.stats.arrays import distinct, middle

#: Numbers that say the same agree within this much; a product of two is one number where it scatters by less.
SAME, STEADY, DRIFT = 0.03, 0.06, 0.015
#: With fewer stretches between two moments a clock says nothing of single rows.
LEAST_STRETCHES = 4
#: Stretches are so many digits of the clock long.
LEAST_LENGTH = 20
#: A share of lines on which a product may be another number, and so many lines at least.
FEW, LEAST_PRODUCTS = 0.1, 5
#: What is so far from a whole number, beyond its digits, is none.
NO_WHOLE = 0.05
#: A clock's number may be so far from a whole number of its digits, as binary fractions are.
DIGIT_OFF = 1e-2
#: A share of rows that may lack a stamp.
MOST_UNSTAMPED = 0.9


class Series:
    """The rows of a table: the step and the clock of each, and what lies between two of them.

    Attributes:
        step: (n,); ``between``: the steps from row to row, (n - 1,), NaN where another epoch or run begins, or
            something else than training happens.
        every: the usual number of steps between two rows.
        falls, fallen: how often the counter begins anew, and where, (n - 1,).
        repeats: whether rows are left out that repeat the step before them.
        clock: seconds, (n,), None where the lines tell no time; ``clock_value``: what tells it.
    """

    def __init__(self, table: Table, columns: Columns, *, repeats: bool = False) -> None:
        self.table, self.columns, self.repeats = table, columns, repeats
        assert columns.step is not None
        self.step = table.column(columns.step.place).values
        changes = np.diff(self.step)
        self.fallen = changes <= 0
        self.falls = int(self.fallen.sum()) if not columns.is_bar else int((changes < 0).sum())
        self.between = np.where(changes > 0, changes, np.nan)
        known = self.between[np.isfinite(self.between)]
        self.every = _mode(known)
        self.clock: Floats | None = None
        self.clock_value: Value | None = None
        self.stamped, self.why = False, ""
        self._find_clock()
        pauses = np.array(table.others(PAUSES.search), dtype=np.int64)
        places = np.searchsorted(pauses, table.lines)
        self.between[np.diff(places) > 0] = np.nan

    def _find_clock(self) -> None:
        """The clock of the lines: a time that has elapsed, a moment, or the stamps of all rows."""
        moment = self.columns.moment
        # W&B notes when the program logged a row; its _runtime of the last row is that of the row before (0.31)
        is_wandb = moment is not None and moment.key == "_timestamp"
        found = [one for one in self.columns.of_kind("elapsed") if not (is_wandb and one.key == "_runtime")]
        elapsed = sorted(found, key=lambda meaning: not meaning.is_named)
        if elapsed and self.columns.is_bar:
            self.clock_value = Value(elapsed[0], "elapsed", "cumulative")
            self.clock = self.table.column(elapsed[0].place).values
        elif elapsed and (any(map(self._is_clock, elapsed)) or self.why):
            return
        elif moment is not None and self.table.kinds[moment.place] != "stamp":
            self.clock = self.table.column(moment.place).values * seconds_in(moment.unit)
            self.clock_value = Value(moment, "elapsed", "cumulative")
        else:
            self._find_stamps(moment)

    def _is_clock(self, elapsed: Meaning) -> bool:
        """Whether a time that has elapsed is the clock, which it becomes; else why it is none."""
        clock = self.table.column(elapsed.place).values * (1.0 if elapsed.unit == "clock" else seconds_in(elapsed.unit))
        begun = np.diff(clock) < 0
        is_anew = self._begins_anew(elapsed, begun)
        if (begun & ~self.fallen).any():
            if not (is_anew or self._begins_epochs(begun)):
                self.why = self.why or f"{elapsed.key!r} begins anew where the steps go on"
                return False
            self.between[begun] = np.nan
        self.clock, self.why = clock, ""
        self.clock_value = Value(elapsed, "elapsed", "cumulative", "epoch" if begun.any() and not is_anew else "run")
        return True

    def _find_stamps(self, moment: Meaning | None) -> None:
        """The stamps of all rows; ``moment``: where they stand among the line's own words, if they do."""
        heads = (
            self.table.heads() if moment is None else [text.encode() for text in self.table.column(moment.place).texts]
        )
        moments = [moment_by_shape(head) for head in heads]
        forms = {found.form for found in moments if found is not None}
        if len(forms) != 1 or sum(found is None for found in moments) > MOST_UNSTAMPED * len(moments):
            return
        clock = np.array([np.nan if found is None else found.seconds for found in moments])
        known = clock[np.isfinite(clock)]
        back = np.diff(known)
        if ((back < 0) & ((back > -DAY / 2) | (forms != {"time"}))).any():
            self.why = "the stamps of its lines go back"
            return
        if forms == {"time"}:  # midnight passed
            clock[np.isfinite(clock)] = known + DAY * np.append(0, np.cumsum(back < 0))
        if len(known) < 2 or known[-1] == known[0]:
            return
        self.clock = clock
        place = -1 if moment is None else moment.place
        self.stamped = moment is None
        self.clock_value = Value(Meaning(place, "moment"), "timestamp", "cumulative")

    def _begins_epochs(self, begun: NDArray[np.bool_]) -> bool:
        """Whether something begins anew with each epoch that the lines tell, and nowhere else; ``begun``: (n - 1,)."""
        if self.columns.epoch is None:
            return False
        changes = np.diff(self.table.column(self.columns.epoch.place).values)
        return bool((changes[begun] == 1).all() and (changes[~begun] == 0).all())

    def _begins_anew(self, elapsed: Meaning, begun: NDArray[np.bool_]) -> bool:
        """Whether a time begins anew while the steps go on, on lines that tell no epoch: one that words call elapsed
        anywhere, any other after as many steps each time; ``begun``: (n - 1,).
        """
        if self.columns.epoch is not None or self.falls or not begun.any():
            return False
        if ELAPSED_KEY.search(elapsed.key):
            return True
        ends = [self.step[0] - self.every, *self.step[:-1][begun].tolist(), self.step[-1]]
        lengths = np.diff(ends)  # the log may begin and end within an epoch
        whole = lengths[lengths == lengths.max()]
        return len(whole) > 1 and bool((lengths[1:-1] == whole[0]).all())

    @cached_property
    def is_coarse(self) -> bool:
        """Whether the clock is too coarse to be held against the rows."""
        return len(merged(self, self.between)[0]) < LEAST_STRETCHES


def _mode(numbers: Floats) -> float:
    if not len(numbers):
        return 0.0
    values, counts = distinct(numbers)
    return float(values[np.argmax(counts)])


def counted_steps(series: Series) -> Floats:
    """The steps that are done at each row, from 1."""
    return series.step + (1 if series.step[0] == 0 else 0)


def is_of_steps(meaning: Meaning) -> bool:
    unit = rate_unit(meaning.unit)
    return unit is not None and kind(unit[0]) == "steps"


# ----------------------------------------------------------------------------------------------------
# Numbers of the rows held against the clock.


class Steady(NamedTuple):
    """The middle of numbers that are one number but for a few; ``spread``: how far they lie from it, as a share."""

    centre: float
    spread: float


def steady(numbers: Floats) -> Steady | None:
    """The middle of numbers that are one number but for a few, from their beginning to their end; None where not."""
    known = numbers[np.isfinite(numbers) & (numbers > 0)]
    if len(known) < 3:
        return None
    centre = float(middle(known))
    spread = float(middle(np.abs(known / centre - 1)))
    half = len(known) // 2
    drift = abs(float(middle(known[:half])) / float(middle(known[half:])) - 1)
    if spread > STEADY or drift > max(DRIFT, 3 * spread / half**0.5):
        return None
    return Steady(centre, spread)


def merged(series: Series, totals: Floats) -> tuple[Floats, Floats]:
    """(seconds by the clock, a sum over the same rows) of stretches that are long for the clock's digits.

    Args:
        totals: of what lies between two rows, (n - 1,); NaN where another epoch begins or something else happened.
    """
    if series.clock is None:
        return np.empty(0), np.empty(0)
    least = LEAST_LENGTH * digit_of(series.clock)
    begin, run, known = float("nan"), 0.0, []
    for moment, amount in zip(series.clock.tolist(), [0.0, *totals.tolist()], strict=True):
        run += amount
        if run != run or begin != begin:
            begin, run = moment, 0.0
        elif moment - begin >= least:
            known.append((moment - begin, run))
            begin, run = moment, 0.0
    both = np.array(known) if known else np.empty((0, 2))
    return both[:, 0], both[:, 1]


def digit_of(clock: Floats) -> float:
    """The last digit of a clock's seconds."""
    known = clock[np.isfinite(clock)]
    known = known - np.floor(known[:1])
    for digit in (1.0, 0.1, 0.01, 0.001):
        if (np.abs(np.rint(known / digit) - known / digit) < DIGIT_OFF).all():
            return digit
    return 1e-4


# ----------------------------------------------------------------------------------------------------
# Two numbers of the rows held against each other.


def product_of(series: Series, rate: Meaning, time: Meaning, *, per_step: bool = False) -> tuple[float, float] | None:
    """(the product of a rate and a time, what digits hide of it as a share), where it is one number on all lines, or
    one number ``per_step`` since the line before.

    Neither may be one number by itself.
    """
    rates, times = (series.table.column(m.place).values for m in (rate, time))
    product = rates / times if time.kind == "rate" else rates * times * (seconds_in(time.unit) if time.unit else 1.0)
    if per_step:
        product = product[1:] / series.between
    digits = _last_digit(series, rate) + _last_digit(series, time)
    centre = _one_number(product, digits)
    if centre is None:
        return None
    moves = [float(np.std(values / np.nanmean(values))) for values in (rates, times)]
    if min(moves) <= 2 * max(digits, 1e-5):
        return None  # two numbers that stand still agree with everything
    return centre, digits


def is_apart(series: Series, rate: Meaning, time: Meaning) -> bool:
    """Whether the product of a rate and a time is no one number by more than their digits hide."""
    rates, times = (series.table.column(m.place).values for m in (rate, time))
    return _one_number(rates * times, _last_digit(series, rate) + _last_digit(series, time)) is None


def _one_number(product: Floats, digits: float) -> float | None:
    """The middle of products, where nearly all are that number within what ``digits`` hide, as a share; else None."""
    known = product[np.isfinite(product) & (product > 0)]
    if len(known) < LEAST_PRODUCTS:
        return None
    centre = float(middle(known))
    off = np.abs(known / centre - 1)
    return centre if float((off <= max(digits, 1e-4) + 1e-3).mean()) >= 1 - FEW else None


def is_no_whole(work: float, hidden: float) -> bool:
    """Whether a number can be no whole one, by what its digits hide, as a share."""
    return abs(work - round(work)) > work * hidden + NO_WHOLE


def _last_digit(series: Series, meaning: Meaning) -> float:
    """What the last printed digit may hide of a column's numbers, as a share."""
    column = series.table.column(meaning.place)
    both = list(zip(column.texts, column.values.tolist(), strict=True))[:50]
    shares = [half / value for text, value in both if value > 0 and (half := half_digit(text.replace(",", "")))]
    return float(middle(np.array(shares))) if shares else 1.0
