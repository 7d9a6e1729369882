"""Classes of logs whose measure is a bar."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from tests.tools.loops.bars import LAYOUTS, Layout, Look, Screen, State, look, states, tqdm
from tests.tools.loops.draw import Draw
from tests.tools.loops.measures import COARSE, amount, coarse, true_rates
from tests.tools.loops.training import Pause, Training, train
from tests.tools.loops.truth import Holds, Made, Rates, Truth

#: Names of a training's bars.
NAMES = (
    "",
    "",
    "Training",
    "train",
    "Train",
    "Epoch {e}",
    "Epoch {e}/{E}",
    "Iteration",
    "Training epoch {e}",
    "[{e}/{E}]",
    "Steps",
    "Epoch: {e}, Train",
    "Optimizing",
)
_EVALUATIONS = ("Validating", "Evaluating", "Validation", "Eval", "Testing", "val", "test", "Evaluation", "Valid")
_BEFORE = (
    "Loading checkpoint shards: 100%|██████████| 2/2 [00:05<00:00,  2.61s/it]",
    "Map: 100%|██████████| 50000/50000 [00:10<00:00, 4812.33 examples/s]",
    "Downloading: 100%|██████████| 440M/440M [00:12<00:00, 36.4MB/s]",
    "Tokenizing: 100%|██████████| 12/12 [00:21<00:00,  1.79s/file]",
    "Generating train split: 120000 examples [00:02, 51234.11 examples/s]",
)  # fmt: skip


def _behind(draw: Draw, count: int) -> list[str]:
    kind = draw.one(
        "behind the bar", ("nothing", "loss", "loss and lr", "loss and acc", "Lightning's"), (3, 4, 2, 1, 1)
    )
    losses = 0.4 + 3 * np.exp(-np.linspace(0, 3, count))
    if kind == "nothing":
        return [""] * count
    texts = [f"loss={loss:.4f}" for loss in losses]
    if kind == "loss and lr":
        return [f"{text}, lr={1e-4 * loss:.2e}" for text, loss in zip(texts, losses, strict=True)]
    if kind == "Lightning's":
        return [f"v_num=0, train_{text}" for text in texts]
    return (
        texts
        if kind == "loss"
        else [f"{text}, acc={1 / (1 + loss):.3f}" for text, loss in zip(texts, losses, strict=True)]
    )


def _pieces(training: Training, by_epoch: bool) -> Iterator[tuple[int, int]]:
    length = training.per_epoch if by_epoch else training.steps
    yield from ((begin, min(begin + length, training.steps)) for begin in range(0, training.steps, length))


def _drawn(draw: Draw, training: Training, by_epoch: bool, ticks: int, first: int = 0) -> list[list[State]]:
    """The states of each of the training's bars; a tick is so many steps' worth (of samples, where a step has some)."""
    total = float(training.end[-1] - training.begin[0])
    least = max(
        draw.one("least seconds between redraws", (0.1, 0.5, 1, 10, 30)), total / draw.count("redraws at most", 80, 350)
    )
    smooth = draw.whether("the bar's rate is of its last redraws", 0.8)
    found = []
    for begin, end in _pieces(training, by_epoch):
        drawn = states(training.end[begin:end], float(training.begin[begin]), end - begin + first, least, first, smooth)
        found.append(
            [replace(one, done=one.done * ticks, total=one.total * ticks, rate=one.rate * ticks) for one in drawn]
        )
    return found


def bar(draw: Draw) -> Made:
    """A bar of steps of any library, alone or one of each epoch."""
    layout, charsets, tells_time = draw.one("a bar's library", LAYOUTS, (8, *(1.0,) * (len(LAYOUTS) - 1)))
    training = _long_enough(draw)
    by_epoch = training.per_epoch < training.steps and draw.whether("a bar for each epoch", 0.8)
    samples = draw.whether("the bar counts samples", 0.06)
    unit = (
        draw.one("a sample of a bar", ("img", "ex", "sample"))
        if samples
        else draw.one("a step of a bar", ("it", "it", "it", "batch", "step", "ba", "steps", "iter"))
    )
    if samples:
        training = replace(training, ranks=1, micro=1)
    resumes = draw.whether("the bar resumes", 0.08) and not by_epoch
    first = draw.count("steps before the bar begins", 10, training.steps) if resumes else 0
    evaluation = draw.one("an evaluation's bar", ("", *_EVALUATIONS))
    told = [pause for pause in training.pauses if pause.kind == "evaluation" and evaluation]
    # between two bars no line has to tell of a pause; within one, only an evaluation's own bar does
    silent = {
        pause.after for pause in training.pauses if pause not in told and not (by_epoch and _at_end(training, pause))
    }
    training = replace(
        training, pauses=tuple(replace(one, announced=one.after not in silent) for one in training.pauses)
    )
    drawn = _drawn(draw, training, by_epoch, training.batch if samples else 1, first)
    shape = look(draw, charsets, "", unit)
    text = _screen(draw, training, layout, shape, drawn, by_epoch, evaluation)
    holds, why = _holds(training, drawn, tells_time)
    return Made("", text, Truth(holds, true_rates(training), _slack(training, drawn), why), draw.chosen)


def _at_end(training: Training, pause: Pause) -> bool:
    """Whether a pause lies between two epochs."""
    return (pause.after + 1) % training.per_epoch == 0


def _long_enough(draw: Draw, pauses: bool = True) -> Training:
    """A training whose bar's clock of whole seconds tells it."""
    return train(draw, every=1, lines=(200, 3000), seconds=(0.1, 3.0), pauses=pauses)


