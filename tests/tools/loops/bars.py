"""Bars: what they draw at a moment, and how their redraws come into a file.

Layouts: tqdm (`std.py`, format_meter: `desc:  12%|█▏        | 120/1000 [00:30<03:40,  4.00it/s, loss=2.3]`, EMA of 0.3),
progressbar2 (`12% (120 of 1000) |###   | Elapsed Time: 0:00:30 ETA:   0:03:40`), alive-progress (`|███▎   | 120/1000 [12%]
in 30s (4.0/s, eta: 3:40)`), rich's default columns (`Training ━━━━━╸━━━━  12% 0:03:40`), click (`Training  [####----]   12%
00:03:40`), enlighten, fastprogress (`12.00% [120/1000 00:30<03:40 2.31]`), verigak's progress, hand-made ones of the
many `print_progress` of public repositories (`[=====>    ] 12.0% 120/1000`), pip's and Hugging Face datasets' `Map:`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.tools.loops.draw import Draw
from tests.tools.loops.spelling import clock
from tests.tools.loops.training import Numbers


@dataclass(frozen=True, slots=True)
class State:
    """What a bar knows when it is drawn: of so many ticks so many, the time since its start, and its own rate."""

    at: float
    done: int
    total: int
    elapsed: float
    rate: float

    @property
    def share(self) -> float:
        """How much of the bar is full."""
        return self.done / self.total

    @property
    def left(self) -> float:
        """The seconds that the bar says are left."""
        return (self.total - self.done) / self.rate if self.rate else 0.0


@dataclass(frozen=True, slots=True)
class Look:
    """How a bar looks: its name, what it counts, what stands behind it, its charset and width."""

    name: str
    unit: str
    charset: str
    width: int


def states(ends: Numbers, start: float, total: int, least: float, first: int = 0, smooth: bool = True) -> list[State]:
    """The draws of a bar whose ticks end at these moments: at most one in ``least`` seconds, and its last.

    Args:
        first: ticks that are done when the bar begins.
        smooth: the rate is an exponential mean of the last draws, as tqdm's; else the mean since the start.
    """
    found: list[State] = []
    drawn, done, mean, weight = start, first, 0.0, 0.0
    at = 0
    while at < len(ends):
        if ends[at] - drawn >= least or at == len(ends) - 1:
            now = first + at + 1
            if smooth:
                mean = 0.3 * (ends[at] - drawn) / (now - done) + 0.7 * mean
                weight = 0.3 + 0.7 * weight
            elapsed = float(ends[at]) - start
            last = at == len(ends) - 1 and now == total
            rate = weight / mean if smooth and not last and mean else (now - first) / elapsed
            found.append(State(float(ends[at]), now, total, elapsed, float(rate)))
            drawn, done = float(ends[at]), now
        at = max(at + 1, int(np.searchsorted(ends, drawn + least)))
        at = len(ends) - 1 if at >= len(ends) and (not found or found[-1].done < first + len(ends)) else at
    return found


def _filled(share: float, look: Look) -> str:
    """A bar's drawing: ten or more characters, the last one in parts."""
    signs = {
        "blocks": " ▏▎▍▌▋▊▉█",
        "ascii": " 123456789#",
        "hashes": " #",
        "dashes": "-#",
        "arrows": ".=",
        "lines": "━━",
    }[look.charset]
    full, part = divmod(int(share * look.width * (len(signs) - 1)), len(signs) - 1)
    return (signs[-1] * full + (signs[part] if full < look.width and part else "")).ljust(look.width, signs[0])


def interval(seconds: float) -> str:
    """tqdm's times: ``mm:ss``, with hours only where there are any."""
    hours, rest = divmod(int(seconds), 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60:02d}:{rest % 60:02d}"


def tqdm(state: State, look: Look, behind: str) -> str:
    """tqdm's line."""
    name = f"{look.name}: " if look.name else ""
    speed = f"{state.rate:5.2f}{look.unit}/s" if state.rate >= 1 else f"{1 / state.rate:5.2f}s/{look.unit}"
    inside = f"{interval(state.elapsed)}<{interval(state.left)}, {speed}{', ' + behind if behind else ''}"
    return f"{name}{100 * state.share:3.0f}%|{_filled(state.share, look)}| {state.done}/{state.total} [{inside}]"


def _progressbar2(state: State, look: Look, behind: str) -> str:
    end = (
        f"ETA:   {clock(state.left, 'h:mm:ss')}"
        if state.done < state.total
        else f"Time:  {clock(state.elapsed, 'h:mm:ss')}"
    )
    return (
        f"{look.name + ' ' if look.name else ''}{100 * state.share:3.0f}% ({state.done} of {state.total}) "
        f"|{_filled(state.share, look)}| Elapsed Time: {clock(state.elapsed, 'h:mm:ss')} {end}{' ' + behind if behind else ''}"
    )


