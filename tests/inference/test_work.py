"""Counters of work, records of several lines, and lines whose means hold more than their steps: the truth, or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflog.inference.infer import tables_in
from perflog.inference.rows import with_names
from perflog.logs.find import find_logs
from tests.inference.classes import BATCH, Moment, steps
from tests.inference.test_lines import given, is_true, stamped
from tests.inference.test_rules import hms, per_step

#: Steps of all environments in an iteration.
ENVIRONMENTS = 2048


def frame(form: str, moment: Moment) -> str:
    """A record as a program of reinforcement learning prints it, a line a key."""
    pairs = {
        "update": f"{moment.step}", "reward": f"{moment.loss:.3f}", "elapsed": f"{moment.total:.2f}",
        "env steps": f"{moment.step * ENVIRONMENTS}",
    }  # fmt: skip
    if form == "table":
        rule = "-" * 35 + "\n"
        heads = f"| {'time/':<17} | {'':<11} |\n"
        return rule + heads + "".join(f"| {key:<17} | {value:<11} |\n" for key, value in pairs.items()) + rule
    mark = {"blanks": "   ", "colons": ": ", "tabs": "\t"}[form]
    return "".join(f"{key}{mark}{value}\n" for key, value in pairs.items()) + "\n"


@pytest.mark.parametrize("form", ["table", "blanks", "colons", "tabs"])
def test_a_record_of_several_lines_is_a_row(tmp_path: Path, form: str) -> None:
    moments = list(steps(1, 120))
    value, unit, reason = given(tmp_path, "training\n" + "".join(frame(form, m) for m in moments))
    assert (unit, reason) == ("env_steps/s", "")
    assert value == pytest.approx(ENVIRONMENTS / per_step(moments), rel=0.01)


def test_what_stands_once_is_no_record() -> None:
    """Settings are lines of keys too."""
    settings = b"batch_size: 32\nsteps: 1000\nlr: 0.1\nepochs: 3\n"
    assert with_names(settings + b"\nstep: 1 of 10\n") == settings + b"\nstep: 1 of 10\n"


def test_lines_keep_their_numbers() -> None:
    text = "".join(frame("table", m) for m in steps(1, 12)).encode()
    found = with_names(text)
    assert found.count(b"\n") == text.count(b"\n")
    rows = [number for number, line in enumerate(found.split(b"\n")) if line.startswith(b"row ")]
    last = [number for number, line in enumerate(text.split(b"\n")) if b"env steps" in line]
    assert rows == last


def test_an_epoch_a_row_is_an_iteration_where_steps_of_environments_are_counted(tmp_path: Path) -> None:
    """Steps of environments that the warm-up counted would leave out nothing of a slow beginning."""
    moments = list(steps(1, 120))
    rows = "".join(f"{m.step}\t{m.loss:.3f}\t{m.step * ENVIRONMENTS}\t{m.total:.3f}\n" for m in moments)
    value, unit, _ = given(tmp_path, f"Epoch\tLoss\tTotalEnvInteracts\tTime\n{rows}")
    assert unit == "env_steps/s"
    assert value == pytest.approx(ENVIRONMENTS / per_step(moments), rel=0.01)


@pytest.mark.parametrize("more", [0, 7])
def test_frames_tell_steps_where_each_line_has_as_many(tmp_path: Path, more: int) -> None:
    """Else how many of them the warm-up is no line says."""
    moments = list(steps(1, 120))
    frames = [m.step * 4000 + m.step % 5 * more for m in moments]
    text = "".join(
        f"{stamped(m, f'loss {m.loss:.3f}. Total num frames: {n}.')}\n" for m, n in zip(moments, frames, strict=True)
    )
    value, unit, reason = given(tmp_path, text)
    if more:
        assert value is None
        assert "warm-up in records" in reason
    else:
        assert unit == "frames/s"
        assert value == pytest.approx(4000 / per_step(moments), rel=0.01)


def test_a_mean_over_seconds_that_are_set_is_no_time(tmp_path: Path) -> None:
    moments = list(steps(10, 600))
    text = "".join(
        f"{stamped(m, f'train (10 sec: {10 / m.mean:.1f}, 60 sec: {12 / m.mean:.1f}) step {m.step}. loss {m.loss:.3f}')}\n"
        for m in moments
    )
    is_true(tmp_path, text, moments)


@pytest.mark.parametrize(("end", "text"), [(".", "12"), (". Next", "12"), (". 3", "12."), (".5", "12.5")])
def test_a_stop_ends_a_number_where_a_sentence_ends(tmp_path: Path, end: str, text: str) -> None:
    (tmp_path / "a.log").write_text(f"step 12{end}\n" * 6)
    (log,) = find_logs([tmp_path / "a.log"])
    assert tables_in(log)[0].column(0).texts[0] == text


# ----------------------------------------------------------------------------------------------------
# Bars that know no total.


def unbounded(moments: list[Moment], end: str = "") -> str:
    """The states of a bar as tqdm draws them where it knows no total."""
    return "".join(
        f"\r{m.step}it [{int(m.total) // 60:02d}:{int(m.total) % 60:02d}, {m.step / m.total:5.2f}it/s{end}]"
        for m in moments
    )


def test_a_bar_without_a_total_is_read_where_its_words_say_training(tmp_path: Path) -> None:
    moments = [m for m in steps(1, 900) if m.step % 7 in (0, 3)]
    value, unit, reason = given(tmp_path, f"lr 0.1\n{unbounded(moments, ', loss=2.31')}\n")
    assert (unit, reason) == ("steps/s", "")
    assert value == pytest.approx(1 / per_step(moments), rel=0.02)


def test_a_bar_without_a_total_or_words_may_count_anything(tmp_path: Path) -> None:
    moments = [m for m in steps(1, 900) if m.step % 7 in (0, 3)]
    assert given(tmp_path, f"training with lr 0.1\n{unbounded(moments)}\n")[0] is None


@pytest.mark.parametrize("length", [900, 200])
def test_bars_without_a_total_are_epochs_where_they_end_alike(tmp_path: Path, length: int) -> None:
    """The second of two may be an evaluation's: it ends elsewhere then."""
    bars = [[m for m in steps(1, count, seed) if m.step % 7 in (0, 3)] for seed, count in ((1, 900), (2, length))]
    text = "training with lr 0.1\n" + "\n".join(unbounded(bar) for bar in bars) + "\n"
    value, _, _ = given(tmp_path, text)
    assert value is None if length != 900 else value == pytest.approx(1 / per_step(bars[0]), rel=0.02)


