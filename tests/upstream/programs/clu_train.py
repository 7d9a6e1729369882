# /// environment
# name = "tf"
# requires = ["tensorflow-cpu==2.21.0", "clu==0.0.12", "flax==0.12.8", "jax==0.10.2", "optax==0.2.8", "tensorboard"]
# ///
"""A loop with CLU's metric writer and ReportProgress, as in Flax's own examples."""

import jax
import jax.numpy as jnp
import optax
from absl import app, logging
from clock import Clock
from clu import metric_writers, periodic_actions

BATCH, STEPS = 32, 400
clock = Clock(samples_per_step=BATCH)


def loss_of(weights, inputs, labels):
    return optax.softmax_cross_entropy_with_integer_labels(inputs @ weights, labels).mean()


def main(_):
    logging.set_verbosity(logging.INFO)
    writer = metric_writers.create_default_writer("work", just_logging=True)
    report = periodic_actions.ReportProgress(num_train_steps=STEPS, every_secs=2.0, writer=writer)
    writer.write_hparams({"batch_size": BATCH})
    optimizer = optax.sgd(0.01)
    weights = jnp.zeros((16, 4))
    state = optimizer.init(weights)
    gradient = jax.jit(jax.value_and_grad(loss_of))
    keys = jax.random.split(jax.random.key(0), STEPS)
    logging.info("Starting training loop at step %d.", 1)
    clock.start()
    for step in range(1, STEPS + 1):
        clock.work(0.04, 0.08)
        inputs = jax.random.normal(keys[step - 1], (BATCH, 16))
        loss, gradients = gradient(weights, inputs, jnp.zeros(BATCH, int))
        updates, state = optimizer.update(gradients, state)
        weights = optax.apply_updates(weights, updates)
        clock.step()
        report(step)
        if step % 50 == 0:
            writer.write_scalars(step, {"train_loss": float(loss)})
        if step % 200 == 0:
            with clock.pause("evaluation"), report.timed("eval"):
                clock.work(1.0, 1.2)
                writer.write_scalars(step, {"eval_loss": float(loss)})
    writer.flush()
    clock.write()


app.run(main)
