"""Classes of logs that hold no honest number of a training's speed: whoever gives one has invented it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import timedelta

from tests.tools.loops import around
from tests.tools.loops.bars import LAYOUTS, Screen, look, states
from tests.tools.loops.draw import Draw
from tests.tools.loops.loop import begin, measured
from tests.tools.loops.measures import Span
from tests.tools.loops.stamps import moment, stamp
from tests.tools.loops.training import train
from tests.tools.loops.truth import Made, Truth


def _none(draw: Draw, lines: list[str], why: str) -> Made:
    return Made("", "\n".join(lines) + "\n", Truth("no", why=why), draw.chosen)


def _stamped(draw: Draw, lines: list[str], seconds: tuple[float, float]) -> list[str]:
    """The lines with a stamp before each, printed as regularly as a training's."""
    head, at = stamp(draw, draw.whether("stamps", 0.7)), moment(draw)
    apart = draw.number("seconds between lines", *seconds)
    found = []
    for line in lines:
        at += timedelta(seconds=apart * draw.plain().uniform(0.9, 1.1))
        found.append(head.head(at, 0) + line)
    return found


def losses(draw: Draw) -> Made:
    """A counter and losses; no line tells a time of a training's step."""
    loop = begin(draw, train(draw, pauses=draw.whether("pauses", 0.5)), clock_on_lines=False)
    loop.clockless = True
    measured(loop)
    around.surrounded(loop, totals=False)
    return Made("", loop.text(), Truth("no", why="no line tells a time"), draw.chosen)


def losses_of_epochs(draw: Draw) -> Made:
    """A line an epoch with losses alone, or Hugging Face's dictionaries of losses."""
    count = draw.count("epochs", 30, 150)
    form = draw.one(
        "line of an epoch",
        ("Epoch {e}/{E} loss: {l:.4f} val_loss: {v:.4f}", "epoch {e}: train {l:.5f} test {v:.5f}", "{e:4d} {l:.6f} {v:.6f}",
         "{{'loss': {l:.4f}, 'grad_norm': 1.2345, 'learning_rate': 4.9e-05, 'epoch': {e}.0}}", "Epoch {e:03d} | Loss {l:.4f} | Acc {a:.2f}%"),
    )  # fmt: skip
    lines = [
        form.format(e=at + 1, E=count, l=2.3 / (at + 1) ** 0.3, v=2.6 / (at + 1) ** 0.3, a=90 * at / count)
        for at in range(count)
    ]
    return _none(draw, lines, "no line tells a time")


def evaluation(draw: Draw) -> Made:
    """An evaluation alone, with the time of its batches: a loop's lines with the evaluation's word, or an example's."""
    if draw.whether("an evaluation by a loop", 0.4):
        loop = begin(draw, train(draw, epochs=False, pauses=False))
        word = draw.one("an evaluation's word", ("eval", "val", "Test:", "[eval]", "Validation", "Evaluating"))
        for row in loop.found:
            row.phase = word
        spans: tuple[tuple[tuple[Span, ...], tuple[Span, ...]], ...] = (
            (("last",), ()), ((), ("interval",)), (("interval",), ("interval",)), ((), ()),
        )  # fmt: skip
        measured(loop, *draw.one("an evaluation measures", spans))
        return Made("", loop.text(), Truth("no", why="an evaluation alone"), draw.chosen)
    count, own = draw.count("batches", 40, 200), draw.number("seconds of a batch", 0.05, 2)
    form = draw.one(
        "line of an evaluation",
        ("Test: [{i:4d}/{n}]\tTime {t:.3f} ({t:.3f})\tLoss 1.2345 (1.2345)\tAcc@1 71.88 (70.12)", "eval step {i}/{n}: loss 1.2345, {r:.1f} samples/s",
         "[val] batch {i}/{n} acc 0.7123 time {t:.3f}s", "Evaluating batch {i} of {n}, {t:.3f} s", "Validation | {i}/{n} | loss 1.2345 | {r:.1f} img/s"),
    )  # fmt: skip
    lines = ["=> loading checkpoint 'model_best.pth.tar'", "Evaluation of 10000 samples"]
    lines += [
        form.format(
            i=at + 1, n=count, t=own * draw.plain().uniform(0.95, 1.05), r=32 / own * draw.plain().uniform(0.95, 1.05)
        )
        for at in range(count)
    ]
    lines += [" * Acc@1 70.123 Acc@5 90.456"]
    return _none(draw, _stamped(draw, lines, (own, own * 1.0001)), "an evaluation alone")


def bars_of_others(draw: Draw) -> Made:
    """Bars of downloads, of loading, of the data's preparation and of evaluations."""
    screen = Screen(draw.whether("carriage returns", 0.7), [])
    for _ in range(draw.count("bars", 1, 4)):
        layout, charsets, _ = draw.one("a bar's library", LAYOUTS)
        name, unit = draw.one("a bar of others", _OTHERS)
        total = draw.count("ticks", 20, 2000)
        ends = (draw.noise.uniform(0.8, 1.2, total) * draw.number("seconds of a tick", 0.01, 2)).cumsum()
        shape = look(draw, charsets, name, unit)
        drawn = states(ends, 0.0, total, max(0.1, float(ends[-1]) / 120))
        for at, state in enumerate(drawn):
            screen.redraw(layout(state, shape, ""), at == len(drawn) - 1)
    return Made("", screen.all(), Truth("no", why="bars of other work"), draw.chosen)


