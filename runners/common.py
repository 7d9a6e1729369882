"""What the four runners share: options, data, and a clock of their own. Needs numpy alone, and Python 3.8."""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import runner_data

#: Stages of the small CNN: channels and stride of each 3x3 convolution.
CNN = ((32, 1), (64, 2), (128, 2))
#: Stages of ResNet-50: blocks, channels, stride. v1.5: the stride is in a block's 3x3 convolution.
RESNET50 = ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2))
#: The kinds of devices; ``npu`` is an Ascend.
DEVICES = ("gpu", "npu", "cpu")
IMAGE_SIZE, CLASSES = {"cnn": 32, "resnet50": 224}, {"cnn": 100, "resnet50": 1000}


def options(precisions: tuple[str, ...], more: dict[str, tuple[str, ...]] | None = None) -> argparse.Namespace:
    """The options that every runner has; ``more``: choices of its own, the first of them the default."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=tuple(IMAGE_SIZE), default="cnn")
    parser.add_argument("--precision", choices=precisions, default="fp32")
    parser.add_argument(
        "--device", choices=DEVICES, default=DEVICES[0], help="what to train on: another device is never taken instead"
    )
    parser.add_argument("--batch-size", type=int, default=32, help="samples per device and step")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--log-interval", type=int, default=10)
    parser.add_argument("--warmup", type=int, default=20, help="steps that the side file's throughput leaves out")
    parser.add_argument("--image-size", type=int)
    parser.add_argument(
        "--data",
        type=Path,
        help="data of your own (the README says in which layouts); synthetic without",
    )
    parser.add_argument("--side", type=Path, help="write the runner's own wall-clock throughput to this JSON file")
    for name, choices in (more or {}).items():
        parser.add_argument(f"--{name}", choices=choices, default=choices[0])
    chosen = parser.parse_args()
    if chosen.steps <= chosen.warmup:
        parser.error(f"--steps {chosen.steps} must be more than --warmup {chosen.warmup}")
    chosen.image_size = chosen.image_size or IMAGE_SIZE[chosen.model]
    chosen.classes = CLASSES[chosen.model]
    return chosen


def demand_device(chosen: argparse.Namespace, found: str, build: str, cpu_precision: str = "") -> None:
    """End the run where the device that was asked for is not there, or does not train in the precision.

    Args:
        found: the kind of device that the framework has, of :data:`DEVICES`.
        build: the framework and its version, which says for what it was built.
        cpu_precision: the precision with 16 bits that trains on a CPU; empty where none does.
    """
    if chosen.device not in ("cpu", found):
        sys.exit(
            f"--device {chosen.device}: {build} finds none here; perhaps it is a build for CPUs alone. To train on the "
            'CPU: --device cpu, in a campaign device = "cpu"'
        )
    if chosen.precision == "amp" and chosen.device == "cpu":
        instead = f"; on a CPU: --precision {cpu_precision}" if cpu_precision else ""
        sys.exit(f"--precision amp is float16 with a loss scale and needs a GPU or an NPU{instead}")


def tell_device(rank: int, name: str) -> None:
    """Print which device the training is on: a GPU's name, ``GPU`` or ``NPU`` where it is not known, or ``CPU``."""
    if rank == 0:
        line(f"perflog runner: device: {name}")


def cuda_name(index: int) -> str:
    """The name of a GPU as the driver of this process counts them; ``GPU`` where the driver does not say it."""
    name = ctypes.create_string_buffer(100)
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        failed = driver.cuInit(0) or driver.cuDeviceGetName(name, len(name), index)
    except (OSError, AttributeError):
        return "GPU"
    return "GPU" if failed else name.value.decode("ascii", "replace")