# ----------------------------------------------------------------------------------------------------
# Times that begin anew, and numbers that hold more than their steps.


def in_epochs(moments: list[Moment], length: int, pause: float) -> str:
    """Lines whose steps go on through the epochs, and whose elapsed time begins anew with each."""
    text, since, before, epoch = "", 0.0, 0.0, 0
    for m in moments:
        if m.step > (epoch + 1) * length:
            epoch, since = epoch + 1, before
            text += f"validating for {pause} s\n"
        text += f"Epoch: {epoch} [{m.step}/300000], loss: {m.loss:.4f}, elapsed time: {m.total - since:.3f}\n"
        before = m.total
    return text


def test_an_elapsed_time_begins_anew_with_an_epoch_while_steps_go_on(tmp_path: Path) -> None:
    moments = list(steps(10, 600))
    is_true(tmp_path, in_epochs(moments, 100, 20.0), moments, rel=0.01)


def test_an_elapsed_time_that_begins_anew_inside_an_epoch_tells_nothing(tmp_path: Path) -> None:
    text = in_epochs(list(steps(10, 600)), 100, 20.0).replace("Epoch: 3", "Epoch: 2")
    value, _, reason = given(tmp_path, text)
    assert value is None
    assert "begins anew where the steps go on" in reason


def test_lines_behind_all_evaluations_may_hold_them_in_their_means(tmp_path: Path) -> None:
    """A buffer that is emptied at the end leaves no line between which an evaluation would stand."""
    moments = list(steps(50, 1000))
    evaluation = "".join(f"\rEvaluating {n}/100 [00:{n // 10:02d}<00:10, 10.0it/s]" for n in range(10, 101, 10))
    text = "\n".join([evaluation] * 3) + "\n"
    text += "".join(f"step {m.step} loss {m.loss:.4f} ({m.mean + 0.2:.3f} s/step)\n" for m in moments)
    value, _, reason = given(tmp_path, text)
    assert value is None
    assert "behind all of an evaluation's" in reason


def test_a_batch_of_samples_says_not_whose_tokens_a_rate_counts(tmp_path: Path) -> None:
    """64 tokens of a sample and 64 ranks make one number of a rank's tokens and of all ranks' samples."""
    moments = list(steps(10, 600))
    text = "batch_size=100\nworld_size=64\n"
    text += "".join(
        f"{stamped(m, f'step: {m.step} loss: {m.loss:.4f} tokens/s: {6400 / m.mean:,.0f}')}\n" for m in moments
    )
    value, unit, _ = given(tmp_path, text)
    assert value is None or unit == "steps/s"


