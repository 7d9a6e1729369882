"""The clock of the lines, with stamps and times whose truth is known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from perflog.evidence.clock import NAME, clock_witness
from perflog.evidence.survey import Marks
from perflog.evidence.witness import FACTORS, Witness
from perflog.formats.moments import Moment
from tests.support import FIXTURES, extracted

#: Ten lines, ten steps apart, at half a second a step: five seconds between two lines.
STEP = 0.5


def marks(seconds: Sequence[float]) -> Marks:
    """Lines 11, 12 … of ten steps each; ``seconds``: what the measurements say of each line's ten steps."""
    count = len(seconds)
    time = np.array(seconds, dtype=np.float64)
    steps = np.full(count, 10.0)
    return Marks(
        np.arange(11, 11 + count), np.cumsum(steps), np.cumsum(steps), np.cumsum(time), np.cumsum(steps),
        np.array([steps, time, steps]),
    )  # fmt: skip


def stamps(passed: Sequence[float], resolution: float = 0.001, **more: bool) -> list[Moment | None]:
    """Stamps of lines that come so many seconds after the line before."""
    moments = 1000.0 + np.cumsum(passed)
    return [
        Moment(float(np.floor(at / resolution) * resolution), "year-month-day", resolution, **more) for at in moments
    ]


def heard(
    passed: Sequence[float], measured: float = 10 * STEP, scale: float | None = 1.0, factors: Sequence[float] = FACTORS,
    pauses: Sequence[int] = (), **more: bool,
) -> Witness | None:  # fmt: skip
    flags = {name: more.pop(name) for name in ("sampled", "certain") if name in more}
    resolution = 1.0 if more.pop("whole_seconds", False) else 0.001
    given = marks([measured] * len(passed))
    sampled, certain = flags.get("sampled", False), flags.get("certain", True)
    moments = stamps(passed, resolution, **more)
    paused = np.array(pauses, dtype=np.int64)
    return clock_witness(given, moments, scale, "time per step", factors, sampled, certain, paused)


def agreement(passed: Sequence[float], **given: object) -> str:
    witness = heard(passed, **given)  # type: ignore[arg-type]
    assert witness is not None
    return witness.agreement


def test_stamps_that_agree() -> None:
    witness = heard([5.0] * 10)
    assert witness is not None
    assert (witness.name, witness.about, witness.unit, witness.lines) == (NAME, "time per step", "s", (11, 20))
    assert (witness.agreement, witness.remark) == ("agrees", "")
    assert witness.measured == pytest.approx(0.5)
    assert witness.told == pytest.approx(0.5, rel=1e-3)


@pytest.mark.parametrize("factor", [2, 8, 10, 60, 1000])
def test_a_factor_either_way_contradicts(factor: float) -> None:
    assert agreement([5.0] * 10, measured=5.0 / factor) == "contradicts"
    assert agreement([5.0] * 10, measured=5.0 * factor) == "contradicts"


def test_the_factors_of_the_log_count_too() -> None:
    assert agreement([5.0] * 10, measured=5.0 / 24) == "doubts"
    assert agreement([5.0] * 10, measured=5.0 / 24, factors=(*FACTORS, 24.0)) == "contradicts"


def test_less_time_than_was_measured_is_impossible() -> None:
    """Up to 5 % is agreement, up to 10 % a doubt, beyond it no cause but a misreading."""
    assert agreement([5.0] * 10, measured=5.2) == "agrees"
    assert agreement([5.0] * 10, measured=5.4) == "doubts"
    assert agreement([5.0] * 10, measured=5.7) == "contradicts"


def test_pauses_in_some_stretches_agree_and_are_said() -> None:
    """Nine stretches, three of which hold 20 seconds of evaluation: 60 of 105 seconds lie outside."""
    passed = [5.0, 5, 5, 25, 5, 5, 25, 5, 5, 25]
    witness = heard(passed)
    assert witness is not None
    assert witness.agreement == "agrees"
    assert witness.told == pytest.approx(0.5, rel=1e-3)
    assert witness.remark == (
        "57% of the time between lines 11 and 20 lies outside the measurements (evaluation, saving, waiting for data)"
    )


def test_pauses_in_most_stretches_still_leave_some_without() -> None:
    passed = [5.0, 25, 5, 25, 25, 5, 25, 5, 25, 25]
    assert agreement(passed) == "agrees"
    assert agreement(passed, measured=2.5) == "contradicts"


def test_pauses_do_not_hide_a_factor() -> None:
    passed = [5.0, 5, 5, 25, 5, 5, 25, 5, 5, 25]
    assert agreement(passed, measured=2.5) == "contradicts"
    assert agreement(passed, measured=40.0) == "contradicts"


def test_a_little_more_everywhere_is_slower() -> None:
    assert agreement([5.0] * 10, measured=4.0) == "slower"
    witness = heard([5.0] * 10, measured=4.0)
    assert witness is not None
    assert witness.remark.startswith("20% of the time")


def test_more_than_a_third_outside_everywhere_is_a_doubt() -> None:
    assert agreement([5.0] * 10, measured=3.0) == "doubts"
    assert agreement([5.0] * 10, measured=3.5) == "slower"


