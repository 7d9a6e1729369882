"""Has a kernel run notebooks whose cells train (they sleep), and keeps them beside the figures of a clock of our own.

    python -m venv V && V/bin/pip install nbclient ipykernel ipywidgets tqdm fastprogress transformers
    V/bin/python -m tests.tools.real_notebooks

``tests/logs/notebooks/NAME.ipynb`` is what nbclient saved, ``NAME.json`` the versions and, for each training in it, the
clock's figures (:mod:`tests.upstream.clock`). ``loop`` prints and draws tqdm's bars as a script would; ``shown`` shows
what only notebooks have: tqdm's widgets, the HTML bars and tables of transformers and fastprogress, Keras' redraws.
"""

from __future__ import annotations

import json
import os
import tempfile
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests/logs/notebooks"
PACKAGES = ("nbclient", "nbformat", "ipykernel", "ipywidgets", "tqdm", "fastprogress", "transformers")

#: Each notebook begins so; `saved` writes the figures of a training.
_BEGIN = """\
import os, sys
sys.path.insert(0, os.environ["NOTEBOOK_TESTS"])
from tests.upstream.clock import Clock

def saved(clock, name):
    os.environ["UPSTREAM_CLOCK"] = f"{name}.json"
    clock.write()

batch_size = 32
print(f"batch_size={batch_size}, devices=1")"""

_LOOP = (
    _BEGIN,
    """\
from tqdm import tqdm
clock = Clock(samples_per_step=batch_size)
clock.start()
for epoch in range(2):
    for step in tqdm(range(600), desc=f"Epoch {epoch}", mininterval=0.5):
        clock.work()
        clock.step()
        if step % 100 == 99:
            print(f"epoch {epoch} step {step + 1} loss {2 / (1 + step / 99):.4f}")
saved(clock, "tqdm")""",
    "'done'",
)

_SHOWN = (
    _BEGIN,
    """\
from tqdm.notebook import tqdm
clock = Clock(samples_per_step=batch_size)
clock.start()
for epoch in tqdm(range(2), desc="Epochs"):
    for step in tqdm(range(100), desc=f"Epoch {epoch}"):
        clock.work()
        clock.step()
    print(f"epoch {epoch} loss {1 / (epoch + 1):.3f}")
saved(clock, "widgets")""",
    """\
from types import SimpleNamespace
from transformers.trainer_callback import TrainerState
from transformers.trainer_utils import IntervalStrategy
from transformers.utils.notebook import NotebookProgressCallback
arguments = SimpleNamespace(eval_strategy=IntervalStrategy.NO)
state = TrainerState(epoch=0, max_steps=200, num_train_epochs=2)
shown = NotebookProgressCallback()
clock = Clock(samples_per_step=batch_size)
clock.start()
shown.on_train_begin(arguments, state, None)
for step in range(1, state.max_steps + 1):
    clock.work()
    clock.step()
    state.global_step, state.epoch = step, step / 100
    shown.on_step_end(arguments, state, None)
    if step % 50 == 0:
        shown.on_log(arguments, state, None, logs={"loss": 2 / step, "learning_rate": 1e-4})
shown.on_train_end(arguments, state, None)
saved(clock, "transformers")""",
    """\
from fastprogress.fastprogress import progress_bar
clock = Clock(samples_per_step=batch_size)
clock.start()
for step in progress_bar(range(100)):
    clock.work()
    clock.step()
saved(clock, "fastprogress")""",
    """\
from fastprogress.fastprogress import master_bar
clock = Clock(samples_per_step=batch_size)
clock.start()
epochs = master_bar(range(2), total_time=True)
epochs.write(["epoch", "train_loss", "time"], table=True)
for epoch in epochs:
    begun = clock.ends[-1] if clock.ends else 0.0
    for step in progress_bar(range(60), parent=epochs):
        clock.work()
        clock.step()
    seconds = int(clock.ends[-1] - begun)
    epochs.write([str(epoch), f"{1 / (epoch + 1):.6f}", f"{seconds // 60:02d}:{seconds % 60:02d}"], table=True)
saved(clock, "fastai")""",
    """\
clock = Clock(samples_per_step=batch_size)
clock.start()
drawn = ""
for step in range(1, 51):
    clock.work()
    clock.step()
    sys.stdout.write("\\b" * len(drawn) + "\\r")
    drawn = f"{step}/50 [{'=' * (step * 20 // 50):<20}] - loss: {1 / step:.4f}"
    sys.stdout.write(drawn)
    sys.stdout.flush()
print()
saved(clock, "redrawn")""",
    "1 / 0",
)
NOTEBOOKS = {"loop": _LOOP, "shown": _SHOWN}


def make(name: str, cells: tuple[str, ...]) -> None:
    """Execute a notebook of these cells in a folder of its own, and keep it with its figures."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(f"# {name}"), *map(_code, cells)])
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NOTEBOOK_TESTS"] = str(ROOT)
        NotebookClient(
            notebook, timeout=600, kernel_name="python3", allow_errors=True, resources={"metadata": {"path": folder}}
        ).execute()
        figures = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in Path(folder).glob("*.json")}
    nbformat.write(notebook, FOLDER / f"{name}.ipynb")
    document = {
        "versions": {package: version(package) for package in PACKAGES},
        "trainings": dict(sorted(figures.items())),
    }
    (FOLDER / f"{name}.json").write_text(json.dumps(document) + "\n", encoding="utf-8")


def _code(source: str) -> object:
    import nbformat

    return nbformat.v4.new_code_cell(source)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for each, cells in NOTEBOOKS.items():
        make(each, cells)
