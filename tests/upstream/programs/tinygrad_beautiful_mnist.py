# /// environment
# name = "tinygrad"
# requires = ["tinygrad==0.13.0", "numpy"]
# variables = { DEV = "CPU:X86", STEPS = "250", BS = "16" }
# [sources]
# TINYGRAD = "github.com/tinygrad/tinygrad at 2d48fe8b7bd9acfa00e91a7f89b28b3ded370c27: its folder examples"
# ///
"""tinygrad's examples/beautiful_mnist.py: its own bar, whose rate is a mean since the beginning; a test each tenth step."""

import os
import runpy
from pathlib import Path

import tinygrad.helpers
import tinygrad.nn.datasets
from clock import Clock
from tinygrad import Tensor

clock = Clock(samples_per_step=int(os.environ["BS"]))


def mnist(**_):
    parts = []
    for size in (1600, 64):
        parts += [Tensor.rand(size, 1, 28, 28).realize(), Tensor.randint(size, low=0, high=10).realize()]
    return parts


class Steps:
    """The bar's steps; each ends where the next one is asked for."""

    def __init__(self, number):
        self.number = number

    def __len__(self):
        return self.number

    def __iter__(self):
        for step in range(self.number):
            clock.work()
            yield step
            clock.step()


tinygrad.nn.datasets.mnist = mnist
tinygrad.helpers.trange = lambda number, **options: tinygrad.helpers.tqdm(Steps(number), total=number, **options)
clock.start()
runpy.run_path(str(Path(os.environ["TINYGRAD"], "beautiful_mnist.py")), run_name="__main__")
clock.write()