def test_a_step_that_stands_for_others_must_agree() -> None:
    assert agreement([5.0] * 10, measured=4.0, sampled=True) == "contradicts"
    assert agreement([5.0] * 10, sampled=True) == "agrees"


def test_an_uncertain_batch_size_never_contradicts_a_slower_clock() -> None:
    """Accumulation of 8 makes steps 8 times as long as batch size and devices say; nothing makes them shorter."""
    assert agreement([5.0] * 10, measured=5.0 / 8, certain=False) == "doubts"
    assert agreement([5.0] * 10, measured=5.0 / 24, certain=False) == "silent"
    assert agreement([5.0] * 10, measured=5.0 * 8, certain=False) == "contradicts"


def test_stamps_of_a_collector_only_doubt() -> None:
    """A buffer that was emptied at once gives all lines one moment, so that too little time seems to have passed."""
    assert agreement([5.0] * 10, measured=2.5, collected=True) == "doubts"
    assert agreement([5.0] * 10, measured=50.0, collected=True) == "silent"
    assert agreement([5.0] * 10, collected=True) == "agrees"


def test_stamps_of_whole_seconds_allow_for_what_is_cut() -> None:
    """Nine stretches of 5.6 seconds are printed as 5 or 6: the whole tells."""
    assert agreement([5.6] * 10, measured=5.6, whole_seconds=True) == "agrees"
    assert agreement([5.6] * 10, measured=2.8, whole_seconds=True) == "contradicts"
    assert agreement([0.4] * 10, measured=0.4, whole_seconds=True) == "agrees"


def test_too_little_time_for_the_stamps_says_nothing() -> None:
    assert heard([0.2] * 10, measured=0.2, whole_seconds=True) is None


def test_without_stamps_or_a_scale_nothing_is_said() -> None:
    assert heard([5.0] * 10, scale=None) is None
    assert heard([5.0]) is None
    nothing: list[Moment | None] = [None] * 10
    assert clock_witness(marks([5.0] * 10), nothing, 1.0, "time per step", FACTORS, False) is None


def test_one_line_without_a_stamp_is_left_out() -> None:
    moments = stamps([5.0] * 10)
    moments[4] = None
    witness = clock_witness(marks([5.0] * 10), moments, 1.0, "time per step", FACTORS, False)
    assert witness is not None
    assert witness.agreement == "agrees"


def test_the_scale_turns_the_stores_time_into_seconds() -> None:
    """A rate of 128 samples in a step of half a second: the store holds 1/256 second for each sample's share."""
    assert agreement([5.0] * 10, measured=5.0 / 128, scale=128.0) == "agrees"


def test_a_time_that_is_left_is_no_clock() -> None:
    """``eta: 00:10:00`` falls from line to line: as a clock it would pass midnight each time."""
    falling: list[Moment | None] = [Moment(36_000.0 - 5 * place, "time", 1.0) for place in range(10)]
    assert clock_witness(marks([5.0] * 10), falling, 1.0, "time per step", FACTORS, False) is None
    at_night: list[Moment | None] = [Moment((86_370.0 + 5 * place) % 86_400, "time", 1.0) for place in range(10)]
    witness = clock_witness(marks([5.0] * 10), at_night, 1.0, "time per step", FACTORS, False)
    assert witness is not None
    assert witness.agreement == "agrees"


def test_a_pause_that_the_log_tells_of_behind_every_line_is_no_doubt() -> None:
    """Megatron that evaluates after every line: its clock goes 3.5 times as slowly, which says nothing of its steps."""
    passed = [17.5 + 0.1 * (number % 3) for number in range(10)]
    witness = heard(passed, pauses=range(12, 21))
    assert witness is not None
    assert (witness.agreement, witness.remark.partition(" of the time")[0]) == ("slower", "72%")
    assert agreement(passed) == "doubts"
    assert agreement(passed, pauses=range(12, 17)) == "doubts"  # of the other lines nothing tells why they are late


def test_stretches_of_which_no_pause_is_told_speak_first() -> None:
    """Behind most lines the log tells of an evaluation; the clock of the others agrees, and a factor is still seen."""
    passed = [5.0, 12.0, 12.1, 5.0, 12.2, 5.0, 12.0, 12.3, 12.1, 12.0, 5.0, 12.2, 12.1, 12.0, 12.2, 5.0, 12.1, 12.0]
    paused = [11 + place for place, seconds in enumerate(passed) if seconds > 6]
    assert agreement(passed, pauses=paused) == "agrees"
    doubled = [seconds + 5 for seconds in passed]
    assert agreement(doubled, pauses=paused) == "contradicts"


def test_the_stamp_in_a_programs_own_account_is_no_collectors(tmp_path: Path) -> None:
    """fairseq2's JSON lines begin with the moment at which they were made: half the time refuses the number."""
    lines = (FIXTURES / "parsers/fairseq2/train.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines if line.startswith('{"Time"')]
    begin = datetime.fromisoformat(records[0]["Time"])
    for record in records:
        record["Time"] = (begin + (datetime.fromisoformat(record["Time"]) - begin) / 2).isoformat()
    file = tmp_path / "train.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    (run,) = extracted(file, set={"devices": "8"}).runs
    assert run.throughput.value is None
    assert "the clock of the lines" in run.throughput.reason
