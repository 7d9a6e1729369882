"""Paddle's Model.fit on made samples, evaluation and a checkpoint after each epoch, under our clock."""

import numpy as np
import paddle
from clock import Clock

BATCH = 16
clock = Clock(samples_per_step=BATCH)


class Samples(paddle.io.Dataset):
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        chosen = np.random.default_rng(index)
        return chosen.random(16, np.float32), chosen.integers(0, 4, 1)


class Network(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.layer = paddle.nn.Linear(16, 4)

    def forward(self, inputs):
        clock.work()
        return self.layer(inputs)


class Steps(paddle.callbacks.Callback):
    def on_train_begin(self, logs=None):
        clock.start()

    def on_train_batch_end(self, step, logs=None):
        clock.step()

    def on_eval_begin(self, logs=None):
        self.pause = clock.pause("evaluation")
        self.pause.__enter__()

    def on_eval_end(self, logs=None):
        self.pause.__exit__(None, None, None)


def train(verbose):
    """Train two epochs of 80 steps, and print as ``verbose`` tells Model.fit to."""
    model = paddle.Model(Network())
    optimizer = paddle.optimizer.SGD(0.01, parameters=model.parameters())
    model.prepare(optimizer, paddle.nn.CrossEntropyLoss(), paddle.metric.Accuracy())
    model.fit(
        Samples(80 * BATCH), Samples(10 * BATCH), batch_size=BATCH, epochs=2, log_freq=10, verbose=verbose,
        save_dir="work", callbacks=[Steps()],
    )  # fmt: skip
    clock.write()