# ----------------------------------------------------------------------------------------------------
# Lines that were cut.


@pytest.mark.parametrize("is_cut", [False, True])
def test_frames_are_drawn_to_a_width_and_other_lines_cut_at_one(tmp_path: Path, is_cut: bool) -> None:
    moments = list(steps(1, 100))
    settings = {"lr": "0.0003", "model": "resnet18", "seed": "42", "optimizer": "adamw"}
    drawn = "".join(f"| {key:<30} | {value:<30} |\n" for key, value in settings.items())
    words, tail = ("loss", "lr", "acc", "norm"), "x" * 30
    text = "".join(
        f"{stamped(m, f'training step {m.step}: {words[m.step % 4]} {m.loss:.4f}, {tail}')}\n" for m in moments
    )
    text = "".join(f"{line[:66]}\n" for line in text.splitlines()) if is_cut else drawn + text
    reason = given(tmp_path, text)[2]
    assert ("were all cut there" in reason) == is_cut


@pytest.mark.parametrize(
    "text", ["step " * 100_000, "a" + " " * 500_000, "a: " * 150_000, "| " * 250_000, "a b c  " * 70_000]
)
def test_a_long_line_is_looked_at_once(text: str) -> None:
    """A form that gives back what it matched would take hours."""
    assert with_names(text.encode()) == text.encode()


# ----------------------------------------------------------------------------------------------------
# Lines of several ranks or devices.


@pytest.mark.parametrize("head", ["", "INFO:root:"])
def test_lines_of_two_ranks_that_were_glued_are_not_read(tmp_path: Path, head: str) -> None:
    """The second number ends the line, and would be taken for its only one."""
    lines = [f"{head}batch {m.step}, loss {m.loss:.4f}, iter time {1e3 * m.seconds:.2f} ms" for m in steps(1, 200)]
    text = "".join(f"{line}{line.replace('time ', 'time 1')}\n" for line in lines)
    value, _, reason = given(tmp_path, text)
    assert value is None
    assert "holds two records" in reason
    assert given(tmp_path, "\n".join(lines) + "\n")[0] is not None


def test_a_key_says_that_a_rate_is_one_devices_by_its_path(tmp_path: Path) -> None:
    moments = list(steps(10, 600))
    text = "".join(
        f"step={m.step} loss={m.loss:.4f} speed/device/samples_per_sec={16 / m.mean:.3f} "
        f"speed/samples_per_sec={BATCH / m.mean:.3f}\n" for m in moments
    )  # fmt: skip
    value, unit, reason = given(tmp_path, text)
    assert (unit, reason) == ("samples/s", "")
    assert value == pytest.approx(BATCH / per_step(moments), rel=0.02)


# ----------------------------------------------------------------------------------------------------
# Which of several counters is the steps', and what an epoch is of.


def test_the_counter_that_each_line_counts_is_the_steps(tmp_path: Path) -> None:
    """What rises by a batch beside it counts samples, whatever its name is."""
    moments = [m._replace(seconds=m.seconds * (1 + m.step % 7)) for m in steps(1, 300)]  # each its own, and far apart
    text = "".join(
        f"[epoch: 1/100, batch: {8 * m.step}/20000, ite: {m.step}] loss {m.loss:.4f}, time-per-iter: {m.seconds:.5f} s, time_read: 0.03{m.step % 10}\n"
        for m in moments
    )
    value, unit, reason = given(tmp_path, text)
    assert (unit, reason) == ("steps/s", "")
    assert value == pytest.approx(1 / (sum(m.seconds for m in moments[20:]) / len(moments[20:])), rel=0.02)


def test_what_each_step_holds_counts_nothing(tmp_path: Path) -> None:
    moments = list(steps(10, 600))
    text = "".join(
        f'{{"step": {m.step}, "elements per batch": {m.step // 10 + 60000}, "data_time": 0.0{m.step % 7 + 1}, "loss": {m.loss:.3f}, '
        f'"step_time": {m.mean:.5f}, "samples_per_sec": {BATCH / m.mean:.3f}}}\n'
        for m in moments
    )
    is_true(tmp_path, text, moments)


