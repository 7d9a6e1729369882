"""perflog's number of a program's log beside what a clock of our own measured over the same steps.

The clock's time of the steps after step a up to step b is what passed between the ends of step a and step b. Evaluations
and saving that fell between are no training and do not count, unless `expected.toml` says that the program's own clock
runs through them; then perflog must say so too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from perflog.api import extract

HERE = Path(__file__).parent
LOGS = HERE / "logs"
WARMUP = 20  # steps, perflog's default


class Expected(msgspec.Struct, forbid_unknown_fields=True):
    """What is known of a program apart from its log.

    Attributes:
        set: facts that the log does not tell, as a user gives them with `--set`.
        warmup: the warm-up where it is not the default.
        unit: the unit of perflog's number: samples/s, tokens/s, steps/s or another that counts samples.
        ticks: how many of the log's steps are one step of the clock (micro-batches of an optimizer step).
        stretches: the clock's steps that the log's records cover, from the end of one to that of another; where the log
            leaves steps out or counts them in another way, and perflog's first and last step do not say it.
        includes: the pauses that the program's own clock runs through, and `says` a part of perflog's note on that.
        ending: an included pause is part of the interval that ends with it (an epoch with its validation), not of the
            interval that begins with it.
        rounded: the log tells whole seconds alone, so that the clock lies within the bounds that perflog prints, which
            may be more than one per cent from its number.
        refuses: a part of the reason where perflog must give no number, and `because` why that is true.
        remark: what else is to be said in the table.
    """

    set: dict[str, str | int] = {}
    warmup: str | None = None
    unit: str = "samples/s"
    ticks: int = 1
    stretches: list[tuple[int, int]] = []
    includes: list[str] = []
    says: str | None = None
    ending: bool = False
    rounded: bool = False
    refuses: str | None = None
    because: str | None = None
    remark: str | None = None


class Figures(msgspec.Struct):
    """The clock's figures of a program's run: ends of steps and pauses in seconds since the training's start."""

    samples_per_step: float
    tokens_per_step: float | None
    ends: list[float]
    pauses: list[tuple[str, float, float, int]]

    def seconds(self, first: int, last: int, expected: Expected) -> float:
        """The time from the end of step `first` (0: the start) to that of step `last`, with the pauses that are included."""
        seconds = self.ends[last - 1] - (self.ends[first - 1] if first else 0.0)
        for reason, begin, end, step in self.pauses:
            within, ends = first <= step < last, first < step <= last
            counts = reason in expected.includes and (ends if expected.ending else within)
            seconds += (end - begin) * (counts - within)
        return seconds

    def step_time(self, stretches: list[tuple[int, int]], expected: Expected) -> float:
        """The time per step over some stretches of steps."""
        seconds = sum(self.seconds(first, last, expected) for first, last in stretches)
        return seconds / sum(last - first for first, last in stretches)

    def work(self, expected: Expected) -> float:
        """The work of a step in the unit that is expected; raises ValueError where the clock does not count it."""
        work = {"tokens/s": self.tokens_per_step, "steps/s": expected.ticks}.get(expected.unit, self.samples_per_step)
        if work is None:
            raise ValueError(f"the clock counts nothing for {expected.unit}")
        return work


@dataclass(frozen=True)
class Judgement:
    """perflog's numbers of one log and the clock's, of the same steps.

    `value` is in `unit`, None where perflog refuses with `reason`; `step_time` is in seconds per step of the log;
    `bounds` are what perflog says the rounding of the print allows, None where it says nothing.
    """

    value: float | None
    unit: str
    step_time: float | None
    bounds: tuple[float, float] | None
    reason: str | None
    notes: list[str]
    stretches: list[tuple[int, int]]
    clock_value: float
    clock_step_time: float

    @property
    def difference(self) -> float | None:
        """perflog's throughput against the clock's, as a share of the clock's; None without a number."""
        return None if self.value is None else self.value / self.clock_value - 1

    @property
    def step_difference(self) -> float | None:
        """perflog's time per step against the clock's, as a share of the clock's; None without a number."""
        return None if self.step_time is None else self.step_time / self.clock_step_time - 1


def expectations() -> dict[str, Expected]:
    """What is expected of each program, by its name."""
    return msgspec.toml.decode((HERE / "expected.toml").read_bytes(), type=dict[str, Expected])


def read_record(name: str) -> dict[str, Any]:
    """What the runner wrote beside the program's log: command, versions, seconds, clock."""
    record: dict[str, Any] = json.loads((LOGS / f"{name}.json").read_text(encoding="utf-8"))
    return record


def judge(name: str, expected: Expected) -> Judgement:
    """Read the program's log as a user would, and put the clock's figures beside the number."""
    clock = msgspec.convert(read_record(name)["clock"], Figures)
    options: dict[str, Any] = {"set": expected.set} | ({"warmup": expected.warmup} if expected.warmup else {})
    document = extract(LOGS / f"{name}.log", **options).document()
    if not document["cases"]:
        return _compared(clock, expected, {"reason": document["skipped"][0]["reason"]}, {}, [])
    (case,) = document["cases"]
    (run,) = case["runs"]
    metrics = run["metrics"]
    return _compared(
        clock,
        expected,
        metrics["throughput"],
        metrics.get("step_time", {}),
        [note["text"] for note in (*run["notes"], *case["notes"])],
    )


def _compared(
    clock: Figures, expected: Expected, throughput: dict[str, Any], step_time: dict[str, Any], notes: list[str]
) -> Judgement:
    value = throughput.get("value")
    first, last = (None, None) if value is None else (throughput["first_step"], throughput["last_step"])
    first = WARMUP if first is None else round(first / expected.ticks)
    last = len(clock.ends) if last is None else min(round(last / expected.ticks), len(clock.ends))
    stretches = expected.stretches or [(first, last)]
    rounding = throughput.get("rounding")
    clock_step_time = clock.step_time(stretches, expected)
    return Judgement(
        value=value,
        unit=throughput.get("unit", expected.unit),
        step_time=step_time.get("value"),
        bounds=(rounding[0], rounding[1]) if rounding else None,
        reason=throughput["reason"],
        notes=notes,
        stretches=stretches,
        clock_value=clock.work(expected) / clock_step_time,
        clock_step_time=clock_step_time / expected.ticks,
    )
