"""A clock of our own beside a program's log: when each optimizer step ended, and what stood between the steps.

The programs in `programs/` import this module; the runner (`run.py`) tells it by `UPSTREAM_CLOCK` where to write.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Clock:
    """The ends of a training's optimizer steps and the pauses between them, in seconds since the training's start.

    `samples_per_step` and `tokens_per_step` are those of one optimizer step. A pause (evaluation, saving) is time in
    which no step runs; it is kept apart, so that a reader may count it or leave it out.
    """

    def __init__(self, samples_per_step: int, tokens_per_step: int | None = None) -> None:
        self.samples_per_step = samples_per_step
        self.tokens_per_step = tokens_per_step
        self.ends: list[float] = []
        self.pauses: list[tuple[str, float, float, int]] = []
        self._delays = random.Random(20261121)
        self._origin = time.perf_counter()
        self._depth = 0

    def start(self) -> None:
        """Set the origin to now: the first step begins here."""
        self._origin = time.perf_counter()

    def step(self) -> None:
        """Say that an optimizer step ends now."""
        self.ends.append(time.perf_counter() - self._origin)

    def work(self, shortest: float = 0.06, longest: float = 0.12) -> None:
        """Sleep for a random time: steps of a tiny model that last as long as those of a useful one.

        The first 15 steps are slower, as they are on an accelerator; equal steps would hide a reader that takes wrong ones.
        """
        slow = 0.1 if len(self.ends) < 15 else 0.0
        time.sleep(slow + self._delays.uniform(shortest, longest))

    @contextmanager
    def pause(self, reason: str) -> Iterator[None]:
        """Note the time of the block as no part of a step; a pause within a pause is not counted again."""
        begin = time.perf_counter() - self._origin
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth:
                self.pauses.append((reason, begin, time.perf_counter() - self._origin, len(self.ends)))

    def write(self) -> None:
        """Write the figures as JSON to the path that the runner gave; without one, nowhere."""
        if not (path := os.environ.get("UPSTREAM_CLOCK")):
            return
        figures = {
            "samples_per_step": self.samples_per_step,
            "tokens_per_step": self.tokens_per_step,
            "ends": [round(end, 5) for end in self.ends],
            "pauses": [[reason, round(begin, 5), round(end, 5), step] for reason, begin, end, step in self.pauses],
        }
        Path(path).write_text(json.dumps(figures), encoding="utf-8")


def paused(clock: Clock, reason: str, holder: object, name: str) -> None:
    """Replace the function `name` of an object or module by one whose time counts as a pause."""
    function = getattr(holder, name)

    def timed(*arguments: object, **options: object) -> object:
        with clock.pause(reason):
            return function(*arguments, **options)

    setattr(holder, name, timed)
