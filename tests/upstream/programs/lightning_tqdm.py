# /// environment
# name = "torch"
# requires = ["torch==2.13.0", "lightning==2.6.6"]
# ///
"""Lightning's Trainer with TQDMProgressBar(refresh_rate=10), as jobs of a cluster set it; 2 batches a step."""

import tempfile

import lightning
import torch
from clock import Clock, paused
from lightning.pytorch.callbacks import TQDMProgressBar
from torch.utils.data import DataLoader, TensorDataset

clock = Clock(samples_per_step=32)


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(16, 4)

    def training_step(self, batch, _):
        clock.work(0.2, 0.4)
        return torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1])

    def validation_step(self, batch, _):
        clock.work(0.2, 0.4)
        self.log("val_loss", torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1]))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


class Steps(lightning.Callback):
    def on_train_start(self, *_):
        clock.start()

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        if batch_idx % 2:
            clock.step()


def loader(size):
    return DataLoader(TensorDataset(torch.randn(size, 16), torch.randint(0, 4, (size,))), batch_size=16)


with tempfile.TemporaryDirectory() as folder:
    trainer = lightning.Trainer(
        max_epochs=2, accelerator="cpu", default_root_dir=folder, accumulate_grad_batches=2, log_every_n_steps=10,
        callbacks=[Steps(), TQDMProgressBar(refresh_rate=10)],
    )  # fmt: skip
    paused(clock, "evaluation", trainer.fit_loop.epoch_loop.val_loop, "run")
    trainer.fit(Module(), loader(16 * 160), loader(16 * 12))
clock.write()
