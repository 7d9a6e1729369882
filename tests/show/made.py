"""Extractions and step times without logs, for pictures of any number of cases."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product

import numpy as np

from perflog.cases.build import build_cases
from perflog.extraction import Extraction
from perflog.formats.vocabulary import Scalar
from perflog.logs.find import LogFile
from perflog.runs.metadata import Metadata
from perflog.runs.run import Metric, Run
from perflog.settings.options import Options
from perflog.show.steps import Trace

FRAMEWORKS = ("PaddlePaddle", "PyTorch", "TensorFlow", "MXNet")
MODELS = ("ResNet50", "Bert", "a-mixture-of-experts-language-model-with-a-very-long-name-v2.5/base_uncased.finetuned")
DEVICES = (1, 2, 4, 8, 16, 32)


def run(values: dict[str, Scalar], rate: float, unit: str = "samples/s", given: str = "logs") -> Run:
    """A run of these facts with a throughput; its log lies in folders named by them."""
    place = "/".join(str(value) for key, value in values.items() if key != "repeat")
    path = f"{given}/{place}/{values.get('repeat', 1)}.log"
    throughput = Metric("throughput", rate, unit, "total", 180, {"warm-up": 20}, 24, 203, 20.0, 200.0, parser="torch")
    metadata = Metadata(values, dict.fromkeys(values, "path"), [])
    log = LogFile(path, 16_384, given=given)
    return Run(log, "torch", "", metadata, "logs", {"throughput": throughput}, [], "warm-up 20 steps", 4, 203, 210)


def extraction(runs: Sequence[Run]) -> Extraction:
    """The runs' extraction."""
    options = Options()
    return Extraction(build_cases(runs, options), [], options)


def many(count: int, runs: int = 3, versions: Sequence[str] = ("2.5",)) -> Extraction:
    """So many cases of several frameworks, models and precisions on 1 to 32 devices, of each version."""
    rng = random.Random(f"pictures {count}")
    precisions, batches = ("fp32", "amp"), (32, 64, 128, 256)
    if count <= 6:
        wanted = [(d, "PyTorch", "ResNet50", "fp32", 32) for d in DEVICES]
    elif count <= 24:
        wanted = [(d, f, m, p, 32) for f, m, p, d in product(FRAMEWORKS[:2], MODELS[:1], precisions, DEVICES)]
    else:
        wanted = [
            (d, f, m, p, b) for m, b, p, f, d in product(MODELS, batches[:2], precisions, FRAMEWORKS[:2], DEVICES)
        ]
    made = []
    for (devices, framework, model, precision, batch), version in product(wanted[:count], versions):
        rate = 370.0 * devices**0.96 * (2.4 if precision == "amp" else 1.0) * (1 + 0.1 * versions.index(version))
        for repeat in range(1, runs + 1):
            made.append(
                run(
                    {
                        "framework": framework, "framework_version": version, "model": model, "precision": precision,
                        "batch_size": batch, "devices": devices, "repeat": repeat,
                    },
                    rate * rng.gauss(1, 0.01),
                )
            )  # fmt: skip
    return extraction(made)


def traces(cases: Extraction, warmup: int = 40, steps: int = 400) -> list[Trace]:
    """Step times of every run: the first takes seconds, the next ``warmup`` a third more, with a little noise."""
    rng = np.random.default_rng(7)
    made = []
    for one in cases.runs:
        seconds = 0.23 * (1 + 0.01 * rng.standard_normal(steps))
        seconds[:warmup] *= 1.3
        seconds[0] = 5.2
        made.append(Trace(one, np.arange(1.0, steps + 1), seconds, (20.0, float(steps)), float(warmup)))
    return made
