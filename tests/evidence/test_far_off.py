"""Last steps beside a running mean: another sum that stands where the mean would is no number."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflog.show.encoding import encoded
from tests.support import extracted

STEP = 0.2


def log(bracket: str, every: int = 10, stall: float = 0.0) -> str:
    """Two epochs of 400 steps of 0.2 s, each eighth ``stall`` seconds longer; ``bracket`` stands behind the last."""
    text = ""
    for epoch in range(2):
        elapsed = 0.0
        for index in range(400):
            last = STEP + (stall if index % 8 == 1 else 0.0)
            elapsed += last
            if index % every == 0:
                shown = bracket.format(mean=elapsed / (index + 1), sum=elapsed)
                text += f"Epoch: [{epoch}][{index}/400]\tTime {last:.3f} ({shown})\tLoss 2.1 (2.2)\n"
    return text


@pytest.mark.parametrize("copies", [1, 3], ids=["alone", "among others"])
def test_a_sum_where_the_mean_would_stand_gives_no_number(copies: int, tmp_path: Path) -> None:
    for copy in range(copies):
        (tmp_path / f"{'abc'[copy]}.log").write_text(log("{sum:.3f}") + f"copy {copy}\n")
    extraction = extracted(tmp_path)
    assert encoded(extraction, "json")
    for run in extraction.runs:
        assert run.throughput.value is None
        assert "the log contradicts itself: time per step is" in run.throughput.reason
        assert "0.2 s by time_last on the lines" in run.throughput.reason


@pytest.mark.parametrize("stall", [0.0, 1.6, 10.0])
def test_stalls_between_the_printed_steps_are_none(stall: float, tmp_path: Path) -> None:
    """Each eighth step waits for data, and no printed one does."""
    (tmp_path / "a.log").write_text(log("{mean:.6f}", every=8, stall=stall))
    (run,) = extracted(tmp_path).runs
    # the window may begin between two stalls
    assert run.throughput.value == pytest.approx(1 / (STEP + stall / 8), rel=0.005)
