"""What may stand in a parser's file, as types. ``docs/parsers.md`` says what each key means."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from perflog.formats.toml import Scalar

Text = Annotated[str, Meta(min_length=1)]
Role = Literal["step", "position", "summary", "event", "metadata", "ignore"]
Quantity = Literal[
    "step_time",
    "rate",
    "time_per_work",
    "elapsed",
    "interval_time",
    "samples",
    "timestamp",
    "time_to_train",
    "accuracy",
    "metric",
]
Span = Literal["last", "interval", "window", "cumulative", "run"]
Scope = Literal["rank", "device", "node", "job"]
Since = Literal["run", "epoch", "start"]
CounterOf = Literal["run", "epoch"]
Event = Literal["", "run_start", "run_stop", "run_failed"]
Pick = Literal["last", "first", "max", "min"]
StepBase = Literal[0, 1, "first"]


class ValueTable(Struct, frozen=True, forbid_unknown_fields=True):
    """``[[pattern.value]]``"""

    group: Text
    quantity: Quantity
    unit: str = ""
    span: Span = "interval"
    since: Since = "run"
    window: Annotated[int, Meta(ge=0)] = 0
    offset: Annotated[int, Meta(ge=0)] = 0
    scope: Scope = "job"
    metric: str = ""
    definition: str = ""
    pick: Pick = "last"
    plus: tuple[str, ...] = ()
    same: str = ""
    window_from: str = ""
    holds_pauses: bool = False
    partial: bool = False


class SampleTable(Struct, frozen=True, forbid_unknown_fields=True):
    """``[[pattern.sample]]``"""

    line: Text
    expect: dict[str, Scalar] = {}
    facts: dict[str, Scalar] | None = None


class PatternTable(Struct, frozen=True, forbid_unknown_fields=True):
    """``[[pattern]]``"""

    name: Text
    role: Role
    literal: Text
    regex: Text
    step_base: StepBase = 1
    step_per: CounterOf = "run"
    step_repeats: bool = False
    step_counts: Literal["steps", "samples"] = "steps"
    step_rounded: bool = False
    scaled: tuple[str, ...] = ()
    redrawn: bool = False
    irregular: bool = False
    restarts: bool = False
    first_is_start: bool = False
    track: str = ""
    only_with: tuple[str, ...] = ()
    never_with: tuple[str, ...] = ()
    told_by: tuple[str, ...] = ()
    ticks_told_by: tuple[str, ...] = ()
    pauses: bool = False
    block: str = ""
    total: Literal["", "epoch"] = ""
    assumed_covers: Annotated[int, Meta(ge=0)] = 0
    assumption: str = ""
    drops_first: Literal["", "epoch"] = ""
    ends_epoch: bool = False
    position: str = ""
    position_once: bool = False
    evaluates: bool = False
    own: bool = False
    weak: bool = False
    section: str = ""
    event: Event = ""
    starts_run: bool = False
    set: dict[str, Scalar] = {}
    note: str = ""
    map: dict[str, dict[str, Scalar]] = {}
    value: tuple[ValueTable, ...] = ()
    also: str = ""
    memory_unit: Literal["MiB", "GiB", "MB"] = "MiB"
    sample: tuple[SampleTable, ...] = ()
    rejects: tuple[str, ...] = ()


class ParserFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A parser's whole file."""

    title: Text
    source: Text
    pattern: Annotated[tuple[PatternTable, ...], Meta(min_length=1, description="one [[pattern]] or more")]
    framework: str = ""
    priority: Annotated[int, Meta(ge=0, le=1000, description="a whole number from 0 to 1000")] = 50
    traps: tuple[str, ...] = ()
    default: dict[str, Scalar] = {}
