# /// environment
# name = "vision"
# requires = ["torch==2.13.0", "timm==1.0.31", "polars", "opencv-python-headless", "matplotlib", "requests", "pyyaml", "psutil"]
# without_dependencies = ["torchvision==0.28.0", "ultralytics==8.4.190", "ultralytics-thop==2.2.3"]
# ///
"""Ultralytics' classifier training from a model's YAML on pictures of noise; two epochs with validation."""

import torchvision_operators  # noqa: F401 - before torchvision

# isort: split
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from clock import Clock
from PIL import Image
from torch.optim.optimizer import register_optimizer_step_post_hook
from ultralytics import YOLO

BATCH = 8
clock = Clock(samples_per_step=BATCH)
chosen = np.random.default_rng(1)
for part, size in (("train", 80 * BATCH), ("val", 10 * BATCH)):
    for index in range(size):
        folder = Path("data") / part / f"class{index % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(chosen.integers(0, 255, (32, 32, 3), np.uint8)).save(folder / f"{index}.jpg")

register_optimizer_step_post_hook(lambda *_: clock.step())
model = YOLO("yolo11n-cls.yaml")
between = ExitStack()  # epochs: evaluation, saving
model.add_callback("on_train_start", lambda _: clock.start())
model.add_callback("on_train_epoch_end", lambda _: between.enter_context(clock.pause("evaluation")))
model.add_callback("on_train_epoch_start", lambda _: between.close())
model.add_callback("on_train_batch_start", lambda _: clock.work())
pictures = str(Path("data").absolute())
model.train(data=pictures, epochs=2, batch=BATCH, imgsz=32, device="cpu", workers=0, nbs=BATCH, plots=False)
between.close()
clock.write()
