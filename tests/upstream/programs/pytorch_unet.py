# /// environment
# name = "torch"
# requires = ["torch==2.13.0", "numpy", "pillow", "tqdm==4.70.1"]
# [sources]
# UNET = "github.com/milesial/Pytorch-UNet at 21d7850f2af30a9695bbeea75f3136aa538cfc4a"
# ///
"""Pytorch-UNet's train.py: a bar of tqdm that counts images, five evaluations within each epoch's bar; made-up pictures."""

import os
import sys
import types
from pathlib import Path

import numpy
import torch_script
from clock import Clock
from PIL import Image

BATCH, SIZE, PICTURES = 4, 32, 355
chosen = numpy.random.default_rng(1)
for folder in ("imgs", "masks"):
    Path("data", folder).mkdir(parents=True)
for number in range(PICTURES):
    Image.fromarray(chosen.integers(0, 256, (SIZE, SIZE, 3), dtype=numpy.uint8)).save(f"data/imgs/{number:03d}.png")
    Image.fromarray(chosen.integers(0, 2, (SIZE, SIZE), dtype=numpy.uint8)).save(f"data/masks/{number:03d}_mask.png")


class Experiment:
    """In place of Weights & Biases."""

    def __init__(self):
        self.config = {}

    def log(self, _):
        pass


wandb = types.ModuleType("wandb")
wandb.init = lambda **_: Experiment()
wandb.Histogram = wandb.Image = lambda data: data
sys.modules["wandb"] = wandb
torch_script.torchvision(**{"transforms.functional": {}})
torch_script.run(
    Path(os.environ["UNET"], "train.py"), "--epochs=3", f"--batch-size={BATCH}", clock=Clock(samples_per_step=BATCH)
)
