# /// environment
# name = "tf"
# requires = ["tensorflow-cpu==2.21.0", "tf_keras==2.21.0"]
# ///
"""Keras 2 (tf_keras): Model.fit with its default bar, validation and a checkpoint after each epoch."""

from contextlib import ExitStack

import numpy as np
import tf_keras as keras
from clock import Clock

clock = Clock(samples_per_step=32)


class Batches(keras.utils.Sequence):
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        chosen = np.random.default_rng(index)
        return chosen.random((32, 16)), chosen.integers(0, 4, 32)


class Steps(keras.callbacks.Callback):
    between = ExitStack()  # epochs, after validation

    def on_train_begin(self, logs=None):
        clock.start()

    def on_train_batch_begin(self, batch, logs=None):
        clock.work()

    def on_train_batch_end(self, batch, logs=None):
        clock.step()

    def on_epoch_end(self, epoch, logs=None):
        self.pause.__exit__(None, None, None)
        self.between.enter_context(clock.pause("saving"))

    def on_epoch_begin(self, epoch, logs=None):
        self.between.close()

    def on_test_begin(self, logs=None):
        self.pause = clock.pause("evaluation")
        self.pause.__enter__()

    def on_test_batch_begin(self, batch, logs=None):
        clock.work()


model = keras.Sequential([keras.layers.Input((16,)), keras.layers.Dense(4, activation="softmax")])
model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(
    Batches(80), validation_data=Batches(12), epochs=3,
    callbacks=[Steps(), keras.callbacks.ModelCheckpoint("{epoch}.keras")],
)  # fmt: skip
Steps.between.close()
clock.write()
