"""Lines in the forms in which programs print their steps: the number is the truth, or there is none with its reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.inference.classes import BATCH, Moment, steps
from tests.inference.test_rules import extracted, per_step


def stamped(moment: Moment, text: str) -> str:
    return f"{moment.now:%Y-%m-%d %H:%M:%S},{moment.now.microsecond // 1000:03d} INFO {text}"


def given(folder: Path, text: str) -> tuple[float | None, str, str]:
    """(the number, its unit, why there is none) of a log."""
    found = extracted(folder, text)
    reasons = [run.throughput.reason for run in found.runs] + [one.reason for one in found.skipped]
    run = next((run for run in found.runs if run.throughput.value is not None), None)
    return (None, "", reasons[0]) if run is None else (run.throughput.value, run.throughput.unit, "")


def is_true(folder: Path, text: str, moments: list[Moment], rel: float = 0.02) -> None:
    value, unit, reason = given(folder, text)
    assert unit.partition("/")[0] in ("steps", "samples", "images"), reason
    work = 1 if unit == "steps/s" else BATCH
    assert value == pytest.approx(work / per_step(moments), rel=rel)


# ----------------------------------------------------------------------------------------------------
# What counts the steps.

COUNTERS: dict[str, Callable[[Moment], str]] = {
    "behind an epoch": lambda m: f"epoch/iter: {m.step // 200}/{m.step - 1} loss {m.loss:.4f}",
    "behind a constant": lambda m: f"TRAIN | Batch 0/{m.step} loss {m.loss:.4f}",
    "the end of a range from the beginning": lambda m: f"Batch [0-{m.step}] loss {m.loss:.4f}",
    "the end of a range from line to line": lambda m: f"Batch [{m.step - 10}-{m.step}] loss {m.loss:.4f}",
    "in a namespace": lambda m: f"runtime.step={m.step}, loss.total={m.loss:.4f}",
    "in a list": lambda m: f'{{"time": "{m.now.isoformat()}", "step": [1, {m.step}], "loss": {m.loss:.4f}}}',
}


@pytest.mark.parametrize("name", COUNTERS)
def test_a_counter_is_found_wherever_it_stands(tmp_path: Path, name: str) -> None:
    moments = list(steps(10, 400))
    is_true(tmp_path, "".join(f"{stamped(m, COUNTERS[name](m))}\n" for m in moments), moments)


@pytest.mark.parametrize("first", [0, 49])
def test_counts_that_are_no_batches_are_steps(tmp_path: Path, first: int) -> None:
    """``[49/733]``: no batch has 49 samples in one epoch and 99 behind the next; ``[50/733]`` may be of fifty."""
    moments = list(steps(10, 400))
    text = "".join(
        f"{stamped(m, f'Epoch [1][{m.step - 1 if first else m.step}/733] loss {m.loss:.4f}')}\n" for m in moments
    )
    if first:
        is_true(tmp_path, text, moments)
    else:
        assert "whether it counts steps or samples" in given(tmp_path, text)[2]


@pytest.mark.parametrize("time", [True, False])
def test_a_coarse_clock_tells_steps_from_samples(tmp_path: Path, time: bool) -> None:
    """In whole seconds no line is told from the next, and sixteen times as many steps would still be seen."""
    moments = list(steps(20, 200))
    text = "".join(
        f"{m.now:%m/%d %H:%M:%S} Epoch: [0] [{m.step}/400] loss: {m.loss:.4f}"
        + (f" batch_cost: {m.mean:.4f} ips: {BATCH / m.mean:.4f} images/s\n" if time else "\n")
        for m in moments
    )
    if time:
        is_true(tmp_path, text, moments)
    else:
        assert given(tmp_path, text)[0] is None


@pytest.mark.parametrize(
    "settings", [f"global_batch_size: {BATCH}\nsteps_per_epoch: 500\n", f"total_batch_size={BATCH}\n"]
)
def test_a_counter_of_samples_is_known_by_the_batch(tmp_path: Path, settings: str) -> None:
    moments = list(steps(10, 400))
    lines = "".join(
        f"{stamped(m, f'Train Epoch: 1 [{m.step * BATCH}/{500 * BATCH}] Loss: {m.loss:.4f}')}\n" for m in moments
    )
    value, unit, reason = given(tmp_path, settings + lines)
    assert (unit, reason) == ("samples/s", "")
    assert value == pytest.approx(BATCH / per_step(moments), rel=0.02)
    assert "whether it counts steps or samples" in given(tmp_path, lines)[2]


def test_a_batch_that_does_not_divide_the_counts_is_not_the_counters(tmp_path: Path) -> None:
    moments = list(steps(10, 400))
    text = "total_batch_size: 48\n" + "".join(
        f"{stamped(m, f'Train Epoch: 1 [{m.step * BATCH}/{500 * BATCH}] Loss: {m.loss:.4f}')}\n" for m in moments
    )
    assert given(tmp_path, text)[0] is None


# ----------------------------------------------------------------------------------------------------
# What a time is called, and of which steps it is.

TIMES: dict[str, tuple[int, str]] = {
    "a bare time": (1, "time: {s:.4f}"),
    "seconds": (1, "seconds: {s:.4f}"),
    "a verb": (1, "time consumption is {s:.6f}"),
    "a unit behind in": (1, "train_step_timing in s: {s:.4f}"),
    "for a step, without a unit": (1, "time: {s:.4f}/it"),
    "a meter's name": (1, "Batch {s:.4f}"),
    "an empty evaluation": (1, 'val: n/a, "eval_loss": null, iter time: {ms:.2f} ms'),
    "a part of a model": (1, "lr_decoder: 0.01, decode.loss_ce: 0.2, iter time: {ms:.2f} ms"),
    "of so many steps": (10, "Time(10 iters): {ten:.4f}s"),
    "so many steps in": (10, "10 iters in {ten:.3f} sec"),
    "a mean": (10, "average iter time: {s:.5f}"),
    "a mean with its unit": (10, "avg_step_ms: {ms:.2f}"),
    "for each of them": (10, "ms/batch {ms:.3f}"),
    "for each, in words": (10, "elapsed time per iteration (ms): {ms:.1f}"),
}


@pytest.mark.parametrize("name", TIMES)
def test_a_time_is_known_by_its_words(tmp_path: Path, name: str) -> None:
    every, form = TIMES[name]
    moments = list(steps(every, 600))
    text = "".join(
        f"iteration {m.step} loss {m.loss:.4f} {form.format(ten=10 * m.mean, s=m.mean, ms=1e3 * m.mean)}\n"
        for m in moments
    )
    is_true(tmp_path, text, moments)


NONE: dict[str, tuple[int, str, str]] = {
    "a part of a sum": (1, "time:0.0512+{s:.4f}", ""),
    "with the time of data beside it": (1, "Time {s:.4f} DataLoadingTime {data:.4f}", "no line says whether 'Time'"),
    "of one of several": (10, "time: {s:.4f}s", "printed at one of 10 steps"),
    "rates of a work without a word": (10, "foo/sec = {rate:.1f}", ""),
    "milliseconds without a unit": (1, "time: {ms:.3f}", "without a unit"),
}


@pytest.mark.parametrize("name", NONE)
def test_a_time_that_may_be_another_gives_none(tmp_path: Path, name: str) -> None:
    every, form, why = NONE[name]
    text = "".join(
        f"step {m.step} loss {m.loss:.4f} "
        f"{form.format(s=m.seconds, ms=1e3 * m.seconds, data=0.15 * m.seconds, rate=BATCH / m.seconds)}\n"
        for m in steps(every, 600)
    )
    value, _, reason = given(tmp_path, text)
    assert value is None
    assert why in reason


def test_a_smoothed_average_is_no_mean_since_the_line_before(tmp_path: Path) -> None:
    smooth, text = 2.0, ""
    for m in steps(1, 600):
        smooth = 0.995 * smooth + 0.005 * m.seconds
        text += f"iteration {m.step} loss {m.loss:.4f} average iter time: {smooth:.5f}\n" if m.step % 10 == 0 else ""
    assert given(tmp_path, text)[0] is None


@pytest.mark.parametrize(
    "rate", ["samplesPerSec={r:.2f}", "speed: {r:.2f} [samples/sec]", "throughput: {k:.5f} k samples/s"]
)
def test_a_rate_is_known_by_its_words(tmp_path: Path, rate: str) -> None:
    moments = list(steps(1, 300))
    text = "".join(
        f"step {m.step} loss {m.loss:.4f} {rate.format(r=BATCH / m.seconds, k=BATCH / m.seconds / 1e3)}\n"
        for m in moments
    )
    value, unit, reason = given(tmp_path, text)
    assert (unit, reason) == ("samples/s", "")
    assert value == pytest.approx(BATCH / per_step(moments), rel=0.02)


def test_a_unit_in_brackets_is_the_units_own(tmp_path: Path) -> None:
    """The words behind the number are the next one's key: ``throughput (samples/s) 363 tokens/s 23248``."""
    moments = list(steps(1, 300))
    text = "".join(
        f"step {m.step} loss {m.loss:.4f} throughput (samples/s) {BATCH / m.seconds:.2f} "
        f"tokens/s {64 * BATCH / m.seconds:.1f} memory 12\n"
        for m in moments
    )
    value, unit, reason = given(tmp_path, text)
    assert reason == ""
    assert value == pytest.approx(BATCH * (64 if unit == "tokens/s" else 1) / per_step(moments), rel=0.02)


