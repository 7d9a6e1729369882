"""Everything a user can choose about extraction, in one frozen object that all stages share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from perflog.settings.amount import Window

Estimator = Literal["total", "mean", "median", "trimmed", "last", "reported"]
Aggregate = Literal["median", "mean", "olympic"]
Values = Literal["differenced", "printed"]
ESTIMATORS: tuple[str, ...] = get_args(Estimator)
AGGREGATES: tuple[str, ...] = get_args(Aggregate)
VALUES: tuple[str, ...] = get_args(Values)


@dataclass(frozen=True, slots=True)
class Options:
    """How numbers are made.

    Attributes:
        window: which measurements count.
        estimator: one of :data:`ESTIMATORS`.
        aggregate: how runs become a case's centre.
        baseline: metadata of the case speedups are relative to; empty for the one-device case.
        set: facts given on the command line; ``config_set``: facts given in perflog.toml.
        aliases: names of models, frameworks, accelerators and precisions, each with the name that it is another one of.
        as_printed: take values as the program printed them, running means not differenced.
        convention: the convention applied, empty for none: its name, and which of its options the user adjusted.
        without_slow: leave out the slow records that rule a total.
        decided: whether the user says, by the estimator or ``without_slow``, which of two numbers is meant where a log
            leaves that open.
        digits: how a convention rounds a run's value (a printf form), empty for full precision.
    """

    window: Window = field(default_factory=Window)
    estimator: str = "total"
    aggregate: str = "median"
    baseline: Mapping[str, str] = field(default_factory=dict)
    set: Mapping[str, str] = field(default_factory=dict)
    config_set: Mapping[str, str] = field(default_factory=dict)
    as_printed: bool = False
    convention: str = ""
    digits: str = ""
    aliases: Mapping[str, str] = field(default_factory=dict)
    without_slow: bool = False
    decided: bool = False
