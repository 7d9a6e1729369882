"""Run an example of JAX as its repository has it: our clock around its compiled step, made-up digits for MNIST."""

import runpy
import sys
import types
from contextlib import ExitStack

import jax
import numpy as np

between = ExitStack()


def digits(steps, batch):
    """What the examples' `datasets` holds: pictures and classes for this many steps."""
    chosen = np.random.default_rng(1)
    pictures = chosen.random((steps * batch, 784), dtype=np.float32)
    classes = np.eye(10, dtype=np.float32)[chosen.integers(0, 10, steps * batch)]
    module = types.ModuleType("datasets")
    module.mnist = lambda: (pictures, classes, pictures[:batch], classes[:batch])
    return module


def watch(clock, step):
    """Time each call of the compiled function of this name; from the first look at the accuracy to the next step is a pause."""
    compile_, largest = jax.jit, jax.numpy.argmax

    def evaluate(function):
        def evaluated(*arguments, **options):
            if not between.__dict__.get("paused"):
                between.paused = True
                between.enter_context(clock.pause("evaluation"))
            return function(*arguments, **options)

        return evaluated

    def timed(function):
        def done(*arguments):
            between.close()
            between.paused = False
            clock.work()
            result = function(*arguments)
            clock.step()
            return result

        return done

    def jit(function=None, **options):
        if function is None:
            return lambda function: jit(function, **options)
        wrap = {step: timed, "accuracy": evaluate}.get(function.__name__)
        return wrap(compile_(function, **options)) if wrap else compile_(function, **options)

    jax.jit = jit
    jax.numpy.argmax = evaluate(largest)


def run(script, step, clock):
    """Run the script as a program and write what the clock measured."""
    sys.argv = [str(script)]
    watch(clock, step)
    clock.start()
    runpy.run_path(str(script), run_name="__main__")
    between.close()
    clock.write()
