# /// environment
# name = "mxnet"
# requires = ["mxnet==1.9.1", "numpy==1.23.5"]
# [sources]
# MXNET_EXAMPLES = "github.com/apache/mxnet at 3f8f3be9987e259491ddc5a78aa9c6903e0b21e3 (1.9.1): its folder example"
# ///
"""MXNet's example/gluon/word_language_model: the seconds of an epoch with its validation, on made-up words."""

import os
import runpy
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from clock import Clock
from mxnet import gluon
from mxnet.gluon.contrib.data import text

BATCH, LENGTH, WORDS = 20, 35, 50
clock = Clock(samples_per_step=BATCH, tokens_per_step=BATCH * LENGTH)
between = ExitStack()
folder = Path(os.environ["MXNET_EXAMPLES"], "gluon", "word_language_model")


class WikiText2(gluon.data.ArrayDataset):
    def __init__(self, _, segment, seq_len, vocab=None):
        rows = (120 if segment == "train" else 12) * BATCH
        words = np.random.default_rng(1).integers(0, WORDS, (2, rows, seq_len)).astype(np.float32)
        super().__init__(*words)
        self.vocabulary = range(WORDS)


class Trainer(gluon.Trainer):
    def step(self, *arguments, **options):
        clock.work()
        super().step(*arguments, **options)
        clock.step()


class Loader(gluon.data.DataLoader):
    """Training's loader is the first: a walk through another one is an evaluation, until training's is walked again."""

    made = 0

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.number = Loader.made
        Loader.made += 1

    def __iter__(self):
        between.close()
        if self.number:
            between.enter_context(clock.pause("evaluation"))
        return super().__iter__()


text.WikiText2 = WikiText2
gluon.Trainer = Trainer
gluon.data.DataLoader = Loader
sys.path.insert(0, str(folder))
sys.argv = [
    "train.py", "--emsize=32", "--nhid=32", "--nlayers=1", f"--batch_size={BATCH}", f"--bptt={LENGTH}", "--epochs=3",
    "--log-interval=20",
]  # fmt: skip
clock.start()
runpy.run_path(str(folder / "train.py"), run_name="__main__")
between.close()
clock.write()
