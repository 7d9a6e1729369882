"""What the lines of a loop tell of its speed, and what is true of a log that tells it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from tests.tools.loops.draw import Draw
from tests.tools.loops.rows import Row, column
from tests.tools.loops.spelling import Column, Style, clock, duration, number, rate
from tests.tools.loops.training import Training
from tests.tools.loops.truth import Holds, Rates, Truth

Span = Literal["last", "interval", "total", "running"]
#: A share of a number beyond which the printed digits, or a clock's, are too coarse to tell it.
COARSE = 0.02
#: perflog leaves out so many steps unless it is told otherwise.
WARM_UP = 20


@dataclass(slots=True)
class Told:
    """What a log's lines tell of its speed, gathered while they are spelled.

    Attributes:
        clocks: how coarse each clock is over the whole log, a share: stamps, elapsed times.
        times: (what it spans, how coarse, whether a unit is printed) of each duration.
        rates: (what it spans, how coarse, the work that it counts) of each rate.
        of_rank: works whose rate is one rank's and does not say so; ``of_whom``: of which no line says whose it is.
        ranks: whether the log tells that there are several, so that such a rate may not be taken at its word.
    """

    clocks: list[float] = field(default_factory=list)
    times: list[tuple[Span, float, bool]] = field(default_factory=list)
    rates: list[tuple[Span, float, str]] = field(default_factory=list)
    of_rank: set[str] = field(default_factory=set)
    of_whom: set[str] = field(default_factory=set)
    ranks: bool = False


# ---------------------------------------------------------------- measures


def time_field(draw: Draw, found: Sequence[Row], form: Style, span: Span, told: Told) -> list[str]:
    """The texts of a duration."""
    values = {
        "last": lambda: column(found, "own"),
        "interval": lambda: column(found, "interval") / column(found, "claimed"),
        "total": lambda: column(found, "interval"),
        "running": lambda: column(found, "running"),
    }[span]()
    spelled = duration(draw, values, form, span != "total")
    if span == "running" and draw.whether("the last time beside its mean", 0.8):
        mean = number(draw, "a mean", values)
        last = number(draw, "a last time", column(found, "own"))
        form_of = draw.one("a mean stands", ("{v} ({m})", "{v} (avg {m})", "{v}/{m}", "{m} ({v})"), (6, 1, 1, 0.4))
        named = draw.one("name of a meter", ("Time", "batch_time", "time", "Batch Time", "BatchTime"))
        texts = [form.field(named, form_of.format(v=v, m=m)) for v, m in zip(last.texts, mean.texts, strict=True)]
        spelled = Column(texts, max(mean.coarse, last.coarse), False)
    told.times.append((span, spelled.coarse, spelled.unit))
    return spelled.texts


def rate_field(draw: Draw, found: Sequence[Row], form: Style, span: Span, told: Told, training: Training,
               works: Sequence[str] = ("samples", "tokens", "steps")) -> list[str]:  # fmt: skip
    """The texts of a rate."""
    seconds = {
        "last": lambda: column(found, "own"),
        "interval": lambda: column(found, "interval") / column(found, "claimed"),
        "running": lambda: column(found, "running"),
    }[span]()
    work = draw.one("work that a rate counts", works)
    whose = draw.one("a rate is of", ("all", "a rank, said", "a rank, unsaid"), (7, 2, 1))
    alone = whose != "all" and training.ranks > 1 and work != "steps"
    spelled = rate(
        draw,
        work,
        amount(training, work) / (training.ranks if alone else 1) / seconds,
        form,
        alone and whose == "a rank, said",
    )
    if alone and whose == "a rank, unsaid":
        told.of_rank.add(work)
    if work != "steps" and not (alone and whose == "a rank, said"):
        told.of_whom.add(work)
    # a unit that stands for several things is as good as too coarse
    told.rates.append((span, spelled.coarse if spelled.unit else max(spelled.coarse, COARSE), work))
    return spelled.texts


def amount(training: Training, work: str) -> float:
    """The work of one step on all ranks."""
    return {"steps": 1, "samples": training.samples, "tokens": training.samples * training.length}[work]


def elapsed_field(draw: Draw, found: Sequence[Row], form: Style, told: Told) -> list[str]:
    """The texts of the time since the run or the epoch began."""
    shape = draw.one("an elapsed time's form", ("h:mm:ss", "hh:mm:ss", "mm:ss", "1h 2m 3s", "1", "2", "3"))
    names = ["elapsed", "time elapsed", "elapsed time", "total time", "wall time", "total elapsed"]
    named = form.free(draw, "an elapsed time's name", names if shape in ("1", "2", "3") else [*names, "time"])
    unit = draw.one("an elapsed time's unit", ("s", " s", " sec", "")) if shape in ("1", "2", "3") else ""
    tick = 10.0 ** -int(shape) if shape in ("1", "2", "3") else 1.0
    trained = [row for row in found if row.phase == "train"]
    told.clocks.append(coarse(tick, [row.at for row in trained], pieces=_falls([row.ran for row in trained])))
    return [form.field(named, clock(row.ran, shape) + unit) for row in found]


def _falls(values: Sequence[float]) -> int:
    return sum(later < earlier for earlier, later in pairwise(values))


def coarse(tick: float, moments: Sequence[float], pieces: int) -> float:
    """How far a clock's digits leave the time between its first and last line open, of which pieces are cut out."""
    span = moments[-1] - moments[0] if len(moments) > 1 else 0.0
    return tick * (1 + pieces) / span if span else 1.0


