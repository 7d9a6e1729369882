# /// environment
# name = "torch"
# requires = ["torch==2.13.0", "numpy", "pytorch-ignite==0.5.4", "tqdm==4.70.1"]
# [sources]
# IGNITE = "github.com/pytorch/ignite at de08e799cfb55a6cf4aa778575d6bad725385453: its folder examples"
# ///
"""Ignite's examples/mnist/mnist.py: a bar of tqdm that goes on by ten batches, two evaluations after each epoch."""

import os
from pathlib import Path

import torch_script
from clock import Clock

BATCH = 64


def mnist(train, **_):
    return torch_script.Made(BATCH * (160 if train else 20), (1, 28, 28))


torch_script.torchvision(datasets={"MNIST": mnist})
torch_script.run(Path(os.environ["IGNITE"], "mnist", "mnist.py"), "--epochs=3", clock=Clock(samples_per_step=BATCH))
