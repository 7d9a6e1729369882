"""What a bar's ticks are, where its counts alone leave it open: steps, the samples of a batch, or an evaluation's.

A loop that calls ``bar.update(batch_size)`` draws the same bar as one that calls ``bar.update(1)``. Its counts are
multiples of the batch size; those of a bar of steps are so too where it is drawn at each k-th step. And a loop that
both trains and evaluates may call both of an epoch's bars alike.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct, field

from perflog.matching.matches import Ints
from perflog.measurements.rows import Floats, shifted

#: Counts that any number might be are all multiples of ``k`` by chance once in ``2**CHANCE`` logs.
CHANCE = 12
#: No bar has so many ticks.
MOST_TICKS = 1e15
#: A count that falls below this share of what it was is another bar's.
FALLEN = 0.5
#: So many epochs with a second bar, and half of all, are no restarts after failures.
LEAST_EPOCHS = 2


class Ticks(Struct):
    """The counts that the bars of one pattern show: those before they are full, by how many ticks the bars have."""

    _seen: dict[float, tuple[int, int]] = field(default_factory=dict)
    _last: tuple[float, float] = (np.nan, np.nan)
    _second: int = 0
    _epochs: int = 0

    def see(self, step: Floats, total: Floats, epoch: Floats) -> None:
        """Add counts, (n,), of bars of so many ticks and of these epochs (NaN: none is printed), (n,) each.

        A full bar's count tells nothing of its ticks: its total may be any number.
        """
        if len(step):
            before, of_epoch = shifted(step, self._last[0]), shifted(epoch, self._last[1])
            self._second += int(((epoch == of_epoch) & (step < FALLEN * before)).sum())
            self._epochs += int((np.isfinite(epoch) & (epoch != of_epoch)).sum())
            self._last = float(step[-1]), float(epoch[-1])
        on_the_way = (step > 0) & (step < MOST_TICKS) & (step != total)
        for number in np.unique(total[on_the_way]).tolist():
            counts: Ints = step[on_the_way & (total == number)].astype(np.int64)
            common, seen = self._seen.get(number, (0, 0))
            self._seen[number] = int(np.gcd.reduce(counts, initial=common)), seen + len(np.unique(counts))

    @property
    def common(self) -> int:
        """The number above 1 that all counts of the bars with most of them are multiples of, not by chance; else 1."""
        common, seen = max(self._seen.values(), key=lambda both: both[1], default=(1, 0))
        return common if common > 1 and seen * np.log2(common) >= CHANCE else 1

    @property
    def twice(self) -> bool:
        """Whether most epochs have two bars of one name: one may be an evaluation's."""
        return self._second >= LEAST_EPOCHS and self._epochs > 1 and 2 * self._second >= self._epochs