def _alive(state: State, look: Look, behind: str) -> str:
    time = interval(state.elapsed) if state.elapsed >= 60 else f"{state.elapsed:.1f}s"
    left = interval(state.left) if state.left >= 60 else f"{state.left:.0f}s"
    inside = f"{state.rate:.2f}/s, eta: {left}" if state.done < state.total else f"{state.rate:.2f}/s"
    return f"{look.name + ' ' if look.name else ''}|{_filled(state.share, look)}| {state.done}/{state.total} [{100 * state.share:.0f}%] in {time} ({inside}) {behind}"


def _rich(state: State, look: Look, behind: str) -> str:
    return (
        f"{look.name or 'Working...'} {_filled(state.share, look)} {100 * state.share:3.0f}% {state.done}/{state.total} "
        f"{clock(state.elapsed, 'h:mm:ss')} {clock(state.left, 'h:mm:ss')} {behind}"
    )


def _enlighten(state: State, look: Look, behind: str) -> str:
    return (
        f"{look.name + ' ' if look.name else ''}{100 * state.share:3.0f}%|{_filled(state.share, look)}| {state.done}/{state.total} "
        f"[{interval(state.elapsed)}<{interval(state.left)}, {state.rate:.2f} {look.unit}/s] {behind}"
    )


def _fastprogress(state: State, look: Look, behind: str) -> str:
    value = behind.partition("=")[2].partition(",")[0]
    return f"{look.name + ' ' if look.name else ''}|{_filled(state.share, look)}| {100 * state.share:.2f}% [{state.done}/{state.total} {interval(state.elapsed)}<{interval(state.left)} {value}]"


def _verigak(state: State, look: Look, behind: str) -> str:
    return (
        f"{look.name or 'Processing'} |{_filled(state.share, look)}| ({state.done}/{state.total}) | Total: {clock(state.elapsed, 'h:mm:ss')} "
        f"| ETA: {clock(state.left, 'h:mm:ss')} | {behind}"
    )


def _by_hand(state: State, look: Look, behind: str) -> str:
    arrow = _filled(state.share, look)
    return f"{look.name + ' ' if look.name else ''}[{arrow}] {100 * state.share:.1f}% {state.done}/{state.total} {behind} | {state.rate:.2f} {look.unit}/s | elapsed {interval(state.elapsed)} | ETA {interval(state.left)}"


def _by_hand_with_seconds(state: State, look: Look, behind: str) -> str:
    return f"{look.name + ' ' if look.name else ''}{state.done}/{state.total} [{_filled(state.share, look)}] - {state.elapsed:.1f}s {1000 * state.elapsed / max(state.done, 1):.0f}ms/{look.unit} - {behind.replace('=', ': ')}"


def _click(state: State, look: Look, behind: str) -> str:
    return f"{look.name or 'Training'}  [{_filled(state.share, look)}]  {state.done}/{state.total}  {100 * state.share:3.0f}%  {clock(state.left, 'hh:mm:ss')} {behind}"


def _percent_alone(state: State, look: Look, behind: str) -> str:
    return f"{look.name or 'Progress'} |{_filled(state.share, look)}| {100 * state.share:.1f}% Complete {behind}"


Layout = Callable[[State, Look, str], str]
#: (layout, the charsets that it has, whether it tells the time since its start)
LAYOUTS: tuple[tuple[Layout, tuple[str, ...], bool], ...] = (
    (tqdm, ("blocks", "ascii", "hashes"), True),
    (_progressbar2, ("hashes",), True),
    (_alive, ("blocks",), True),
    (_rich, ("lines",), True),
    (_enlighten, ("blocks",), True),
    (_fastprogress, ("dashes", "blocks"), True),
    (_verigak, ("hashes", "blocks"), True),
    (_by_hand, ("arrows", "dashes"), True),
    (_by_hand_with_seconds, ("arrows",), True),
    (_click, ("dashes",), False),
    (_percent_alone, ("blocks", "dashes"), False),
)


@dataclass(slots=True)
class Screen:
    """A file that holds what a terminal was sent: redraws that begin with a carriage return, or each on a line.

    Attributes:
        raw: whether carriage returns are in the file; else each redraw is a line.
    """

    raw: bool
    text: list[str]
    open: bool = False

    def redraw(self, text: str, last: bool = False, inner: bool = False) -> None:
        """A bar's next state; ``inner``: of a bar below another one, as tqdm moves the cursor."""
        if not self.raw:
            self.text.append(text.rstrip(" ") + "\n")
            return
        self.text.append(f"\n\r{text}\x1b[A" if inner else f"\r{text}")
        self.open = True
        if last and not inner:
            self.text.append("\n")
            self.open = False

    def print(self, text: str, cleared: bool) -> None:
        """A line of the program; ``cleared``: the bar was taken away before, as tqdm.write does."""
        if self.raw and self.open and cleared:
            self.text.append("\r" + " " * 80 + "\r")
        self.text.append(f"{text}\n")
        self.open = False

    def all(self) -> str:
        """The file."""
        return "".join(self.text) + ("\n" if self.open else "")


def look(draw: Draw, charsets: tuple[str, ...], name: str, unit: str) -> Look:
    """A bar's look at random."""
    return Look(name, unit, draw.one("a bar's signs", charsets), draw.one("a bar's width", (10, 10, 20, 30, 40)))
