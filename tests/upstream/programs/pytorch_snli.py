# /// environment
# name = "torch"
# requires = ["torch==2.13.0", "numpy"]
# [sources]
# PYTORCH_EXAMPLES = "github.com/pytorch/examples at 77f55b912142e11fcfdf5b530231fb9c52f181e8"
# ///
"""pytorch/examples, legacy/snli/train.py: the seconds since the beginning on each line; made-up sentences by a stand-in
for torchtext, which is given up."""

import os
import sys
import types
from pathlib import Path

import torch
import torch_script
from clock import Clock

BATCH, LENGTH = 32, 8


class Field:
    """Its vocabulary has 50 words, or as many answers as the task knows."""

    def __init__(self, sequential=True, **_):
        self.vocab = range(50 if sequential else 4)

    def build_vocab(self, *_):
        pass


class Iterator:
    def __init__(self, batches):
        self.batches = batches

    def __len__(self):
        return self.batches

    def init_epoch(self):
        pass

    def __iter__(self):
        for number in range(self.batches):
            chosen = torch.Generator().manual_seed(number)
            premise, hypothesis = torch.randint(0, 50, (2, LENGTH, BATCH), generator=chosen)
            label = torch.randint(0, 4, (BATCH,), generator=chosen)
            yield types.SimpleNamespace(premise=premise, hypothesis=hypothesis, label=label, batch_size=BATCH)


legacy = types.ModuleType("torchtext.legacy")
legacy.data = types.SimpleNamespace(
    Field=Field,
    BucketIterator=types.SimpleNamespace(splits=lambda *_, **__: (Iterator(400), Iterator(20), Iterator(20))),
)
parts = range(12_800), range(640), range(640)
legacy.datasets = types.SimpleNamespace(SNLI=types.SimpleNamespace(splits=lambda *_: parts))
sys.modules["torchtext"], sys.modules["torchtext.legacy"] = types.ModuleType("torchtext"), legacy
torch_script.run(
    Path(os.environ["PYTORCH_EXAMPLES"], "legacy", "snli", "train.py"), "--epochs=3", f"--batch_size={BATCH}", "--d_embed=16",
    "--d_proj=16", "--d_hidden=16", "--word_vectors=", clock=Clock(samples_per_step=BATCH),
)  # fmt: skip
