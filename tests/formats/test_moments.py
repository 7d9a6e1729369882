"""Stamps at the heads of lines: which forms are read, how finely, and the seconds between two of one form."""

from __future__ import annotations

import pytest

from perflog.formats.moments import Moment, between, moment_by_shape, moment_of

DAY = 86_400


def seconds(first: str, last: str) -> float | None:
    """Seconds between the stamps of two heads of lines."""
    moments = moment_of(first.encode()), moment_of(last.encode())
    assert moments[0] is not None and moments[1] is not None, moments
    return between(moments[0], moments[1])


@pytest.mark.parametrize(
    ("head", "form", "resolution"),
    [
        ("2024-02-29 10:00:00,123 - ", "year-month-day", 1e-3),
        ("[2024/02/29 10:00:00] ppcls INFO: ", "year-month-day", 1),
        ("[rank3]:2024-02-29 10:00:00 | INFO ", "year-month-day", 1),
        ("[1,3]<stdout>:2024-02-29 10:00:00 | INFO ", "year-month-day", 1),
        ("[1,3]<stdout>:10:00:00 step ", "time", 1),
        ("2024-02-29T10:00:00.5 step ", "year-month-day", 0.1),
        ("[2024-02-29_10:00:00] ", "year-month-day", 1),
        ("02/29/2024 10:00:00 - INFO", "month/day/year", 1),
        ("I0229 10:00:00.123456  4242 solver.cpp:218] ", "glog", 1e-6),
        ("Thu Feb 29 10:00:00 2024: ", "syslog", 1),
        ("02-29 10:00:00.123 step ", "month-day", 1e-3),
        ("[10:00:00] ", "time", 1),
        ("10:00:00,25 step", "time", 1e-2),
        ('{"Time": "2024-02-29T10:00:00.123456+00:00", "Step": 1', "JSON", 1e-6),
        ('2024-02-29T10:05:00.5Z {"Time": "2024-02-29T10:00:00+00:00", "Step": 1', "JSON", 1),
    ],
)
def test_forms_of_stamps(head: str, form: str, resolution: float) -> None:
    moment = moment_of(head.encode())
    assert moment is not None
    assert (moment.form, moment.collected) == (form, False)
    assert moment.resolution == pytest.approx(resolution)
    assert moment.seconds % DAY == pytest.approx(36_000, abs=1)


@pytest.mark.parametrize(
    ("head", "form"),
    [
        ("2024-02-29T10:00:00.5Z step", "T…Z"),
        ('{"time":"2024-02-29T10:00:00.5Z","log":"step', "T…Z"),
        ("Feb 29 10:00:00 host trainer: ", "ts"),
        ("<30>Feb 29 10:00:00 host trainer: ", "ts"),
        ("Feb 29 10:00:00 step 2024", "ts"),
        ("[10:00:00] :\t [Step 1/2] ", "TeamCity"),
        ("[10:00:00]W:\t [Step 1/2] ", "TeamCity"),
    ],
)
def test_stamps_of_collectors_are_known_as_such(head: str, form: str) -> None:
    moment = moment_of(head.encode())
    assert moment is not None
    assert (moment.form, moment.collected) == (form, True)
    assert moment.seconds % DAY == pytest.approx(36_000, abs=1)
    assert moment_by_shape(head.encode()) == moment


@pytest.mark.parametrize(
    ("head", "form", "second"),
    [
        ("Feb 29 10:00:07 [2024-02-29 10:00:05] step", "year-month-day", 5),
        ("[10:00:07]W:\t [10:00:05] step", "time", 5),
        ("2024-02-29T10:00:07Z Feb 29 10:00:06 [10:00:05] step", "time", 5),
    ],
)
def test_a_programs_own_stamp_counts_behind_any_collectors(head: str, form: str, second: float) -> None:
    moment = moment_of(head.encode())
    assert moment is not None
    assert (moment.form, moment.seconds % 60, moment.collected) == (form, second, False)
    assert moment_by_shape(head.encode()) == moment


def test_a_collectors_clock_without_a_date_passes_midnight() -> None:
    assert seconds("[23:59:59] :\t ", "[00:00:01] :\t ") == 2


