"""Classes of loops that people write themselves, by what their lines measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np

from tests.tools.loops import around
from tests.tools.loops.draw import Draw
from tests.tools.loops.loop import Event, Loop, begin, measured
from tests.tools.loops.measures import Span, amount, coarse, truth
from tests.tools.loops.spelling import clock
from tests.tools.loops.stamps import RANKED
from tests.tools.loops.training import Training, train
from tests.tools.loops.truth import Holds, Made, Rates, Truth

#: How many steps lie between two lines where not every step prints one.
INTERVALS = (10, 20, 50, 100)


def finished(loop: Loop, holds: Holds | None = None, why: str = "") -> Made:
    """The log with all that stands around it; one in eight is an excerpt."""
    around.surrounded(loop)
    if around.harmed(loop) and holds is None:
        holds, why = "may", "each line stands twice"
    text = loop.text()
    loop.told.ranks = loop.told.ranks and around.tells_ranks(text)
    return Made("", text, truth(loop.training, loop.found, loop.told, holds, why), loop.draw.chosen)


def stamps(draw: Draw) -> Made:
    """A counter, and the stamps of the lines alone."""
    loop = begin(draw, clock_on_lines=True)
    measured(loop)
    return finished(loop)


def durations(draw: Draw) -> Made:
    """Each step prints its time."""
    loop = begin(draw, train(draw, every=1))
    measured(loop, spans_of_times=("last",))
    return finished(loop)


def interval_means(draw: Draw) -> Made:
    """A mean time of the steps since the line before."""
    loop = begin(draw, train(draw, every=draw.one("interval", INTERVALS)))
    measured(loop, spans_of_times=("interval",))
    return finished(loop)


def interval_totals(draw: Draw) -> Made:
    """The time that passed since the line before, of all steps together."""
    loop = begin(draw, train(draw, every=draw.one("interval", INTERVALS)))
    measured(loop, spans_of_times=("total",))
    return finished(loop)


def running_means(draw: Draw) -> Made:
    """A mean since the start, with the last step's time or without."""
    loop = begin(draw, train(draw, every=draw.one("interval", (1, *INTERVALS))))
    measured(loop, spans_of_times=("running",))
    return finished(loop)


def sampled(draw: Draw) -> Made:
    """One step of so many prints its own time."""
    loop = begin(draw, train(draw, every=draw.one("interval", INTERVALS), lines=(60, 250)))
    measured(loop, spans_of_times=("last",))
    return finished(loop)


def rates(draw: Draw) -> Made:
    """A rate of the steps since the line before."""
    loop = begin(draw)
    measured(loop, spans_of_rates=("interval",))
    return finished(loop)


def running_rates(draw: Draw) -> Made:
    """A rate since the start."""
    loop = begin(draw)
    measured(loop, spans_of_rates=("running",))
    return finished(loop)


def times_and_rates(draw: Draw) -> Made:
    """A time and a rate on each line."""
    loop = begin(draw)
    spans: tuple[Span, ...] = ("last", "interval")
    span = draw.one("both are of", spans)
    measured(loop, (span,), (span,))
    return finished(loop)


def several(draw: Draw) -> Made:
    """Several times, rates and clocks on a line, of different spans."""
    loop = begin(draw)
    times: tuple[Sequence[Span], ...] = (("total", "interval"), ("interval",), ("last", "running"), ("total",), ())
    of_rates: tuple[Sequence[Span], ...] = (
        ("interval",),
        ("interval", "interval"),
        ("running",),
        ("interval", "running"),
    )
    measured(
        loop,
        draw.one("times on a line", times),
        draw.one("rates on a line", of_rates),
        draw.whether("an elapsed time too", 0.6),
    )
    return finished(loop)


def elapsed(draw: Draw) -> Made:
    """A counter, and the time since the start."""
    loop = begin(draw, clock_on_lines=False)
    measured(loop, elapsed=True)
    return finished(loop)


