"""A reading of a log: what the numbers of its lines mean, what that rests on, and the option that says as much."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct

from perflog.formats.line import Token
from perflog.inference.columns import Columns
from perflog.inference.formats import Value, batch_pattern, of_samples, parser_tables, step_patterns
from perflog.inference.measures import Meaning
from perflog.inference.said import to_paste
from perflog.inference.series import Series, is_of_steps
from perflog.inference.told import Batch, Told
from perflog.matching.tables import Table

#: A table measures steps when it has so many rows.
LEAST_ROWS = 5
#: What a reading rests on.
Basis = Literal["inferred", "stated", "said"]


class Candidate(Struct, frozen=True):
    """A reading of a log: values of one table's lines, and what they rest on.

    Attributes:
        rests: what agrees, in words; ``basis``: whether it is ``inferred`` from two parts of the log, ``stated`` by
            the line alone, or what the user ``said``.
        by_clock: whether the stamps of the lines bear it out wherever no pause stands between two.
        repeats: whether lines that repeat the step before them are left out.
        step_base: from which number steps are counted, where the lines prove it; -1 where they do not.
        batch: the batch of whose samples the counter is; None where it counts steps.
        epoch_steps: the steps of a line where each tells of a whole epoch, and who says so (``assumption``); 0 for
            other lines.
    """

    table: Table
    columns: Columns
    values: tuple[Value, ...]
    rests: tuple[str, ...]
    basis: Basis = "inferred"
    stamped: bool = False
    by_clock: bool = False
    repeats: bool = False
    epoch_steps: int = 0
    assumption: str = ""
    step_base: int = -1
    batch: Batch | None = None

    def tables(self, beside: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
        """The parser's file as tables; None where no text tells its lines from others. Of lines that count work
        alone the times of steps are not read: nothing says how many these were.

        Args:
            beside: the patterns of lines between the training's own: pauses, a heading, the beginning of a run.
        """
        position = next((pattern["name"] for pattern in beside if pattern["role"] == "position"), "")
        work = self.columns.step.unit if self.columns.step is not None else ""
        values = [value for value in self.values if not (work and _is_of_steps(value))]
        steps = step_patterns(self.table, self.columns, values, stamped=self.stamped, position=position)
        if not steps or not values:
            return None
        if self.repeats:
            steps[-1]["redrawn"] = True
        if self.step_base >= 0 and "step_base" in steps[-1]:
            steps[-1]["step_base"] = self.step_base
        if self.batch is not None:
            return parser_tables([*beside, batch_pattern(self.batch.words), of_samples(steps[-1])])
        if work:
            return parser_tables([*beside, of_samples(steps[-1], work)])
        if self.epoch_steps:
            steps[-1] |= {"assumed_covers": self.epoch_steps, "assumption": self.assumption}
        return parser_tables([*beside, *steps])

    def scope_to_paste(self) -> str:
        """The options that say whose work its rate counts, ready to be pasted."""
        rate = next(value for value in self.values if value.meaning.scope == "unknown")
        return scope_to_paste_of(self.table, self.columns, rate.meaning, rate.span)


def _is_of_steps(value: Value) -> bool:
    """Whether a number is of steps: no clock's, and no rate of other work."""
    if value.quantity in ("elapsed", "timestamp"):
        return False
    return value.quantity != "rate" or is_of_steps(value.meaning)


class Sight(Struct):
    """What was seen in a log that gave no number, for its reason.

    Attributes:
        counted: the lines that count steps, at most; ``is_timed``: whether some tell of time; ``why``: why the best of
            them give none.
        told: what the log's settings tell.
        evaluated: the last line of an evaluation's, 0 where there is none.
    """

    counted: int = 0
    is_timed: bool = False
    why: str = ""
    told: Told = Told()
    evaluated: int = 0


def candidate_of(series: Series, values: Sequence[Value], rests: Sequence[str], basis: Basis = "inferred") -> Candidate:
    """The reading of a table's rows by some of their numbers."""
    stamped = series.stamped and any(value.quantity == "timestamp" for value in values)
    by_clock = basis == "inferred" and series.clock_value is not None and series.clock_value.quantity == "timestamp"
    return Candidate(
        series.table, series.columns, tuple(values), tuple(rests), basis, stamped, by_clock, series.repeats
    )


def counter_of(series: Series) -> str:
    """How people name what counts the steps."""
    assert series.columns.step is not None
    words = re.findall("[A-Za-z_]+", series.table.words[series.columns.step.place])
    return words[-1] if words else "of the lines"


def named(meaning: Meaning) -> str:
    """How people name a time: its key, or its unit."""
    return meaning.key or meaning.unit or "time"


def pasted(series: Series, meaning: Meaning | None = None, name: str = "", unit: str = "", span: str = "") -> str:
    """The option that says what a line's counter is, and one more of its numbers."""
    token = Token(name, unit, span, is_devices=meaning is not None and meaning.scope == "device")
    return _pasted_line(series.table, series.columns, meaning, token)


def scope_to_paste_of(table: Table, columns: Columns, rate: Meaning, span: str) -> str:
    """The options that say whose work a rate counts, ready to be pasted."""
    one, all_ = (
        _pasted_line(table, columns, rate, Token("rate", rate.unit, span, is_devices=is_devices))
        for is_devices in (True, False)
    )
    return f"give {one} if it is one's, or {all_}"


def _pasted_line(table: Table, columns: Columns, meaning: Meaning | None, token: Token) -> str:
    """The option that says what a line's counters are, and that one of its numbers is what a token says."""
    assert columns.step is not None
    tokens = {columns.step.place: Token("step")}
    if columns.epoch is not None:
        tokens[columns.epoch.place] = Token("epoch")
    if meaning is not None:
        tokens[meaning.place] = token
    return to_paste(table, tokens)


def span_of(series: Series) -> str:
    """Of which steps a number of a line is that is no mean since the beginning: the last one, where each is printed."""
    return "last" if series.every == 1 else "interval"
