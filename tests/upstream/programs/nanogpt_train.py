# /// environment
# name = "torch"
# requires = ["torch==2.13.0", "numpy"]
# [sources]
# NANOGPT = "github.com/karpathy/nanoGPT at 3adf61e154c3fe3fca428ad6bc3818b27a3b8291"
# ///
"""nanoGPT's train.py with the line of each step that it prints by default, and evaluations."""

import os
from pathlib import Path

import numpy
import torch_script
from clock import Clock

BATCH, LENGTH = 4, 32
source = Path(os.environ["NANOGPT"])
Path("configurator.py").symlink_to(source / "configurator.py")
Path("data", "made").mkdir(parents=True)
for part in ("train", "val"):
    numpy.random.default_rng(1).integers(0, 100, 10_000, dtype=numpy.uint16).tofile(f"data/made/{part}.bin")
torch_script.run(
    source / "train.py", "--dataset=made", "--device=cpu", "--dtype=float32", "--compile=False", f"--batch_size={BATCH}",
    f"--block_size={LENGTH}", "--gradient_accumulation_steps=1", "--n_layer=1", "--n_head=2", "--n_embd=32",
    "--max_iters=300", "--eval_interval=100", "--eval_iters=20",
    clock=Clock(samples_per_step=BATCH, tokens_per_step=BATCH * LENGTH),
)  # fmt: skip
