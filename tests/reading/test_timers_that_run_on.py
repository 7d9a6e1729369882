"""Timers that run on while a program evaluates or saves: the line behind that is left out, and the rest is right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from perflog.notes import texts
from tests.support import extracted

#: Ten steps take 5 s; what happens after every hundredth step takes 20 s more and is inside the next line's time.
STEPS, EVERY, TIME, PAUSE = 600, 100, 0.5, 20.0

MARIAN = "[2026-05-04 10:11:12] Ep. 1 : Up. {step} : Sen. 12,345 : Cost 4.2 * 80,000 @ 8,192 after 99 : "
MARIAN += "Time {seconds:.2f}s : {rate:.2f} words/s : gNorm 0.5"
TITAN = "[rank0]:[titan] 2026-05-04 10:11:12,345 - root - INFO - step: {step:2}  loss:  4.2103  grad_norm:  0.5121  "
TITAN += "memory: 12.34GiB(25.00%)  tps: {rate:,.0f}  tflops: 100.00  mfu: 30.00%"
DIT = "[2026-05-04 10:11:12] (step={step:07d}) Train Loss: 0.2123, Train Steps/Sec: {steps:.2f}"
HUGECTR = "[HCTR][08:30:15.371][INFO][RK0][main]: Iter: {step} Time(10 iters): {seconds:.6f}s Loss: 0.6 lr:0.001"
LINGUA = "0: INFO    25-05-15 10:11:12.345678 - 0:01:02 - step: {step}  acc: 0  loss:  4.2101  grad: 1.23e+00  "
LINGUA += "flops: 3.57e+14  wps: {rate:.2e}  iter:  0.5012  data: 0.0012  lr: 3.00e-04  mem: 40%  pow: 612.345 W"
MMF = "2026-05-04T10:11:12 | mmf.trainers.callbacks.logistics: progress: {step}/6000, train/total_loss: 5.1234, "
MMF += "max mem: 9123.0, lr: 0.00001, ups: {steps:.2f}, time: 40s 123ms, eta: 02h 26m"
#: Words or tokens in a step.
WORK = 8000
#: A format's line of ten steps, what it prints behind a pause, and the throughput that is true.
FORMATS = {
    "marian": (MARIAN, "[2026-05-04 10:11:32] [valid] Ep. 1 : Up. 100 : cross-entropy : 41.2 : new best", WORK / TIME),
    "marian, saved": (
        MARIAN,
        "[2026-05-04 10:11:32] Saving model weights and runtime parameters to m.npz",
        WORK / TIME,
    ),
    "torchtitan": (TITAN, "[titan] - root - INFO - Finished saving the checkpoint in 20.02 seconds.", WORK / TIME),
    "dit": (DIT, "[2026-05-04 10:11:32] Saved checkpoint to results/checkpoints/0000100.pt", 1 / TIME),
    "hugectr": (HUGECTR, "[HCTR][08:30:35.371][INFO][RK0][main]: Eval Time for 300 iters: 20.01s", 1 / TIME),
    "lingua": (LINGUA, "0: INFO    25-05-15 10:11:32.345678 - 0:01:22 - State dict saved!", WORK / TIME),
    "mmf": (MMF, "2026-05-04T10:11:32 | mmf: progress: 100/6000, val/total_loss: 4.1, epoch: 1", 1 / TIME),
}


def log(line: str, behind: str) -> Iterator[str]:
    for step in range(10, STEPS + 1, 10):
        seconds = 10 * TIME + (PAUSE if step % EVERY == 10 and step > EVERY else 0)
        yield line.format(step=step, seconds=seconds, rate=10 * WORK / seconds, steps=10 / seconds) + "\n"
        if step % EVERY == 0 and step < STEPS:
            yield behind + "\n"


@pytest.mark.parametrize("name", FORMATS)
def test_a_line_behind_a_pause_is_left_out(name: str, tmp_path: Path) -> None:
    line, behind, true = FORMATS[name]
    file = tmp_path / "a.log"
    file.write_text("".join(log(line, behind)))
    (run,) = extracted(file).runs
    assert run.throughput.value == pytest.approx(true)
    assert any(note.startswith("5 records left out that hold an evaluation or the like") for note in texts(run.notes))


MISTRAL = (
    "2026-05-04 10:11:12 (UTC) - 0:01:20 - train - INFO - step: {step:06d} - done (%): 40.0 - loss: 1.234 - lr: 5.1e-05"
)
MISTRAL += " - words_per_second: {rate:.1f} - avg_words_per_second: {mean:.4f} - ETA: >2026-05-04 10:15:12"
NANOGPT = "iter {step}: loss 9.1023, time {milliseconds:.2f}ms, mfu 41.27%"
BUILD = (
    "step {step:5d} | loss: 4.210331 | lr 1.0070e-04 | norm: 0.5121 | dt: {milliseconds:.2f}ms | tok/sec: {rate:.2f}"
)


@pytest.mark.parametrize(("line", "before"), [
    (NANOGPT, "step {step}: train loss 3.2190, val loss 3.2871"),
    (BUILD, "validation loss: 3.2871"),
    (BUILD, "HellaSwag accuracy: 2500/10042=0.2490"),
    (BUILD, "step {step:5d} | val loss 4.2103"),
    (MISTRAL, "2026-05-04 10:11:12 (UTC) - 0:01:20 - eval - INFO - step: {step:06d} - eval_perplexity: 3.412"),
])  # fmt: skip
def test_a_step_with_an_evaluation_inside_is_left_out(line: str, before: str, tmp_path: Path) -> None:
    """nanoGPT with log_interval 1, build-nanogpt and mistral-finetune time each step from before its evaluation."""
    lines = ["tokens per iteration will be: 8,000\n"]
    total = 0.0
    for step in range(1, 501):
        seconds = TIME + (PAUSE if step % EVERY == 0 else 0)
        total += seconds
        lines += [before.format(step=step) + "\n"] if step % EVERY == 0 else []
        lines += [
            line.format(step=step, milliseconds=1000 * seconds, rate=WORK / seconds, mean=step * WORK / total) + "\n"
        ]
    file = tmp_path / "a.log"
    file.write_text("".join(lines))
    (run,) = extracted(file).runs
    assert run.throughput.value == pytest.approx(WORK / TIME, rel=1e-5)


def test_an_evaluations_table_belongs_to_no_record_and_its_time_to_none(tmp_path: Path) -> None:
    # 2,048 environment steps in 4 s; behind every eighth table an evaluation of 8 s prints a counter of its own
    lines, clock = [], 0
    for table in range(1, 101):
        clock += 4
        lines += [
            f"|    iterations      | {table} |",
            f"|    time_elapsed    | {clock} |",
            f"|    total_timesteps | {2048 * table} |",
        ]
        if table % 8 == 0:
            lines += ["| eval/              |      |", f"|    total_timesteps | {2048 * table + 1000} |"]
            clock += 8
    (tmp_path / "ppo.log").write_text("\n".join(lines) + "\n")
    (run,) = extracted(tmp_path / "ppo.log").runs
    assert (run.throughput.value, run.throughput.unit) == (2048 / 4, "env_steps/s")
    assert any("12 records left out that hold an evaluation" in note for note in texts(run.notes))


def test_a_clock_that_falls_in_every_second_line_is_none(tmp_path: Path) -> None:
    # the words of a format that prints the time since the start, with the time of each step
    row = "Epoch: [ 0] [%4d/ 200] time: %.4f, d_loss: 1.00000000, g_loss: 1.00000000\n"
    (tmp_path / "gan.log").write_text("".join(row % (step, 0.2 + 0.05 * (step % 2)) for step in range(200)))
    (run,) = extracted(tmp_path / "gan.log").runs
    assert run.throughput.value is None
    assert "the clock shows less than before in 99 of 200 lines" in run.throughput.reason
