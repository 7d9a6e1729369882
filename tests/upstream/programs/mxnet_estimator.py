# /// environment
# name = "mxnet"
# requires = ["mxnet==1.9.1", "numpy==1.23.5"]
# ///
"""Gluon's Estimator with a LoggingHandler every ten batches and validation after each epoch."""

import mxnet as mx
import numpy as np
from clock import Clock
from mxnet.gluon.contrib.estimator import Estimator, LoggingHandler
from mxnet.gluon.contrib.estimator.event_handler import BatchEnd, TrainBegin

BATCH = 16
clock = Clock(samples_per_step=BATCH)


class Network(mx.gluon.nn.HybridSequential):
    def forward(self, *arguments):
        clock.work()
        return super().forward(*arguments)


class Steps(TrainBegin, BatchEnd):
    def train_begin(self, estimator, *arguments, **options):
        clock.start()

    def batch_end(self, estimator, *arguments, **options):
        clock.step()


class Loader(mx.gluon.data.DataLoader):
    def __iter__(self):
        return iter(self.batches)


def loader(size):
    chosen = np.random.default_rng(1)
    inputs = mx.nd.array(chosen.random((size * BATCH, 16)))
    labels = mx.nd.array(chosen.integers(0, 4, size * BATCH))
    loader = Loader(mx.gluon.data.ArrayDataset(inputs, labels), batch_size=BATCH)
    # LoggingHandler's time leaves the loading of data out: none here
    loader.batches = [(inputs[at : at + BATCH], labels[at : at + BATCH]) for at in range(0, size * BATCH, BATCH)]
    return loader


network = Network()
network.add(mx.gluon.nn.Dense(4))
network.initialize()
estimator = Estimator(
    network, mx.gluon.loss.SoftmaxCrossEntropyLoss(), train_metrics=mx.metric.Accuracy(),
    trainer=mx.gluon.Trainer(network.collect_params(), "sgd", {"learning_rate": 0.01}),
)  # fmt: skip
evaluate = estimator.evaluate


def timed_evaluation(*arguments, **options):
    with clock.pause("evaluation"):
        return evaluate(*arguments, **options)


estimator.evaluate = timed_evaluation
estimator.fit(
    loader(80), loader(10), epochs=2,
    event_handlers=[LoggingHandler(log_interval=10, metrics=estimator.train_metrics), Steps()],
)  # fmt: skip
clock.write()
