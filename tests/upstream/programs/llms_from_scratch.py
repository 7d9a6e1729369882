# /// environment
# name = "torch"
# requires = ["torch==2.13.0", "numpy"]
# variables = { TORCHDYNAMO_DISABLE = "1" }
# [sources]
# LLMS_FROM_SCRATCH = "github.com/rasbt/LLMs-from-scratch at 28c65cdfbc3338e2e040016eea4b7fdf556e4d57: its folder ch05/10_llm-training-speed"
# ///
"""LLMs-from-scratch's 01_opt_single_gpu.py: tokens a second of each ten steps and since the beginning.

Its clock starts anew before the evaluation, so that an interval holds the evaluation at its beginning.
"""

import os
import random
import runpy
import sys
import types
from pathlib import Path

import torch_script
from clock import Clock

BATCH, LENGTH, STEPS = 8, 64, 120
clock = Clock(samples_per_step=BATCH, tokens_per_step=BATCH * LENGTH)
letters = random.Random(1)
Path("middlemarch.txt").write_text(
    "".join(letters.choices("abcdefghij ", k=int(BATCH * LENGTH * (STEPS + 0.5) / 0.9))), encoding="utf-8"
)


class Tokenizer:
    """A token for each letter."""

    def encode(self, text, **_):
        return [ord(letter) % 128 for letter in text]

    def decode(self, tokens):
        return "".join(chr(33 + token % 90) for token in tokens)


tiktoken, requests, matplotlib, pyplot = map(
    types.ModuleType, ("tiktoken", "requests", "matplotlib", "matplotlib.pyplot")
)
tiktoken.get_encoding = lambda _: Tokenizer()
matplotlib.pyplot = pyplot
sys.modules |= {module.__name__: module for module in (tiktoken, requests, matplotlib, pyplot)}
evaluation = torch_script.watch(clock)
script = runpy.run_path(str(Path(os.environ["LLMS_FROM_SCRATCH"], "01_opt_single_gpu.py")), run_name="script")
model = {
    "vocab_size": 128, "context_length": LENGTH, "emb_dim": 32, "n_heads": 2, "n_layers": 1, "drop_rate": 0.1,
    "qkv_bias": False,
}  # fmt: skip
clock.start()
script["main"](model, {"learning_rate": 5e-4, "num_epochs": 3, "batch_size": BATCH, "weight_decay": 0.1})
evaluation.close()
clock.write()