@pytest.mark.parametrize(
    "head",
    ["", "step 10 ", "loss 10:00 ", "0.10:00:00 ", "[25:00:00] ", "eta: 1:02:03, ", "10:00:00<10:05:00", "2024-02-29"],
)
def test_what_is_no_stamp(head: str) -> None:
    assert moment_of(head.encode()) is None


def test_a_month_that_does_not_exist_leaves_the_time() -> None:
    moment = moment_of(b"2023-13-29 10:00:00 ")
    assert moment == Moment(36_000, "time", 1)


def test_the_programs_own_stamp_counts_before_a_collectors() -> None:
    own = moment_of(b"2024-02-29T10:00:07.123Z 10:00:05 step")
    assert own == Moment(36_005, "time", 1)
    collected = moment_of(b"2024-02-29T10:00:07.5Z step")
    assert collected is not None
    assert (collected.form, collected.collected, collected.resolution) == ("T…Z", True, 0.1)


@pytest.mark.parametrize(
    "form",
    ["2024-{:02}-29 10:00:00,123 - ", "[2024/{:02}/03 10:00:00] x 2024/{:02}/04 11:22:33 ", "{:02}:10:00 ", " {:02}:59:61 ",
     "2024-02-03T10:00:{:02}.5Z {:02}:00:07 step ", "2024-02-03T10:00:{:02}.5Z step ", "step {:02} ", "I02{:02} 10:00:00.25 x ",
     "[Feb {:02} 10:00:00] ", "{:02}/{:02}/2024 10:00:00 - INFO", "13-{:02} 10:00:00 01:02:03"],
)  # fmt: skip
def test_heads_of_one_shape_tell_each_their_own_moment(form: str) -> None:
    """Some of these numbers are no day, month or hour, where another form counts or none."""
    heads = [form.format(*[number] * 2).encode() for number in (2, 1, 31, 13, 24, 99, 0, 2)]
    assert [moment_by_shape(head) for head in heads] == [moment_of(head) for head in heads]


def test_of_two_stamps_of_one_form_the_last_counts() -> None:
    assert moment_of(b"[10:00:00] [10:00:09] ") == Moment(36_009, "time", 1)


@pytest.mark.parametrize(
    ("first", "last", "passed"),
    [
        ("2024-02-28 23:59:50 ", "2024-03-01 00:00:10 ", DAY + 20),  # a leap year
        ("2023-02-28 23:59:50 ", "2023-03-01 00:00:10 ", 20),
        ("2023-12-31 23:59:50.25 ", "2024-01-01 00:00:10.75 ", 20.5),
        ("12/31/2023 23:59:50 ", "01/01/2024 00:00:10 ", 20),
        ("Dec 31 23:59:50 ", "Jan  1 00:00:10 ", 20),
        ("I1231 23:59:50.0 ", "I0101 00:00:10.0 ", 20),
        ("[23:59:50] ", "[00:00:10] ", 20),
        ("[10:00:00] ", "[10:00:00] ", 0),
        ("Mar  1 10:00:00 ", "Apr  1 10:00:00 ", 31 * DAY),
        ("Feb 10 10:00:00 ", "Feb 11 10:00:01 ", DAY + 1),
    ],
)
def test_seconds_between_two_stamps(first: str, last: str, passed: float) -> None:
    assert seconds(first, last) == pytest.approx(passed)


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("2024-02-29 10:00:10 ", "2024-02-29 10:00:00 "),  # back
        ("Mar  2 10:00:00 ", "Mar  1 10:00:00 "),
        ("2024-02-29 10:00:00 ", "[10:00:10] "),  # of two forms
        ("Feb 28 23:59:50 ", "Mar  1 00:00:10 "),  # whether there is a day between depends on the year
    ],
)
def test_seconds_that_cannot_be_known(first: str, last: str) -> None:
    assert seconds(first, last) is None


def test_a_stamp_of_the_leap_day_tells_its_year() -> None:
    assert seconds("Feb 29 23:59:50 ", "Mar  1 00:00:10 ") == 20
    assert seconds("Feb 28 23:59:50 ", "Feb 29 00:00:10 ") == 20
