"""A parser is data: what a format's lines look like and what their numbers mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perflog.formats.regexes import Jump

#: Groups whose last value is a metric of the run.
LAST_GROUPS = ("loss", "memory")

#: Groups of a measurement that stay text; all others are numbers.
TEXT_GROUPS = frozenset({"unit", "timestamp"})

#: Named groups with a fixed meaning; every other group must be named by a value or be metadata.
RESERVED_GROUPS = frozenset(
    {"epoch", "step", "first_step", "epoch_steps", "run_steps", "covers", "rank", "loss", "memory", "timestamp", "unit",
     "global_batch_size", "value", "devices", "nodes", "batch_size"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Value:
    """What one named group of a line means."""

    group: str
    quantity: str
    unit: str = ""
    span: str = "interval"
    since: str = "run"
    window: int = 0
    offset: int = 0
    scope: str = "job"
    metric: str = ""
    pick: str = "last"


@dataclass(frozen=True, slots=True)
class Sample:
    """A line and the values its pattern must read from it."""

    line: str
    expect: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Pattern:
    """One kind of line: a literal that gates a regex, and the meaning of the regex's groups.

    ``also`` is a second regex for groups that are wanted of a text's last lines only (the final loss, the peak of
    memory, which is printed in ``memory_unit``).
    """

    parser: str
    name: str
    role: str
    literal: str
    regex: str
    groups: tuple[str, ...]
    step_base: int = 1
    step_per: str = "run"
    step_repeats: bool = False
    position: str = ""
    position_once: bool = False
    event: str = ""
    starts_run: bool = False
    set: Mapping[str, str] = field(default_factory=dict)
    map: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    values: tuple[Value, ...] = ()
    samples: tuple[Sample, ...] = ()
    rejects: tuple[str, ...] = ()
    tail: str | None = None
    jump: Jump | None = None
    also: str = ""
    also_groups: tuple[str, ...] = ()
    memory_unit: str = "MiB"

    @property
    def key(self) -> str:
        return f"{self.parser}.{self.name}"


@dataclass(frozen=True, slots=True)
class Parser:
    """A format: its patterns and where its facts come from. ``own``: it is one of perflog's, which its tests check."""

    name: str
    title: str
    source: str
    framework: str
    priority: int
    file: Path
    patterns: tuple[Pattern, ...]
    traps: tuple[str, ...] = ()
    default: Mapping[str, str] = field(default_factory=dict)
    own: bool = False

    def pattern(self, name: str) -> Pattern:
        return next(p for p in self.patterns if p.name == name)