# ---------------------------------------------------------------- truth


def truth(training: Training, found: Sequence[Row], told: Told, holds: Holds | None = None, why: str = "") -> Truth:
    """What is true of a log with these lines, by what they tell."""
    lines = [row for row in found if row.phase == "train"]
    kept = [row for row in lines if row.step >= lines[0].step + WARM_UP]
    if holds is None:
        holds, why = ("may", "hardly more lines than the warm-up") if len(kept) < 6 else _holds(training, told)
    sampled = training.every > 1 and any(span == "last" for span, *_ in (*told.times, *told.rates))
    counted = len(kept) if sampled or not kept else kept[-1].step - kept[0].step + 1
    open_digits = (*told.clocks, *(time[1] for time in told.times), *(one[1] for one in told.rates))
    slack = 0.02 + 2.5 * training.spread / max(counted, 1) ** 0.5 + min(max(open_digits, default=0.0), 0.1)
    return Truth(holds, true_rates(training, () if told.ranks else told.of_rank), slack, why)


def true_rates(training: Training, of_rank: Collection[str] = ()) -> Rates:
    """Steps, samples and tokens per second of all ranks, and of one.

    Args:
        of_rank: works whose printed rate is one rank's and does not say so: it may be taken at its word.
    """
    slow, fast = 1 / training.mean_with_silence, 1 / training.mean
    found: Rates = {}
    for work in ("steps", "samples", "tokens"):
        size = amount(training, work)
        own = (slow * size / training.ranks, fast * size / training.ranks)
        found[work, ""] = ((slow * size, fast * size), *([own] if work in of_rank else []))
        if work != "steps":
            found[work, "rank"] = (own,)
    return found


def _holds(training: Training, told: Told) -> tuple[Holds, str]:
    """Whether the rules of reading leave one number, and why."""
    if any(each < COARSE for each in told.clocks):
        return "yes", "a clock beside the counter"
    rates = {span for span, digits, _ in told.rates if digits < COARSE}
    if "interval" in rates:
        return "yes", "a rate of the interval with its unit"
    times = {span for span, digits, unit in told.times if digits < COARSE and unit}
    if training.every == 1 and ("last" in rates or times & {"last", "interval"}):
        return "yes", "each step prints its own"
    return "may", "nothing decides what the time or the rate spans"
