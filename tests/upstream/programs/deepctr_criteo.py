# /// environment
# name = "torch"
# requires = ["torch==2.13.0", "deepctr-torch==0.3.0", "pandas", "requests"]
# [sources]
# DEEPCTR = "github.com/shenweichen/DeepCTR-Torch at f6854257b1fc29caab655ce72c6b5528b7432574: its folder examples"
# ///
"""DeepCTR-Torch's examples/run_classification_criteo.py: an epoch's whole seconds, with its validation; made-up clicks."""

import os
import random
from pathlib import Path

import torch_script
from clock import Clock

BATCH, ROWS = 32, 3200
chosen = random.Random(1)
columns = ["label"] + [f"I{number}" for number in range(1, 14)] + [f"C{number}" for number in range(1, 27)]
words = [f"{number:08x}" for number in range(50)]
rows = [[chosen.randrange(2), *chosen.choices(range(100), k=13), *chosen.choices(words, k=26)] for _ in range(ROWS)]
lines = [",".join(map(str, row)) for row in [columns, *rows]]
Path("criteo_sample.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
torch_script.run(Path(os.environ["DEEPCTR"], "run_classification_criteo.py"), clock=Clock(samples_per_step=BATCH))
