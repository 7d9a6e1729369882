"""Has trackers keep one loop that sleeps, and keeps their files beside the figures of a clock of our own.

    python -m venv V && V/bin/pip install mlflow psutil tensorboardX wandb aim clearml
    V/bin/python -m tests.tools.real_trackers FOLDER

``FOLDER`` then holds what each tracker wrote; ``tests/logs/trackers`` gets the files of those that perflog reads, and
``clock.json`` (:mod:`tests.upstream.clock`); ``wandb/history.jsonl`` is ``history_of_wandb`` of
``tests/logs/test_trackers.py``. The loop prints and logs each tenth step: its loss, the tokens per second
and the time of a step since the line before.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.upstream.clock import Clock

KEPT = Path(__file__).resolve().parents[2] / "tests/logs/trackers"
PACKAGES = ("mlflow", "tensorboardX", "wandb", "aim", "clearml")
BATCH, TOKENS, STEPS, EVERY = 32, 128, 400, 10
Log = Callable[[int, dict[str, float]], None]


def loggers(folder: Path) -> tuple[list[Log], list[Callable[[], Any]]]:
    """What takes the values of a step, and what ends each tracker."""
    os.environ |= {
        "MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL": "1",
        "MLFLOW_SYSTEM_METRICS_SAMPLES_BEFORE_LOGGING": "1", "WANDB_MODE": "offline", "WANDB_DIR": str(folder),
    }  # fmt: skip
    import aim
    import clearml
    import mlflow
    import tensorboardX
    import wandb

    mlflow.set_tracking_uri((folder / "mlruns").as_uri())
    mlflow.set_experiment("loop")
    mlflow.start_run(log_system_metrics=True)
    board = tensorboardX.SummaryWriter(str(folder / "tensorboard"))
    of_wandb = wandb.init(project="loop", config={"batch_size": BATCH})
    of_aim = aim.Run(repo=str(folder / "aim"), system_tracking_interval=None)
    clearml.Task.set_offline(True)
    task = clearml.Task.init(project_name="loop", task_name="loop")

    def to_board(step: int, values: dict[str, float]) -> None:
        for name, value in values.items():
            board.add_scalar(name, value, step)

    def to_aim(step: int, values: dict[str, float]) -> None:
        for name, value in values.items():
            of_aim.track(value, name=name, step=step)

    def to_clearml(step: int, values: dict[str, float]) -> None:
        for name, value in values.items():
            task.get_logger().report_scalar(*name.rsplit("/", 1), value, iteration=step)

    def end_clearml() -> None:
        session = task.get_offline_mode_folder()
        task.close()
        shutil.copytree(session, folder / "clearml")

    takes: list[Log] = [
        lambda step, values: mlflow.log_metrics(values, step=step), to_board,
        lambda step, values: of_wandb.log(values, step=step), to_aim, to_clearml,
    ]  # fmt: skip
    return takes, [mlflow.end_run, board.close, of_wandb.finish, of_aim.close, end_clearml]


def train(folder: Path) -> None:
    """The loop."""
    takes, ends = loggers(folder)
    clock = Clock(samples_per_step=BATCH, tokens_per_step=BATCH * TOKENS)
    clock.start()
    begun = 0.0
    for step in range(1, STEPS + 1):
        clock.work()
        clock.step()
        if step % EVERY == 0:
            seconds, begun = clock.ends[-1] - begun, clock.ends[-1]
            rate = EVERY * BATCH * TOKENS / seconds
            print(f"step {step} loss {2 / step:.4f} tokens/s {rate:.1f}", flush=True)
            for take in takes:
                take(step, {"train/loss": 2 / step, "perf/tokens_per_sec": rate, "perf/step_time": seconds / EVERY})
    for end in ends:
        end()
    os.environ["UPSTREAM_CLOCK"] = str(folder / "clock.json")
    clock.write()


def keep(folder: Path) -> None:
    """Copy the files that perflog reads, and the clock's."""
    shutil.rmtree(KEPT, ignore_errors=True)
    shutil.copytree(folder / "tensorboard", KEPT / "tensorboard")
    (store,) = folder.glob("mlruns/*/*/metrics")
    shutil.copytree(store, KEPT / "mlruns" / store.parent.name / "metrics")
    (KEPT / "clearml").mkdir()
    session = (folder / "clearml/metrics.jsonl").read_bytes()
    (KEPT / "clearml/metrics.jsonl.gz").write_bytes(gzip.compress(session, mtime=0))
    (run,) = folder.glob("wandb/offline-run-*/*.wandb")
    (KEPT / "wandb").mkdir()
    shutil.copy(run, KEPT / "wandb" / "run.wandb")
    figures = json.loads((folder / "clock.json").read_text(encoding="utf-8"))
    figures["versions"] = {package: version(package) for package in PACKAGES}
    (KEPT / "clock.json").write_text(json.dumps(figures) + "\n", encoding="utf-8")


if __name__ == "__main__":
    given = Path(sys.argv[1]).resolve()
    given.mkdir(parents=True)
    os.chdir(given)
    train(given)
    keep(given)
