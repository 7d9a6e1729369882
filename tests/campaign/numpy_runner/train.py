"""A small training that takes NumPy where memory is to run out alone, as its import takes longer than the training does:
logistic regression, logged in InsightFace's form. Some models fail, for real.
"""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
import time
from pathlib import Path

FEATURES, STEP_SECONDS = 32, 0.005


def main() -> None:
    model, side = sys.argv[1], Path(sys.argv[6])
    batch, steps, interval, _ = map(int, sys.argv[2:6])
    draw = random.Random(0)
    x, weights = [[draw.gauss(0, 1) for _ in range(FEATURES)] for _ in range(batch)], [0.0] * FEATURES
    y = [float(sum(row) > 0) for row in x]
    rate = 1e200 if model == "diverging" else 0.1
    if os.environ.get("HELPER"):  # a process in a session of its own, as launchers start them
        subprocess.Popen(["sleep", os.environ["HELPER"]], start_new_session=True)
    if model == "silent":
        return
    began, ends, printed = time.perf_counter(), [], 0.0
    line(f"process {os.getpid()} at {time.time_ns()}")
    for step in range(1, steps + 1):
        guess = [sigmoid(sum(a * b for a, b in zip(row, weights, strict=True))) for row in x]
        loss = -sum(t * log(g) + (1 - t) * log(1 - g) for t, g in zip(y, guess, strict=True)) / batch
        for n in range(FEATURES):
            weights[n] -= rate * sum(row[n] * (g - t) for row, g, t in zip(x, guess, y, strict=True)) / batch
        time.sleep(STEP_SECONDS)
        ends.append(time.perf_counter() - began)
        if step % interval == 0:
            speed, printed = batch * interval / (ends[-1] - printed), ends[-1]
            line(
                f"Training: -Speed {speed:.4f} samples/sec   Loss {loss:.4f}   Epoch: 0   Global Step: {step}   Required: 0 hours"
            )
        if step == (steps - 1 if model == "late" else steps // 2):
            misfortune(model)
    if os.environ.get("NODE", "0") == "0":
        side.write_text(json.dumps({"step_ends": ends}))
    if model == "leaving":  # as gloo's threads do: after a complete log
        os.abort()


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value)) if abs(value) < 700 else float(value > 0)


def log(value: float) -> float:
    """Of 0 it is infinite, as in NumPy; times 0 that is no number."""
    return math.log(value) if value > 0 else -math.inf


def line(text: str) -> None:
    os.write(1, (text + "\n").encode())


def misfortune(model: str) -> None:
    if model == "huge" or (model == "logistic" and os.environ.get("MEMORY") == "none"):
        import numpy as np

        np.zeros(1 << 58)
    elif model in ("raising", "late"):
        raise ValueError("the labels are out of range")
    elif model == "aborting":
        os.abort()
    elif model == "hanging":
        time.sleep(1000)
    elif model == "stopping":
        sys.exit(0)


if __name__ == "__main__":
    main()
