"""Lines near to those of well-known programs: as they print them, or with a blank, a unit or a name spelled otherwise.

Orders of fields, names and what the times span are those of: nanoGPT (train.py: dt of the last iteration, evaluation in it),
llm.c (train_gpt2.cu), build-nanogpt, timm (train.py), the PyTorch imagenet example, MXNet's Speedometer, PaddleNLP's
run_pretrain, Megatron-LM (training_log), mlx-lm (trainer.py), torchtitan (metrics.py: tps of one device), detectron2
(CommonMetricPrinter), fairseq (simple format), DeepSpeed (ThroughputTimer), torchvision's references (MetricLogger), tinygrad's
examples (beautiful_cifar), darknet (detector.c), CLU (logging_writer), MindSpore (LossMonitor, TimeMonitor), the Time-Series-Library
(exp_long_term_forecasting.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tests.tools.loops import around
from tests.tools.loops.draw import Draw
from tests.tools.loops.loop import Event, begin
from tests.tools.loops.measures import Span, Told, amount, coarse, truth
from tests.tools.loops.rows import Habits, Row, rows
from tests.tools.loops.spelling import clock
from tests.tools.loops.stamps import CLOCKS
from tests.tools.loops.training import Training, train
from tests.tools.loops.truth import Made


@dataclass(frozen=True, slots=True)
class Line:
    """What a program knows when it prints a line.

    Attributes:
        window: the mean of the last twenty steps; ``smooth``: an exponential mean of the steps' times.
        mean: of the steps since the line before.
    """

    row: Row
    training: Training
    loss: float
    window: float
    smooth: float

    @property
    def mean(self) -> float:
        return self.row.interval / self.row.covered

    def rate(self, seconds: float, work: str = "samples", of_rank: bool = False) -> float:
        """Work per second of steps that take so long."""
        return amount(self.training, work) / (self.training.ranks if of_rank else 1) / seconds

    @property
    def done(self) -> int:
        """Steps since the run began."""
        return self.row.step + 1

    @property
    def left(self) -> str:
        return clock((self.row.of - self.row.counter) * self.window, "h:mm:ss")


@dataclass(frozen=True, slots=True)
class Program:
    """A program's line, and how it counts and times.

    Attributes:
        text: the line.
        every: lines at each so many steps, one of these.
        by_epoch, first: how it counts (:class:`tests.tools.loops.rows.Habits`).
        wall: its timer runs on through evaluations and savings.
        times, rates: what its times and rates span, with a share that their digits leave open; a rate's work too.
        of_rank: works whose rate is one rank's, of which the line says nothing.
        clock: whether a logger stamps its lines.
    """

    text: Callable[[Line], str]
    every: tuple[int, ...]
    by_epoch: bool
    first: int
    wall: bool
    times: tuple[tuple[Span, float, bool], ...] = ()
    rates: tuple[tuple[Span, float, str], ...] = ()
    of_rank: tuple[str, ...] = ()
    clock: bool = False


PROGRAMS: Mapping[str, Program] = {
    "nanoGPT": Program(
        lambda one: f"iter {one.row.counter}: loss {one.loss:.4f}, time {1e3 * one.row.own:.2f}ms, mfu {41.2:.2f}%",
        (1, 10), False, 0, True, (("last", 1e-4, True),),
    ),
    "llm.c": Program(
        lambda one: (
            f"step {one.row.counter:4d}/{one.row.of} | loss {one.loss:7.6f} (+0.12z)| norm {1.234:6.4f} (-0.31z)| lr {6e-4:.2e} | "
            f"{1e3 * one.row.own:.2f} ms | {41.2:.1f}% bf16 MFU | {one.rate(one.smooth, 'tokens'):.0f} tok/s"
        ),
        (1,), False, 1, False, (("last", 1e-4, True),), (("running", 1e-4, "tokens"),),
    ),
    "build-nanogpt": Program(
        lambda one: (
            f"step {one.row.counter:5d} | loss: {one.loss:.6f} | lr {6e-4:.4e} | norm: {1.234:.4f} | dt: {1e3 * one.row.own:.2f}ms | "
            f"tok/sec: {one.rate(one.row.own, 'tokens'):.2f}"
        ),
        (1,), False, 0, False, (("last", 1e-4, True),), (("last", 1e-5, "tokens"),),
    ),
    "timm": Program(
        lambda one: (
            f"Train: {one.row.epoch} [{one.row.counter:>4d}/{one.row.of} ({100 * one.row.counter / one.row.of:>3.0f}%)]  "
            f"Loss: {one.loss:#.3g} ({one.loss:#.3g})  Time: {one.row.own:.3f}s, {one.rate(one.row.own):>7.2f}/s  "
            f"({one.row.running:.3f}s, {one.rate(one.row.running):>7.2f}/s)  LR: {1e-3:.3e}  Data: {0.03 * one.row.own:.3f} ({0.03 * one.row.own:.3f})"
        ),
        (50,), True, 0, False, (("running", 5e-3, True),), (("running", 1e-3, "samples"),),
    ),
    "imagenet": Program(
        lambda one: (
            f"Epoch: [{one.row.epoch}][{one.row.counter:4d}/{one.row.of}]\tTime {one.row.own:6.3f} ({one.row.running:6.3f})\t"
            f"Data {0.03 * one.row.own:6.3f} ({0.03 * one.row.own:6.3f})\tLoss {one.loss:.4e} ({one.loss:.4e})\tAcc@1 {50:6.2f} ({49:6.2f})"
        ),
        (10,), True, 0, False, (("running", 5e-3, False),),
    ),
    "Speedometer": Program(
        lambda one: f"Epoch[{one.row.epoch}] Batch [{one.row.counter}]\tSpeed: {one.rate(one.mean):.2f} samples/sec\taccuracy=0.512345",
        (20, 50), True, 1, False, (), (("interval", 1e-4, "samples"),),
    ),
    "PaddleNLP": Program(
        lambda one: (
            f"global step {one.done}, epoch: {one.row.epoch}, batch: {one.row.counter}, loss: {one.loss:.6f}, avg_reader_cost: {0.03 * one.mean:.5f} sec, "
            f"avg_batch_cost: {one.mean:.5f} sec, avg_samples: {one.training.samples / one.training.ranks:.5f}, ips: {one.rate(one.mean, of_rank=True):.5f} sequences/sec"
        ),
        (10, 20), True, 1, False, (("interval", 1e-4, True),), (("interval", 1e-5, "samples"),), ("samples",), True,
    ),
    "Megatron": Program(
        lambda one: (
            f" iteration {one.row.counter:8d}/{one.row.of:8d} | consumed samples: {one.done * one.training.samples:12d} | elapsed time per iteration (ms): "
            f"{1e3 * one.mean:.1f} | learning rate: {1e-4:.3E} | global batch size: {one.training.samples:5d} | lm loss: {one.loss:.6E} | loss scale: 1.0 | "
            f"grad norm: {1.234:.3f} | number of skipped iterations: {0:3d} | number of nan iterations: {0:3d} |"
        ),
        (1, 10, 100), False, 1, False, (("interval", 1e-3, True),),
    ),
    "mlx-lm": Program(
        lambda one: (
            f"Iter {one.row.counter}: Train loss {one.loss:.3f}, Learning Rate {1e-5:.3e}, It/sec {1 / one.mean:.3f}, Tokens/sec "
            f"{one.rate(one.mean, 'tokens'):.3f}, Trained Tokens {one.done * one.training.samples * one.training.length}, Peak mem {12.345:.3f} GB"
        ),
        (10,), False, 1, False, (), (("interval", 2e-3, "steps"), ("interval", 1e-4, "tokens")),
    ),
    "torchtitan": Program(
        lambda one: (
            f"step: {one.row.counter:2}  loss: {one.loss:7.4f}  grad_norm: {1.234:7.4f}  memory: 12.10GiB(12.70%)  "
            f"tps: {round(one.rate(one.mean, 'tokens', True)):,}  tflops: 118.12  mfu: 37.85%"
        ),
        (1, 10), False, 1, False, (), (("interval", 1e-3, "tokens"),), ("tokens",), True,
    ),
    "detectron2": Program(
        lambda one: (
            f" eta: {one.left}  iter: {one.row.counter}  total_loss: {one.loss:.4g}  loss_cls: {one.loss / 2:.4g}  time: {one.window:.4f}  "
            f"data_time: {0.03 * one.window:.4f}  lr: 0.00025  max_mem: 4127M"
        ),
        (20,), False, 1, False, (("running", 1e-3, False),), clock=True,
    ),
    "fairseq": Program(
        lambda one: (
            f"| epoch {one.row.epoch + 1:03d}: {one.row.counter:6d} / {one.row.of} loss={one.loss:.3f}, nll_loss={one.loss:.3f}, ppl=9.12, wps={one.rate(one.mean, 'tokens'):.1f}, "
            f"ups={1 / one.mean:.2f}, wpb={one.training.samples * one.training.length}, bsz={one.training.samples}, num_updates={one.done}, lr=0.0005, gnorm=1.2"
        ),
        (50, 100), True, 1, False, (), (("interval", 1e-3, "tokens"),),
    ),
    "DeepSpeed": Program(
        lambda one: (
            f"[INFO] [timer.py:260:stop] epoch=0/micro_step={one.done * one.training.micro}/global_step={one.done}, RunningAvgSamplesPerSec={one.rate(one.row.running)}, "
            f"CurrSamplesPerSec={one.rate(one.row.own)}, MemAllocated=12.1GB, MaxMemAllocated=15.0GB"
        ),
        (10, 50), False, 1, False, (), (("running", 1e-9, "samples"), ("last", 1e-9, "samples")),
    ),
    "torchvision": Program(
        lambda one: (
            f"Epoch: [{one.row.epoch}]  [{one.row.counter:4d}/{one.row.of}]  eta: {one.left}  lr: 0.01  loss: {one.loss:.4f} ({one.loss:.4f})  "
            f"time: {one.window:.4f}  data: {0.03 * one.window:.4f}  max mem: 4127"
        ),
        (10, 20), True, 0, False, (("running", 1e-3, False),),
    ),
    "tinygrad": Program(
        lambda one: (
            f"{one.row.counter:3d} {1e3 * one.row.own:7.2f} ms run, {12.0:7.2f} ms python, {300 * one.row.own:7.2f} ms CL, {one.loss:7.2f} loss, "
            f"0.000100 LR, 12.30 GB used,  1234.56 GFLOPS"
        ),
        (1,), False, 0, False, (("last", 1e-3, True),),
    ),
    "MindSpore": Program(
        lambda one: f"epoch: {one.row.epoch + 1} step: {one.row.counter}, loss is {one.loss:.7f}, per step time: {1e3 * one.mean:.3f} ms",
        (1, 10, 100), True, 1, False, (("interval", 1e-4, True),),
    ),
    "Time-Series-Library": Program(
        lambda one: f"\titers: {one.row.counter}, epoch: {one.row.epoch + 1} | loss: {one.loss:.7f} | speed: {one.mean:.4f}s/iter; left time: {(one.row.of - one.row.counter) * one.mean:.4f}s",
        (100,), True, 1, False, (("interval", 1e-3, True),),
    ),
    "darknet": Program(
        lambda one: f" {one.row.counter}: {one.loss:f}, {one.loss:f} avg loss, {0.001:f} rate, {one.row.own:f} seconds, {one.done * one.training.samples} images",
        (1,), False, 1, False, (("last", 1e-5, True),),
    ),
    "CLU": Program(
        lambda one: f"[{one.row.counter}] learning_rate=0.001, loss={one.loss:.6f}, steps_per_sec={1 / one.mean:.6f}",
        (50, 100), False, 1, False, (), (("interval", 1e-5, "steps"),),
    ),
}  # fmt: skip

#: Spellings that other versions and people's copies have.
_OTHERWISE = (
    ("ms", " ms"), (" ms", "ms"), ("samples/sec", "samples/s"), ("tok/s", "tokens/s"), ("tok/sec", "tok/s"), (" | ", " |"), (", ", " , "),
    (": ", ":"), ("time", "Time"), ("Time", "time"), ("iter", "it"), ("Iter", "Iteration"), ("step", "Step"), ("loss", "train_loss"), ("  ", " "),
    ("=", "= "), ("ips", "IPS"), ("sec", "s"), ("Speed", "speed"), ("dt", "step_time"), ("\t", " "), ("It/sec", "it/s"), ("tps", "tokens/s"),
)  # fmt: skip


def near(draw: Draw) -> Made:
    """The lines of one of the programs, as it prints them or spelled otherwise."""
    program = PROGRAMS[draw.one("program", tuple(PROGRAMS))]
    training = train(draw, every=draw.one("interval", program.every))
    if "samples" in program.text.__code__.co_names and program.by_epoch:
        training = replace(training, micro=1)
    stamped = program.clock or draw.whether("stamps", 0.3)
    loop = begin(draw, training, stamped)
    loop.how = Habits(program.by_epoch, program.wall, program.first, False, False, False)
    loop.found = [row for row in rows(draw, training, loop.how) if row.phase == "train"]
    loop.told = Told(times=list(program.times), rates=list(program.rates), of_rank=set(program.of_rank))
    if stamped:
        loop.stamp = draw.one("stamp", CLOCKS)
        loop.told.clocks.append(
            coarse(loop.stamp.tick, [row.at for row in loop.found], sum(pause.announced for pause in training.pauses))
        )
    lines = _lines(training, loop.found, program.wall)
    texts = _spelled(draw, [program.text(line) for line in lines])
    loop.events += [Event(row.at, text) for row, text in zip(loop.found, texts, strict=True)]
    around.surrounded(loop)
    return Made("", loop.text(), truth(training, loop.found, loop.told), draw.chosen)


def _lines(training: Training, found: list[Row], wall: bool) -> list[Line]:
    """What the program knows at each line; a timer that runs on holds the pause before the step too."""
    pauses = {pause.after + 1: pause.seconds for pause in training.pauses} if wall else {}
    smooth, mean = np.zeros(training.steps), float(training.seconds[0])
    for at, seconds in enumerate(training.seconds):
        mean = 0.95 * mean + 0.05 * float(seconds)
        smooth[at] = mean
    lines = []
    for at, row in enumerate(found):
        row.own += pauses.get(row.step, 0.0)
        window = float(training.seconds[max(0, row.step - 19) : row.step + 1].mean())
        lines.append(
            Line(row, training, 0.4 + 3 * float(np.exp(-3 * at / len(found))), window, float(smooth[row.step]))
        )
    return lines


def _spelled(draw: Draw, texts: list[str]) -> list[str]:
    """All lines with the same few spellings changed, and sometimes a field more."""
    for old, new in draw.some("spelled otherwise", [pair for pair in _OTHERWISE if pair[0] in texts[-1]], 2):
        texts = [text.replace(old, new) for text in texts]
    more = draw.one("a field more", ("", "", "", ", mem: 12.3GB", " | gpu 4127MiB", " (best 0.8123)", ", skipped 0"))
    return [text + more for text in texts]


CLASSES: Mapping[str, tuple[float, Callable[[Draw], Made]]] = {"near a known program": (8, near)}
