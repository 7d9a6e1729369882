# /// environment
# name = "torch"
# requires = ["torch==2.13.0", "numpy"]
# [sources]
# MINGPT = "github.com/karpathy/minGPT at 37baab71b9abea1b76ab957409a1cc2fbfba8a26"
# ///
"""minGPT's projects/adder: the time of the step before, on a line of each tenth step."""

import os
import sys
from pathlib import Path

import torch_script
from clock import Clock

source = Path(os.environ["MINGPT"])
sys.path.insert(0, str(source))
torch_script.run(
    source / "projects" / "adder" / "adder.py", "--trainer.max_iters=300", "--trainer.num_workers=0",
    clock=Clock(samples_per_step=64),
)  # fmt: skip
