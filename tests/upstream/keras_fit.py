"""Keras 3 on any backend: Model.fit on made batches, validation and a checkpoint after each epoch, under our clock."""

import tempfile
from contextlib import ExitStack
from pathlib import Path

import keras
import numpy as np
from clock import Clock

clock = Clock(samples_per_step=32)


class Batches(keras.utils.PyDataset):
    def __init__(self, size):
        super().__init__()
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        clock.work()
        chosen = np.random.default_rng(index)
        return chosen.random((32, 16)), chosen.integers(0, 4, 32)


class Steps(keras.callbacks.Callback):
    between = ExitStack()  # epochs, after validation

    def on_train_begin(self, logs=None):
        clock.start()

    def on_train_batch_end(self, batch, logs=None):
        clock.step()

    def on_epoch_end(self, epoch, logs=None):
        self.between.enter_context(clock.pause("saving"))

    def on_epoch_begin(self, epoch, logs=None):
        self.between.close()

    def on_test_begin(self, logs=None):
        self.pause = clock.pause("evaluation")
        self.pause.__enter__()

    def on_test_end(self, logs=None):
        self.pause.__exit__(None, None, None)


def train(steps, **fitting):
    """Train with so many steps an epoch; ``fitting`` goes to Model.fit as it is."""
    model = keras.Sequential([keras.layers.Input((16,)), keras.layers.Dense(4, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
    with tempfile.TemporaryDirectory() as folder:
        saving = keras.callbacks.ModelCheckpoint(Path(folder) / "{epoch}.keras")
        model.fit(Batches(steps), validation_data=Batches(12), callbacks=[Steps(), saving], **fitting)
    Steps.between.close()
    clock.write()
