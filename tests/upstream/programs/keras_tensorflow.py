# /// environment
# name = "tf"
# requires = ["tensorflow-cpu==2.21.0", "keras==3.15.1"]
# variables = { KERAS_BACKEND = "tensorflow" }
# ///
"""Keras 3 on TensorFlow: Model.fit with its default bar, validation and a checkpoint after each epoch."""

from keras_fit import train

train(80, epochs=3)