_OTHERS = (
    ("Downloading", "MB"), ("Downloading shards", "file"), ("Loading checkpoint shards", "it"), ("Tokenizing", "doc"), ("Map", "ex"),
    ("Evaluating", "it"), ("Generating", "it"), ("Extracting features", "img"), ("Preprocessing", "file"), ("Testing", "batch"), ("Validating", "it"),
    ("Loading data", "file"), ("Computing FID", "batch"), ("Inference", "it"), ("Caching images", "img"),
)  # fmt: skip


def served(draw: Draw) -> Made:
    """A model that is served or generates text."""
    form = draw.one(
        "line of a server",
        ("Avg prompt throughput: {a:.1f} tokens/s, Avg generation throughput: {b:.1f} tokens/s, Running: 4 reqs, Waiting: 0 reqs, GPU KV cache usage: 3.1%",
         "generated 128 tokens in {t:.2f} s, {b:.1f} tok/s", "prompt {i}: {t:.3f} sec, {b:.2f} tokens per second", "request {i} done in {ms:.1f} ms",
         'INFO:     10.0.0.7:41270 - "POST /v1/completions HTTP/1.1" 200 OK', "decode step {i}: {ms:.2f} ms/token"),
    )  # fmt: skip
    rng = draw.plain()
    lines = ["INFO: Application startup complete.", "Loading model weights took 12.6 GB"]
    for at in range(draw.count("requests", 30, 200)):
        seconds = rng.uniform(1.8, 2.2)
        lines.append(form.format(i=at, a=rng.uniform(200, 220), b=128 / seconds, t=seconds, ms=1e3 * seconds))
    return _none(draw, _stamped(draw, lines, (0.5, 10)), "no training: a model that is served")


def built(draw: Draw) -> Made:
    """A build, an installation, tests: counters and stamps of other programs."""
    count = draw.count("targets", 40, 300)
    form = draw.one(
        "line of a build",
        ("[{i}/{n}] Building CXX object src/CMakeFiles/core.dir/file_{i}.cpp.o", "[{p:3d}%] Building CXX object CMakeFiles/core.dir/file_{i}.cpp.o",
         "Get:{i} http://archive.ubuntu.com/ubuntu jammy/main amd64 libfoo{i} amd64 1.2-3 [{k} kB]", "tests/test_core.py::test_case_{i} PASSED [{p:3d}%]",
         "Step {i}/{n} : RUN pip install package-{i}", "Collecting package-{i}==1.{i}", "Copying file {i} of {n}", "Epoch-like section {i}"),
    )  # fmt: skip
    lines = [
        form.format(i=at + 1, n=count, p=100 * (at + 1) // count, k=draw.plain().randint(10, 900))
        for at in range(count)
    ]
    return _none(draw, _stamped(draw, lines, (0.05, 5)), "no training: a build")


def searched(draw: Draw) -> Made:
    """Trials of a search, as Optuna and Ray Tune print them, or tables of results."""
    rng, count = draw.plain(), draw.count("trials", 30, 120)
    form = draw.one(
        "line of a trial",
        ("Trial {i} finished with value: {v:.4f} and parameters: {{'lr': {x:.6f}, 'layers': 3}}. Best is trial 3 with value: 0.9123.",
         "| train_fn_{i:05d} | TERMINATED | 10.0.0.7:4127 | {x:.6f} | {v:.4f} |", "run {i}: score={v:.4f} (best 0.9123)", "fold {i}: accuracy {v:.4f}"),
    )  # fmt: skip
    lines = [form.format(i=at, v=rng.random(), x=rng.random() / 100) for at in range(count)]
    return _none(draw, _stamped(draw, lines, (20, 900)), "trials are no steps")


def written(draw: Draw) -> Made:
    """Prose, data, configurations, a traceback."""
    rng = draw.plain()
    kind = draw.one("text", ("prose", "data", "chat", "traceback", "metrics of a machine", "results", "numbers"))
    count = draw.count("lines of text", 30, 200)
    makers: Mapping[str, Callable[[int], str]] = {
        "prose": lambda at: f"In section {at} we train the model for {rng.randint(2, 90)} epochs with a batch of {rng.choice((32, 64))} and a step of 0.{at}.",
        "data": lambda at: f"{at},{rng.random() * 5:.1f},{rng.random() * 3:.1f},{rng.random() * 6:.1f},setosa",
        "chat": lambda at: json.dumps({"id": at, "prompt": f"What is {at} + {at}?", "answer": str(2 * at), "length": rng.randint(5, 99)}),
        "traceback": lambda at: f'  File "/usr/lib/python3/site-packages/pkg/module_{at}.py", line {rng.randint(1, 999)}, in forward',
        "metrics of a machine": lambda at: f"2024/05/04 10:{at // 60 % 60:02d}:{at % 60:02d}.000, {rng.randint(20, 99)} %, {rng.randint(900, 40000)} MiB, {rng.randint(60, 300)}.12 W",
        "results": lambda at: f"| model-{at} | {rng.random() * 100:.1f} | {rng.randint(5, 900)} images/s | fp16 |",
        "numbers": lambda at: f"{at} {rng.gauss(0, 1):.6f}",
    }  # fmt: skip
    return _none(draw, [makers[kind](at) for at in range(count)], f"no training: {kind}")


CLASSES: Mapping[str, tuple[float, Callable[[Draw], Made]]] = {
    "none: losses alone": (6, losses),
    "none: losses of epochs": (3, losses_of_epochs),
    "none: an evaluation": (3, evaluation),
    "none: bars of other work": (3, bars_of_others),
    "none: a server": (2, served),
    "none: a build": (2, built),
    "none: trials": (2, searched),
    "none: text and data": (3, written),
}
