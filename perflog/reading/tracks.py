"""Progress bars told apart by a number of theirs, and which of them is the training's.

Bars of a training and of its evaluation alternate in one log and look alike. Each distinct number (of steps, mostly) is
a track; at the log's end lines that only a training prints say which tracks count.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct, field

from perflog.formats.parser import Pattern
from perflog.formats.printed import half_digit, scaled_number, seconds_in
from perflog.matching.matches import Ints, Samples
from perflog.measurements.rows import Floats, Rows
from perflog.measurements.series import RankSeries
from perflog.measurements.structure import joined
from perflog.reading.account import LogFact

#: Digits that may hide more than this share of a number name no bar by it.
MOST_HIDDEN = 0.05
#: So many lines that speak for a training stand before or between the rows of its bar.
LEAST_LINES = 2

Track = tuple[int, float]


class Tracks(Struct):
    """The series of each rank and track of one pattern."""

    pattern: Pattern
    as_printed: bool = False
    series: dict[Track, RankSeries] = field(default_factory=dict)

    def add(self, rows: Rows, rank: int, starts: Ints, pauses: Callable[[Floats], Ints]) -> None:
        """Fold a rank's rows in, each into its track; rows without the number of a track are of none.

        ``pauses``: gives where something else than the bars of these numbers, (k,), happened.
        """
        numbers = rows.columns[self.pattern.track]
        for number in dict.fromkeys(numbers[np.isfinite(numbers)].tolist()):
            track = rank, number
            if track not in self.series:
                self.series[track] = RankSeries(self.pattern, self.as_printed)
            self.series[track].add(rows.take(numbers == number), starts, pauses(np.array([number])))


def ranks_of(tracks: Tracks, lines: Ints, told: Iterable[float], starts: Ints) -> tuple[dict[int, RankSeries], str]:
    """(the series that count, by rank; why there are none).

    Args:
        lines: of those that speak for a training, in order.
        told: the numbers that a header gives for the training's bar.
        starts: the lines that say that a run begins, in order.
    """
    pattern = tracks.pattern
    chosen = {track for track in tracks.series if track[1] in set(told)}
    if not chosen and pattern.only_with:
        chosen = _enclosing(tracks.series, lines)
        if not chosen:
            numbers = ", ".join(f"{number:g}" for number in sorted({number for _, number in tracks.series}))
            return {}, (
                f"the log draws progress bars without a name ({numbers} steps), and no line says which one is the "
                f"training's: say it as --as bar={max(number for _, number in tracks.series):g}"
            )
    chosen = chosen or set(tracks.series)
    ranks: dict[int, RankSeries] = {}
    for rank in sorted({rank for rank, _ in chosen}):
        parts = [tracks.series[track] for track in sorted(chosen) if track[0] == rank]
        if _overlap(parts):
            numbers = ", ".join(f"{number:g}" for of_rank, number in sorted(chosen) if of_rank == rank)
            return {}, (
                f"progress bars of {numbers} steps alternate, and no line says which one is the training's: say it as "
                "--as bar=N"
            )
        ranks[rank] = _one_after_the_other(pattern, tracks.as_printed, parts, starts)
    return ranks, ""


def named_by_summaries(numbers: Collection[float], facts: Iterable[LogFact]) -> list[float]:
    """Those of the numbers of steps that a program's summary names: its time times its steps per second, if one fits.

    Loss lines that were buffered stand behind the bar, and nothing else says that it is the training's.
    """
    named = list[float]()
    for fact in facts:
        if fact.pattern.role == "summary" and (bounds := _steps_of(fact)) is not None:
            fitting = [number for number in numbers if bounds[0] <= number <= bounds[1]]
            named += fitting if len(fitting) == 1 else []
    return named


def _steps_of(fact: LogFact) -> tuple[float, float] | None:
    """The bounds of a run's steps by the digits of its time and its steps per second; None where no line has both."""
    bounds = {"elapsed": (0.0, 0.0), "rate": (0.0, 0.0)}
    for value in fact.pattern.values:
        text = fact.fields.get(value.group, "")
        if value.span == "run" and (value.quantity == "elapsed" or value.unit == "steps/s"):
            digit, number = half_digit(text), scaled_number(text)
            if digit is not None and number is not None and digit <= MOST_HIDDEN * number:
                scale = seconds_in(value.unit) if value.quantity == "elapsed" else 1.0
                bounds[value.quantity] = ((number - digit) * scale, (number + digit) * scale)
    (least, most), (lowest, highest) = bounds["elapsed"], bounds["rate"]
    return (least * lowest, most * highest) if most and highest else None


def _enclosing(series: Mapping[Track, RankSeries], lines: Ints) -> set[Track]:
    """The tracks that lines speak for; of those that overlap the one with most."""
    counts = {track: _spoken_for(track, series, lines) for track in series}
    able = sorted((track for track, count in counts.items() if count >= LEAST_LINES), key=lambda t: -counts[t])
    chosen: list[Track] = []
    for track in able:
        rivals = [other for other in able if other != track and other[0] == track[0]]
        rivals = [other for other in rivals if _overlap([series[track], series[other]])]
        if all(counts[other] < counts[track] for other in rivals):
            chosen.append(track)
    return set(chosen)


