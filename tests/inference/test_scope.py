"""Whose work a rate counts, and of which part of a step it is: the log shows it, or there is no number."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflog.formats.printed import rate_unit
from perflog.notes import mark_of
from tests.inference.classes import BATCH, Moment, steps
from tests.inference.test_rules import extracted, hms, per_step

DEVICES = 4
TRUE = {"samples/s": BATCH, "steps/s": 1}


def lines(text: str, moments: list[Moment], *, stamps: bool = True, share: float = 1.0) -> str:
    """Lines of steps; ``share``: the part of the step's work that their rate counts."""
    return "".join(
        (f"2026-01-01 1{hms(m.total)}.{int(m.total * 1000) % 1000:03d} " if stamps else "")
        + text.format(n=m.step, loss=m.loss, rate=share * BATCH / m.seconds, seconds=m.seconds, ms=1e3 * m.seconds)
        + "\n"
        for m in moments
    )


SPEED = "Epoch 1 Step {n}/600 loss {loss:.4f} speed {rate:.2f} samples/s"


@pytest.mark.parametrize("stamps", [True, False])
@pytest.mark.parametrize("said", ["--set devices", "world_size: 4", "n_gpus                | 4", "#Device count: 4"])
@pytest.mark.parametrize("share", [1.0, 1 / DEVICES])
def test_a_rate_of_one_of_several_devices_or_of_all_is_none(
    tmp_path: Path, share: float, said: str, stamps: bool
) -> None:
    """Nothing tells which; the clock of the lines tells the steps all the same."""
    moments = list(steps(1, 300))
    given = {"set": {"devices": str(DEVICES)}} if said.startswith("--") else {}
    text = f"{said}\n{lines(SPEED, moments, stamps=stamps, share=share)}"
    found = extracted(tmp_path, text, **given)
    if stamps:
        (run,) = found.runs
        assert run.throughput.unit == "steps/s"
        assert run.throughput.value == pytest.approx(1 / per_step(moments), rel=0.01)
        return
    reasons = [run.throughput.reason for run in found.runs] + [one.reason for one in found.skipped]
    assert not [run for run in found.runs if run.throughput.value is not None]
    assert "no line says whether the printed rate counts one's work or all" in reasons[0]
    assert "{rate:samples/s/device:" in reasons[0]


@pytest.mark.parametrize(
    ("settings", "share", "devices"),
    [
        (f"batch_size={BATCH // DEVICES} num_gpus={DEVICES}", 1.0, 1),
        (f"global_batch_size={BATCH} num_gpus={DEVICES}", 1.0, 1),
        (f"per_device_batch_size={BATCH // DEVICES} world_size={DEVICES}", 1 / DEVICES, DEVICES),
    ],
)
def test_the_batch_shows_whose_work_it_is(tmp_path: Path, settings: str, share: float, devices: int) -> None:
    moments = list(steps(1, 300))
    (run,) = extracted(tmp_path, f"{settings}\n{lines(SPEED, moments, share=share)}").runs
    assert run.throughput.unit == ("samples/s" if devices == 1 else "samples/s/device")
    assert run.throughput.value == pytest.approx(BATCH / per_step(moments) / devices, rel=0.01)


