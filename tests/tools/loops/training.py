"""A training as a true clock knows it: each step's own time, and the pauses between steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tests.tools.loops.draw import Draw

Numbers = NDArray[np.float64]
PauseKind = Literal["evaluation", "saving", "epoch"]


@dataclass(frozen=True, slots=True)
class Pause:
    """Time between two steps that is no training.

    Attributes:
        after: the index of the step before it.
        announced: whether the loop prints a line of it.
    """

    after: int
    seconds: float
    kind: PauseKind
    announced: bool


@dataclass(frozen=True, slots=True)
class Training:
    """One process from its start to its end.

    Attributes:
        seconds: each step's own time; ``begin`` and ``end`` are its moments, in seconds since the process began.
        warm: so many steps at the start are slower than the rest.
        per_epoch: steps of an epoch; all steps where there is one epoch only.
        every: the loop prints one step of so many.
        batch: samples of one step on one rank, in ``micro`` pieces; ``length``: tokens of a sample.
        first: how many steps lie before the first one, where the process resumes another one's work; ``planned``: how
            many there are to be in all, 0 for those that are made.
    """

    seconds: Numbers
    begin: Numbers
    end: Numbers
    pauses: tuple[Pause, ...]
    warm: int
    per_epoch: int
    every: int
    batch: int
    micro: int
    length: int
    ranks: int
    first: int = 0
    planned: int = 0

    @property
    def steps(self) -> int:
        return len(self.seconds)

    @property
    def total(self) -> int:
        """The steps as the loop prints them."""
        return self.planned or self.steps

    @property
    def mean(self) -> float:
        """Seconds of a step behind the warm-up, pauses left out."""
        return float(self.seconds[self.warm :].mean())

    @property
    def mean_with_pauses(self) -> float:
        """The same with all that lies between the steps."""
        return float((self.end[-1] - self.begin[self.warm]) / (self.steps - self.warm))

    @property
    def mean_with_silence(self) -> float:
        """The same with the pauses that no line tells of."""
        silent = sum(pause.seconds for pause in self.pauses if not pause.announced and pause.after >= self.warm)
        return self.mean + silent / (self.steps - self.warm)

    def again(self, noise: np.random.Generator) -> Training:
        """The same training another time: its steps take as long, each another time."""
        own = np.concatenate((self.seconds[: self.warm], noise.permutation(self.seconds[self.warm :])))
        gaps = np.concatenate((self.begin[:1], self.begin[1:] - self.end[:-1]))
        end = np.cumsum(own) + np.cumsum(gaps)
        return replace(self, seconds=own, begin=end - own, end=end)

    def resumed(self, done: int, planned: int) -> Training:
        """The process that does the rest of so many steps."""
        left = planned - done
        kept = tuple(pause for pause in self.pauses if pause.after < left)
        return replace(self, seconds=self.seconds[:left], begin=self.begin[:left], end=self.end[:left], pauses=kept,
                       first=done, planned=planned)  # fmt: skip

    @property
    def spread(self) -> float:
        """How far one step lies from the mean, as a share of it."""
        return float(self.seconds[self.warm :].std()) / self.mean

    @property
    def samples(self) -> int:
        """Samples of one step on all ranks."""
        return self.batch * self.micro * self.ranks


def train(draw: Draw, *, every: int | None = None, epochs: bool | None = None, lines: tuple[int, int] = (30, 250),
          seconds: tuple[float, float] = (0.02, 4.0), pauses: bool = True) -> Training:  # fmt: skip
    """A training at random; it prints about ``lines`` lines of its steps."""
    if every is None:
        every = draw.one(
            "one line of so many steps", (1, 2, 5, 10, 20, 25, 50, 100, 200, 500), (8, 1, 1, 6, 3, 1, 3, 3, 1, 1)
        )
    printed = draw.count("printed steps", *lines)
    steps = max(every * printed, 40)
    usual = draw.number("seconds of a step", *seconds)
    # with few steps a large scatter would leave nothing to judge by
    scatter = min(draw.number("scatter of steps", 0.005, 0.10), 0.02 * float(np.sqrt(printed)))
    own = usual * np.maximum(1 + scatter * draw.noise.standard_normal(steps), 0.3)
    warm = draw.count("steps to warm up", 0, 15)
    if warm:
        own[:warm] *= draw.number("slower while warming up", 1.05, 2.0)
        own[0] *= draw.number("slower at the first step", 1.0, 20.0)
    many = draw.whether("several epochs", 0.5) if epochs is None else epochs
    per_epoch = steps
    if many:
        per_epoch = every * max(3, printed // draw.count("epochs", 2, 8)) + draw.count(
            "steps beyond the last line", 0, max(every - 1, 0)
        )
        per_epoch = min(per_epoch, steps)
    between = _pauses(draw, steps, per_epoch, every, usual) if pauses else ()
    gaps = np.zeros(steps)
    for pause in between:
        gaps[pause.after] += pause.seconds
    start = draw.number("seconds to start", 0.5, 90)
    end = start + np.cumsum(own) + np.concatenate(([0.0], np.cumsum(gaps)[:-1]))
    # sizes that one rank can do in that time
    batches = [
        size
        for size in (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 100, 128, 256, 512)
        if size <= 4 or size < 4000 * usual
    ]
    batch = draw.one("batch", batches)
    lengths = [
        length for length in (64, 128, 256, 512, 1024, 2048, 4096) if length == 64 or length * batch < 2e5 * usual
    ]
    return Training(
        own,
        end - own,
        end,
        between,
        warm,
        per_epoch,
        every,
        batch,
        draw.one("accumulation", (1, 2, 4, 8, 16), (12, 1, 1, 1, 1)),
        draw.one("tokens of a sample", lengths),
        draw.one("ranks", (1, 2, 4, 8, 16, 64), (6, 1, 2, 4, 1, 1)),
    )


def _pauses(draw: Draw, steps: int, per_epoch: int, every: int, usual: float) -> tuple[Pause, ...]:
    found: list[Pause] = []
    when = draw.one("evaluation", ("none", "each epoch", "each so many lines"), (4, 4, 3))
    long = draw.number("an evaluation is as long as so many lines", 0.3, 20) * usual * every
    if when == "each epoch" and per_epoch < steps:
        found += (Pause(after - 1, long, "evaluation", True) for after in range(per_epoch, steps, per_epoch))
    elif when == "each so many lines":
        apart = every * draw.count("lines between evaluations", 8, 40)
        found += (Pause(after - 1, long, "evaluation", True) for after in range(apart, steps, apart))
    saving = draw.one("saving", ("none", "with a line", "without a line"), (5, 3, 2))
    if saving != "none":
        apart = every * draw.count("lines between savings", 8, 60)
        brief = draw.number("a saving is as long as so many lines", 0.05, 4) * usual * every
        found += (Pause(after - 1, brief, "saving", saving == "with a line") for after in range(apart, steps, apart))
    return tuple(sorted(found, key=lambda pause: pause.after))
