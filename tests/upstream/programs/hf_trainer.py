# /// environment
# name = "torch"
# requires = ["torch==2.13.0", "transformers==5.23.0", "accelerate==1.15.0"]
# ///
"""transformers' Trainer with the verbosity that its own example scripts set, a tiny GPT-2 made from a configuration."""

import tempfile

import torch
import transformers
from clock import Clock, paused
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

clock = Clock(samples_per_step=8, tokens_per_step=8 * 32)


class Steps(TrainerCallback):
    def on_train_begin(self, *_, **__):
        clock.start()

    def on_step_end(self, *_, **__):
        clock.step()


class Tokens(torch.utils.data.Dataset):
    def __init__(self, size):
        self.ids = torch.randint(0, 100, (size, 32), generator=torch.Generator().manual_seed(1))

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, index):
        return {"input_ids": self.ids[index], "labels": self.ids[index]}


transformers.utils.logging.set_verbosity_info()
transformers.utils.logging.enable_default_handler()
transformers.utils.logging.enable_explicit_format()
model = GPT2LMHeadModel(GPT2Config(vocab_size=100, n_positions=32, n_embd=32, n_layer=1, n_head=2))
model.register_forward_pre_hook(lambda *_: clock.work(0.4, 0.8))
with tempfile.TemporaryDirectory() as folder:
    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            folder, num_train_epochs=2, per_device_train_batch_size=8, per_device_eval_batch_size=8, logging_steps=10,
            eval_strategy="epoch", save_strategy="epoch", use_cpu=True,
        ),
        train_dataset=Tokens(8 * 80), eval_dataset=Tokens(8 * 10), callbacks=[Steps()],
    )  # fmt: skip
    paused(clock, "evaluation", trainer, "evaluate")
    paused(clock, "saving", trainer, "_save_checkpoint")
    result = trainer.train()
    trainer.log_metrics("train", result.metrics)
clock.write()
