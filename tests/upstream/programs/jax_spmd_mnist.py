# /// environment
# name = "jax"
# requires = ["jax==0.10.2", "numpy"]
# [sources]
# JAX_EXAMPLES = "github.com/jax-ml/jax at cec06d116c05f0d52adfceee3d3b730fdbcb0ce5: its folder examples"
# ///
"""JAX's examples/spmd_mnist_classifier_fromscratch.py: a line of each batch, and the seconds of each epoch.

The first batch of each later epoch, "Batch no 0", is trained outside the time that is printed.
"""

import os
import sys
from pathlib import Path

import jax_script
from clock import Clock

BATCH, STEPS = 128, 60
sys.modules["datasets"] = jax_script.digits(STEPS, BATCH)
jax_script.run(
    Path(os.environ["JAX_EXAMPLES"], "spmd_mnist_classifier_fromscratch.py"), step="train_step",
    clock=Clock(samples_per_step=BATCH),
)  # fmt: skip
