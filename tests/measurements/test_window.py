"""Which measurements a window takes, what it leaves out, and what is said where it takes none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from perflog.measurements.segment import Segment, Taken
from perflog.measurements.window import borders, take
from perflog.settings.options import Amount, Window, window_of
from tests.measurements.support import MEAN_TIME, STEP_TIME, pattern, rows, segment_of

TIMES = pattern("step ms", STEP_TIME)
BY_EPOCH = pattern("epoch step ms", STEP_TIME, step_per="epoch")
KEYLESS = pattern("ms", STEP_TIME)


def timed(*seconds: float, interval: int = 1, first: int = 0) -> Segment:
    """A run that prints the seconds of a step every ``interval`` steps, from line 1 on."""
    numbers = [(first + interval * (place + 1), 1000 * time) for place, time in enumerate(seconds)]
    return segment_of(TIMES, rows("step ms", *numbers))


def taken(
    segment: Segment, warmup: str | int, steps: str | int | None = None, last: str | int | None = None,
    scale: float | None = 1.0,
) -> Taken:  # fmt: skip
    return take(segment, window_of(warmup, steps, last), "total", scale, doubts=False)


def lines_and_rest(result: Taken) -> tuple[int, int, int, Mapping[str, int]]:
    return result.first_line, result.last_line, result.estimate.used, result.excluded


TEN = range(1, 11)  # the n-th step takes n seconds


@pytest.mark.parametrize(
    ("warmup", "steps", "last", "expected"),
    [
        (0, None, None, (1, 10, 10, {})),
        (3, None, None, (4, 10, 7, {"warm-up": 3})),
        (3, 4, None, (4, 7, 4, {"warm-up": 3, "after the window": 3})),
        (3, 7, None, (4, 10, 7, {"warm-up": 3})),
        ("3records", None, None, (4, 10, 7, {"warm-up": 3})),
        ("3records", "4records", None, (4, 7, 4, {"warm-up": 3, "after the window": 3})),
        ("25%", None, None, (4, 10, 7, {"warm-up": 3})),  # 2.5 of ten steps: rather too many than too few
        ("30%", None, None, (4, 10, 7, {"warm-up": 3})),
        ("30%", 2, None, (4, 5, 2, {"warm-up": 3, "after the window": 5})),
        ("3s", None, None, (3, 10, 8, {"warm-up": 2})),  # the third step begins after 1 + 2 seconds
        ("3.5s", None, None, (4, 10, 7, {"warm-up": 3})),
        ("0s", None, None, (1, 10, 10, {})),
        (20, None, 4, (7, 10, 4, {"before the window": 6})),
        (20, None, "4records", (7, 10, 4, {"before the window": 6})),
        (20, None, 10, (1, 10, 10, {})),
    ],
)
def test_what_a_window_takes(
    warmup: str | int,
    steps: str | int | None,
    last: str | int | None,
    expected: tuple[int, int, int, Mapping[str, int]],
) -> None:
    result = taken(timed(*TEN), warmup, steps, last)
    first, until, used, _ = expected
    assert lines_and_rest(result) == expected
    assert (result.first_step, result.last_step, result.reason) == (first - 1, until, "")
    seconds = sum(range(first, until + 1))
    assert result.estimate.value == pytest.approx(used / seconds, rel=1e-15)


@pytest.mark.parametrize("border", [1, 3, 5, 9])
@pytest.mark.parametrize("warmup", ["3", "3records", "3s", "25%"])
def test_blocks_make_no_difference(border: int, warmup: str) -> None:
    whole = rows("step ms", *((n, 1000 * n) for n in TEN))
    in_two = segment_of(TIMES, whole.take(slice(0, border)), whole.take(slice(border, None)))
    assert lines_and_rest(taken(in_two, warmup)) == lines_and_rest(taken(timed(*TEN), warmup))
    assert lines_and_rest(taken(in_two, 0, last="4records")) == (7, 10, 4, {"before the window": 6})


@pytest.mark.parametrize(
    ("warmup", "steps", "expected"),
    [
        (10, None, (2, 4, 3, {"warm-up": 1})),
        (15, None, (3, 4, 2, {"warm-up": 2})),  # the line of steps 11 to 20 tells of both sides of the border
        (10, 20, (2, 3, 2, {"warm-up": 1, "after the window": 1})),
        (10, 25, (2, 3, 2, {"warm-up": 1, "after the window": 1})),
    ],
)
def test_a_measurement_across_a_border_is_left_out(
    warmup: int, steps: int | None, expected: tuple[int, int, int, Mapping[str, int]]
) -> None:
    assert lines_and_rest(taken(timed(1, 1, 1, 1, interval=10), warmup, steps)) == expected


def test_warmup_in_epochs() -> None:
    made = rows("epoch step ms", (1, 1, 9), (1, 2, 9), (2, 1, 9), (2, 2, 9), (3, 1, 9))
    assert lines_and_rest(taken(segment_of(BY_EPOCH, made), "1epoch")) == (3, 5, 3, {"warm-up": 2})
    assert taken(segment_of(BY_EPOCH, made), "3epochs").reason == "no measurement lies wholly inside the window"


def test_seconds_of_a_rate_come_from_the_batch() -> None:
    segment = segment_of(pattern("step ips"), rows("step ips", *((n, 8) for n in TEN)))
    # 32 samples a step at 8 a second: 4 s a step
    assert lines_and_rest(taken(segment, "12s", scale=32)) == (4, 10, 7, {"warm-up": 3})
    assert taken(segment, "12s", scale=None).reason == (
        "the log's rates cannot be turned into seconds without the batch size: give --set batch_size=N"
    )


def test_warmup_of_a_resumed_run_is_counted_from_its_first_line() -> None:
    result = taken(timed(1, 1, 1, 1, interval=10, first=1000), 20)
    assert (lines_and_rest(result), result.first_step, result.last_step) == ((3, 4, 2, {"warm-up": 2}), 1020, 1040)


@pytest.mark.parametrize(
    ("warmup", "steps", "last", "reason"),
    [
        (10, None, None, "the run ends after 10 steps, warm-up 10"),
        (20, None, None, "the run ends after 10 steps, warm-up 20"),
        (5, 6, None, "the run ends after 10 steps, warm-up 5 and 6 asked for after it"),
        ("50%", 6, None, "the run ends after 10 steps, warm-up 5 and 6 asked for after it"),
        ("99%", None, None, "the run ends after 10 steps, warm-up 10"),
        ("10records", None, None, "the run ends after 10 records, warm-up 10"),
        ("5records", "6records", None, "the run ends after 10 records, warm-up 5 and 6 asked for after it"),
        (0, None, 11, "10 steps, last 11 asked for"),
        (0, None, "11records", "10 records, last 11 asked for"),
        ("60s", None, None, "no measurement lies wholly inside the window"),
    ],
)
def test_why_nothing_can_be_taken(
    warmup: str | int, steps: str | int | None, last: str | int | None, reason: str
) -> None:
    result = taken(timed(*TEN), warmup, steps, last)
    assert (result.reason, result.estimate.reason) == (reason, reason)
    assert result.estimate.used == 0


def test_a_window_between_two_lines_takes_nothing() -> None:
    result = taken(timed(1, 1, interval=10), 5, 10)
    assert (result.reason, result.excluded) == (
        "no measurement lies wholly inside the window",
        {"warm-up": 1, "after the window": 1},
    )


def test_nothing_was_measured() -> None:
    assert taken(Segment(), 0).reason == "no measurement in the log"
    assert taken(Segment(), 0, last=5).reason == "no measurement in the log"


def test_running_means_without_their_beginning() -> None:
    segment = segment_of(pattern("step ms", MEAN_TIME), rows("step ms", (1010, 9), (1020, 9), (1030, 9)))
    assert taken(segment, 0).reason == (
        "the log prints running means and does not hold their beginning (it was cut, or its run resumed)"
    )


@pytest.mark.parametrize(("warmup", "last"), [(3, None), ("10%", None), ("3records", 5)])
def test_without_steps_windows_are_asked_for_in_records(warmup: str | int, last: int | None) -> None:
    segment = segment_of(KEYLESS, rows("ms", *((1000 + n,) for n in TEN)))
    assert taken(segment, warmup, last=last).reason == (
        "this format prints no step numbers: give the warm-up in records (--warmup 5records)"
    )
    assert lines_and_rest(taken(segment, "3records")) == (4, 10, 7, {"warm-up": 3})
    assert lines_and_rest(taken(segment, 20, last="3records")) == (8, 10, 3, {"before the window": 7})


def test_what_was_taken_for_a_whole_batch_is_not_computed_again() -> None:
    segment = timed(*TEN)
    segment.taken = known = taken(segment, 3)
    assert taken(segment, 3) is known
    assert taken(segment, 4) is not known
    assert take(segment, known.asked[0], "mean", 1.0, doubts=False) is not known
    assert take(segment, known.asked[0], "total", 1.0, doubts=True) is not known


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (Window(Amount(5)), (5, float("inf"))),
        (Window(Amount(5), Amount(7)), (5, 12)),
        (Window(Amount(12.5, "%")), (13, float("inf"))),
        (Window(Amount(50, "%"), Amount(7)), (50, 57)),
    ],
)
def test_borders_of_a_hundred_steps(window: Window, expected: tuple[float, float]) -> None:
    assert borders(window, 100) == expected


# The warm-up that a detector finds: five batches of five and more, a step takes one second once the run has settled.


def settling(slow: Iterable[float], count: int) -> Segment:
    slow = list(slow)
    return timed(*slow, *[1] * (count - len(slow)))


@pytest.mark.parametrize("interval", [1, 10])
def test_the_warmup_is_found(interval: int) -> None:
    segment = timed(*[3] * 5, *[1] * 35, interval=interval)
    result = taken(segment, "auto")
    assert lines_and_rest(result) == (6, 40, 35, {"warm-up": 5})
    assert result.note == f"warm-up auto: {5 * interval} steps left out (MSER-5)"
    assert result.estimate.value == 1
    assert result.asked[0].warmup.unit == "auto"


def test_the_warmup_of_a_resumed_run_is_found() -> None:
    segment = timed(*[3] * 5, *[1] * 35, first=1000)
    assert taken(segment, "auto").note == "warm-up auto: 5 steps left out (MSER-5)"


def test_a_warmup_of_records_is_found() -> None:
    note = "warm-up auto: 5 records left out (MSER-5)"
    keyless = segment_of(KEYLESS, rows("ms", *((3000 + n,) for n in range(5)), *((1000 + n % 2,) for n in range(35))))
    assert taken(keyless, "auto").note == note
    result = taken(timed(*[3] * 5, *[1] * 35), "auto", "10records")
    assert (result.note, lines_and_rest(result)) == (note, (6, 15, 10, {"warm-up": 5, "after the window": 25}))


def test_a_run_that_does_not_settle() -> None:
    result = taken(timed(*range(60, 20, -1)), "auto")
    assert result.note == "warm-up auto: not settled in the first half, 20 steps left out (MSER-5 at its cap)"
    assert result.first_line == 21


def test_a_log_too_short_for_a_detector() -> None:
    result = taken(timed(*TEN), "auto")
    assert result.reason == "warm-up auto: 10 measurements, MSER-5 needs 20"


def doubted(segment: Segment, warmup: str | int, steps: str | int | None = None, last: str | int | None = None) -> str:
    return str(take(segment, window_of(warmup, steps, last), "total", 1.0).doubt or "")


SLOW = "the detector (MSER-5) finds 5 steps: the rate then differs by"


@pytest.mark.parametrize(
    ("warmup", "steps", "doubt"),
    [
        # 40 steps in 50 s; without the first five 35 in 35 s
        (0, None, f"warm-up 0 steps, {SLOW} +25.0 %"),
        (1, None, f"warm-up 1 step, {SLOW} +20.5 %"),  # 39 in 47 s
        (0, 20, f"warm-up 0 steps, {SLOW} +50.0 %"),  # 20 in 30 s
        (
            "0records",
            None,
            "warm-up 0 records, the detector (MSER-5) finds 5 records: the rate then differs by +25.0 %",
        ),
        (5, None, ""),
        (7, None, ""),
        (0, 9, ""),  # fewer than five measurements behind the detector's end
        ("1s", None, ""),
        ("10%", None, ""),
    ],
)
def test_a_warmup_that_is_too_short_is_doubted(warmup: str | int, steps: int | None, doubt: str) -> None:
    assert doubted(timed(*[3] * 5, *[1] * 35), warmup, steps) == doubt


def test_what_is_not_doubted() -> None:
    slow = timed(*[3] * 5, *[1] * 35)
    assert doubted(slow, 0, last=40) == ""
    assert doubted(slow, "auto") == ""
    assert taken(slow, 0).doubt is None
    assert doubted(timed(*[1.05] * 5, *[1] * 35), 0) == ""  # 40 in 40.25 s: less than one per cent
    assert doubted(timed(*[1.09] * 5, *[1] * 35), 0).endswith("+1.1 %")
    assert doubted(timed(*[3] * 5, *[1] * 14), 0) == ""  # 19 measurements: no detector
    assert doubted(timed(5), 0) == ""


def test_a_doubt_of_a_run_that_does_not_settle() -> None:
    # steps of 60 s, 59 s … 21 s: 40 in 1620 s, the last twenty in 610 s
    assert doubted(timed(*range(60, 20, -1)), 0) == (
        "warm-up 0 steps, the detector (MSER-5) finds 20 steps or longer: the rate then differs by +32.8 %"
    )


def test_a_sum_of_no_time_gives_no_doubt() -> None:
    # running means whose rest takes less than no time: nothing to hold against the estimate's own reason
    numbers = [(n, 1000 * n if n <= 5 else 25_000 / n) for n in range(1, 41)]
    segment = segment_of(pattern("step ms", MEAN_TIME), rows("step ms", *numbers))
    assert doubted(segment, 0) == ""
    assert doubted(segment, 0, 30) == ""


def test_a_steady_run_is_not_doubted() -> None:
    assert doubted(timed(*[1, 1.001] * 20), 0) == ""


def test_very_long_series_are_judged_by_their_first_part(monkeypatch: pytest.MonkeyPatch) -> None:
    from perflog.measurements import window as warmup

    whole = rows("step ms", *((n, 3000 if n <= 5 else 1000) for n in range(1, 41)))
    segment = segment_of(TIMES, whole.take(slice(0, 15)), whole.take(slice(15, 35)), whole.take(slice(35, None)))
    assert warmup.rows_of(segment, 20)[5].tolist() == list(range(1, 21))
    assert warmup.rows_of(segment, 35)[5].tolist() == list(range(1, 36))
    assert warmup.rows_of(Segment()).shape == (7, 0)
    monkeypatch.setattr(warmup, "MOST", 39)
    assert doubted(segment, 0) == ""
