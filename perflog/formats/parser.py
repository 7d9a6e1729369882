"""A parser is data: what a format's lines look like and what their numbers mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, wraps
from pathlib import Path
from typing import Literal, TypeVar

from msgspec import Struct, field

from perflog.formats.language import ParserKeys, PatternKeys, Sample, ValueKeys
from perflog.formats.meaning import LAST_GROUPS, SECTION
from perflog.formats.printed import rate_unit
from perflog.formats.vocabulary import STEP_PARTS

__all__ = [
    "CLOCKS",
    "LAST_GROUPS",
    "MEAN_UNITS",
    "SECTION",
    "TEXT_GROUPS",
    "Jump",
    "Parser",
    "Pattern",
    "Sample",
    "Value",
]

#: Units of printed metrics whose mean over time says something of a window, beside work per second.
MEAN_UNITS = frozenset({"%", "fraction", "TFLOP/s"})
#: Groups of a measurement that stay text; all others are numbers.
TEXT_GROUPS = frozenset({"unit", "timestamp"})
#: The quantities that tell when a line was printed: their differences hold whatever happened between two lines.
CLOCKS = ("elapsed", "timestamp")


class Jump(Struct, frozen=True):
    """A regex with one ``{TO}``: ``head``, then whatever the line says up to ``literal``, then ``tail``.

    What lies between is not looked at, only the first ``literal`` is found, which costs a tenth of matching it.
    """

    head: str
    literal: str
    tail: str


class Value(ValueKeys, frozen=True):
    """What one named group of a line means.

    ``inverse``: the seconds in the unit of a time per work, which counts as the rate that it is the inverse of; else 0.
    """

    inverse: float = 0.0

    @property
    def coverage(self) -> tuple[str, str, int, int]:
        """Which steps the number is a mean over: two values of one coverage tell of the same steps."""
        return self.span, self.since, self.window, self.offset

    @property
    def is_clock(self) -> bool:
        """Whether it is a clock: differences of two hold whatever happened between their lines."""
        return self.quantity in CLOCKS

    @property
    def is_part(self) -> bool:
        """Whether it is a part of the time of a step, in seconds."""
        return self.quantity == "metric" and self.metric in STEP_PARTS

    @property
    def is_printed_mean(self) -> bool:
        """Whether it is a metric whose mean over time can be taken: a share, a part of the time of a step, or work per
        second since the last line.
        """
        if self.quantity != "metric" or self.span in ("cumulative", "run"):
            return False
        if self.is_part:
            return True
        return self.unit in MEAN_UNITS or rate_unit(self.unit) is not None


class Pattern(PatternKeys, frozen=True, kw_only=True, dict=True):
    """One kind of line: a literal that gates a regex, and the meaning of the regex's groups.

    Attributes:
        parser: the name of its parser.
        groups, also_groups: the named groups of ``regex`` and of ``also``.
        step_base_shown: whether the first line shows what ``step_base`` is.
        epochs_unnamed: whether a step that falls begins the next epoch, since no line tells it.
        speaks_for_training: whether another pattern names it in ``only_with``.
        interrupted: whether a clock of it holds what lines with ``pauses`` and other bars mark, of any format.
        heads: whether it is the head of a ``block``.
        tail: what follows the literal that the regex begins with; None where it does not.
        jump: the parts of that around its ``{TO}``.
    """

    parser: str
    groups: tuple[str, ...]
    step_base: Literal[0, 1] = 1
    step_base_shown: bool = False
    epochs_unnamed: bool = False
    speaks_for_training: bool = False
    interrupted: bool = False
    heads: bool = False
    set: Mapping[str, str] = {}
    map: Mapping[str, Mapping[str, str]] = {}
    values: tuple[Value, ...] = field(default=(), name="value")
    tail: str | None = None
    jump: Jump | None = None
    also_groups: tuple[str, ...] = ()

    def facts(self, fields: Mapping[str, str]) -> dict[str, str]:
        """What a line's groups say in perflog's words, by the pattern's tables, and the facts that it sets."""
        words = {key: self.map.get(key, {text: text}).get(text) for key, text in fields.items()}
        return {**{key: word for key, word in words.items() if word is not None}, **self.set}

    @cached_property
    def tells_facts(self) -> bool:
        """Whether its lines say facts, by groups or by standing there."""
        return bool(self.groups or self.set)

    @cached_property
    def forms(self) -> Mapping[str, str]:
        """The groups whose numbers are printed for people, and how: as a ``clock``, or ``scaled`` by a suffix."""
        clocks = {value.group: "clock" for value in self.values if value.unit == "clock"}
        return {**clocks, **dict.fromkeys(self.scaled, "scaled")}

    @cached_property
    def plain(self) -> bool:
        """Whether rows of the pattern stand for themselves, whatever else a log prints, and hold no other metrics than
        parts of the time of a step.
        """
        bar = (self.redrawn, self.irregular, self.restarts, self.first_is_start, self.track)
        told = (self.never_with, self.told_by, self.ticks_told_by)
        record = (*told, self.interrupted, self.assumed_covers, self.drops_first, self.block, self.total)
        counted = self.step_base_shown or self.epochs_unnamed or self.step_rounded
        steps = counted or self.ends_epoch or self.step_counts != "steps"
        counters = [value for value in self.values if value.quantity == "samples" and value.span == "cumulative"]
        shown = any(v.window_from or v.holds_pauses or v.partial or v.since == "start" for v in self.values)
        metrics = any(not value.is_part for value in self.printed_means)
        return not (any(bar) or any(record) or steps or counters or shown or metrics)

    @property
    def needs_settings(self) -> bool:
        """Whether its measurements need what the log's settings say: the length of a window, the size of a batch."""
        return self.step_counts == "samples" or self.step_rounded or any(value.window_from for value in self.values)

    @cached_property
    def draws_bars(self) -> bool:
        """Whether its lines are refreshes of progress bars that tell how far and how long they are, and no more."""
        return {"step", "run_steps"} <= set(self.groups) and (self.irregular or self.role == "ignore")

    @cached_property
    def words(self) -> str:
        """The words of its literal that a reader would look for; empty where blanks alone are its literal."""
        return self.literal.strip()

    @cached_property
    def printed_means(self) -> tuple[Value, ...]:
        """The metrics on step lines whose mean over a run's window is taken."""
        return tuple(value for value in self.values if value.is_printed_mean) if self.role == "step" else ()

    @cached_property
    def key(self) -> str:
        return f"{self.parser}.{self.name}"


T = TypeVar("T")


def once_a_pattern(function: Callable[[Pattern], T]) -> Callable[[Pattern], T]:
    """A function of a pattern whose result is kept on the pattern: what follows from it is the same in all logs."""
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def kept(pattern: Pattern) -> T:
        known = pattern.__dict__
        if name not in known:
            known[name] = function(pattern)
        result: T = known[name]
        return result

    return kept


class Parser(ParserKeys, frozen=True, kw_only=True):
    """A format: its patterns and where its facts come from. ``own``: it is one of perflog's, which its tests check."""

    name: str
    file: Path
    patterns: tuple[Pattern, ...] = field(name="pattern")
    default: Mapping[str, str] = {}
    own: bool = False

    def pattern(self, name: str) -> Pattern:
        return next(p for p in self.patterns if p.name == name)
