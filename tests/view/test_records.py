"""The records of runs: their sum by the documented rule is the number that the command gives."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from perflog.settings.config import settings
from perflog.show.extractions import Extractions
from perflog.view.records import Seen, frame_of, read_records
from tests.support import FIXTURES

LOGS = str(FIXTURES / "parsers")


def seen(*logs: str, **options: Any) -> Seen:
    return read_records(logs, settings(options, logs), Extractions())


def numbers(frame: pl.DataFrame) -> dict[tuple[str, int], float]:
    """The number of each run by the rule of the documentation: of the slowest rank."""
    inside = frame.filter("in_window")
    work, harmonic = (
        pl.col("work").sum() / pl.col("time").sum(),
        pl.col("covers").sum() / (pl.col("covers") / pl.col("rate")).sum(),
    )
    timed = pl.col("time").null_count() == 0
    of_ranks = inside.group_by("log", "run", "rank").agg(value=pl.when(timed).then(work).otherwise(harmonic))
    rows = of_ranks.group_by("log", "run").agg(pl.col("value").min()).iter_rows()
    return {(log, run): value for log, run, value in rows}


@pytest.mark.parametrize(
    "options", [{}, {"warmup": 0}, {"warmup": "5records"}, {"last": "3records"}, {"without_slow": True}], ids=str
)
def test_the_records_in_the_window_make_the_number(options: dict[str, Any]) -> None:
    read = seen(LOGS, **options)
    by_rule = numbers(frame_of(read))
    counted: dict[str, int] = {}
    held = 0
    for run, _ in sorted(read.runs, key=lambda one: (one[0].log.name, one[0].first_line)):
        counted[run.log.name] = counted.get(run.log.name, 0) + 1
        if run.value is None:
            continue
        held += 1
        assert math.isclose(by_rule[run.log.name, counted[run.log.name]], run.value, rel_tol=1e-9), run.log.name
    assert held > 200


def test_every_record_that_does_not_count_says_why(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("".join(f"step {k} loss 1.0 {200 if k != 7 else 50}.0 samples/s\n" for k in range(1, 41)))
    read = seen(str(log), warmup=10, steps=20)
    frame = frame_of(read)
    assert frame["why_left_out"].to_list() == ["warm-up"] * 10 + [""] * 20 + ["after the window"] * 10
    assert frame["rate"].to_list() == [50.0 if k == 7 else 200.0 for k in range(1, 41)]
    assert frame["last_line"].to_list() == list(range(1, 41))
    frame = frame_of(seen(str(log), warmup=100))
    assert frame["why_left_out"].unique().to_list() == ["the run ends after 40 steps, warm-up 100"]
    assert not frame["in_window"].any()
