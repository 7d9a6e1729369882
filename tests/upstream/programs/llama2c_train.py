# /// environment
# name = "torch"
# requires = ["torch==2.13.0", "numpy"]
# [sources]
# LLAMA2C = "github.com/karpathy/llama2.c at 350e04fe35433e6d2941dce5a1f53308f87058eb"
# ///
"""llama2.c's train.py: the milliseconds of each step, four micro-batches a step, evaluations and checkpoints between them."""

import os
import sys
import types
from pathlib import Path

import torch
import torch_script
from clock import Clock

BATCH, LENGTH, ACCUMULATED = 4, 32, 4
source = Path(os.environ["LLAMA2C"])
Path("configurator.py").symlink_to(source / "configurator.py")


class Task:
    """Random tokens in place of TinyStories."""

    @staticmethod
    def iter_batches(batch_size, max_seq_len, vocab_size, **_):
        generator = torch.Generator().manual_seed(1)
        while True:
            tokens = torch.randint(0, vocab_size, (batch_size, max_seq_len + 1), generator=generator)
            yield tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()


tinystories = types.ModuleType("tinystories")
tinystories.Task = Task
sys.modules["tinystories"] = tinystories
torch_script.run(
    source / "train.py", "--device=cpu", "--dtype=float32", "--compile=False", f"--batch_size={BATCH}",
    f"--max_seq_len={LENGTH}", f"--gradient_accumulation_steps={ACCUMULATED}", "--vocab_source=custom", "--vocab_size=100",
    "--dim=32", "--n_layers=1", "--n_heads=2", "--n_kv_heads=2", "--max_iters=300", "--eval_interval=100", "--eval_iters=20",
    clock=Clock(samples_per_step=BATCH * ACCUMULATED, tokens_per_step=BATCH * ACCUMULATED * LENGTH),
)  # fmt: skip
