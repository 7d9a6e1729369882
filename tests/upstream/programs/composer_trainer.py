# /// environment
# name = "composer"
# requires = ["torch==2.13.0", "torchmetrics==1.9.0", "transformers==5.23.0", "omegaconf", "coolname", "py-cpuinfo", "arrow", "tabulate", "websockets>=15", "gql==4.0.0", "importlib_metadata", "psutil"]
# without_dependencies = ["mosaicml==0.32.1", "mosaicml-cli==0.7.5", "torchvision==0.28.0", "torch-optimizer==0.3.0", "pytorch-ranger==0.1.1"]
# ///
"""Composer's Trainer with its console logger and SpeedMonitor as they are by default; two epochs with evaluation."""

import torchvision_operators  # noqa: F401 - before torchvision

# isort: split
import composer
import torch
from clock import Clock
from torch.utils.data import DataLoader, TensorDataset

BATCH = 16
clock = Clock(samples_per_step=BATCH)


class Model(composer.ComposerModel):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(16, 4)

    def forward(self, batch):
        clock.work(0.04, 0.08)
        return self.layer(batch[0])

    def loss(self, outputs, batch):
        return torch.nn.functional.cross_entropy(outputs, batch[1])

    def get_metrics(self, is_train=False):
        return {}

    def update_metric(self, batch, outputs, metric):
        pass


class Steps(composer.Callback):
    def fit_start(self, state, logger):
        clock.start()

    def batch_end(self, state, logger):
        clock.step()

    def eval_start(self, state, logger):
        self.pause = clock.pause("evaluation")
        self.pause.__enter__()

    def eval_end(self, state, logger):
        self.pause.__exit__(None, None, None)


def loader(size):
    dataset = TensorDataset(torch.randn(size * BATCH, 16), torch.randint(0, 4, (size * BATCH,)))
    return DataLoader(dataset, batch_size=BATCH)


model = Model()
trainer = composer.Trainer(
    model=model, train_dataloader=loader(200), eval_dataloader=loader(20), max_duration="2ep", device="cpu",
    optimizers=torch.optim.SGD(model.parameters(), 0.01), save_folder="work", progress_bar=False, log_to_console=True,
    console_log_interval="10ba", callbacks=[Steps(), composer.callbacks.SpeedMonitor()],
)  # fmt: skip
trainer.fit()
trainer.close()
clock.write()
