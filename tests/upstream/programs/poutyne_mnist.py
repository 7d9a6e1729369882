# /// environment
# name = "torch"
# requires = ["torch==2.13.0", "Poutyne==1.19.0", "torchmetrics"]
# [sources]
# POUTYNE = "github.com/GRAAL-Research/poutyne at faa19522242e38475ac71b60c7e968bd4476dc76: its folder examples"
# ///
"""Poutyne's examples/basic_mnist_classification.py: its own bar, and a line of each epoch with its validation's share."""

import os
from pathlib import Path

import poutyne  # noqa: F401  (before there is a stand-in for torchvision, of which torchmetrics asks)
import torch
import torch_script
from clock import Clock

BATCH, STEPS = 32, 80


def mnist(*_, **__):
    return torch_script.Made(BATCH * (STEPS + 10), (1, 28, 28))


split = torch.utils.data.random_split
torch.utils.data.random_split = lambda whole, _, **options: split(whole, [BATCH * STEPS, BATCH * 10], **options)
torch_script.torchvision(datasets={"MNIST": mnist})
torch_script.run(Path(os.environ["POUTYNE"], "basic_mnist_classification.py"), clock=Clock(samples_per_step=BATCH))