@pytest.mark.parametrize("share", [1.0, 1 / DEVICES])
def test_the_batch_that_the_user_says_shows_it_too(tmp_path: Path, share: float) -> None:
    moments = list(steps(1, 300))
    facts = {"devices": str(DEVICES), "batch_size": str(BATCH // DEVICES)}
    (run,) = extracted(tmp_path, lines(SPEED, moments, share=share), set=facts).runs
    assert run.throughput.unit == "samples/s"
    assert run.throughput.value == pytest.approx(BATCH / per_step(moments), rel=0.01)


def test_the_rate_beside_one_devices_is_of_all(tmp_path: Path) -> None:
    moments = list(steps(1, 300))
    both = "".join(
        f"step {m.step} loss {m.loss:.4f} samples/s {BATCH / m.seconds:.2f} samples/s/gpu {BATCH / m.seconds / 4:.2f}\n"
        for m in moments
    )
    (run,) = extracted(tmp_path, both, set={"devices": str(DEVICES)}).runs
    assert run.throughput.value == pytest.approx(BATCH / per_step(moments), rel=0.01)


# ----------------------------------------------------------------------------------------------------
# Rates and times that are not the training's.


@pytest.mark.parametrize(
    "text",
    [
        "step {n} loss {loss:.4f} compute_time: {part:.6f} throughput: {of_part:.4f} samples/sec",
        "step {n} loss {loss:.4f} compute_time: {part:.6f} throughput: {of_part:.4f} samples/sec batch_time: {seconds:.6f}",
    ],
)
def test_a_rate_of_a_part_of_each_step_is_not_the_trainings(tmp_path: Path, text: str) -> None:
    """Rate times time is one number on each line, and the time is six tenths of what passes."""
    moments = list(steps(1, 300))
    made = "".join(
        f"2026-01-01 1{hms(m.total)}.{int(m.total * 1e6) % 10**6:06d} "
        + text.format(n=m.step, loss=m.loss, part=0.6 * m.seconds, of_part=BATCH / 0.6 / m.seconds, seconds=m.seconds)
        + "\n"
        for m in moments
    )
    for run in extracted(tmp_path, made).runs:
        if run.throughput.value is not None:
            truth = TRUE[run.throughput.unit] / per_step(moments)
            assert run.throughput.value == pytest.approx(truth, rel=0.01)


def test_a_number_that_never_changes_is_not_measured(tmp_path: Path) -> None:
    text = "".join(f"Epoch 0 Batch {n} Speed: 32.000 samples/sec loss {5 / n:.4f}\n" for n in range(1, 60))
    (left_out,) = extracted(tmp_path, text).skipped
    assert left_out.reason == "'Speed' is 32.000 on each of 59 lines, as no measured number is"


def test_two_rates_of_one_unit_leave_open_which_is_the_trainings(tmp_path: Path) -> None:
    text = "".join(
        f"step {m.step} loss {m.loss:.4f} real_speed {BATCH / m.seconds:.2f} samples/s speed {9 / m.seconds:.2f} samples/s\n"
        for m in steps(1, 300)
    )
    (left_out,) = extracted(tmp_path, text).skipped
    assert "are both rates in samples/s, and far from each other" in left_out.reason


def test_no_step_is_less_than_one_sample(tmp_path: Path) -> None:
    """A program whose labels are exchanged: `ips` is the steps of a second, less those that wait."""
    text = "".join(
        f"Step={m.step} loss={m.loss:.4f} train_cost: {0.9 * m.seconds:.5f} sec, ips={1 / m.seconds:.5f}\n"
        for m in steps(1, 300)
    )
    assert not [run for run in extracted(tmp_path, text).runs if run.throughput.value is not None]


@pytest.mark.parametrize("batch", [8, 32])
def test_a_rate_that_makes_no_whole_batch_is_not_the_trainings(tmp_path: Path, batch: int) -> None:
    moments = list(steps(10, 3000))
    text = f"batch_size={batch}\n" + "".join(
        f"2026-01-01 1{hms(m.total)}.{int(m.total * 1000) % 1000:03d} step {m.step} loss {m.loss:.4f} "
        f"samples_per_second: {0.8 * batch / m.mean:.3f} step_time: {m.mean:.4f}s\n"
        for m in moments
    )
    (run,) = extracted(tmp_path, text).runs
    assert run.throughput.unit == "steps/s"
    assert run.throughput.value == pytest.approx(1 / per_step(moments), rel=0.01)


@pytest.mark.parametrize("key", ["elapsed_ms", "time_ms", "wallTimeMs", "elapsed time in ms"])
def test_a_clock_is_in_the_unit_that_ends_its_key(tmp_path: Path, key: str) -> None:
    moments = list(steps(1, 300))
    text = "".join(f"step {m.step} loss: {m.loss:.4f} {key}: {m.total * 1000:.0f}\n" for m in moments)
    (run,) = extracted(tmp_path, text).runs
    assert run.throughput.value == pytest.approx(1 / per_step(moments), rel=0.01)


def test_frames_are_no_images() -> None:
    """Frames of a game, of sound, of a film: what `FPS` counts no line says."""
    assert rate_unit("fps") == ("frames/s", 1.0)


# ----------------------------------------------------------------------------------------------------
# Means that stand beside a clock or a time.


def test_a_mean_beside_its_own_rate_is_still_a_mean(tmp_path: Path) -> None:
    """Rate times time is the batch, and both are means since the beginning, whose first step was slow."""
    done, text = 0.0, ""
    for m in steps(1, 300):
        done += m.seconds + (20.0 if m.step == 1 else 0.0)
        mean = done / m.step
        text += f"step {m.step} loss {m.loss:.4f} batch_cost: {mean:.5f} s, ips: {BATCH / mean:.5f} samples/s\n"
    moments = list(steps(1, 300))
    for run in extracted(tmp_path, text).runs:
        if run.throughput.value is not None:
            assert run.throughput.value == pytest.approx(BATCH / per_step(moments), rel=0.02)


@pytest.mark.parametrize("total", [30, 300])
def test_the_bar_of_an_evaluation_is_not_counted_with_the_trainings(tmp_path: Path, total: int) -> None:
    """Bars without a name; those of the training show a loss."""
    text = "training\n"
    for _epoch in range(4):
        for n in range(1, 301):
            text += f" {n // 3:2d}%|##   | {n}/300 [{hms(n / 2)[2:]}<01:00,  2.00it/s, loss=0.51]\n"
        for n in range(1, 31):
            text += f" {n * 3:2d}%|##   | {n}/{total} [{hms(n / 10)[2:]}<00:03, 10.00it/s]\n"
    for run in extracted(tmp_path, text).runs:
        assert run.throughput.value is None or run.throughput.value == pytest.approx(2.0, rel=0.03)


# ----------------------------------------------------------------------------------------------------
# Meters: a number with its mean in brackets.


def meters(length: int, every: int, start: float = 0.0, evaluates: bool = False) -> tuple[str, list[float]]:
    """(the lines of epochs of so many steps, a step's time with the mean since the epoch began; the times of all steps).

    Args:
        start: by how many seconds the first step of an epoch is slower.
    """
    text, times = "", []
    taken = [m.seconds for m in steps(1, 4 * length)]
    for epoch in range(4):
        done = 0.0
        for n in range(length):
            took = taken[epoch * length + n] + (start if n == 0 else 0.0)
            done += took
            times.append(took)
            if n % every == 0:
                mean = done / (n + 1)
                text += f"Epoch: [{epoch}][{n}/{length}]\tTime {took:.4f} ({mean:.4f})\tLoss {3 / (len(times)):.4f}\n"
        text += f"Test: [0/10]\tTime 0.1000 (0.1000)\tLoss {1 / (epoch + 1):.4f}\n" if evaluates else ""
    return text, times


@pytest.mark.parametrize("every", [1, 10])
def test_a_mean_in_brackets_is_read(tmp_path: Path, every: int) -> None:
    text, times = meters(200, every)
    (run,) = extracted(tmp_path, text).runs
    late = times[20:]
    assert run.throughput.value == pytest.approx(len(late) / sum(late), rel=0.01)


@pytest.mark.parametrize("every", [1, 10])
def test_a_smoothed_number_in_brackets_is_no_mean(tmp_path: Path, every: int) -> None:
    """Nothing says how it is smoothed, nor of what it is."""
    smooth, text = 0.0, ""
    for m in steps(1, 600):
        smooth = m.seconds if m.step == 1 else 0.9 * smooth + 0.1 * m.seconds
        if m.step % every == 0:
            text += f"Iter [{m.step}/600]\tTime {m.seconds:.4f} ({smooth:.4f})\tLoss {m.loss:.4f}\n"
    for run in extracted(tmp_path, text).runs:
        assert run.throughput.value is None or run.throughput.value == pytest.approx(5.0, rel=0.02)


def test_slow_lines_behind_an_evaluation_stand_in_the_cell(tmp_path: Path) -> None:
    """Whether the first lines of an epoch hold the evaluation no line says: here they do not, and are slow."""
    text, done, work = "", 0.0, 0.0
    for epoch in range(1, 7):
        for n in range(10, 201, 10):
            took = 1.2 if n == 10 else 0.3 + 0.01 * (n % 3)
            text += (
                f"2026-01-01 1{hms(done)},000 Epoch [{epoch}][{n}/200] time: {took:.4f}, loss: {3 / epoch / n:.4f}\n"
            )
            done += 10 * took
            work += 10 * took if (epoch, n) > (1, 20) else 0.0
        text += f"2026-01-01 1{hms(done)},000 Saving checkpoint at {epoch} epochs\n"
        done += 30
        text += f"2026-01-01 1{hms(done)},000 Epoch(val) [{epoch}] accuracy: 0.{epoch}\n"
    (run,) = extracted(tmp_path, text).runs
    mark = mark_of(run.notes)
    assert mark is not None
    assert mark.other == pytest.approx((6 * 200 - 20) / work, rel=0.02)
    assert mark.label == "with the lines behind pauses"
    assert (run.throughput.value or 0.0) > (mark.other or 0.0)


LAUNCHED = {
    "+ torchrun --nproc_per_node=4 train.py": DEVICES,
    "All distributed processes registered. Starting with 4 processes": DEVICES,
}


@pytest.mark.parametrize("said", LAUNCHED)
def test_what_a_launcher_says_is_known_of_a_log_without_a_format(tmp_path: Path, said: str) -> None:
    """Its framework and devices with their line; and so whose work a rate counts is asked."""
    moments = list(steps(1, 300))
    found = extracted(tmp_path, f"{said}\n{lines('step {n} loss {loss:.4f} time {seconds:.4f} s/step', moments)}")
    (run,) = found.runs
    assert (run.metadata.values["framework"], run.metadata.integer("devices")) == ("PyTorch", LAUNCHED[said])
    assert run.metadata.sources["framework"] == "log"
    assert run.throughput.value == pytest.approx(1 / per_step(moments), rel=0.01)
    found = extracted(tmp_path, f"{said}\n{lines(SPEED, moments, stamps=False)}")
    assert not [run for run in found.runs if run.throughput.value is not None]


def test_two_launchers_name_no_framework(tmp_path: Path) -> None:
    moments = list(steps(1, 300))
    said = "\n".join([*LAUNCHED, "train with paddle 2.5.1 and device Place(gpu:0)"])
    found = extracted(tmp_path, f"{said}\n{lines('step {n} loss {loss:.4f} time {seconds:.4f} s/step', moments)}")
    assert all("framework" not in run.metadata.values for run in found.runs) and found.runs


LOSSES = {
    "step {n} loss {loss:.4f} time {seconds:.4f} s/step": True,
    "step {n} total loss: {loss:.4f} loss_box 0.25 time {seconds:.4f} s/step": True,
    "step {n} time {seconds:.4f} s/step train_loss={loss:.4f} lr 0.1": True,
    "step {n} G loss 1.5 D loss {loss:.4f} time {seconds:.4f} s/step": False,
    "step {n} lr 0.1 time {seconds:.4f} s/step": False,
}


@pytest.mark.parametrize("form", LOSSES)
def test_the_loss_of_the_last_line_is_read_where_a_word_tells_it(tmp_path: Path, form: str) -> None:
    moments = list(steps(1, 300))
    (run,) = extracted(tmp_path, lines(form, moments, stamps=False)).runs
    loss = run.metrics.get("loss")
    assert (loss is not None and loss.value is not None) == LOSSES[form]
    if loss is not None:
        assert loss.value == pytest.approx(moments[-1].loss, abs=1e-4)
