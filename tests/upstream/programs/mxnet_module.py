# /// environment
# name = "mxnet"
# requires = ["mxnet==1.9.1", "numpy==1.23.5"]
# ///
"""MXNet's Module.fit with Speedometer, evaluation and a checkpoint after each epoch."""

import logging

import mxnet as mx
import numpy as np
from clock import Clock

BATCH = 16
clock = Clock(samples_per_step=BATCH)
logging.basicConfig(level=logging.INFO)


class Batches(mx.io.NDArrayIter):
    def next(self):
        clock.work()
        return super().next()


def iterator(size):
    chosen = np.random.default_rng(1)
    return Batches(
        chosen.random((size * BATCH, 16)), chosen.integers(0, 4, size * BATCH), BATCH, label_name="softmax_label"
    )


layer = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4)
module = mx.mod.Module(mx.sym.SoftmaxOutput(layer, name="softmax"))
score = module.score


def timed_score(*arguments, **options):
    with clock.pause("evaluation"):
        return score(*arguments, **options)


module.score = timed_score
clock.start()
module.fit(
    iterator(80), iterator(10), num_epoch=2, optimizer_params={"learning_rate": 0.01},
    batch_end_callback=[lambda _: clock.step(), mx.callback.Speedometer(BATCH, 10)],
    epoch_end_callback=mx.callback.do_checkpoint("checkpoint"),
)  # fmt: skip
clock.write()
