# /// environment
# name = "torch"
# requires = ["torch==2.13.0", "lightning==2.6.6", "tqdm==4.70.1"]
# [sources]
# LIGHTNING = "github.com/Lightning-AI/pytorch-lightning at 7f0c3436cd3f6ad3753125672024fc415cbcb414: its folder examples"
# ///
"""Fabric's example build_your_own_trainer: its trainer draws a bar of tqdm for each epoch and each validation.

The example's own call trains ten batches an epoch, and its configuration of a scheduler is none that its trainer takes.
"""

import os
import sys
from pathlib import Path

import lightning
import torch
import torch_script
from clock import Clock

BATCH = 64
clock = Clock(samples_per_step=BATCH)
lightning.fabric.utilities.types.LRScheduler = torch.optim.lr_scheduler.LRScheduler  # named so in the example alone
sys.path.insert(0, str(Path(os.environ["LIGHTNING"], "fabric", "build_your_own_trainer")))
import run  # noqa: E402
import trainer  # noqa: E402


class Module(run.MNISTModule):
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-4)


def loader(steps):
    return torch.utils.data.DataLoader(torch_script.Made(BATCH * steps, (1, 28, 28)), batch_size=BATCH)


evaluation = torch_script.watch(clock, 0.25, 0.5)
training = trainer.MyCustomTrainer(accelerator="cpu", devices=1, max_epochs=2)
clock.start()
training.fit(Module(), loader(180), loader(20))
evaluation.close()
clock.write()
