"""A training with a clock that is known, its log, and the scripts that print it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from importlib import import_module

#: So many steps of a training are not counted in its true speed: the first are slower.
WARMUP = 10
#: How many times longer than the others the first steps take.
_SLOW = (9.0, 2.0, 1.5, 1.2)


class Holds(Enum):
    """What a log holds, by the rules of a reader that knows no format: what may be given, and when."""

    TWO = "two witnesses agree"
    ONE = "one quantity with its unit and a counter, in all readings the same"
    OPTION = "an option decides"
    NONE = "no number"


#: Why many a log of whole epochs holds no number.
EPOCHS = "only seconds an epoch, of an unknown number of steps"


@dataclass(frozen=True, slots=True)
class Step:
    """One step: when it began, and what its two parts took."""

    began: float
    loading: float
    computing: float

    @property
    def total(self) -> float:
        return self.loading + self.computing

    @property
    def ended(self) -> float:
        return self.began + self.total


@dataclass(slots=True)
class Loop:
    """A training: its clock, its log, and how much was done in which time.

    A seed is a machine: another pace, another noise.
    """

    random: random.Random
    now: float = field(init=False)
    began: float = field(init=False)
    steps: int = 0
    _out: list[str] = field(default_factory=list)
    _pace: float = field(init=False)
    _seconds: float = 0.0
    _computing: float = 0.0
    _paused: float = 0.0
    _work: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._pace = self.random.uniform(0.7, 1.4)
        self.now = self.began = datetime(2024, 3, 11, 9).timestamp() + self.random.uniform(0, 36_000)

    # ------------------------------------------------ the training

    def step(self, seconds: float, *, loading: float = 0.01, **work: float) -> Step:
        """Train one step of about so many seconds, of which a share is the loading of data.

        Args:
            work: what one step does, by unit, beside the step: ``samples=32, tokens=8192``. As the log counts it: where
                a program prints the rate of one device, the work of one; ``steps=640`` where a log's own steps are
                other ones.
        """
        slow = _SLOW[self.steps] if self.steps < len(_SLOW) else 1.0
        stalled = 2.0 if self.random.random() < 0.003 else 1.0
        mean = seconds * self._pace
        compute = mean * (1 - loading) * slow * stalled * self.random.lognormvariate(0, 0.03)
        load = mean * loading * self.random.lognormvariate(0, 0.3)
        step = Step(self.now, load, compute)
        self.now += step.total
        self.steps += 1
        if self.steps > WARMUP:
            self._seconds += step.total
            self._computing += step.computing
            for unit, amount in {"steps": 1.0, **work}.items():
                self._work[unit] = self._work.get(unit, 0.0) + amount
        return step

    def pause(self, seconds: float) -> float:
        """Evaluate, save or wait for about so long, which is no training; how long it was."""
        took = seconds * self._pace * self.random.lognormvariate(0, 0.05)
        self.now += took
        if self.steps > WARMUP:
            self._paused += took
        return took

    def speeds(self, of: str = "training") -> dict[str, float]:
        """The true speed by unit, steady: of the ``training``, of its ``computing`` alone, of the whole ``loop``."""
        seconds = self._computing if of == "computing" else self._seconds + (self._paused if of == "loop" else 0.0)
        return {unit: amount / seconds for unit, amount in self._work.items()}

    # ------------------------------------------------ the log

    def print(self, text: str = "", end: str = "\n") -> None:
        self._out.append(text + end)

    @property
    def text(self) -> str:
        return "".join(self._out)

    @property
    def elapsed(self) -> float:
        return self.now - self.began

    @property
    def time(self) -> datetime:
        return datetime.fromtimestamp(self.now)

    @property
    def stamp(self) -> str:
        """The time as Python's logging prints it: ``2024-03-11 09:12:01,345``."""
        return f"{self.time:%Y-%m-%d %H:%M:%S},{self.time.microsecond // 1000:03}"

    def loss(self, of: float = 4.0) -> float:
        """A loss that falls, with noise."""
        return of * (0.3 + 0.7 / (1 + 0.01 * self.steps)) * self.random.lognormvariate(0, 0.05)

    def about(self, value: float, spread: float = 0.1) -> float:
        """A number near another one: a norm of gradients, an accuracy."""
        return value * self.random.lognormvariate(0, spread)


def whole(seconds: float) -> timedelta:
    """A time cut to whole seconds, which prints as ``0:01:05``."""
    return timedelta(seconds=int(seconds))


# ---------------------------------------------------------------- a bar of progress


