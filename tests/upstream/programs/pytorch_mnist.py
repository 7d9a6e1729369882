# /// environment
# name = "torch"
# requires = ["torch==2.13.0", "numpy"]
# [sources]
# PYTORCH_EXAMPLES = "github.com/pytorch/examples at 77f55b912142e11fcfdf5b530231fb9c52f181e8"
# ///
"""pytorch/examples, mnist/main.py: it prints the loss of each tenth batch, and no time."""

import os
from pathlib import Path

import torch_script
from clock import Clock

BATCH = 64


def mnist(_, train, **__):
    return torch_script.Made(BATCH * (80 if train else 10), (1, 28, 28))


torch_script.torchvision(datasets={"MNIST": mnist})
torch_script.run(
    Path(os.environ["PYTORCH_EXAMPLES"], "mnist", "main.py"), "--epochs=2", clock=Clock(samples_per_step=BATCH)
)
