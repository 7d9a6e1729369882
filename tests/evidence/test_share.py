"""One measurement that rules the total is named; ordinary ones and few are not."""

from __future__ import annotations

from perflog.evidence.share import ruling_record
from perflog.evidence.survey import Heaviest


def test_a_record_without_which_the_throughput_is_higher() -> None:
    """20 records of 10 samples, 19 of one second and one of 21: 5 samples/s with it, 10 without."""
    heaviest = Heaviest(line=42, covers=1, time=21, work=10)
    said = ruling_record(heaviest, used=20, time=40, work=200, throughput=5)
    assert said == "line 42 alone holds 52% of the measured time; without it the throughput is 10"


def test_the_throughput_without_it_is_in_its_own_unit() -> None:
    """The store's work may be steps: the factor to the unit stays as it is."""
    said = ruling_record(Heaviest(42, 1, 21, 1), used=20, time=40, work=20, throughput=640)
    assert said.endswith("without it the throughput is 1280")


def test_up_to_five_per_cent_nothing_is_said() -> None:
    """Of 100 equal records one may take 1.9 times as long, not 7 times."""
    assert ruling_record(Heaviest(1, 1, 1.9, 1), used=100, time=100.9, work=100, throughput=1) == ""
    assert ruling_record(Heaviest(1, 1, 7, 1), used=100, time=106, work=100, throughput=1) != ""


def test_of_four_records_each_holds_much() -> None:
    assert ruling_record(Heaviest(1, 1, 9, 1), used=4, time=12, work=4, throughput=1) == ""
    assert ruling_record(Heaviest(1, 1, 9, 1), used=5, time=13, work=5, throughput=1) != ""


def test_nothing_is_said_where_nothing_is_left() -> None:
    assert ruling_record(None, used=9, time=9, work=9, throughput=1) == ""
    assert ruling_record(Heaviest(1, 1, 9, 9), used=9, time=9, work=9, throughput=1) == ""
    assert ruling_record(Heaviest(1, 1, 0, 0), used=9, time=0, work=0, throughput=1) == ""
