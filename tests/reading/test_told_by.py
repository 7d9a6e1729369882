"""Lines that count only where another line tells what their numbers are."""

from __future__ import annotations

from typing import Any

import pytest

from perflog.errors import ParserError
from tests.measurements.support import RATE, parser, table
from tests.reading.support import fact, formats, read

ROWS = "".join(f"row step={n} ips=5\n" for n in range(1, 31))
SAMPLE = [{"line": "row step=1 ips=5", "expect": {"step": 1, "ips": 5}}]


def step(**more: Any) -> dict[str, Any]:
    """The line ``row step=1 ips=5`` with keys of its own."""
    return table("step ips", RATE, sample=SAMPLE, **more)


@pytest.mark.parametrize(
    ("told", "counts"),
    [
        ("", False),
        ("set unit=images\n", True),
        ("set alone=1\n", False),
        ("set other=1\n", False),
        ("set alone=1\nset other=1\n", True),
    ],
)
@pytest.mark.parametrize("behind", [False, True])
def test_lines_count_where_one_of_the_others_stands_or_both_of_two(told: str, counts: bool, behind: bool) -> None:
    made = formats(step(told_by=["unit", "alone+other"]), fact("unit"), fact("alone"), fact("other"))
    reading = read(made, ROWS + told if behind else told + ROWS)
    assert reading.measures == counts
    assert counts == (not reading.undecided)
    assert counts or "is told by others (unit, alone+other), and none of these stands in the log" in reading.undecided


def test_a_name_that_is_no_pattern_is_refused() -> None:
    with pytest.raises(ParserError, match=r"told_by: 'others' is not a pattern of this file .* did you mean 'other'"):
        parser(step(told_by=["other+others"]), fact("other"))


def test_only_with_without_a_track_is_refused_since_it_would_do_nothing() -> None:
    with pytest.raises(ParserError, match="only_with: chooses among the bars of a track"):
        parser(step(only_with=["unit"]), fact("unit"))
