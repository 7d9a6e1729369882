"""Patterns and rows written by hand: a line is ``row step=1 ips=5``, a pattern names its groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from perflog.formats.load import parser_from
from perflog.formats.parser import Parser, Pattern
from perflog.measurements.rows import FIELDS, Floats, Rows
from perflog.measurements.segment import Segment
from perflog.measurements.series import RankSeries

NAN = float("nan")
RATE = {"group": "ips", "quantity": "rate", "unit": "samples/s"}
TOKENS = {"group": "tps", "quantity": "rate", "unit": "tokens/s"}
STEP_TIME = {"group": "ms", "quantity": "step_time", "unit": "ms"}
MEAN_RATE = {**RATE, "span": "cumulative"}
MEAN_TIME = {**STEP_TIME, "span": "cumulative"}
ELAPSED = {"group": "clock", "quantity": "elapsed", "unit": "s", "span": "cumulative"}


def table(groups: str, *values: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A pattern's table for lines such as ``row step=1 ips=5``; ``groups`` are the names in their order."""
    literal = more.pop("literal", "row")
    regex = literal + "".join(f" {group}=(?P<{group}>{{NN}})" for group in groups.split())
    return {"name": "step", "role": "step", "literal": literal, "regex": regex, "value": list(values), **more}


def parser(*tables: Mapping[str, Any], name: str = "made", **more: Any) -> Parser:
    return parser_from({"title": "T", "source": "S", "pattern": list(tables), **more}, Path(f"{name}.toml"))


def pattern(groups: str, *values: Mapping[str, Any], **more: Any) -> Pattern:
    """A measuring pattern; without ``values`` it prints ``ips``, samples per second."""
    return parser(table(groups, *(values or (RATE,)), **more)).patterns[0]


def rows(groups: str, *numbers: Sequence[float], line: int = 1, positions: Sequence[int] | None = None) -> Rows:
    """Rows on successive lines from ``line`` on."""
    columns = dict(zip(groups.split(), np.array(numbers, dtype=np.float64).T.copy(), strict=True))
    lines = np.arange(line, line + len(numbers), dtype=np.int64)
    return Rows(lines, columns, None if positions is None else np.array(positions, dtype=np.int64))


def folded(made: Pattern, *blocks: Rows, starts: Sequence[int] = (), as_printed: bool = False) -> RankSeries:
    """The rows of successive blocks, folded up to the log's end."""
    series, begins = RankSeries(made, as_printed), np.array(starts, dtype=np.int64)
    for block in blocks:
        series.add(block, begins)
    series.close(begins)
    return series


def segment_of(made: Pattern, *blocks: Rows, as_printed: bool = False) -> Segment:
    """The one segment that blocks of rows make."""
    (segment,) = folded(made, *blocks, as_printed=as_printed).segments
    return segment


def stored(segment: Segment) -> Floats:
    """All measurements of a segment, (len(store.FIELDS), n), with what lines print beside them below."""
    return np.concatenate(list(segment.store.blocks()) or [np.empty((len(FIELDS), 0))], axis=1)


def column(segment: Segment, name: str) -> list[float]:
    """One of :data:`perflog.measurements.rows.FIELDS` of all measurements."""
    numbers: list[float] = stored(segment)[FIELDS.index(name)].tolist()
    return numbers