class Bar:
    """A bar as tqdm draws it into a file: ten characters wide, and not more often than its least interval.

    https://github.com/tqdm/tqdm std.py: the rate is an exponential mean (0.3) over the drawings, what is left follows
    from it. The first drawing comes before the first step, the last at the end; a changed text is drawn at once.
    """

    def __init__(
        self,
        loop: Loop,
        total: int | None,
        *,
        desc: str = "",
        unit: str = "it",
        leave: bool = True,
        interval: float = 0.1,
    ) -> None:
        self._loop, self._total, self._desc, self._unit, self._leave = loop, total, desc, unit, leave
        self._interval = interval
        self._began = self._drawn_at = loop.now
        self._done = self._drawn = 0
        self._counts = self._times = 0.0
        self._postfix = ""
        self._width = 0
        self._draw()

    def update(self, count: int = 1) -> None:
        self._done += count
        since = self._loop.now - self._drawn_at
        if since >= self._interval:
            self._counts = 0.3 * (self._done - self._drawn) + 0.7 * self._counts
            self._times = 0.3 * since + 0.7 * self._times
            self._drawn, self._drawn_at = self._done, self._loop.now
            self._draw()

    def postfix(self, text: str) -> None:
        """Change the text at the end."""
        self._postfix = text
        self._draw()

    def write(self, text: str) -> None:
        """Print a line above the bar."""
        self._loop.print("\r" + " " * self._width + "\r" + text)
        self._draw()

    def close(self) -> None:
        if self._leave:
            self._draw()
            self._loop.print()
        else:
            self._loop.print("\r" + " " * self._width + "\r", end="")

    def _draw(self) -> None:
        elapsed = self._loop.now - self._began
        rate = self._counts / self._times if self._times else self._done / elapsed if elapsed and self._done else None
        head = f"{self._desc}: " if self._desc else ""
        tail = f", {self._postfix}" if self._postfix else ""
        if self._total is None:
            text = f"{head}{self._done}{self._unit} [{_clock(elapsed)}, {_rate(rate, self._unit)}{tail}]"
        else:
            left = "?" if rate is None else _clock((self._total - self._done) / rate)
            share = self._done / self._total
            counts, rates = f"{self._done}/{self._total}", f"{_clock(elapsed)}<{left}, {_rate(rate, self._unit)}"
            text = f"{head}{share * 100:3.0f}%|{_drawing(share)}| {counts} [{rates}{tail}]"
        self._loop.print("\r" + text.ljust(self._width), end="")
        self._width = len(text)


def _drawing(share: float) -> str:
    blocks = " ▏▎▍▌▋▊▉"
    full, part = divmod(int(share * 10 * 8), 8)
    return "█" * 10 if full >= 10 else ("█" * full + blocks[part]).ljust(10)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"


def _rate(rate: float | None, unit: str) -> str:
    if rate is None:
        return f"?{unit}/s"
    return f"{rate:5.2f}{unit}/s" if rate >= 1 else f"{1 / rate:5.2f}s/{unit}"


# ---------------------------------------------------------------- scripts


@dataclass(frozen=True, slots=True)
class Script:
    """A public script that no format describes.

    Attributes:
        source: the repository and the file whose print statements these are.
        prints: what of time is on its lines, in words.
        holds: what its log holds for a reader that does not know the script, and ``because`` of what.
        unit: in which its own speed is.
        computing: whether the time that it prints leaves out the loading of data, and nothing else tells that.
        untold: whether its times hold something else than training, of which no line tells.
    """

    name: str
    train: Callable[[Loop], None]
    source: str
    prints: str
    holds: Holds
    because: str
    unit: str
    computing: bool
    untold: bool

    def trained(self, seed: int = 0) -> Loop:
        """The training, ended."""
        loop = Loop(random.Random(f"{self.name} {seed}"))
        self.train(loop)
        return loop


SCRIPTS: dict[str, Script] = {}


def script(
    source: str,
    prints: str,
    holds: Holds,
    because: str = "",
    *,
    unit: str = "steps",
    computing: bool = False,
    untold: bool = False,
) -> Callable[[Callable[[Loop], None]], Callable[[Loop], None]]:
    """Enter a function as a script: it trains with a loop, and prints."""

    def enter(train: Callable[[Loop], None]) -> Callable[[Loop], None]:
        name = train.__name__
        if name in SCRIPTS:
            raise ValueError(f"two scripts are called {name}")
        SCRIPTS[name] = Script(name, train, source, prints, holds, because, unit, computing, untold)
        return train

    return enter


def all_scripts() -> Iterator[Script]:
    """All scripts, by field."""
    from tests.tools.scripts import FIELDS

    for module in FIELDS:
        import_module(f"tests.tools.scripts.{module}")
    yield from SCRIPTS.values()
