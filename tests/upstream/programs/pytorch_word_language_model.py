# /// environment
# name = "torch"
# requires = ["torch==2.13.0", "numpy"]
# [sources]
# PYTORCH_EXAMPLES = "github.com/pytorch/examples at 77f55b912142e11fcfdf5b530231fb9c52f181e8"
# ///
"""pytorch/examples, word_language_model/main.py: an LSTM on made-up words, a line of each 20 batches."""

import os
import random
from pathlib import Path

import torch_script
from clock import Clock

BATCH, LENGTH = 20, 35
words = random.Random(1)
Path("text").mkdir()
for part, lines in (("train", 12_500), ("valid", 1000), ("test", 500)):
    text = "\n".join(" ".join(words.choices("abcdefghijklmnopqrstuvwxyz", k=8)) for _ in range(lines))
    Path("text", f"{part}.txt").write_text(text + "\n", encoding="utf-8")
torch_script.run(
    Path(os.environ["PYTORCH_EXAMPLES"], "word_language_model", "main.py"), "--data=text", "--model=LSTM", "--emsize=32",
    "--nhid=32", "--nlayers=1", f"--batch_size={BATCH}", f"--bptt={LENGTH}", "--epochs=3", "--log-interval=20",
    "--use-optimizer", "--lr=0.001", clock=Clock(samples_per_step=BATCH, tokens_per_step=BATCH * LENGTH),
    shortest=0.12, longest=0.24,
)  # fmt: skip
