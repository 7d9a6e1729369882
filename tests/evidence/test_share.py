"""One measurement that rules the total is named; ordinary ones and few are not."""

from __future__ import annotations

from perflog.evidence.survey import Heaviest, Slow, ruling_record, ruling_records


def test_a_record_without_which_the_throughput_is_higher() -> None:
    """20 records of 10 samples, 19 of one second and one of 21: 5 samples/s with it, 10 without."""
    heaviest = Heaviest(line=42, covers=1, time=21, work=10)
    said = ruling_record(heaviest, used=20, time=40, work=200, throughput=5)
    assert said is not None and (said.label, said.records, said.change) == ("without line 42", 1, 2)
    assert said.text == "line 42 alone holds 52% of the measured time; without it the throughput is 10"


def test_the_throughput_without_it_is_in_its_own_unit() -> None:
    """The store's work may be steps: the factor to the unit stays as it is."""
    said = ruling_record(Heaviest(42, 1, 21, 1), used=20, time=40, work=20, throughput=640)
    assert said is not None and said.text.endswith("without it the throughput is 1280")


def test_up_to_five_per_cent_nothing_is_said() -> None:
    """Of 100 equal records one may take 1.9 times as long, not 7 times."""
    assert ruling_record(Heaviest(1, 1, 1.9, 1), used=100, time=100.9, work=100, throughput=1) is None
    assert ruling_record(Heaviest(1, 1, 7, 1), used=100, time=106, work=100, throughput=1) is not None


def test_of_four_records_each_holds_much() -> None:
    assert ruling_record(Heaviest(1, 1, 9, 1), used=4, time=12, work=4, throughput=1) is None
    assert ruling_record(Heaviest(1, 1, 9, 1), used=5, time=13, work=5, throughput=1) is not None


def test_of_few_records_one_that_is_nearly_all_the_time_is_said() -> None:
    """Two records of 0.3 s, and one whose running mean was damaged: 256 s for 0.03."""
    said = ruling_record(Heaviest(11, 10, 12800, 10), used=3, time=12800.6, work=30, throughput=1)
    assert said is not None and said.text.startswith(
        "line 11 alone holds 100% of the measured time; without it the throughput is "
    )
    assert ruling_record(Heaviest(1, 1, 9, 1), used=1, time=9, work=1, throughput=1) is None


def test_nothing_is_said_where_nothing_is_left() -> None:
    assert ruling_record(None, used=9, time=9, work=9, throughput=1) is None
    assert ruling_record(Heaviest(1, 1, 9, 9), used=9, time=9, work=9, throughput=1) is None
    assert ruling_record(Heaviest(1, 1, 0, 0), used=9, time=0, work=0, throughput=1) is None


def test_several_records_that_hold_more_than_a_step() -> None:
    """100 records of one second, four of them with ten seconds of saving: 140 s for 100 steps."""
    heaviest = Heaviest(line=17, covers=1, time=11, work=1)
    said = ruling_records(heaviest, Slow(4, 17, 44, 4, 4), used=100, time=140, work=100, throughput=100 / 140)
    assert said is not None and said.text == (
        "4 measurements, the first at line 17, took 5 times as long as the mean or longer and hold 31% of the measured "
        "time (evaluation, saving or waiting for data); without them the throughput is 1"
    )


def test_slow_records_of_little_weight_leave_the_word_to_the_heaviest() -> None:
    assert ruling_records(Heaviest(1, 1, 7, 1), Slow(2, 1, 2, 0, 0), used=100, time=106, work=100, throughput=1) == (
        ruling_record(Heaviest(1, 1, 7, 1), used=100, time=106, work=100, throughput=1)
    )
    assert ruling_records(Heaviest(1, 1, 7, 1), Slow(1, 1, 7, 1, 1), used=100, time=106, work=100, throughput=1) == (
        ruling_record(Heaviest(1, 1, 7, 1), used=100, time=106, work=100, throughput=1)
    )
