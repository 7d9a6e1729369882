"""Rules of the general reader, each on a log made with a known clock: the number is the truth, or there is none."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from perflog.errors import UsageError
from perflog.extraction import Extraction, extract_paths
from perflog.formats.catalog import load_catalog
from perflog.notes import texts
from perflog.settings.config import settings
from perflog.settings.options import Amount, Options, Window
from tests.inference.classes import BATCH, Moment, steps


def extracted(folder: Path, text: str, **options: object) -> Extraction:
    (folder / "train.log").write_text(text)
    chosen = {"window": Window(Amount(20)), **options}
    return extract_paths([folder / "train.log"], Options(**chosen), load_catalog())  # type: ignore[arg-type]


def per_step(moments: list[Moment]) -> float:
    """Seconds a step behind the first twenty."""
    late = [m for m in moments if m.step >= 20]
    return (late[-1].total - late[0].total) / (late[-1].step - late[0].step)


def hms(seconds: float) -> str:
    return f"{int(seconds // 3600)}:{int(seconds // 60) % 60:02d}:{int(seconds) % 60:02d}"


def in_epochs(moments: list[Moment], length: int, text: Callable[[Moment, int, int], str], heading: str) -> str:
    """The lines of epochs of so many steps, a heading above each."""
    lines = []
    for m in moments:
        step, epoch = (m.step - 1) % length + 1, (m.step - 1) // length + 1
        if step == 1 or (step == moments[0].step and epoch == 1):
            lines.append(heading.format(epoch=epoch))
        lines.append(text(m, step, epoch))
    return "\n".join(lines) + "\n"


# ----------------------------------------------------------------------------------------------------
# Where the steps and the time stand on two lines, one behind the other.

TWO_LINES: dict[str, tuple[str, str, str]] = {
    "a time of each step": ("[train] step {n} loss {loss:.4f}", "batch time: {seconds:.4f}s", "steps/s"),
    "a rate": ("iter {n}:, loss {loss:.4f}", "train speed {rate:.2f} samples/s", "samples/s"),
    "milliseconds alone": ("global_step: {n}, LOSS: {loss:.4f}", "DT_MS: {ms:.2f}", "steps/s"),
}


@pytest.mark.parametrize("order", ["behind", "before"])
@pytest.mark.parametrize("name", TWO_LINES)
def test_two_lines_in_turn_are_one_record(name: str, order: str, tmp_path: Path) -> None:
    counts, measures, unit = TWO_LINES[name]
    moments, lines = list(steps(1, 300)), []
    for m in moments:
        of = {"n": m.step, "loss": m.loss, "seconds": m.seconds, "ms": m.seconds * 1e3, "rate": BATCH / m.seconds}
        both = [counts.format(**of), measures.format(**of)]
        lines += both if order == "behind" else both[::-1]
    (run,) = extracted(tmp_path, "\n".join(lines) + "\n").runs
    assert run.throughput.unit == unit
    true = (BATCH if unit == "samples/s" else 1) / per_step(moments)
    assert run.throughput.value == pytest.approx(true, rel=0.01)


def test_two_lines_that_do_not_take_turns_are_none(tmp_path: Path) -> None:
    lines = []
    for m in steps(1, 300):
        lines.append(f"[train] step {m.step} loss {m.loss:.4f}")
        lines += [f"batch time: {m.seconds:.4f}s"] * (m.step % 3)
    assert not [run for run in extracted(tmp_path, "\n".join(lines) + "\n").runs if run.throughput.value]


# ----------------------------------------------------------------------------------------------------
# Clocks.


def test_steps_of_epochs_that_headings_name_are_counted_on(tmp_path: Path) -> None:
    moments = list(steps(1, 300))
    text = in_epochs(moments, 60, lambda m, step, _: f"Elapsed: [{hms(m.total)}.{int(m.total * 1e6) % 10**6:06d}]  "
                     f"batch: {step}  loss: {m.loss:.4f}", "Epoch: {epoch}")  # fmt: skip
    (run,) = extracted(tmp_path, text).runs
    assert run.throughput.value == pytest.approx(1 / per_step(moments), rel=0.01)


def test_a_time_that_stands_nearly_still_is_no_clock(tmp_path: Path) -> None:
    """``fbward_time: 0.7s`` hardly changes; the time spent is the clock, and that of the epoch begins anew."""
    moments = list(steps(10, 2000, seconds=0.7))
    text = "".join(
        f"train: Epoch {m.step // 1000} iter {m.step % 1000}/1000 | loss: {m.loss:.4f} | fbward_time: {m.seconds:.1f}s | "
        f"epoch_time: {int(m.total % 700) // 60:02d}m:{int(m.total % 700) % 60:02d}s | "
        f"spend_time: {int(m.total) // 60:02d}m:{int(m.total) % 60:02d}s\n"
        for m in moments
    )
    (run,) = extracted(tmp_path, text).runs
    assert run.throughput.value == pytest.approx(1 / per_step(moments), rel=0.01)


def test_the_per_cent_of_a_whole_tell_the_counter(tmp_path: Path) -> None:
    moments = list(steps(20, 2000, seconds=0.5))
    text = "Training for 2000 iterations...\n" + "".join(
        f"{int(m.total) // 60}m {int(m.total) % 60}s ({m.step} {m.step // 20}%) {m.loss:.4f}\n" for m in moments
    )
    (run,) = extracted(tmp_path, text).runs
    assert run.throughput.value == pytest.approx(1 / per_step(moments), rel=0.01)


@pytest.mark.parametrize("stamp", ["%Y-%m-%d_%H-%M-%S", "%Y-%m-%d %H:%M:%S"])
def test_stamps_of_json_lines(stamp: str, tmp_path: Path) -> None:
    moments = list(steps(5, 1000, seconds=0.5))
    lines = [f'{{"step": {m.step}, "loss": {m.loss:.4f}, "date": "{m.now.strftime(stamp)}"}}' for m in moments]
    (run,) = extracted(tmp_path, "\n".join(lines) + "\n").runs
    assert run.throughput.value == pytest.approx(1 / per_step(moments), rel=0.01)


def test_a_pause_counts_where_the_lines_behind_it_have_no_stamp(tmp_path: Path) -> None:
    """Rich prints a second once: the lines behind an evaluation may lack the stamp that tells its end."""
    lines, paused, before = list[str](), 0.0, ""
    for m in steps(5, 4000, seconds=0.19):
        stamp = f"{m.now + timedelta(seconds=paused):[%m/%d/%y %H:%M:%S]}"
        is_behind = bool(lines) and "Validation" in lines[-1]
        lines.append(
            f"{' ' * len(stamp) if is_behind or stamp == before else stamp} INFO     Iteration {m.step} loss {m.loss:.4f}"
        )
        before = stamp
        if m.step % 100 == 0:
            paused += 10
            before = f"{m.now + timedelta(seconds=paused):[%m/%d/%y %H:%M:%S]}"
            lines.append(f"{before} INFO     Validation | loss 0.5")
    (run,) = extracted(tmp_path, "\n".join(lines) + "\n").runs
    assert run.throughput.value == pytest.approx(1 / 0.19, rel=0.03)  # with the evaluations it is 3.4


def test_a_program_that_goes_on_where_one_died_made_a_pause(tmp_path: Path) -> None:
    begin = ["config: model unet", "Using device: cuda", "Loading the data set", "Number of parameters: 124,439,808"]
    lines, later = [f"2026-05-04 09:59:50 {line}" for line in begin], timedelta()
    for m in steps(10, 600, seconds=0.5):
        if m.step == 310:
            later = timedelta(minutes=5)
            lines += [f"{m.now + later - timedelta(seconds=6):%Y-%m-%d %H:%M:%S} {line}" for line in begin]
        lines.append(f"{m.now + later:%Y-%m-%d %H:%M:%S} train step {m.step} loss {m.loss:.4f}")
    (run,) = extracted(tmp_path, "\n".join(lines) + "\n").runs
    assert run.throughput.value == pytest.approx(2.0, rel=0.02)  # with the five minutes it is 1.3


def test_the_line_of_an_evaluation_that_repeats_its_step_is_left_out(tmp_path: Path) -> None:
    lines, paused = [], 0.0
    for m in steps(1, 600, seconds=0.5):
        now = m.now + timedelta(seconds=paused)
        lines.append(f"{now:%Y-%m-%dT%H:%M:%S.%f}: step {m.step}, loss {m.loss:.5f}, acc 0.5")
        if m.step % 100 == 0:
            paused += 20
            now += timedelta(seconds=20)
            lines += ["", "Evaluation:", f"{now:%Y-%m-%dT%H:%M:%S.%f}: step {m.step}, loss {m.loss:.5f}, acc 0.5", ""]
    (run,) = extracted(tmp_path, "\n".join(lines) + "\n").runs
    assert run.throughput.value == pytest.approx(2.0, rel=0.01)


# ----------------------------------------------------------------------------------------------------
# What a number of the lines is.


def test_a_mean_since_the_beginning_is_told_by_how_it_moves(tmp_path: Path) -> None:
    moments = list(steps(1, 600))
    slow = 20.0  # the first step
    text = "".join(
        f"step {m.step}/600 | loss {m.loss:.4f} | {m.step / (m.total + slow):.3f} steps/s\n" for m in moments
    )
    (run,) = extracted(tmp_path, text).runs
    assert run.throughput.value == pytest.approx(1 / per_step(moments), rel=0.01)
    assert any("moves as a mean since the beginning" in note for note in texts(run.notes))


def test_single_intervals_that_end_slowly_are_no_mean(tmp_path: Path) -> None:
    """A rate of the last step that falls in the second half: no mean since the beginning moves so."""
    text = "".join(
        f"step {m.step} loss {m.loss:.4f} {1 / (m.seconds * (1 if m.step < 300 else 2)):.3f} steps/s\n"
        for m in steps(1, 600)
    )
    runs = [run for run in extracted(tmp_path, text).runs if run.throughput.value]
    assert all(run.throughput.value == pytest.approx(580 / (280 * 0.2 + 300 * 0.4), rel=0.03) for run in runs)


def test_a_time_of_each_step_beside_a_smoothed_rate(tmp_path: Path) -> None:
    moments, smooth, lines = list(steps(1, 600)), 0.0, []
    for m in moments:
        smooth = 0.95 * (smooth or BATCH / m.seconds) + 0.05 * BATCH / m.seconds
        lines.append(f"step {m.step}/600 | loss {m.loss:.6f} | {m.seconds * 1e3:.2f} ms | {smooth:.0f} tok/s")
    (run,) = extracted(tmp_path, "\n".join(lines) + "\n").runs
    assert run.throughput.unit == "steps/s"
    assert run.throughput.value == pytest.approx(1 / per_step(moments), rel=0.01)


def test_a_rate_and_the_time_of_the_interval(tmp_path: Path) -> None:
    """Each of the first ten steps is printed, then each twentieth: the time is that of all steps between."""
    moments, lines, before = list(steps(1, 600)), [], 0.0
    for m in moments:
        if m.step < 10 or m.step % 20 == 0:
            covers = 1 if m.step < 10 else m.step - (9 if m.step == 20 else m.step - 20)
            took = m.total - before
            lines.append(
                f"Iteration {m.step}, time = {took:.4f}s, wps = {covers * 20480 / took:.0f}, loss = {m.loss:.4f}"
            )
            before = m.total
    (run,) = extracted(tmp_path, "\n".join(lines) + "\n").runs
    assert run.throughput.value == pytest.approx(20480 / per_step(moments), rel=0.01)


def test_a_time_that_is_left_is_no_time_of_steps(tmp_path: Path) -> None:
    moments = list(steps(1, 300))
    text = "".join(f"step {m.step} | loss {m.loss:.4f} | {(300 - m.step) * 0.2 / 60:.1f} min left | batch time: "
                   f"{m.seconds:.4f} s\n" for m in moments)  # fmt: skip
    (run,) = extracted(tmp_path, text).runs
    assert run.throughput.value == pytest.approx(1 / per_step(moments), rel=0.01)
    text = "".join(f"step {m.step} | loss {m.loss:.4f} | {(300 - m.step) * 0.2 / 60:.1f} min left\n" for m in moments)
    assert not extracted(tmp_path, text).runs


def test_a_clock_that_evaluations_slow_does_not_doubt_the_number(tmp_path: Path) -> None:
    """The evaluations take as long as the training: the lines between them bear the number out."""
    lines, paused = [], 0.0
    moments = list(steps(10, 2000))
    for m in moments:
        lines.append(f"{m.now + timedelta(seconds=paused):%Y-%m-%d %H:%M:%S.%f} train step {m.step} loss {m.loss:.4f} "
                     f"batch time: {m.mean:.4f}s")  # fmt: skip
        if m.step % 100 == 0:
            paused += 31
            lines.append(f"{m.now + timedelta(seconds=paused):%Y-%m-%d %H:%M:%S.%f} Validation | loss 0.5")
    (run,) = extracted(tmp_path, "\n".join(lines) + "\n").runs
    assert run.throughput.value == pytest.approx(1 / per_step(moments), rel=0.01)
    assert any("of the time between lines" in note for note in texts(run.notes))
    assert not any(note.other for note in run.notes if hasattr(note, "other"))


def test_a_logger_that_is_called_train_trains_nothing(tmp_path: Path) -> None:
    lines = [f"{m.now:%Y-%m-%d %H:%M:%S},123 - train - INFO - [{m.step}/300] Building CXX object core/file_{m.step}.o"
             for m in steps(1, 300)]  # fmt: skip
    assert not extracted(tmp_path, "\n".join(lines) + "\n").runs


# ----------------------------------------------------------------------------------------------------
# Epochs alone, whose steps the user says.

EPOCHS = {
    "a time": "Epoch {epoch} | loss {loss:.3f} | time {took:.2f} s",
    "its own time": "epoch {epoch}, loss {loss:.3f}, epoch time: {took:.2f} sec",
    "seconds an epoch": "Epoch {epoch}/9: loss {loss:.3f} ({took:.2f}s/epoch)",
    "a duration": "epoch: {epoch} loss: {loss:.3f} took: 0:00:{took:05.2f}",
}


def of_epochs(line: str) -> str:
    return "".join(line.format(epoch=n, loss=3 / n, took=31.4 + n % 3) + "\n" for n in range(1, 10))


@pytest.mark.parametrize("name", EPOCHS)
def test_the_steps_of_an_epoch_are_said(name: str, tmp_path: Path) -> None:
    (skipped,) = extracted(tmp_path, of_epochs(EPOCHS[name])).skipped
    assert skipped.reason == (
        "the log tells the time of whole epochs alone: give --set epoch_steps=N, the steps of an epoch"
    )
    (run,) = extracted(tmp_path, of_epochs(EPOCHS[name]), set={"epoch_steps": "500"}).runs
    took = [31.4 + n % 3 for n in range(2, 10)]  # the first holds the warm-up
    assert run.throughput.value == pytest.approx(500 * len(took) / sum(took), rel=0.001)
    assert "an epoch has 500 steps, as --set epoch_steps says" in texts(run.notes)


@pytest.mark.parametrize("line", [EPOCHS["a time"] + " val_loss 0.4", EPOCHS["a time"] + "\nvalid acc 0.8"])
def test_a_time_that_may_hold_an_evaluation_gives_none(line: str, tmp_path: Path) -> None:
    (skipped,) = extracted(tmp_path, of_epochs(line), set={"epoch_steps": "500"}).skipped
    assert skipped.reason == "the log tells the time of whole epochs alone, which may hold their evaluation"


def test_the_steps_of_an_epoch_are_a_whole_number(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="epoch_steps=many"):
        settings({"set": {"epoch_steps": "many"}}, [str(tmp_path)]).options()


# ----------------------------------------------------------------------------------------------------
# Bars of which a log holds the last state of each epoch, and pauses that another format knows.


def test_the_last_state_of_each_epoch_is_read(tmp_path: Path) -> None:
    text = "".join(
        f"Epoch {n}/9\n148/148 ━━━━━━━━━━━━━━━━━━━━ {79 + n % 2}s {530 + n}ms/step - accuracy: 0.8 - loss: 2.3\n"
        for n in range(1, 10)
    )
    (run,) = extracted(tmp_path, text).runs
    assert run.throughput.value == pytest.approx(1000 / 535.5, rel=0.01)


@pytest.mark.parametrize("lines", [0, 200_000])
def test_pauses_of_a_generic_format_count_in_small_and_large_logs(lines: int, tmp_path: Path) -> None:
    """A format's own bar, and one that evaluates which a generic format knows alone: 6 s of each 26."""
    states = ["Start Train\n"]
    for step in range(1, 400):
        seconds = 0.5 * step + 6.0 * (step // 40)
        clock = f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"
        if step % 3 == 0:
            states.append(
                f"Epoch 1/1: {step // 4:3d}%|###       | {step}/400 [{clock}<09:00,  2.00it/s, loss=0.5, lr=0.01]\n"
            )
        if step % 40 == 0:
            states += [
                f"Validation: {n * 20:3d}%|##        | {n * 7}/35 [00:0{n}<00:01, 40.62it/s]\n" for n in range(1, 6)
            ]
    (run,) = extracted(tmp_path, "filler\n" * lines + "".join(states)).runs
    assert run.parser == "yolo_bubbliiiing"
    assert run.throughput.value == pytest.approx(2.0, rel=0.04)  # with the evaluations it is 1.5
