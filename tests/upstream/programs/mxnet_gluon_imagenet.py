# /// environment
# name = "mxnet"
# requires = ["mxnet==1.9.1", "numpy==1.23.5"]
# [sources]
# MXNET_EXAMPLES = "github.com/apache/mxnet at 3f8f3be9987e259491ddc5a78aa9c6903e0b21e3 (1.9.1): its folder example"
# ///
"""MXNet's example/gluon/image_classification.py with its dummy pictures: the speed on a line is the last batch's alone."""

import os
import runpy
import sys
from contextlib import ExitStack
from pathlib import Path

from clock import Clock
from mxnet import gluon

BATCH = 4
clock = Clock(samples_per_step=BATCH)
between = ExitStack()
folder = Path(os.environ["MXNET_EXAMPLES"], "gluon")
sys.path.insert(0, str(folder))
import data  # noqa: E402

made = []
build, reset = data.DummyIter.__init__, data.DummyIter.reset


def built(self, *arguments):
    made.append(self)
    build(self, *arguments)


def begun(self):
    """The first iterator that is made is the training's: the second one's start begins the evaluation."""
    reset(self)
    if self is made[0]:
        between.close()
    else:
        between.enter_context(clock.pause("evaluation"))


class Trainer(gluon.Trainer):
    def step(self, *arguments, **options):
        clock.work()
        super().step(*arguments, **options)
        clock.step()


data.DummyIter.__init__, data.DummyIter.reset = built, begun
gluon.Trainer = Trainer
sys.argv = [
    "image_classification.py", "--dataset=dummy", "--model=mobilenet0.25", "--mode=hybrid", f"--batch-size={BATCH}",
    "--epochs=3", "--log-interval=10",
]  # fmt: skip
clock.start()
runpy.run_path(str(folder / "image_classification.py"), run_name="__main__")
between.close()
clock.write()
