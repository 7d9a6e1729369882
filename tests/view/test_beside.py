"""What lines print beside their measures: losses, peaks of memory, and the time between records."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from perflog.logs.find import LogFile
from perflog.view.beside import MEMORY, Beside, beside, gaps_of
from perflog.view.page import _packed
from perflog.view.records import RankRecords, frame_of
from tests.support import FIXTURES, catalog
from tests.view.test_records import seen

GIB = {"": 1.0, "GiB": 1.0, "MiB": 1 / 1024, "MB": 1e6 / 2**30}


def only_rank(log: Path) -> RankRecords:
    ((_, records),) = seen(str(log)).runs
    assert records is not None
    return records.ranks[0]


def test_the_loss_and_memory_of_a_record_are_those_that_the_run_has_of_its_line() -> None:
    held = 0
    for run, records in seen(str(FIXTURES / "parsers")).runs:
        for name, column in (("loss", "loss"), ("memory", MEMORY)):
            metric = run.metrics.get(name)
            if metric is None or metric.value is None or records is None:
                continue
            columns = records.ranks[0].columns
            at = (columns["line"] == metric.first_line).nonzero()[0]
            if column in columns and len(at):
                held += 1
                assert math.isclose(columns[column][at[-1]], metric.value * GIB[metric.unit], rel_tol=1e-12), (
                    run.log.name
                )
    assert held > 200


def written(log: Path, pauses: dict[int, float], clock: str = "%Y-%m-%d %H:%M:%S.%f") -> None:
    """A training of 60 steps of about 0.5 s with a pause of so many seconds behind some of them."""
    moment, lines = datetime(2026, 3, 1, 10), []
    for step in range(1, 61):
        took = 0.5 + (step * 7 % 5) / 100
        moment += timedelta(seconds=took)
        stamp = f"{moment:{clock}} " if clock else ""
        timed = f"time {took:.3f} s "
        lines.append(f"{stamp}train: step {step} loss {3 - step / 100:.3f} {timed}batch size 8\n")
        moment += timedelta(seconds=pauses.get(step, 0.0))
    log.write_text("".join(lines))


def test_losses_are_those_of_their_lines(tmp_path: Path) -> None:
    log = tmp_path / "own.log"
    written(log, {})
    frame = frame_of(seen(str(log)))
    assert len(frame) > 50
    assert frame["loss"].to_list() == [round(3 - line / 100, 3) for line in frame["last_line"]]


def test_a_pause_is_a_gap_of_its_length(tmp_path: Path) -> None:
    log = tmp_path / "own.log"
    written(log, {20: 7.25, 40: 31.5})
    (first, second) = only_rank(log).gaps
    assert (first[:2], second[:2]) == ((20, 21), (40, 41))
    assert (first[2], second[2]) == pytest.approx((7.25, 31.5))


def test_without_a_pause_or_a_clock_there_is_no_gap(tmp_path: Path) -> None:
    log = tmp_path / "own.log"
    written(log, {})
    assert only_rank(log).gaps == []
    written(log, {20: 7.25}, clock="")
    assert only_rank(log).gaps == []


def gaps(moments: list[float], seconds: list[float], resolution: float) -> list[tuple[int, int, float]]:
    lines = np.arange(1, len(moments) + 1)
    read = Beside(lines, moments=np.array(moments), resolution=resolution)
    return gaps_of(lines, np.array(seconds), np.zeros(len(lines), dtype=bool), read)


def test_the_rounding_of_a_clock_in_whole_seconds_is_no_gap() -> None:
    stamps = [float(int(0.6 * k)) + (30 if k > 40 else 0) for k in range(60)]
    ((before, behind, seconds),) = gaps(stamps, [0.6] * 60, 1.0)
    assert (before, behind) == (41, 42)
    assert abs(seconds - 30) <= 1  # the digit of the stamps


def test_a_clock_that_goes_back_gives_no_length() -> None:
    assert gaps([float(k) - (3600 if k > 40 else 0) for k in range(60)], [1.0] * 60, 0.001) == []


def test_what_was_left_out_is_a_gap_where_lines_have_no_clock() -> None:
    lines, none = np.arange(1, 7), Beside(np.empty(0, dtype=np.int64))
    left_out = np.array([False, False, True, False, True, False])
    assert gaps_of(lines, np.array([1.0, 1, 9, 1, 7, 1]), left_out, none) == [(2, 4, 9.0), (4, 6, 7.0)]


def test_states_of_a_bar_on_one_line_are_not_told_apart(tmp_path: Path) -> None:
    log = tmp_path / "bar.log"
    states = [f"\r{k}%|##| {k}/100 [00:{k // 2:02d}<00:10,  2.00it/s, loss={3 - k / 50:.2f}]" for k in range(1, 101)]
    log.write_text("".join(states) + "\n")
    for _, records in seen(str(log)).runs:
        assert records is None or "loss" not in records.ranks[0].metrics


def test_a_line_that_holds_two_records_is_none_of_either_s() -> None:
    log = LogFile(str(FIXTURES / "parsers" / "tqdm_loss" / "loop.log"), 0, "")
    pattern = next(iter(catalog().by_name["mxnet_speedometer"].patterns))
    assert beside(pattern, log, [np.array([1, 1, 2]), np.array([3])]).lines.tolist() == [2, 3]


def test_steps_of_which_one_is_timed_are_no_gaps_for_their_scatter() -> None:
    """A record tells the time of its last step; what passes beside it scatters by more than a record takes."""
    passed = [2.0 + 0.5 * (-1) ** k for k in range(60)]
    stamps = np.cumsum(passed).tolist()
    assert gaps(stamps, [0.01] * 60, 0.001) == []


def test_a_clock_that_goes_back_leaves_what_was_left_out_as_the_gap() -> None:
    lines = np.arange(1, 7)
    read = Beside(lines, moments=np.array([0.0, 1, 2, -900, -899, -898]), resolution=0.001)
    left_out = np.array([False, False, True, False, False, False])
    assert gaps_of(lines, np.array([1.0, 1, 9, 1, 1, 1]), left_out, read) == [(2, 4, 9.0)]


def test_decimals_are_packed_as_whole_numbers() -> None:
    losses = np.round(np.random.default_rng(1).normal(2, 1, 10_000), 4)
    (packed, thirds) = (_packed(losses), _packed(losses / 3))
    assert packed["power"] == 10_000 and 2 * len(packed["bytes"]) < len(thirds["bytes"])
