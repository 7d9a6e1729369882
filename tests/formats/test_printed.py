"""Clocks, durations in words and numbers with a suffix, as programs print them for people."""

from __future__ import annotations

import pytest

from perflog.formats.printed import clock_seconds, number_in, scaled_digit, scaled_number


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("04:00", 240), ("1:02:03", 3723), ("26:03:11", 93_791), ("00:00:01.25", 1.25), ("00:00:01,25", 1.25),
        ("1 day, 2:03:11", 93_791), ("2 days, 0:00:01", 172_801), ("18m 42s", 1122), ("18m42s", 1122),
        ("1d 2h 3m 4s", 93_784), ("49.5s", 49.5), ("250ms", 0.25), ("12.5", 12.5), ("1e-3", 0.001),
        ("14 minutes and 44.12 seconds", 884.12), (" 3 Hours, 1 minute ", 10_860),
    ],
)  # fmt: skip
def test_durations(text: str, seconds: float) -> None:
    assert clock_seconds(text) == pytest.approx(seconds)
    assert number_in(text, "clock") == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["?", "", "soon", "1:2:3:4", "5 parsecs", "2 days, soon", "1:234"])
def test_what_is_no_duration(text: str) -> None:
    assert clock_seconds(text) is None


@pytest.mark.parametrize(
    ("text", "number", "half"),
    [
        ("1,048,576", 1_048_576, 0.5), ("2.05M", 2.05e6, 5e3), ("1.2Kit", 1200, 50), ("7B", 7e9, 5e8),
        ("3.5G", 3.5e9, 5e7), ("1.5T", 1.5e12, 5e10), ("-2.5k", -2500, 50), ("12", 12, 0.5), ("0.25", 0.25, 0.005),
    ],
)  # fmt: skip
def test_scaled_numbers_and_half_of_their_last_digit(text: str, number: float, half: float) -> None:
    assert scaled_number(text) == number
    assert scaled_digit(text) == pytest.approx(half, rel=1e-12)
    assert number_in(text, "scaled") == number


@pytest.mark.parametrize("text", ["", "k", "1.2 parsecs", "1e3k", "1.2.3"])
def test_what_is_no_scaled_number(text: str) -> None:
    assert scaled_number(text) is None
    assert scaled_digit(text) is None
