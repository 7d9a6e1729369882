# /// environment
# name = "torch"
# requires = ["torch==2.13.0", "numpy"]
# [sources]
# PYTORCH_EXAMPLES = "github.com/pytorch/examples at 77f55b912142e11fcfdf5b530231fb9c52f181e8"
# ///
"""pytorch/examples, imagenet/main.py --dummy: a small network in place of ResNet-18, and its made-up pictures."""

import os
from pathlib import Path

import torch
import torch_script
from clock import Clock

BATCH, STEPS = 16, 120


def network():
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, 2), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
        torch.nn.Linear(8, 1000),
    )  # fmt: skip


def dummy(size, shape, classes, *_):
    """The script's own sizes are ImageNet's; training and validation are told apart by them."""
    return torch_script.Made(BATCH * (STEPS if size > 100_000 else 12), (shape[0], 32, 32), classes)


torch_script.torchvision(datasets={"FakeData": dummy}, models={"resnet18": network})
torch_script.run(
    Path(os.environ["PYTORCH_EXAMPLES"], "imagenet", "main.py"), "--dummy", f"--batch-size={BATCH}", "--epochs=3",
    "--workers=0", clock=Clock(samples_per_step=BATCH), shortest=0.12, longest=0.24,
)  # fmt: skip
