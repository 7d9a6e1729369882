# /// environment
# name = "torch"
# requires = ["torch==2.13.0", "mmengine==0.10.7"]
# ///
"""MMEngine's Runner with its default hooks: two epochs, validation and a checkpoint after each."""

import torch
from clock import Clock, paused
from mmengine.evaluator import BaseMetric
from mmengine.hooks import Hook
from mmengine.model import BaseModel
from mmengine.runner import Runner, ValLoop
from torch.utils.data import DataLoader, TensorDataset

BATCH = 16
clock = Clock(samples_per_step=BATCH)


class Model(BaseModel):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(16, 4)

    def forward(self, inputs, labels, mode):
        clock.work()
        scores = self.layer(inputs)
        if mode == "loss":
            return {"loss": torch.nn.functional.cross_entropy(scores, labels)}
        return scores, labels


class Accuracy(BaseMetric):
    def process(self, data_batch, data_samples):
        scores, labels = data_samples
        self.results.append((scores.argmax(1) == labels).float().mean().item())

    def compute_metrics(self, results):
        return {"accuracy": sum(results) / len(results)}


class Steps(Hook):
    priority = "VERY_HIGH"

    def before_train(self, runner):
        clock.start()

    def after_train_iter(self, runner, batch_idx, data_batch=None, outputs=None):
        clock.step()


def loader(size):
    dataset = TensorDataset(torch.randn(size * BATCH, 16), torch.randint(0, 4, (size * BATCH,)))
    return DataLoader(dataset, batch_size=BATCH, shuffle=True)


paused(clock, "evaluation", ValLoop, "run")
runner = Runner(
    model=Model(), work_dir="work", train_dataloader=loader(80), val_dataloader=loader(10),
    optim_wrapper={"optimizer": {"type": "SGD", "lr": 0.01}}, train_cfg={"by_epoch": True, "max_epochs": 2, "val_interval": 1},
    val_cfg={}, val_evaluator={"type": Accuracy}, custom_hooks=[Steps()],
)  # fmt: skip
runner.train()
clock.write()