def samples_counted(draw: Draw) -> Made:
    """The counter is one of samples, as in the PyTorch examples' `[640/60000 (1%)]`."""
    training = replace(train(draw, epochs=True), ranks=1, micro=1)
    loop = begin(draw, training, clock_on_lines=True)
    measured(loop, of_samples=loop.how.by_epoch)
    return finished(loop)


def resumed(draw: Draw) -> Made:
    """A process that died, and one that goes on from its last checkpoint, in one file."""
    training = train(draw, every=draw.one("interval", (1, *INTERVALS)), lines=(80, 250))
    with_clock = draw.whether("stamps or rates", 0.5)
    second = draw.again()
    loop = begin(draw, training, with_clock)
    spans: Sequence[Span] = () if with_clock else ("interval",)
    measured(loop, spans_of_rates=spans)
    around.surrounded(loop)
    died = int(training.steps * draw.number("dies after this share", 0.3, 0.8))
    unit = training.per_epoch if loop.how.by_epoch else training.every
    done = died // unit * unit
    other = begin(second, training.again(second.noise).resumed(done, training.steps), with_clock)
    measured(other, spans_of_rates=spans)
    around.surrounded(other)
    last = float(training.end[died])
    loop.events = [event for event in loop.events if event.at <= last]
    loop.events += [Event(last + 0.001 * (at + 1), line) for at, line in enumerate(draw.one("last words", _LAST_WORDS))]
    other.began = loop.began + timedelta(seconds=last + draw.number("seconds until it goes on", 1, 40_000))
    loop.found = [row for row in loop.found if row.at <= last]
    text = loop.text() + other.text()
    return Made("", text, truth(training, [*loop.found, *other.found], loop.told), draw.chosen)


_LAST_WORDS: tuple[tuple[str, ...], ...] = (
    (),
    ("Traceback (most recent call last):", '  File "train.py", line 214, in <module>', "torch.cuda.OutOfMemoryError: CUDA out of memory."),
    ("slurmstepd: error: *** JOB 4127 ON node12 CANCELLED AT 2024-03-02T11:05:44 DUE TO TIME LIMIT ***",),
    ("KeyboardInterrupt",),
    ("Terminated",),
)  # fmt: skip


def ranks(draw: Draw) -> Made:
    """Each rank prints its lines, tagged or not, all into one file."""
    count = draw.one("ranks that print", (2, 4, 8))
    training = replace(train(draw, lines=(30, 60)), ranks=count)
    tagged = draw.whether("lines tell their rank", 0.8)
    twins = [draw.again(number) for number in range(count)]
    with_clock = draw.whether("stamps or rates", 0.5)
    spans: Sequence[Span] = () if with_clock else ("interval",)
    loop = begin(draw, training, with_clock)
    head = draw.one("a rank's head", [one for one in RANKED if bool(one.tick) is with_clock]) if tagged else loop.stamp
    if with_clock:
        loop.told.clocks[:] = [
            coarse(head.tick, [row.at for row in loop.found if row.phase == "train"], len(training.pauses))
        ]
    loop.stamp = head
    for number, twin in enumerate(twins):
        other = begin(twin, training, with_clock)
        for row in other.found:
            row.interval *= 1 + 0.002 * float(twin.noise.standard_normal())
            row.at += 0.0003 * number
        measured(other, spans_of_rates=spans)
        loop.told.rates, loop.told.of_rank, loop.told.of_whom = (
            other.told.rates, other.told.of_rank, other.told.of_whom,
        )  # fmt: skip
        loop.events += (Event(event.at, event.text, number) for event in other.events)
    loop.told.ranks = tagged
    if not tagged:
        return finished(loop, "may", "several ranks print, and no line says which")
    if loop.told.of_whom and not with_clock:
        return finished(loop, "may", "several ranks print, and no line says whose work a rate counts")
    return finished(loop)


