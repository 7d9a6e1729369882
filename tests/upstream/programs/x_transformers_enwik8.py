# /// environment
# name = "torch"
# requires = ["torch==2.13.0", "x-transformers==2.31.10", "accelerate==1.15.0", "fire", "tqdm==4.70.1"]
# [sources]
# X_TRANSFORMERS = "github.com/lucidrains/x-transformers at 9252ed7838021ee61e6c5be0930b3a9a88efdf06"
# ///
"""x-transformers' train_enwik8.py: a bar of tqdm drawn each ten seconds, validations within it, a line of each step's loss."""

import gzip
import os
import sys
import types
from pathlib import Path

import accelerate  # noqa: F401  (before there is a stand-in for Weights & Biases, of which it asks)
import torch_script
from clock import Clock

BATCH, ACCUMULATED = 4, 4
Path("data").mkdir()
with gzip.open("data/enwik8.gz", "wb", compresslevel=1) as text:
    text.write(b"made up " * 12_000_000)

wandb = types.ModuleType("wandb")
wandb.init = lambda **_: None
wandb.log = lambda _: None
wandb.run = types.SimpleNamespace()
sys.modules["wandb"] = wandb
torch_script.run(
    Path(os.environ["X_TRANSFORMERS"], "train_enwik8.py"), "--num_batches=240", "--seq_len=16",
    "--cpu=True", clock=Clock(samples_per_step=BATCH * ACCUMULATED),
)  # fmt: skip
