# /// environment
# name = "paddle"
# requires = ["paddlepaddle==3.3.1", "numpy==1.26.4", "setuptools"]
# ///
"""Paddle's Model.fit with verbose=3, evaluation and a checkpoint after each epoch."""

from hapi_fit import train

train(verbose=3)
