# /// environment
# name = "rl"
# requires = ["torch==2.13.0", "numpy", "tensorboard", "psutil", "fsspec", "packaging"]
# without_dependencies = ["coqui-tts-trainer==0.4.0", "coqpit-config"]
# ///
"""Coqui's Trainer with its console logger; three epochs with evaluation and checkpoints."""

from dataclasses import dataclass

import torch
from clock import Clock, paused
from torch.utils.data import DataLoader
from trainer import Trainer, TrainerArgs, TrainerConfig, TrainerModel

BATCH = 16
clock = Clock(samples_per_step=BATCH)


@dataclass
class Settings(TrainerConfig):
    epochs: int = 3
    batch_size: int = BATCH
    eval_batch_size: int = BATCH
    optimizer: str = "SGD"
    lr: float = 0.01
    print_step: int = 10
    save_step: int = 80
    run_eval: bool = True


class Model(TrainerModel):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(16, 4)

    def forward(self, inputs):
        clock.work()
        return self.layer(inputs)

    def train_step(self, batch, criterion):
        outputs = self(batch["inputs"])
        return {"model_outputs": outputs}, {"loss": criterion(outputs, batch["labels"])}

    def eval_step(self, batch, criterion):
        return self.train_step(batch, criterion)

    def get_criterion(self):
        return torch.nn.CrossEntropyLoss()

    def get_data_loader(self, config, samples, is_eval=False, **options):
        size = BATCH * (10 if is_eval else 80)
        rows = [{"inputs": torch.randn(16), "labels": index % 4} for index in range(size)]
        return DataLoader(rows, batch_size=BATCH)


trainer = Trainer(
    TrainerArgs(), Settings(), "work", model=Model(), parse_command_line_args=False,
    callbacks={"on_train_step_end": lambda _: clock.step()},
)  # fmt: skip
for name in ("eval_epoch", "save_best_model", "test_run"):
    paused(clock, "evaluation", trainer, name)
clock.start()
trainer.fit()
clock.write()
