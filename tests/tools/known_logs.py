"""Logs whose truth is known: every step of each takes the same time, so that any part of one says the same.

A log of constant speed has one throughput, however many of its lines are lost, doubled or out of order. Where a line
of its configuration is lost too, the same speed is told in steps, or of one device.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass

#: How many steps a log measures.
STEPS = 120
_BEGIN = datetime.datetime(2026, 5, 4, 10, 0, 0)


@dataclass(frozen=True)
class Speed:
    """A truth: seconds per step, samples per device and step, devices. Its numbers are printed exactly."""

    seconds: float = 0.25
    batch: int = 32
    devices: int = 8

    @property
    def of_device(self) -> float:
        """Samples per second of one device."""
        return self.batch / self.seconds

    @property
    def of_job(self) -> float:
        return self.of_device * self.devices

    def truths(self, unit: str) -> dict[str, float]:
        """By unit: the job's rate, one device's where the devices are lost, and steps where the batch is."""
        return {unit: self.of_job, f"{unit}/device": self.of_device, "steps/s": 1 / self.seconds}


#: Two truths of which no number of one follows from the other's facts: 1024 and 120 samples/s, 4 and 2.5 steps/s.
FAST, SLOW = Speed(), Speed(0.4, 12, 4)


@dataclass(frozen=True)
class KnownLog:
    """A log in parts, and its truth.

    Attributes:
        head, tail: lines of configuration before the measured ones, and lines behind them.
        steps: the measured lines.
        truths: by unit, the throughput that may be given.
        options: what the log itself does not tell.
    """

    name: str
    head: tuple[bytes, ...]
    steps: tuple[bytes, ...]
    tail: tuple[bytes, ...]
    truths: Mapping[str, float]
    options: Mapping[str, str]

    @property
    def lines(self) -> tuple[bytes, ...]:
        return (*self.head, *self.steps, *self.tail)

    def __repr__(self) -> str:
        return self.name


def known_logs(speed: Speed = FAST) -> dict[str, KnownLog]:
    """By parser, logs of several families: rates and times, of jobs and ranks, since the last line and in an epoch."""
    families = (_dllogger, _paddleclas, _averagemeter, _megatron, _speedometer, _nanogpt)
    return {log.name: log for log in (family(speed) for family in families)}


def _log(
    name: str, head: list[str], step: Callable[[int], str], tail: list[str], truths: Mapping[str, float], **options: int
) -> KnownLog:
    head_lines, steps, tail_lines = (
        tuple(f"{line}\n".encode() for line in lines) for lines in (head, map(step, range(1, STEPS + 1)), tail)
    )
    return KnownLog(name, head_lines, steps, tail_lines, truths, {key: str(value) for key, value in options.items()})


def _loss(step: int) -> float:
    return round(7 - step / 40 + (step * 37 % 11) / 100, 4)


def _at(speed: Speed, step: float, form: str) -> str:
    """The clock at a step, half a minute after the program began."""
    return (_BEGIN + datetime.timedelta(seconds=30 + step * speed.seconds)).strftime(form)


def _dllogger(speed: Speed) -> KnownLog:
    def prefix(step: float) -> str:
        return f"DLL {_at(speed, step, '%Y-%m-%d %H:%M:%S.%f')} -"

    return _log(
        "ngc_pyt_convnets",
        [
            f"{prefix(-20)} PARAMETER data : /imagenet  data_backend : dali-cpu  arch : resnet50  "
            f"batch_size : {speed.batch}  optimizer_batch_size : -1  world_size : {speed.devices} "
        ],
        lambda n: (
            f"{prefix(n)} Epoch: 0 Iteration: {n}  train.loss : {_loss(n):.5f}  "
            f"train.total_ips : {speed.of_job:.2f} img/s"
        ),
        ["done"],
        speed.truths("images/s"),
    )


def _paddleclas(speed: Speed) -> KnownLog:
    def prefix(step: float) -> str:
        return f"[{_at(speed, step, '%Y/%m/%d %H:%M:%S')}] ppcls INFO:"

    return _log(
        "paddleclas",
        [f"{prefix(-20)} train with paddle 2.5.0 and device Place(gpu:0)"],
        lambda n: (
            f"{prefix(n)} epoch:0   train step:{n}   lr: 0.100000, loss: {_loss(n):7.4f} top1:  0.0000 "
            f"batch_cost: {speed.seconds:.5f} s, reader_cost: 0.00100 s, ips: {speed.of_device:.5f} samples/sec."
        ),
        [],
        speed.truths("images/s"),
        devices=speed.devices,
    )


def _averagemeter(speed: Speed) -> KnownLog:
    return _log(
        "averagemeter",
        ["=> creating model 'resnet50'", "Use GPU: 0 for training"],
        lambda n: (
            f"Epoch: [0][{n:4d}/{STEPS}]\tTime  {speed.seconds:.3f} ( {speed.seconds:.3f})\t"
            f"Data  0.001 ( 0.001)\tLoss {_loss(n):.4e} ({_loss(n):.4e})\tAcc@1   0.00 (  0.00)\tAcc@5   0.00 (  0.00)"
        ),
        [],
        speed.truths("samples/s"),
        batch_size=speed.batch,
        devices=speed.devices,
    )


def _megatron(speed: Speed) -> KnownLog:
    batch = speed.batch * speed.devices
    return _log(
        "megatron",
        [f"  world_size ...................................... {speed.devices}"],
        lambda n: (
            f" [{_at(speed, n, '%Y-%m-%d %H:%M:%S')}] iteration {n:8d}/    5000 | consumed samples: "
            f"{n * batch:12d} | elapsed time per iteration (ms): {speed.seconds * 1000:.1f} | learning rate: 1.500E-04 | "
            f"global batch size: {batch:5d} | lm loss: {_loss(n):.6E} | loss scale: 1.0 | grad norm: 1.234 | "
            "number of skipped iterations:   0 | number of nan iterations:   0 |"
        ),
        [],
        speed.truths("samples/s"),
    )


def _speedometer(speed: Speed) -> KnownLog:
    return _log(
        "mxnet_speedometer",
        ["INFO:root:start with arguments Namespace(network='resnet', num_layers=50)"],
        lambda n: (
            f"INFO:root:Epoch[0] Batch [{(n - 1) * 20}-{n * 20}]\tSpeed: {speed.of_job:.2f} samples/sec\t"
            f"accuracy=0.0{n:03d}"
        ),
        [],
        speed.truths("samples/s"),
    )


def _nanogpt(speed: Speed) -> KnownLog:
    tokens = speed.batch * speed.devices * 1024
    return _log(
        "nanogpt",
        ["number of parameters: 123.59M", f"tokens per iteration will be: {tokens:,}"],
        lambda n: f"iter {n}: loss {_loss(n):.4f}, time {speed.seconds * 1000:.2f}ms, mfu 17.89%",
        [],
        {"steps/s": 1 / speed.seconds, "tokens/s": tokens / speed.seconds},
    )
