"""Pictures: they say what they show, and the same logs give the same bytes."""

from __future__ import annotations

import numpy as np
import pytest

from perflog.errors import UsageError
from perflog.find import find_logs
from perflog.plot import described, picture
from perflog.run import Metric
from perflog.series import Segment
from perflog.store import Store
from perflog.trace import POINTS, _trace, traces
from tests.support import FIXTURES, catalog, extracted, options

ONE = FIXTURES / "seed001/GPUx8_time2train_ips-bs8.log"

SEED = FIXTURES / "seed004"


@pytest.mark.parametrize(
    ("kind", "texts"), [("scaling", ["samples/s", "ideal", "fp16 bs256", "fp32 bs128", "n = 5"]), ("spread", ["32 devices (n = 5)", "1 device (n = 5)"])]
)
def test_a_picture_says_what_it_shows(kind: str, texts: list[str]) -> None:
    extraction = extracted(SEED, warmup=100, steps=100)
    drawn = picture(extraction, kind, "svg").decode()
    assert [text for text in texts if text not in drawn] == []
    assert picture(extraction, kind, "svg").decode() == drawn
    assert picture(extraction, kind, "png").startswith(b"\x89PNG")
    assert "n = 5" in described(extraction, kind)


def test_what_cannot_be_drawn_is_said() -> None:
    with pytest.raises(UsageError, match="no case has a value"):
        picture(extracted(FIXTURES / "seed001", warmup=100000), "scaling", "svg")


def test_step_times_shade_what_is_left_out() -> None:
    logs = find_logs([SEED / "logs_fp32/mindspore/resnet50/bz128/1n8g"])
    extraction, found = traces(logs, options(warmup=100, steps=100), catalog())
    assert len(found) == 5
    for trace in found:
        assert trace.window == (100, 200)
        inside = (trace.steps > 100) & (trace.steps <= 200)
        step_time = trace.run.metrics["step_time"].value
        assert step_time is not None
        assert trace.seconds[inside].mean() == pytest.approx(step_time, rel=1e-9)
    drawn = picture(extraction, "steps", "svg", found).decode()
    assert "grey: left out" in drawn
    assert "(5 runs" in drawn


def test_a_long_run_is_thinned_out_and_keeps_its_time() -> None:
    store = Store()
    n = 10 * POINTS + 7
    rows = np.ones((7, n))
    rows[0], rows[1] = np.arange(n), np.arange(n) + 1
    store.append(rows)
    run = extracted(ONE, warmup=20).runs[0]
    run.throughput.first_step, run.throughput.last_step = 0.0, float(n)
    run.metrics["step_time"] = Metric("step_time", 0.5, "s", "total")
    made = _trace(run, Segment(store=store))
    assert made is not None
    assert len(made.steps) <= POINTS
    assert np.allclose(made.seconds, 0.5)