class Batches:
    """Batches of images (n, 3, size, size; float32) and labels (n; int32), as many as there are steps.

    Attributes:
        told: which data they are, in words.
    """

    def __init__(self, chosen: argparse.Namespace, rank: int, ranks: int, loaders: dict, steps: int | None = None):
        """``loaders``: by layout (:mod:`runner_data`) what gives batches of a rank for ever, as uint8 or as 0 to 255."""
        self.steps, self.rank, self.ranks = steps or chosen.steps, rank, ranks
        self.batch, self.classes = chosen.batch_size, chosen.classes
        self.images, self.labels, self.loaded = None, None, None
        if chosen.data is None:
            random = np.random.default_rng(rank)  # one batch again and again: training is measured, not drawing numbers
            shape = (self.batch, 3, chosen.image_size, chosen.image_size)
            self.images = random.standard_normal(shape, dtype=np.float32)
            self.labels = random.integers(0, chosen.classes, self.batch).astype(np.int32)
            self.told = "synthetic"
        else:
            layout = runner_data.layout_of(chosen.data, (runner_data.ARRAYS, *loaders))
            self.told = f"{layout} at {chosen.data}"
            if layout == runner_data.ARRAYS:
                self._map(chosen)
            else:
                self.loaded = iter(loaders[layout](chosen, rank, ranks))
        if rank == 0:
            line(f"perflog runner: data: {self.told}")

    def __len__(self) -> int:
        return self.steps

    def __iter__(self):
        for step in range(self.steps):
            if self.loaded is not None:
                images, labels = next(self.loaded)
                yield np.asarray(images, dtype=np.float32) / 127.5 - 1, self._checked(labels)
            elif self.images.dtype != np.uint8:
                yield self.images, self.labels
            else:
                at = (np.arange(self.batch) + (step * self.ranks + self.rank) * self.batch) % len(self.labels)
                yield self.images[at].astype(np.float32) / 127.5 - 1, self._checked(self.labels[at])

    def _map(self, chosen: argparse.Namespace) -> None:
        """Map the arrays, so that a rank reads its own share only."""
        self.images = np.load(chosen.data / "images.npy", mmap_mode="r")
        self.labels = np.load(chosen.data / "labels.npy")
        shape = (len(self.labels), 3, chosen.image_size, chosen.image_size)
        if self.images.shape != shape or self.images.dtype != np.uint8 or not len(self.labels):
            found = f"{self.images.shape}, {self.images.dtype}, with {len(self.labels)} labels"
            sys.exit(f"--data {chosen.data}: expected images.npy of {shape}, uint8; found {found}")

    def _checked(self, labels) -> np.ndarray:
        numbers = np.asarray(labels).astype(np.int32).reshape(-1)
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < self.classes:
            found = f"{numbers.min()} to {numbers.max()}"
            sys.exit(f"--data: expected labels from 0 to {self.classes - 1}, as this model has classes; found {found}")
        return numbers


class Clock:
    """The runner's own measurement, apart from its framework's logger: when each step had ended.

    Every rank writes ``FILE.rank<n>``; the first puts them together as ``FILE``.
    """

    def __init__(self, chosen: argparse.Namespace, rank: int, ranks: int) -> None:
        self.chosen, self.rank, self.ranks = chosen, rank, ranks
        self.data = "synthetic"
        self.ends: list[float] = []
        self.began = 0.0

    def start(self) -> None:
        self.began = time.perf_counter()

    def step(self) -> None:
        self.ends.append(time.perf_counter() - self.began)

    def write(self, wait: float = 20.0) -> None:
        side, warmup = self.chosen.side, self.chosen.warmup
        if side is None:
            return
        counted = len(self.ends) - warmup
        mine = {
            "rank": self.rank,
            "steps": counted,
            "samples": counted * self.chosen.batch_size,
            "seconds": self.ends[-1] - self.ends[warmup - 1],
        }
        mine["samples_per_second"] = mine["samples"] / mine["seconds"]
        mine["step_ends"] = [round(end, 6) for end in self.ends]
        _write(Path(f"{side}.rank{self.rank}"), mine)
        if self.rank:
            return
        files = [Path(f"{side}.rank{rank}") for rank in range(self.ranks)]
        until = time.monotonic() + wait
        while not all(file.exists() for file in files) and time.monotonic() < until:
            time.sleep(0.02)
        ranks = [json.loads(file.read_text()) for file in files if file.exists()]  # other hosts' may be on their disks
        seconds = max(rank["seconds"] for rank in ranks)
        samples = counted * self.chosen.batch_size * self.ranks
        job = {
            "warmup": warmup,
            "steps": counted,
            "batch_size": self.chosen.batch_size,
            "processes": self.ranks,
            "data": self.data,
            "samples": samples,
        }
        _write(side, {**job, "seconds": seconds, "samples_per_second": samples / seconds, "ranks": ranks})
        for file in files:
            file.unlink(missing_ok=True)


def _write(file: Path, data: dict) -> None:
    """Write a file that is never seen half written."""
    part = Path(f"{file}.part")
    part.write_text(json.dumps(data) + "\n")
    part.replace(file)


def line(text: str) -> None:
    """Print a line in one write, so that no other process's line gets into it."""
    os.write(1, (text + "\n").encode())
