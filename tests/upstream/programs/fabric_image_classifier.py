# /// environment
# name = "torch"
# requires = ["torch==2.13.0", "lightning==2.6.6"]
# [sources]
# LIGHTNING = "github.com/Lightning-AI/pytorch-lightning at 7f0c3436cd3f6ad3753125672024fc415cbcb414: its folder examples"
# ///
"""Fabric's example image_classifier: it prints the loss of each tenth batch, and no time."""

import os
from pathlib import Path

import torch_script
import torchmetrics  # noqa: F401  (looks for torchvision where it is imported: before there is a stand-in)
from clock import Clock

BATCH = 64


def mnist(_, train, **__):
    return torch_script.Made(BATCH * (80 if train else 10), (1, 28, 28))


torch_script.torchvision(datasets={"MNIST": mnist})
torch_script.run(
    Path(os.environ["LIGHTNING"], "fabric", "image_classifier", "train_fabric.py"), "--epochs=2",
    clock=Clock(samples_per_step=BATCH),
)  # fmt: skip