@pytest.mark.parametrize("first", [1, 36])
def test_a_running_mean_of_each_step_is_no_steps_own(tmp_path: Path, first: int) -> None:
    """Of a log that was cut the mean's beginning is not known."""
    moments = list(steps(1, 300))
    text = "".join(
        f"Training | batch {m.step}\t{(m.total + 5) / m.step:.3f} s/it\tloss: {m.loss:.4f}\n"
        for m in moments if m.step >= first
    )  # fmt: skip
    value, _, reason = given(tmp_path, text)
    assert value is None or value == pytest.approx(1 / per_step(moments), rel=0.03), reason


def test_a_capital_m_is_a_million_and_no_minute(tmp_path: Path) -> None:
    moments = list(steps(1, 300))
    text = "".join(f"iteration {m.step} loss {m.loss:.4f}; {0.0512 / m.seconds:.4f} M w/s\n" for m in moments)
    value, unit, reason = given(tmp_path, text)
    assert (unit, reason) == ("words/s", "")
    assert value == pytest.approx(51_200 / per_step(moments), rel=0.02)


# ----------------------------------------------------------------------------------------------------
# Lines beside a training's own, and lines that hold something else.


@pytest.mark.parametrize("head", ["", "INFO:root:"])
def test_a_line_that_is_printed_twice_is_one(tmp_path: Path, head: str) -> None:
    moments = list(steps(10, 400))
    rows = [f"[Training][Iteration {m.step}] training time: {1e3 * m.mean:.3f} [ms] loss={m.loss:.4f}" for m in moments]
    rate = [f", speed: {BATCH / m.mean:.3f} [samples/sec]" for m in moments]
    text = "".join(f"{head}{row}{also}\n{row}{also}\n" for row, also in zip(rows, rate, strict=True))
    is_true(tmp_path, text, moments)