def epochs_alone(draw: Draw) -> Made:
    """An epoch is a line with its time; no line tells of steps."""
    every = draw.one("steps of an epoch", (40, 60, 150, 400, 1000))
    training = train(draw, every=every, epochs=False, lines=(30, 80), seconds=(20 / every, 4), pauses=False)
    return epoch_lines(draw, training)


def epoch_lines(draw: Draw, training: Training) -> Made:
    """A line of each epoch; the configuration may tell how many steps it has."""
    count = training.steps // training.every
    took = training.seconds[: count * training.every].reshape(count, training.every).sum(axis=1)
    evaluation = draw.one("an epoch's evaluation", (0.0, 0.05, 0.3)) * float(np.median(took))
    shown = took + (evaluation if draw.whether("an epoch's time holds its evaluation", 0.5) else 0.0)
    loop = begin(draw, training, draw.whether("stamps on epochs", 0.3))
    around.head(loop)
    form = draw.one("line of an epoch", _EPOCHS)
    shape = draw.one("form of an epoch's time", ("h:mm:ss", "mm:ss", "1h 2m 3s"))
    at = float(training.begin[0])
    for number in range(count):
        at += float(took[number]) + evaluation
        text = form.format(
            e=number + 1,
            E=count,
            l=2.5 / (number + 2),
            v=2.8 / (number + 2),
            t=shown[number],
            c=clock(shown[number], shape),
        )
        loop.events.append(Event(at, text))
    fast, slow = 1 / training.mean, float(count / (took.sum() + count * evaluation)) * training.every
    rates: Rates = {
        (work, ""): ((slow * amount(training, work), fast * amount(training, work)),)
        for work in ("steps", "samples", "tokens")
    }
    rates |= {
        (work, "rank"): ((rates[work, ""][0][0] / training.ranks, rates[work, ""][0][1] / training.ranks),)
        for work in ("samples", "tokens")
    }
    rates["epochs", ""] = ((slow / training.every, fast / training.every),)
    return Made(
        "", loop.text(), Truth("may", rates, 0.02 + 1 / float(np.median(shown)), "epochs alone are timed"), draw.chosen
    )


#: fastai's table (fastprogress), Keras' verbose=2, and lines of people.
_EPOCHS = (
    "Epoch {e}/{E} - {t:.0f}s - loss: {l:.4f} - val_loss: {v:.4f}", "epoch {e}: {c}", "Epoch {e} | train loss {l:.4f} | time {c}",
    "[Epoch {e}] loss {l:.4f} ({t:.1f} s)", "{e}         {l:.6f}    {v:.6f}    {c}", "Epoch: {e}, time: {t:.2f} sec, loss: {l:.3f}",
    "Epoch {e:03d} | Loss {l:.4f} | Time(s) {t:.4f}", "Epoch [{e}/{E}] took {t:.2f}s, train_loss={l:.4f}, val_loss={v:.4f}",
    "Epoch: {e:04d} loss_train: {l:.4f} acc_train: 0.81 loss_val: {v:.4f} time: {t:.4f}s", "Epoch {e} finished in {t:.1f} seconds. Loss: {l:.4f}",
    "Time Taken: {t:.2f} sec for epoch {e}",
)  # fmt: skip

CLASSES: dict[str, tuple[float, Callable[[Draw], Made]]] = {
    "counter and stamps": (8, stamps),
    "time of each step": (8, durations),
    "mean time of an interval": (6, interval_means),
    "time of an interval": (4, interval_totals),
    "running mean of the time": (5, running_means),
    "time of one step in so many": (4, sampled),
    "rate of an interval": (8, rates),
    "running rate": (3, running_rates),
    "time and rate": (6, times_and_rates),
    "several times and rates": (6, several),
    "elapsed time": (5, elapsed),
    "counter of samples": (3, samples_counted),
    "restart in one file": (4, resumed),
    "ranks in one file": (4, ranks),
    "epochs alone": (3, epochs_alone),
}