@pytest.mark.parametrize("counter", ["#{n}, ", ""])
def test_a_counter_of_tokens_counts_no_steps(tmp_path: Path, counter: str) -> None:
    """A rate of steps beside it does not make them any: 1 million tokens are no steps in a second."""
    moments = list(steps(10, 600))
    text = "".join(
        f"{m.now:%Y-%m-%d %H:%M:%S} UTC | INFO | train | {counter.format(n=m.step)}loss: {m.loss:.4f}, "
        f"tokens: {m.step * 4096:,}, {1e3 * m.mean:.1f}ms/iter, iters/sec: {1 / m.mean:.2f}, elapsed time: {m.total:.2f}\n"
        for m in moments
    )
    value, unit, reason = given(tmp_path, text)
    assert unit == ("steps/s" if counter else ""), reason
    assert value == (pytest.approx(1 / per_step(moments), rel=0.02) if counter else None)


@pytest.mark.parametrize("bend", [0.3, 3.0])
def test_a_mean_since_the_epoch_began_is_known_by_its_way(tmp_path: Path, bend: float) -> None:
    """It moves from a slow first step along ``a + b / steps``, by a few per cent or by many."""
    text, total, done = "", 0.0, 0
    for epoch in range(3):
        begun = total
        for step in range(1, 201):
            total += 0.1 + (bend if epoch == 0 and step == 1 else 0.0)
            done += 1
            if step % 10 == 0:
                rate = step * BATCH / (total - begun)
                text += f"Epoch {epoch} [{step:03d}] | Train loss {6 / done**0.5:.3f} | Throughput: {rate:.2f} images/second\n"
    value, unit, reason = given(tmp_path, text)
    assert (unit, reason) == ("images/s", "")
    assert value == pytest.approx(BATCH / 0.1, rel=0.01)


def samples_of_epochs(total: int, batch: int, said: str) -> str:
    """Epochs whose lines count the samples of each batch, and the time of each behind them."""
    text = ""
    for epoch in range(1, 5):
        for seen in [*range(batch, total, batch), total]:
            text += f"Training Epoch: {epoch} [{seen}/{total}]\tLoss: {4 / epoch:.4f}\tLR: 0.03\n"
        text += f"epoch {epoch} {said} time consumed: {20 + epoch % 2 / 10:.2f}s\n"
        text += f"Test set: Epoch: {epoch}, Average loss: 0.01, Time consumed:6.{epoch}s\n"
    return text


def test_the_time_of_an_epochs_training_is_that_of_the_samples_which_its_lines_count(tmp_path: Path) -> None:
    value, unit, reason = given(tmp_path, samples_of_epochs(5000, 128, "training"))
    assert (unit, reason) == ("samples/s", "")
    assert value == pytest.approx(5000 / 20.03, rel=0.003)


@pytest.mark.parametrize(
    ("total", "batch", "said"),
    [(5000, 128, "all"), (5120, 128, "training"), (5020, 50, "training")],
    ids=["which may hold a test", "it may count steps", "printed at each 50th step"],
)
def test_the_time_of_an_epoch_is_none_of_unknown_work(tmp_path: Path, total: int, batch: int, said: str) -> None:
    assert given(tmp_path, samples_of_epochs(total, batch, said))[0] is None


def test_the_time_that_is_used_stands_below_the_step(tmp_path: Path) -> None:
    moments = list(steps(5, 600))
    text = "".join(
        f"Epoch [1/20], Step [{m.step}/4000]:\nMel Loss: {m.loss:.4f}, Duration Loss: 3.7;\nLearning Rate is 0.1.\n"
        f"Time Used: {m.total:.3f}s, Estimated Time Remaining: {4000 - m.total:.3f}s.\n\n"
        for m in moments
    )
    is_true(tmp_path, text, moments)


def test_a_lone_time_below_the_step_is_not_the_one_within_its_line(tmp_path: Path) -> None:
    """Another time with the same unit stands above it; both were read, and the steps counted twice."""
    moments = list(steps(1, 200))
    text = "".join(
        f"[train] it {m.step}, loss: {m.loss:.4f}, lag: {1000 * m.seconds / 33:.2f}ms, norm: 0.7\n"
        f"{1000 * m.seconds:.1f}ms\n"
        for m in moments
    )
    is_true(tmp_path, text, moments)


