# /// environment
# name = "torch"
# requires = ["torch==2.13.0", "numpy"]
# [sources]
# CIFAR100 = "github.com/weiaicunzai/pytorch-cifar100 at 11d8418f415b261e4ae3cb1ffe20d06ec95b98e4"
# ///
"""pytorch-cifar100's train.py: a line of each batch that counts samples, and the seconds of each epoch's training."""

import os
import sys
import types
from pathlib import Path

import torch_script
from clock import Clock

BATCH, STEPS = 16, 100
source = Path(os.environ["CIFAR100"])


class Writer:
    """In place of TensorBoard's."""

    def __init__(self, log_dir):
        pass

    def __getattr__(self, _):
        return lambda *_: None


def cifar100(train, **_):
    return torch_script.Made(BATCH * (STEPS if train else 10), (3, 32, 32), classes=100)


tensorboard = types.ModuleType("torch.utils.tensorboard")
tensorboard.SummaryWriter = Writer
sys.modules["torch.utils.tensorboard"] = tensorboard
torch_script.torchvision(datasets={"CIFAR100": cifar100})
sys.path.insert(0, str(source))
from conf import settings  # noqa: E402

settings.EPOCH = 4
torch_script.run(source / "train.py", "-net", "squeezenet", "-b", str(BATCH), clock=Clock(samples_per_step=BATCH))