@pytest.mark.parametrize("every", [1, 5])
def test_a_rate_beside_an_evaluations_numbers_may_hold_it(tmp_path: Path, every: int) -> None:
    """Train and validation losses on each line: what is since the line before holds the evaluation, or does not."""
    text = "".join(
        f"Ep 1, Step {m.step:06d}, Train: {m.loss:.3f}, Val: {m.loss:.3f}, Step tok/sec: {4096 / (m.mean + 0.1):.1f}\n"
        for m in steps(every, 600)
    )
    value, _, reason = given(tmp_path, text)
    assert value is None
    assert "tell an evaluation's numbers too" in reason


def test_a_meter_that_is_fed_once_a_line_proves_no_mean_of_steps(tmp_path: Path) -> None:
    """The mean in brackets is that of the printed numbers: whether each is of its step alone nothing says."""
    text, total = "", 0.0
    for n, m in enumerate(steps(10, 600), 1):
        took = m.seconds * (1.5 if m.step % 50 else 1)
        total += took
        text += f"Iter [{m.step}/900]\tTime {took:.3f} ({total / n:.3f})\tLoss {m.loss:.4f}\n"
    assert given(tmp_path, text)[0] is None


def test_a_pause_that_one_rank_tells_is_every_ranks(tmp_path: Path) -> None:
    """The other ranks' lines of the same step stand behind it: they are no lines of a pause."""
    moments, text, pauses = list(steps(10, 600)), "", 0.0
    for m in moments:
        now = m.total + pauses
        head = f"2026-01-01 10:{int(now) // 60:02d}:{int(now) % 60:02d},{int(now * 1e3) % 1000:03d} INFO"
        text += f"{head} [Rank 0] Train: Step: {m.step} loss={m.loss:.4f}\n"
        if m.step % 100 == 0:
            text += f"{head} [Rank 0] Checkpoint saved: step_{m.step}.pth\n"
            pauses += 4.0
        text += "".join(f"{head} [Rank {rank}] Train: Step: {m.step} loss={m.loss:.4f}\n" for rank in (1, 2, 3))
    is_true(tmp_path, text, moments, rel=0.03)


