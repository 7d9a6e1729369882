"""In which part of a step a case changed, where the logs print what the data of a step take beside its time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perflog.cases.case import Case
from perflog.compare.rows import CaseComparison
from perflog.compare.rule import VERDICTS
from perflog.stats.difference import Difference, mean_difference

#: Logs print such times in thousandths of a second and finer, so that the difference of two may be off by so many
#: seconds.
_PRINTED = 0.001


@dataclass(frozen=True, slots=True)
class DataPart:
    """What of a changed step time is in reading data.

    Attributes:
        data: new less old of the time until the data of a step are there, in seconds a step, one rank's.
        step: the same of the whole step.
        is_cause: whether the difference is beyond noise and rounding, and in the direction of the whole; else it is
            less than half of the whole, whatever the noise.
    """

    data: Difference
    step: Difference
    is_cause: bool


def data_part(row: CaseComparison, metric: str, level: float) -> DataPart | None:
    """What of a row's change is in reading data.

    Args:
        row: one that is called faster or slower.
        metric: what the row compares; only a throughput or a time per step has such a part.
        level: of the intervals, a share.

    Returns:
        None where it cannot be said: for another metric, a row without a change, a run without the time of its data, or
        a difference that is neither beyond noise nor small.
    """
    if metric not in ("throughput", "step_time") or not VERDICTS[row.verdict].is_change:
        return None
    sides = [[_times(case, name) for case in (row.pair.old, row.pair.new)] for name in ("data_time", "step_time")]
    if not all(values for of_metric in sides for values in of_metric):
        return None
    data, step = (mean_difference(old, new, level) for old, new in sides)
    if data is None or step is None or abs(step.value) <= 2 * _PRINTED:
        return None
    sign = 1 if step.value > 0 else -1
    low, high = sorted((sign * data.low, sign * data.high))
    if low > _PRINTED:
        return DataPart(data, step, is_cause=True)
    if high + _PRINTED < sign * step.value / 2 and low - _PRINTED > -sign * step.value / 2:
        return DataPart(data, step, is_cause=False)
    return None


def _times(case: Case, name: str) -> Sequence[float]:
    """A metric of each run of a case, in seconds; none unless all runs have it."""
    metrics = [run.metrics.get(name) for run in case.runs]
    known = [
        metric.value for metric in metrics if metric is not None and metric.value is not None and metric.unit == "s"
    ]
    return known if len(known) == len(metrics) else []


def data_words(part: DataPart) -> str:
    """``+3.1 ms of +3.3 ms a step in data loading``, or ``not in data loading (+0.1 ms of +3.3 ms a step)``."""
    numbers = f"{_signed(part.data.value)} of {_signed(part.step.value)} a step"
    return f"{numbers} in data loading" if part.is_cause else f"not in data loading ({numbers})"


def _signed(seconds: float) -> str:
    """A difference of times with its sign: ``+3.1 ms``."""
    amount, unit = (seconds, "s") if abs(seconds) >= 1 else (1000 * seconds, "ms")
    text = f"{amount:+.1f}" if abs(amount) < 100 else f"{amount:+.0f}"
    return f"{text} {unit}".replace("-", "−")
