"""perflog's number of a program's log beside what a clock of our own measured over the same steps.

The clock's time of steps a+1 to b is what passed between the ends of step a and step b. Evaluations and saving that fell
between are no training: they count as outside, unless `expected.toml` says that the program's own clock runs through
them, in which case perflog must say so too.
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


class Expected(msgspec.Struct, forbid_unknown_fields=True):
    """What is known of a program before its log is read.

    `set` is what the log does not tell; `refuses` a part of perflog's reason where it must give no number, and `because`
    why that is true. `includes` names the pauses that the program's own clock runs through, and `says` a part of the
    note in which perflog tells that. `within` is the largest difference allowed where the print is coarser than 1 %;
    the clock's number must then lie within perflog's own bounds of rounding.
    """

    set: dict[str, str | int] = {}
    parser: str | None = None
    warmup: str | None = None
    refuses: str | None = None
    because: str | None = None
    includes: list[str] = []
    says: str | None = None
    coarse: str | None = None
    tokens: bool = False
    unit: str = "samples/s"


@dataclass(frozen=True)
class Figures:
    """The clock's figures of a program's run: ends of steps and pauses in seconds since the training's start."""

    samples_per_step: float
    tokens_per_step: float | None
    ends: list[float]
    pauses: list[tuple[str, float, float, int]]

    def seconds(self, first: int, last: int, includes: list[str]) -> float:
        """The time from the end of step `first` to the end of step `last`, less the pauses that are not included."""
        begin = self.ends[first - 1] if first else 0.0
        left_out = sum(
            end - start
            for reason, start, end, _ in self.pauses
            if reason not in includes and start >= begin and end <= self.ends[last - 1]
        )
        return self.ends[last - 1] - begin - left_out


@dataclass(frozen=True)
class Judgement:
    """perflog's numbers of one log and the clock's, over the same steps."""

    value: float | None
    unit: str
    step_time: float | None
    bounds: tuple[float, float] | None
    reason: str | None
    notes: list[str]
    first_step: int
    last_step: int
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


def figures(name: str) -> Figures:
    """The clock's figures of the program's committed run."""
    document = json.loads((LOGS / f"{name}.json").read_text(encoding="utf-8"))
    return msgspec.convert(document["clock"], Figures)


def judge(name: str, expected: Expected) -> Judgement:
    """Read the program's log as a user would, and put the clock's figures beside the number."""
    options: dict[str, Any] = {"set": expected.set} if expected.set else {}
    if expected.parser:
        options["parser"] = expected.parser
    if expected.warmup:
        options["warmup"] = expected.warmup
    document = extract(LOGS / f"{name}.log", **options).document()
    if not document["cases"]:
        return _refused(figures(name), document["skipped"][0]["reason"], [])
    case = document["cases"][0]
    run = case["runs"][0]
    throughput = run["metrics"]["throughput"]
    if throughput["value"] is None:
        return _refused(figures(name), throughput["reason"], run["notes"])
    return _measured(figures(name), expected, run, [*run["notes"], *case["notes"]])


def _refused(clock: Figures, reason: str, notes: list[str]) -> Judgement:
    first, last = min(20, len(clock.ends) - 1), len(clock.ends)
    step_time = clock.seconds(first, last, []) / (last - first)
    value = clock.samples_per_step / step_time
    return Judgement(None, "samples/s", None, None, reason, notes, first, last, value, step_time)


def _measured(clock: Figures, expected: Expected, run: dict[str, Any], notes: list[str]) -> Judgement:
    throughput, step_time = run["metrics"]["throughput"], run["metrics"].get("step_time", {})
    first, last = round(throughput["first_step"]), min(round(throughput["last_step"]), len(clock.ends))
    clock_step_time = clock.seconds(first, last, expected.includes) / (last - first)
    work = {"samples/s": clock.samples_per_step, "steps/s": 1.0}.get(expected.unit, clock.tokens_per_step)
    if work is None:
        raise ValueError(f"the clock of {expected.unit} has no work per step")
    rounding = throughput["rounding"]
    return Judgement(
        throughput["value"], throughput["unit"], step_time.get("value"), tuple(rounding) if rounding else None, None,
        notes, first, last, work / clock_step_time, clock_step_time,
    )  # fmt: skip