def _spoken_for(track: Track, series: Mapping[Track, RankSeries], lines: Ints) -> int:
    """How many lines stand within one stretch of a track in which its steps rise.

    Where a line of its own places each bar, those before the first one and behind all other tracks count too.
    """
    others = [part.last_line for other, ranks in series.items() if other != track for part in ranks.segments]
    counts = [0]
    own = series[track].stretches or [(part.first_line, part.last_line) for part in series[track].segments]
    for first, last in own:
        begin = first - 1
        if series[track].pattern.position:
            begin = max((line for line in others if line < first), default=0)
        counts.append(int(np.searchsorted(lines, last, "right") - np.searchsorted(lines, begin, "right")))
    return max(counts)


def _overlap(parts: Iterable[RankSeries]) -> bool:
    spans = sorted((series.segments[0].first_line, series.segments[-1].last_line) for series in parts)
    return any(later[0] <= earlier[1] for earlier, later in pairwise(spans))


def _one_after_the_other(pattern: Pattern, as_printed: bool, parts: Iterable[RankSeries], starts: Ints) -> RankSeries:
    """The series of several bars: one run, but where a line between two says that a run begins, or the epoch falls.

    The bars of one training may have several lengths: those of its data files, or of the epoch that was resumed.
    """
    series = RankSeries(pattern, as_printed)
    segments = sorted((segment for part in parts for segment in part.segments), key=lambda s: s.first_line)
    series.segments = segments[:1]
    for before, segment in pairwise(segments):
        begun = np.searchsorted(starts, segment.first_line, "right") > np.searchsorted(starts, before.last_line)
        falls = segment.printed_epochs[0] < before.printed_epochs[1]  # NaN where none is printed
        if begun or falls or not pattern.restarts:
            series.segments.append(segment)
        else:
            series.segments[-1] = joined(series.segments[-1], segment)
    return series


# ----------------------------------------------------------------------------------------------------
# Lines that say what a whole epoch took: kept until the log's end, when the steps of an epoch are known.

#: A number of steps, and work per step, are as good as whole and constant within this much.
WHOLE = 0.01
#: So many lines tell the work of a step.
LEAST_TOTALS = 3


class Totals(Struct):
    """The lines of one pattern (``total = "epoch"``), of each rank."""

    pattern: Pattern
    rows: dict[int, list[Rows]] = field(default_factory=dict)

    def add(self, rows: Rows, rank: int) -> None:
        self.rows.setdefault(rank, []).append(rows)

    def series(
        self, as_printed: bool, starts: Ints, epoch_steps: float | None, work: float | None
    ) -> dict[int, RankSeries]:
        """The measurements of each rank.

        Args:
            epoch_steps: how many steps an epoch has by the step lines; None where they do not say it.
            work: the work of a step by the step lines, in the unit of the totals' rate; None where they do not say it.
                A line that tells the time of an epoch alone, whose steps are unknown, is left out.
        """
        made = {}
        for rank, parts in self.rows.items():
            made[rank] = RankSeries(self.pattern, as_printed)
            for rows in parts:
                steps = epoch_steps if epoch_steps is not None else self._steps_by_work(rows, work)
                made[rank].add(_with_covers(rows, steps), starts)
        return made

    def _steps_by_work(self, rows: Rows, work: float | None) -> Floats | None:
        """The steps of each epoch, (n,), from its rate and time and the work of a step; NaN where that is no number."""
        rate = next((v for v in self.pattern.values if v.quantity == "rate"), None)
        time = next((v for v in self.pattern.values if v.quantity == "interval_time"), None)
        if work is None or rate is None or time is None:
            return None
        steps = rows.columns[rate.group] * rows.columns[time.group] * seconds_in(time.unit) / work
        whole = np.rint(steps)
        return np.where((whole > 0) & (np.abs(steps - whole) <= WHOLE * whole), whole, np.nan)


def _with_covers(rows: Rows, epoch_steps: float | Floats | None) -> Rows:
    covers = rows.columns.get("covers", np.full(len(rows), np.nan))
    printed = rows.columns.get("epoch_steps", np.full(len(rows), np.nan))
    covers = np.where(np.isfinite(covers), covers, printed)
    if epoch_steps is not None:
        covers = np.where(np.isfinite(covers), covers, epoch_steps)
    return rows.with_columns({"covers": covers}) if np.isfinite(covers).any() else rows


def steps_of_an_epoch(patterns: Iterable[Pattern], samples: dict[str, list[Samples]]) -> float | None:
    """The steps of an epoch, where the step lines that were sampled all say the same; None where they do not."""
    told: set[float] = set()
    for pattern in patterns:
        told |= _told(samples.get(pattern.key, ()))
    return told.pop() if len(told) == 1 else None


def _told(samples: Sequence[Samples]) -> set[float]:
    numbers = [part.columns["epoch_steps"] for part in samples if "epoch_steps" in part.columns]
    return {number for column in numbers for number in column.tolist() if np.isfinite(number)}


def work_of_a_step(patterns: Iterable[Pattern], samples: dict[str, list[Samples]]) -> float | None:
    """Rate times time of a step by the step lines that were sampled, where it is the same on all; else None."""
    products: list[float] = []
    for pattern in patterns:
        rate = next((v for v in pattern.values if v.quantity == "rate"), None)
        time = next((v for v in pattern.values if v.quantity == "step_time"), None)
        if rate is None or time is None or rate.coverage != time.coverage:
            continue
        for part in samples.get(pattern.key, ()):
            if rate.group in part.columns and time.group in part.columns:
                products += (part.columns[rate.group] * part.columns[time.group] * seconds_in(time.unit)).tolist()
    known = sorted(product for product in products if np.isfinite(product) and product > 0)
    if len(known) < LEAST_TOTALS or known[-1] > known[0] * (1 + 2 * WHOLE):
        return None
    return known[len(known) // 2]
