"""Ranks with the same numbers throughout are one rank that was printed several times."""

from __future__ import annotations

from perflog.evidence.survey import is_one_rank
from perflog.measurements.segment import Segment
from tests.measurements.support import pattern, rows, segment_of

RATES = [(1, 4.25), (2, 4.5), (3, 4.75), (4, 4.5)]


def segment(*numbers: tuple[float, float], line: int = 1) -> Segment:
    return segment_of(pattern("step ips"), rows("step ips", *numbers, line=line))


def test_the_same_numbers_on_other_lines_are_one_rank() -> None:
    assert is_one_rank([segment(*RATES), segment(*RATES, line=50), segment(*RATES, line=99)])


def test_one_number_of_its_own_makes_a_rank() -> None:
    assert not is_one_rank([segment(*RATES), segment(*RATES[:3], (4, 4.51))])
    assert not is_one_rank([segment(*RATES), segment(*RATES), segment(*RATES[:3], (4, 4.51))])


def test_a_few_equal_numbers_say_nothing() -> None:
    """Two devices may both print 4.5 images/s, or 4.5 and 4.75."""
    assert not is_one_rank([segment((1, 4.5), (2, 4.5), (3, 4.75))] * 2)


def test_ranks_of_other_length_and_one_alone() -> None:
    assert not is_one_rank([segment(*RATES), segment(*RATES[:3])])
    assert not is_one_rank([segment(*RATES)])
