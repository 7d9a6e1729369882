# /// environment
# name = "jax"
# requires = ["jax==0.10.2", "numpy"]
# [sources]
# JAX_EXAMPLES = "github.com/jax-ml/jax at cec06d116c05f0d52adfceee3d3b730fdbcb0ce5: its folder examples"
# ///
"""JAX's examples/mnist_classifier.py: it prints the seconds of each epoch's steps, and no step."""

import os
import sys
import types
from pathlib import Path

import jax_script
from clock import Clock

BATCH, STEPS = 128, 60
examples = types.ModuleType("examples")
examples.datasets = jax_script.digits(STEPS, BATCH)
sys.modules["examples"] = examples
jax_script.run(
    Path(os.environ["JAX_EXAMPLES"], "mnist_classifier.py"), step="update", clock=Clock(samples_per_step=BATCH)
)
