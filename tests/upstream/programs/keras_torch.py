# /// environment
# name = "torch"
# requires = ["torch==2.13.0", "keras==3.15.1"]
# variables = { KERAS_BACKEND = "torch" }
# ///
"""Keras 3 on PyTorch: Model.fit with its default bar, validation and a checkpoint after each epoch."""

from keras_fit import train

train(80, epochs=3)