@pytest.mark.parametrize(("length", "is_read"), [(100, True), (None, False)], ids=["evenly", "anywhere"])
def test_a_time_begins_anew_with_epochs_that_no_line_tells(tmp_path: Path, length: int | None, is_read: bool) -> None:
    moments, begun, text = list(steps(1, 400)), 0.0, ""
    for number, m in enumerate(moments):
        if number in ((37, 160, 301) if length is None else range(length, 400, length)):
            begun = moments[number - 1].total
        text += f"Training Step: {m.step}  | total loss: {m.loss:.5f} | time: {m.total - begun:.3f}s\n"
    value, unit, reason = given(tmp_path, text)
    assert (value is not None) == is_read, reason
    if is_read:
        assert unit == "steps/s"
        assert value == pytest.approx(1 / per_step(moments), rel=0.01)


@pytest.mark.parametrize("key", ["Elapsed", "total time", "wall time"])
def test_a_time_that_words_call_elapsed_begins_anew_anywhere(tmp_path: Path, key: str) -> None:
    """As where a program was begun again at a checkpoint."""
    moments, begun, text = list(steps(1, 400)), 0.0, ""
    for number, m in enumerate(moments):
        begun = moments[number - 1].total if number in (37, 160, 301) else begun
        text += (
            f"train step {m.step} | loss: {m.loss:.4f} | Epoch=1.{m.step % 100:02d} | {key}={m.total - begun:.3f} s\n"
        )
    is_true(tmp_path, text, moments)


@pytest.mark.parametrize("measured", ["wall time={total:.3f} sec", "speed:{rate:.3f} it/sec"])
def test_an_evaluations_steps_stand_above_lines_that_measure_too(tmp_path: Path, measured: str) -> None:
    """Its lines are three times as fast, and none of the training's."""
    text, total, rates = "", 0.0, list[float]()
    for epoch in range(1, 9):
        for name, count, seconds in (("[train]", 40, 0.3), ("valid", 10, 0.1)):
            for step in range(count):
                total += seconds * (1 + step % 3 / 100)
                rates += [1 / (seconds * (1 + step % 3 / 100))] if name == "[train]" else []
                text += f"{name} epoch {epoch} | {step:3d}/{count} batches, loss={4 / (epoch + step / 40):.4f}\n"
                text += measured.format(total=total, rate=1 / (seconds * (1 + step % 3 / 100))) + "\n"
    value, unit, reason = given(tmp_path, text)
    assert (unit, reason) == ("steps/s", "")
    assert value == pytest.approx(len(rates) / sum(1 / rate for rate in rates), rel=0.01)


@pytest.mark.parametrize("name", ["trainer", "root", "my.model_lib"])
def test_the_name_of_a_logger_is_none_of_the_lines_words(tmp_path: Path, name: str) -> None:
    moments = list(steps(10, 600))
    text = "".join(
        f"{m.now:%Y-%m-%d %H:%M:%S},{m.now.microsecond // 1000:03d}:INFO:{name}: train @ {m.step} | Loss={m.loss:.4f}\n"
        for m in moments
    )
    is_true(tmp_path, text, moments)


def test_a_line_of_two_handlers_is_one(tmp_path: Path) -> None:
    moments = list(steps(1, 300))
    text = "".join(
        f"INFO:tensorflow:global step {m.step}: loss = {m.loss:.4f} ({m.seconds:.4f} sec/step)\n"
        f"I0504 {m.now:%H:%M:%S}.{m.now.microsecond:06d}   364 learning.py:507] "
        f"global step {m.step}: loss = {m.loss:.4f} ({m.seconds:.4f} sec/step)\n"
        for m in moments
    )
    is_true(tmp_path, text, moments)


def test_the_day_behind_a_rate_is_no_number_of_the_lines(tmp_path: Path) -> None:
    moments = list(steps(10, 600))
    text = "".join(
        f"{m.step}/600, loss: {m.loss:.4f}, rate:   {1 / m.mean:.1f} batch/s {m.now:%d %b %Y %H:%M:%S}\n"
        for m in moments
    )
    is_true(tmp_path, text, moments)


@pytest.mark.parametrize("unit", ["38.47ex/s", "26ms/ex"])
def test_a_bar_of_samples_says_what_the_steps_of_other_lines_are(tmp_path: Path, unit: str) -> None:
    """They are its samples where they are told at its counts alone, whatever their words are."""
    text = ""
    for seen in range(256, 30_000, 256):
        text += f"Iteration {100 * seen // 52032:3d}%|###   | {seen}/52032 [{hms(seen / 38)}<11:17, {unit}]\n"
        if seen % 2560 == 0:
            text += f"step {seen} loss {100 / seen:.4f} (0.02{seen % 7} s/step)\n"
    value, unit, _ = given(tmp_path, text)
    assert value is None or unit == "samples/s"
