"""Campaigns without logs: extractions as perflog makes them, of any size, for tests and benchmarks of the history."""

from __future__ import annotations

import random

from perflog.cases.build import build_cases
from perflog.extraction import Extraction
from perflog.formats.vocabulary import Scalar
from perflog.logs.find import LogFile
from perflog.notes import Note
from perflog.runs.metadata import Metadata
from perflog.runs.run import Metric, Run, Skipped
from perflog.settings.options import Options

MODELS = ("rn50", "bert-base", "gpt2", "vit-b16", "unet")
DEVICES = (1, 2, 4, 8, 16)
PRECISIONS = ("fp32", "amp")


def campaign(
    cases: int = 4, runs: int = 5, seed: int | str = 0, version: str = "2.5", level: float = 1.0
) -> Extraction:
    """So many cases with so many runs each; another seed gives other values."""
    rng = random.Random(f"campaign {seed}")
    options = Options()
    made = [
        _run(number, repeat, rng, version, level, options) for number in range(cases) for repeat in range(1, runs + 1)
    ]
    skipped = [Skipped(LogFile("logs/README.md", 120), "no line of a known format")]
    return Extraction(build_cases(made, options), skipped, options)


def _run(number: int, repeat: int, rng: random.Random, version: str, level: float, options: Options) -> Run:
    model, devices = MODELS[number % 5], DEVICES[number // 5 % 5]
    precision, batch = PRECISIONS[number // 25 % 2], 32 * (1 + number // 50)
    values: dict[str, Scalar] = {
        "framework": "PyTorch", "framework_version": version, "model": model, "precision": precision, "batch_size": batch, "devices": devices,
        "nodes": 1, "repeat": repeat,
    }  # fmt: skip
    sources = dict.fromkeys(values, "path") | {"framework": "parser", "framework_version": "log"}
    rate = 370.0 * devices * level * rng.gauss(1, 0.004)
    path = f"logs/{version}/{model}/{devices}g/{model}_b{batch}_{precision}_{repeat}.log"
    throughput = Metric(
        "throughput", rate, "samples/s", options.estimator, 180, {"warm-up": 20}, 24, 203, 20.0, 200.0, parser="torch", time_per_step=batch * devices / rate,
    )  # fmt: skip
    step_time = Metric("step_time", batch * devices / rate, "s", "total", 180, {"warm-up": 20}, 24, 203, parser="torch")
    memory = Metric("memory", 12345.0 + repeat, "MB", "last", 1, {}, 203, 203, parser="torch")
    return Run(
        LogFile(path, 16_384), "torch", "PyTorch", Metadata(values, sources, []), f"logs/{model}", {m.name: m for m in (throughput, step_time, memory)},
        [Note("devices taken from the 8 ranks that print")] if repeat == 1 else [], str(options.window), 4, 203, 210,
    )  # fmt: skip