@pytest.mark.parametrize("unit", ["steps/s", "it/s"])
@pytest.mark.parametrize("last", ["", "Steps 100%|##########| 1/1 [00:00<00:00, 9.99{unit}]\n"])
def test_a_bar_of_steps_is_read_beside_a_short_one_of_its_name(tmp_path: Path, unit: str, last: str) -> None:
    moments = [m for m in steps(1, 1200, seconds=1.2) if m.step % 13 == 0 or m.step % 101 == 0]
    text = "".join(
        f"Steps {m.step * 100 // 1200}%|{'#' * (m.step // 120)}| {m.step}/1200 "
        f"[{int(m.total) // 60:02d}:{int(m.total) % 60:02d}<10:00, {1 / m.seconds:.2f}{unit}] loss={m.loss:.4f}\n"
        for m in moments
    )
    is_true(tmp_path, text + last.format(unit=unit), moments, rel=0.03)


def test_a_time_since_the_beginning_of_short_epochs_is_a_clock(tmp_path: Path) -> None:
    moments, text = list(steps(10, 400)), ""
    for m in moments:
        begun = next(one for one in moments if one.step == (m.step - 10) // 80 * 80 + 10)
        done = m.total - begun.total + 10 * begun.mean
        text += f"Epoch {(m.step - 10) // 80} step {(m.step - 10) % 80 + 10} loss {m.loss:.4f} Elapsed time 0m {done:.2f}s\n"
    is_true(tmp_path, text, moments)


def test_a_rate_beside_another_time_of_each_step_is_a_mean_of_several(tmp_path: Path) -> None:
    moments = list(steps(1, 300))
    text = "".join(
        f"step {m.step} duration: {m.seconds:.4f} s loss {m.loss:.4f} speed: {m.step / m.total:.3f} it/s\n"
        for m in moments
    )
    is_true(tmp_path, text, moments)


def test_the_first_number_that_moves_counts(tmp_path: Path) -> None:
    moments = list(steps(1, 300))
    text = "".join(
        f"(train_fn pid=4127) {m.step}, BATCH TIME: {1e3 * m.seconds:.1f} ms, LOSS: {m.loss:.4f}\n" for m in moments
    )
    is_true(tmp_path, text, moments)


@pytest.mark.parametrize("head", ["", "[train.py:214:main] [Rank 0] "])
def test_rows_of_numbers_alone_count_no_steps(tmp_path: Path, head: str) -> None:
    """A row an epoch, as fastai prints them below a header that is not there."""
    text = "loss, and time of training\n" + "".join(
        f"{m.now:%Y-%m-%d %H:%M:%S} {head}{m.step}         {m.loss:.6f}    {m.loss:.6f}    0:00:{int(m.seconds):02d}\n"
        for m in steps(1, 60, seconds=50.0)
        if m.seconds < 60
    )
    assert given(tmp_path, text)[0] is None


# ----------------------------------------------------------------------------------------------------
# What the rest of a log says of its lines.


@pytest.mark.parametrize("said", ["", "global"])
def test_a_batch_that_makes_another_rate_than_the_lines_tell_gives_none(tmp_path: Path, said: str) -> None:
    """The path tells a batch of 96 on 8 devices; a step of it accumulates several, as the lines' own rate shows."""
    moments, work = list(steps(1, 120, seconds=5.0)), 96 * 8 * 11
    text = "".join(
        f"{stamped(m, f'Iteration: {m.step} throughput_train : {work / m.seconds:.1f} sequences/s loss : {m.loss:.4f}')}\n"
        for m in moments
    )
    folder = tmp_path / "bert_bs96_gpu8"
    folder.mkdir()
    facts = {"set": {"global_batch_size": str(work)}} if said else {}
    found = extracted(folder, text, **facts)
    (run,) = found.runs
    if said:
        assert run.throughput.value == pytest.approx(work / per_step(moments), rel=0.02)
    else:
        assert run.throughput.value is None
        assert "no line says whether the printed rate counts one's work or all" in run.throughput.reason


@pytest.mark.parametrize("total", [True, False])
def test_the_time_of_epochs_is_divided_by_the_steps_that_the_other_lines_count(tmp_path: Path, total: bool) -> None:
    moments, text = list(steps(1, 400)), ""
    for m in moments:
        step = (m.step - 1) % 80 + 1
        if step % (10 if total else 1) == 0:
            text += f"Epoch {(m.step - 1) // 80} iter {step}{'/80' if total else ''} loss {m.loss:.4f}\n"
        if step == 80:
            begun = moments[m.step - 80]
            text += f"Epoch {(m.step - 1) // 80} train time: {m.total - begun.total + begun.seconds:.3f} s\n"
    value, unit, reason = given(tmp_path, text)
    assert (unit, reason) == ("steps/s", "")
    assert value == pytest.approx(1 / per_step([m for m in moments if m.step >= 80]), rel=0.02)
