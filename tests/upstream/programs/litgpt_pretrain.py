# /// environment
# name = "torch"
# requires = ["torch==2.13.0", "lightning==2.6.6", "tokenizers==0.23.3", "jsonargparse[signatures]", "typeshed_client", "docstring_parser", "safetensors", "pyyaml"]
# without_dependencies = ["litgpt==0.5.13"]
# variables = { TORCHDYNAMO_DISABLE = "1" }
# ///
"""LitGPT's pretrain with a tiny Pythia made from a configuration, random tokens, validation and checkpoints."""

import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import litgpt.pretrain
import torch
from clock import Clock, paused
from litgpt import Config
from litgpt.args import EvalArgs, TrainArgs
from litgpt.data import DataModule

BATCH, LENGTH, STEPS = 4, 32, 160
clock = Clock(samples_per_step=BATCH, tokens_per_step=BATCH * LENGTH)
between = ExitStack()  # steps: metrics, loading, evaluation, saving


@dataclass
class RandomTokens(DataModule):
    def connect(self, tokenizer=None, batch_size=1, max_seq_length=None):
        self.length = max_seq_length + 1

    def loader(self, size):
        return torch.utils.data.DataLoader(torch.randint(0, 100, (size * BATCH, self.length)), batch_size=BATCH)

    def train_dataloader(self):
        return self.loader(80)

    def val_dataloader(self):
        return self.loader(10)


class Model(litgpt.pretrain.GPT):
    def forward(self, indices, *arguments, **options):
        if indices.device.type != "meta":
            clock.work(0.1, 0.2)
        return super().forward(indices, *arguments, **options)


litgpt.pretrain.GPT = Model


def end_step(monitor, **figures):
    clock.step()
    update(monitor, **figures)
    between.enter_context(clock.pause("between steps"))


def begin_step(iterator):
    batch = take_batch(iterator)
    between.close()
    return batch


paused(clock, "evaluation", litgpt.pretrain, "validate")
paused(clock, "saving", litgpt.pretrain, "save_checkpoint")
update = litgpt.pretrain.ThroughputMonitor.update
litgpt.pretrain.ThroughputMonitor.update = end_step  # called where the iteration's time is taken
take_batch = litgpt.pretrain.CycleIterator.__next__
litgpt.pretrain.CycleIterator.__next__ = begin_step
sys.argv = ["litgpt", "pretrain", "tiny"]  # read again where the checkpoint's settings are saved
litgpt.pretrain.setup(
    model_name="tiny",
    model_config=Config(name="tiny", block_size=LENGTH, vocab_size=100, n_layer=1, n_head=2, n_embd=32),
    out_dir=Path("out"), precision="32-true", data=RandomTokens(), devices=1, logger_name="csv",
    train=TrainArgs(
        save_interval=80, log_interval=1, global_batch_size=BATCH, micro_batch_size=BATCH, max_tokens=STEPS * BATCH * LENGTH,
        max_norm=1.0, min_lr=4e-5, lr_warmup_steps=10, tie_embeddings=False,
    ),
    eval=EvalArgs(interval=80, max_iters=10),
)  # fmt: skip
between.close()
clock.write()