def _open_digits(training: Training, drawn: list[list[State]]) -> float:
    """How far the bars' clocks of whole seconds leave the time open."""
    return coarse(
        1.0, [one.at for each in drawn for one in each], len(drawn) + sum(one.announced for one in training.pauses)
    )


def _slack(training: Training, drawn: list[list[State]]) -> float:
    return 0.02 + 2.5 * training.spread / float(np.sqrt(training.steps)) + min(_open_digits(training, drawn), 0.1)


def _holds(training: Training, drawn: list[list[State]], tells_time: bool) -> tuple[Holds, str]:
    if not tells_time:
        return "may", "the bar tells no time since its start"
    if training.steps < 60 or sum(map(len, drawn)) < 2 * len(drawn) + 6 or _open_digits(training, drawn) > COARSE:
        return "may", "the bar's clock is too coarse for its length"
    if math.gcd(*(one.done for each in drawn for one in each[:-1])) > 1:
        return "may", "all its counts are multiples of one number, which may be a batch"
    return "yes", "a bar's count beside its clock"


#: Hugging Face's Trainer prints dictionaries, and one at the end.
_LOSSES = (
    "step {n}: loss {l:.4f} lr 1.0e-04", "{{'loss': {l:.4f}, 'grad_norm': 1.2345, 'learning_rate': 4.9e-05, 'epoch': {e:.2f}}}", "[{n}] loss={l:.4f}",
    "loss: {l:.5f}", "Epoch {e:.1f} train_loss {l:.3f}", "\titers: {n} | loss: {l:.7f}\n\tspeed: {t:.4f}s/iter; left time: {r:.1f}s", "step {n} loss {l:.4f} ({t:.3f} s/step)",
)  # fmt: skip
_SUMMARY = "{{'train_runtime': {t:.4f}, 'train_samples_per_second': {s:.3f}, 'train_steps_per_second': {n:.3f}, 'train_loss': 0.5123, 'epoch': 3.0}}"


@dataclass(frozen=True, slots=True)
class Habits:
    """What a program prints around its bars.

    Attributes:
        name: of a bar, with ``{e}`` for the epoch; ``outer``: whether a bar of epochs is around; ``heading``: whether a
            line tells the epoch before its bar.
        prints: what it prints between redraws, and whether the bar is cleared before, or all of it comes behind the bars,
            as it does where standard output is a buffered file; ``form``: how such a line looks.
    """

    name: str
    outer: bool
    heading: bool
    prints: str
    form: str


def _screen(
    draw: Draw,
    training: Training,
    layout: Layout,
    shape: Look,
    drawn: list[list[State]],
    by_epoch: bool,
    evaluation: str,
) -> str:
    """The file that the bars were drawn into, with what the program prints between."""
    screen = Screen(draw.whether("carriage returns", 0.7), [])
    outer = draw.whether("a bar of epochs around", 0.35) and by_epoch and len(drawn) > 1 and layout is tqdm
    how = Habits(
        draw.one("a bar's name", NAMES), outer, draw.whether("a line before each bar", 0.5) and by_epoch and not outer,
        draw.one("the program prints", ("nothing", "losses", "losses, cleared", "losses, all behind"), (4, 2, 2, 2)),
        draw.one("losses beside a bar", _LOSSES),
    )  # fmt: skip
    behind = iter(_behind(draw, sum(map(len, drawn))))
    pauses = [pause for pause in training.pauses if pause.kind == "evaluation" and evaluation]
    for line in draw.some("bars before the training", _BEFORE, 2):
        screen.redraw(line, last=True)
    late: list[str] = []
    for number, epoch in enumerate(drawn):
        if how.outer:
            _outer(screen, training, shape, number, len(drawn))
        if how.heading:
            screen.print(f"Epoch {number + 1}/{len(drawn)}", True)
        named = replace(shape, name=how.name.format(e=number + 1, E=len(drawn)))
        for at, state in enumerate(epoch):
            while pauses and training.end[pauses[0].after] < state.at:
                _evaluate(screen, training, layout, replace(shape, name=evaluation), pauses.pop(0), at > 0)
            screen.redraw(layout(state, named, next(behind)), at == len(epoch) - 1, how.outer)
            if at % 25 == 24:
                late += _losses(
                    screen,
                    how,
                    how.form.format(
                        n=state.done, l=4 / (at + 20), e=number + state.share, t=1 / state.rate, r=state.left
                    ),
                )
    _ending(draw, screen, training, late)
    return screen.all()


