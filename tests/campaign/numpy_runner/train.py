"""A small training that needs NumPy alone: logistic regression, logged in InsightFace's form. Some models fail, for real."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "runners"))
import common

STEP_SECONDS = 0.005


def main() -> None:
    model, side = sys.argv[1], Path(sys.argv[6])
    batch, steps, interval, warmup = map(int, sys.argv[2:6])
    random = np.random.default_rng(0)
    x, weights = random.standard_normal((batch, 32)), np.zeros(32)
    y = (x.sum(axis=1) > 0).astype(float)
    rate = 1e200 if model == "diverging" else 0.1
    if os.environ.get("HELPER"):  # a process in a session of its own, as launchers start them
        subprocess.Popen(["sleep", os.environ["HELPER"]], start_new_session=True)
    if model == "silent":
        return
    clock = common.Clock(SimpleNamespace(side=side, warmup=warmup, batch_size=batch), 0, 1)
    clock.start()
    common.line(f"process {os.getpid()} at {time.time_ns()}")
    printed = 0.0
    for step in range(1, steps + 1):
        with np.errstate(all="ignore"):
            guess = 1 / (1 + np.exp(-(x @ weights)))
            loss = float(-np.mean(y * np.log(guess) + (1 - y) * np.log(1 - guess)))
            weights -= rate * (x.T @ (guess - y)) / batch
        time.sleep(STEP_SECONDS)
        clock.step()
        if step % interval == 0:
            speed = batch * interval / (clock.ends[-1] - printed)
            printed = clock.ends[-1]
            common.line(
                f"Training: -Speed {speed:.4f} samples/sec   Loss {loss:.4f}   Epoch: 0   Global Step: {step}   Required: 0 hours"
            )
        if step == (steps - 1 if model == "late" else steps // 2):
            misfortune(model)
    if os.environ.get("NODE", "0") == "0":
        clock.write()
    if model == "leaving":  # as gloo's threads do: after a complete log
        os.abort()


def misfortune(model: str) -> None:
    if model == "huge" or (model == "logistic" and os.environ.get("MEMORY") == "none"):
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
