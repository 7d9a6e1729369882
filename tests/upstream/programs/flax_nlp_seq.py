# /// environment
# name = "tf"
# requires = ["tensorflow-cpu==2.21.0", "flax==0.12.8", "jax==0.10.2", "optax==0.2.8", "tensorboard"]
# [sources]
# FLAX_EXAMPLES = "github.com/google/flax at 18f8f311c275d57f46d95e41b15aa97b454754c0: its folder examples"
# ///
"""Flax' examples/nlp_seq/train.py: time stamps in microseconds, and an evaluation between each line and the next."""

import functools
import os
import random
import runpy
import sys
from contextlib import ExitStack
from pathlib import Path

import jax
from clock import Clock

BATCH, WORDS = 16, 8
clock = Clock(samples_per_step=BATCH)
between = ExitStack()
state = {"evaluating": False}
chosen = random.Random(1)
for name, sentences in (("train", 400), ("dev", 20 * BATCH)):
    text = [
        "".join(
            f"{word}\tword{chosen.randrange(50)}\t_\t_\tTAG{chosen.randrange(5)}\t_\t0\t_\n" for word in range(1, WORDS)
        )
        for _ in range(sentences)
    ]
    Path(f"{name}.conllu").write_text("\n".join(text), encoding="utf-8")
folder = Path(os.environ["FLAX_EXAMPLES"], "nlp_seq")
sys.path.insert(0, str(folder))
import models  # noqa: E402


def train(step, *arguments, **options):
    between.close()
    state["evaluating"] = False
    clock.work()
    result = step(*arguments, **options)
    clock.step()
    return result


def evaluate(step, *arguments):
    if not state["evaluating"]:
        state["evaluating"] = True
        between.enter_context(clock.pause("evaluation"))
    clock.work()
    return step(*arguments)


def pmap(function, **options):
    """The training's step is made with its model, the evaluation's is a plain function."""
    return functools.partial(train if isinstance(function, functools.partial) else evaluate, pmap_(function, **options))


pmap_, jax.pmap = jax.pmap, pmap
models.TransformerConfig = functools.partial(
    models.TransformerConfig, emb_dim=32, num_heads=2, num_layers=1, qkv_dim=32, mlp_dim=64
)
sys.argv = [
    "train.py", "--model_dir=work", "--train=train.conllu", "--dev=dev.conllu", f"--batch_size={BATCH}", "--max_length=16",
    "--num_train_steps=800", "--eval_frequency=50", "--verbosity=0",
]  # fmt: skip
clock.start()
try:
    runpy.run_path(str(folder / "train.py"), run_name="__main__")
except SystemExit as end:
    if end.code:
        raise
between.close()
clock.write()