def _losses(screen: Screen, how: Habits, words: str) -> list[str]:
    """Print a line of losses; the words where they come behind the bars."""
    if how.prints == "losses, all behind":
        return [words]
    if how.prints != "nothing":
        screen.print(words, how.prints == "losses, cleared")
    return []


def _ending(draw: Draw, screen: Screen, training: Training, late: list[str]) -> None:
    for words in late:
        screen.print(words, True)
    if draw.whether("a summary behind the bars", 0.15):
        runtime = float(training.end[-1] - training.begin[0])
        rate = training.steps / runtime
        screen.print(_SUMMARY.format(t=runtime, s=training.samples * rate, n=rate), True)


def _outer(screen: Screen, training: Training, shape: Look, number: int, count: int) -> None:
    elapsed = float(training.begin[min(number * training.per_epoch, training.steps - 1)] - training.begin[0])
    rate = number / elapsed if number and elapsed else 1.0
    screen.redraw(tqdm(State(0.0, number, count, elapsed, rate), replace(shape, name="Epoch", unit="it"), ""))


def _evaluate(screen: Screen, training: Training, layout: Layout, shape: Look, pause: Pause, inside: bool) -> None:
    """The bar of an evaluation, ``inside`` the training's below it."""
    steps = max(10, training.per_epoch // 7)
    for done in range(steps // 5, steps + 1, max(steps // 5, 1)):
        elapsed = pause.seconds * done / steps
        screen.redraw(layout(State(0.0, done, steps, elapsed, done / elapsed), shape, ""), done == steps, inside)


def epochs_bar(draw: Draw) -> Made:
    """A bar whose ticks are epochs, and no bar of steps."""
    count = draw.count("epochs of the bar", 15, 120)
    training = train(draw, every=1, epochs=False, lines=(30, 31), pauses=False)
    steps = draw.count("steps of each", 20, 500)
    took = np.maximum(training.mean * steps * (1 + 0.02 * draw.noise.standard_normal(count)), 0.01)
    took *= max(1.0, 3.0 / float(took.mean()))
    ends = np.cumsum(took)
    layout, charsets, _ = draw.one("a bar's library", LAYOUTS[:-2])
    unit = draw.one("an epoch of a bar", ("epoch", "epoch", "it", "ep"))
    name = draw.one(
        "a name of epochs",
        ("Epochs", "Epoch", "Training epochs", "epoch") if unit == "it" else ("Epochs", "Training", "", "Epoch"),
    )
    shape = look(draw, charsets, name, unit)
    screen = Screen(draw.whether("carriage returns", 0.7), [])
    drawn = states(ends, 0.0, count, 0.1)
    for at, (state, behind) in enumerate(zip(drawn, _behind(draw, len(drawn)), strict=True)):
        screen.redraw(layout(state, shape, behind), at == len(drawn) - 1)
    rate = 1 / float(took.mean())
    return Made("", screen.all(), Truth("may", {("epochs", ""): ((rate, rate),)}, 0.05, "a bar of epochs"), draw.chosen)


def excerpt_of_a_bar(draw: Draw) -> Made:
    """One or two states of a bar, as people paste them: what is known is the mean since its start."""
    training = _long_enough(draw, pauses=False)
    layout, charsets, _ = draw.one("a bar's library", LAYOUTS[:-2], (8, *(1.0,) * (len(LAYOUTS) - 3)))
    drawn = states(training.end, float(training.begin[0]), training.steps, max(1.0, float(training.end[-1]) / 300))
    at = draw.count("the state that is pasted", len(drawn) // 2, len(drawn) - 1)
    kept = drawn[at : at + draw.one("states that are pasted", (1, 2, 3))]
    shape = look(
        draw,
        charsets,
        draw.one("a bar's name", NAMES).format(e=0, E=5),
        draw.one("a step of a bar", ("it", "batch", "step")),
    )
    lines = [
        "It has been running like this, is that normal?",
        *(layout(one, shape, "loss=1.2345") for one in kept),
        "thanks",
    ]
    mean = kept[-1].elapsed / kept[-1].done
    slow, fast = min(1 / mean, 1 / training.mean, kept[-1].rate), max(1 / mean, 1 / training.mean, kept[-1].rate)
    rates: Rates = {
        (work, ""): ((slow * amount(training, work), fast * amount(training, work)),)
        for work in ("steps", "samples", "tokens")
    }
    text = "\n".join(lines if draw.whether("words around", 0.6) else lines[1:-1]) + "\n"
    return Made("", text, Truth("may", rates, 0.05, "few states of a bar"), draw.chosen)


def keras(draw: Draw) -> Made:
    """Keras' bar of each epoch (utils/generic_utils.py, Progbar, of Keras 2; utils/progbar.py of Keras 3), or its verbose=2.

    No validation: the time of an epoch would hold it.
    """
    training = train(draw, every=1, lines=(400, 4000), seconds=(0.02, 1.0), epochs=True, pauses=False)
    count = draw.count("epochs of Keras", 4, 30)
    training = replace(training, per_epoch=max(training.steps // count, 10))
    form = draw.one("Keras' lines", ("2", "2, redrawn", "3", "2, verbose=2", "3, verbose=2"))
    pieces = [piece for piece in _pieces(training, True) if piece[1] - piece[0] == training.per_epoch]
    lines, digits = [], 0.0
    for number, (begin, end) in enumerate(pieces):
        took = float(training.end[end - 1] - training.begin[begin])
        own = took / training.per_epoch
        unit = f"{own:.0f}s/step" if own >= 1 else f"{1e3 * own:.0f}ms/step"
        digits = max(digits, min(0.5 / took, 0.5 / max(round(own if own >= 1 else 1e3 * own), 0.5)))
        lines += [
            f"Epoch {number + 1}/{len(pieces)}",
            *_keras_lines(form, training, begin, took, unit, 2.3 / (number + 1)),
        ]
    enough = form not in ("2", "2, redrawn") and digits < COARSE and len(pieces) > 4 and training.per_epoch > 20
    why = (
        ("yes", "each epoch's steps and time")
        if enough
        else ("may", "few epochs, coarse times, or counts of samples (Keras before 2.3)")
    )
    slack = 0.02 + 2.5 * training.spread / float(np.sqrt(training.steps)) + min(digits, 0.2)
    return Made(
        "",
        "\n".join(lines) + "\n",
        Truth("yes" if why[0] == "yes" else "may", true_rates(training), slack, why[1]),
        draw.chosen,
    )


def _keras_lines(form: str, training: Training, begin: int, took: float, unit: str, loss: float) -> list[str]:
    count, width = training.per_epoch, len(str(training.per_epoch))
    if "verbose=2" in form:
        tail = f" - {took:.0f}s/epoch - {unit}" if form.startswith("2") else ""
        return [
            f"{count}/{count} - {took:.0f}s - {'' if tail else unit + ' - '}accuracy: 0.8123 - loss: {loss:.4f}{tail}"
        ]
    if form == "3":
        return [
            f"\x1b[1m{count}/{count}\x1b[0m \x1b[32m{'━' * 20}\x1b[0m\x1b[37m\x1b[0m \x1b[1m{took:.0f}s\x1b[0m {unit} - accuracy: 0.8123 - loss: {loss:.4f}"
        ]
    drawn = []
    for done in range(max(count // 7, 1), count, max(count // 7, 1)) if form == "2, redrawn" else ():
        gone = float(training.end[begin + done - 1] - training.begin[begin])
        full = 29 * done // count
        drawn.append(
            f"{done:{width}d}/{count} [{'=' * full}>{'.' * (29 - full)}] - ETA: {gone / done * (count - done):.0f}s - loss: {loss:.4f}"
        )
    return [*drawn, f"{count}/{count} [{'=' * 30}] - {took:.0f}s {unit} - loss: {loss:.4f} - accuracy: 0.8123"]


CLASSES: dict[str, tuple[float, Callable[[Draw], Made]]] = {
    "bar": (14, bar),
    "Keras": (3, keras),
    "bar of epochs": (2, epochs_bar),
    "excerpt of a bar": (2, excerpt_of_a_bar),
}
