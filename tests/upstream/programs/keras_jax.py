# /// environment
# name = "tf"
# requires = ["jax==0.10.2", "keras==3.15.1"]
# variables = { KERAS_BACKEND = "jax" }
# ///
"""Keras 3 on JAX: Model.fit with verbose=2, as jobs of a cluster set it, validation and a checkpoint after each epoch."""

from keras_fit import train

train(60, epochs=4, verbose=2)
