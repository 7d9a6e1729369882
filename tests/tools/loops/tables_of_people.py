"""Classes of logs whose lines are rows of a table: JSON lines, CSV, exports of trackers, tables of keys and values.

Keys and layouts: JSON lines of Hugging Face's and people's loops, W&B's history (`_step`, `_runtime`, `_timestamp`; its
CSV export with `Step` and `<run> - <key>`, `__MIN`, `__MAX`), TensorBoard's CSV download (`Wall time,Step,Value`), Lightning's
CSVLogger (`epoch,step,train_loss,val_loss`, with empty cells), RLlib's progress.csv (`time_this_iter_s`, `time_total_s`,
`timesteps_total`), stable-baselines3's logger (`| time/ | fps | time_elapsed | total_timesteps`), rsl_rl (`Learning
iteration 12/1500`, `Iteration time`), Spinning Up, logfmt, pandas and tabulate.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, timedelta

import numpy as np

from tests.tools.loops.draw import Draw
from tests.tools.loops.loop import Loop, begin
from tests.tools.loops.measures import Span, amount, coarse, truth
from tests.tools.loops.rows import column
from tests.tools.loops.training import Numbers, train
from tests.tools.loops.truth import Made, Rates, Truth

Cells = dict[str, list[str]]
_COUNTERS = (
    "step",
    "global_step",
    "iter",
    "iteration",
    "_step",
    "train/step",
    "trainer/global_step",
    "steps",
    "num_updates",
    "update",
    "Step",
)
_TIMES = (
    "step_time",
    "time",
    "dt",
    "batch_time",
    "time_per_step",
    "sec_per_step",
    "perf/step_time",
    "train/step_time_s",
    "iter_time",
    "step_time_s",
)
_MILLIS = ("step_time_ms", "iter_ms", "dt_ms", "ms_per_step", "timing/step_ms")
_RATES = {
    "samples": ("samples_per_second", "samples_per_sec", "throughput_samples_s", "train/samples_per_second", "images_per_sec", "img/s", "samples/s", "perf/samples_per_sec"),
    "tokens": ("tokens_per_sec", "tokens_per_second", "tok/s", "train/tokens_per_second", "perf/tokens_per_second", "tokens/s", "throughput/tokens_per_sec"),
    "steps": ("steps_per_second", "steps_per_sec", "it/s", "train/steps_per_second", "iterations_per_second", "perf/steps_per_sec"),
}  # fmt: skip
_ELAPSED = (
    "elapsed",
    "elapsed_s",
    "_runtime",
    "time_elapsed",
    "wall_time",
    "total_time",
    "runtime",
    "seconds",
    "elapsed_time",
    "time/elapsed",
)


@dataclass(slots=True)
class Table:
    """A table's columns while they are made, all cells as JSON's texts."""

    loop: Loop
    cells: Cells

    def add(self, name: str, values: Numbers, digits: int | None) -> float:
        """A column of numbers with so many digits behind the point, all of them for None; how coarse they are."""
        if digits is None:
            self.cells[name] = [repr(float(value)) for value in values]
            return 1e-12
        self.cells[name] = [repr(round(float(value), digits)) for value in values]
        return 0.5 * 10.0**-digits / float(np.median(np.abs(values)))


def _digits(draw: Draw, name: str, values: Numbers) -> int | None:
    """So many that the numbers show three or more; None for all that Python has."""
    least = max(0, 2 - int(np.floor(np.log10(float(np.median(np.abs(values)))))))
    return draw.one(f"digits of {name}", (least, least + 1, least + 2, None))


def _measures(draw: Draw, table: Table) -> None:
    """The columns that tell of speed."""
    loop, found, told = table.loop, table.loop.found, table.loop.told
    every = loop.training.every
    spans: tuple[Span, ...] = ("last",) if every == 1 else ("interval", "interval", "last")
    span = draw.one("the table's times are of", spans)
    seconds = column(found, "own") if span == "last" else column(found, "interval") / column(found, "covered")
    which = draw.one(
        "columns of speed",
        ("rate", "time", "time and rate", "elapsed", "stamp", "elapsed and rate", "stamp and time", "rate of a rank"),
    )
    if "time" in which:
        millis = draw.whether("milliseconds", 0.3)
        values = seconds * 1e3 if millis else seconds
        named = draw.one("key of a time", _MILLIS if millis else _TIMES)
        told.times.append(
            (
                span,
                table.add(named, values, _digits(draw, "a time", values)),
                named in _MILLIS or "sec" in named or named.endswith("_s"),
            )
        )
    if "rate" in which:
        _rate(draw, table, seconds, span, which == "rate of a rank")
    if "elapsed" in which:
        named, digits = (
            draw.one("key of an elapsed time", _ELAPSED),
            draw.one("digits of an elapsed time", (0, 1, 2, 3, None)),
        )
        ran = np.array([row.at for row in found]) - (0.0 if named == "_runtime" else float(loop.training.begin[0]))
        table.add(named, ran, digits)
        told.clocks.append(
            coarse(
                10.0 ** -(6 if digits is None else digits),
                [row.at for row in found],
                sum(one.announced for one in loop.training.pauses),
            )
        )
    if "stamp" in which:
        _stamps(draw, table)


def _rate(draw: Draw, table: Table, seconds: Numbers, span: Span, of_rank: bool) -> None:
    training = table.loop.training
    work = draw.one("work that a rate counts", ("tokens", "samples") if of_rank else tuple(_RATES))
    ranks = training.ranks if of_rank else 1
    values = amount(training, work) / ranks / seconds
    named = draw.one("key of a rate", _RATES[work]) + (
        draw.one("key of a rank's rate", ("_per_gpu", "_per_device", "/gpu")) if of_rank else ""
    )
    table.loop.told.rates.append((span, table.add(named, values, _digits(draw, "a rate", values)), work))


def _stamps(draw: Draw, table: Table) -> None:
    form = draw.one("stamps of rows", ("_timestamp", "timestamp", "time", "ts", "ISO", "ISO with Z", "date"))
    moments = [table.loop.began + timedelta(seconds=row.at) for row in table.loop.found]
    tick = 1e-6
    if form in ("_timestamp", "timestamp", "time", "ts"):
        digits = draw.one("digits of a stamp", (0, 3, 6))
        table.cells[form] = [
            repr(
                round(at.replace(tzinfo=UTC).timestamp(), digits) if digits else int(at.replace(tzinfo=UTC).timestamp())
            )
            for at in moments
        ]
        tick = 10.0**-digits
    elif form == "date":
        table.cells["date"] = [json.dumps(at.strftime("%Y-%m-%d_%H-%M-%S")) for at in moments]
        tick = 1.0
    else:
        table.cells["timestamp"] = [
            json.dumps(at.isoformat() + ("Z" if form == "ISO with Z" else "")) for at in moments
        ]
    pauses = sum(one.announced for one in table.loop.training.pauses)
    table.loop.told.clocks.append(coarse(tick, [row.at for row in table.loop.found], pauses))


def _table(draw: Draw) -> Table:
    training = train(draw)
    loop = begin(draw, training, clock_on_lines=False)
    loop.found = [row for row in loop.found if row.phase == "train"]
    # a table tells of a pause only where an evaluation has a row of its own, which the writers below may leave out
    silent = tuple(replace(pause, announced=False) for pause in training.pauses)
    loop.training = replace(training, pauses=silent)
    table = Table(loop, {})
    count = len(loop.found)
    if loop.how.by_epoch:
        table.cells["epoch"] = [str(row.epoch) for row in loop.found]
    elif draw.whether("an epoch beside it", 0.5):
        table.cells["epoch"] = [repr(round((row.step + 1) / training.per_epoch, 2)) for row in loop.found]
    table.cells[draw.one("key of the counter", _COUNTERS)] = [str(row.counter) for row in loop.found]
    table.add(
        draw.one("key of the loss", ("loss", "train_loss", "train/loss")),
        0.4 + 3 * np.exp(-np.linspace(0, 3, count)),
        4,
    )
    others: dict[str, Numbers] = {
        "lr": np.linspace(1e-3, 1e-5, count), "grad_norm": np.linspace(3, 0.1, count),
        "mem_gb": np.full(count, 12.34), "accuracy": np.linspace(0.1, 0.9, count), "tokens_seen": (column(loop.found, "step") + 1) * training.samples * training.length,
    }  # fmt: skip
    for name in draw.some("other columns", tuple(others), 3):
        table.add(name, others[name], None if name == "lr" else 3)
    _measures(draw, table)
    order = draw.order("columns", list(table.cells)) if draw.whether("columns in any order", 0.3) else list(table.cells)
    table.cells = {name: table.cells[name] for name in order}
    return table


def _rows(table: Table) -> list[dict[str, str]]:
    names = list(table.cells)
    return [dict(zip(names, texts, strict=True)) for texts in zip(*table.cells.values(), strict=True)]


def _made(table: Table, text: str) -> Made:
    loop = table.loop
    return Made("", text, truth(loop.training, loop.found, loop.told), loop.draw.chosen)


def json_lines(draw: Draw) -> Made:
    """A JSON object a line, alone or behind a stamp; or a dictionary as Python prints it."""
    table = _table(draw)
    form = draw.one("objects", ("compact", "spaced", "Python's", "nested"))
    wrap = draw.one("before an object", ("", "", "", "INFO:root:", "train: ", "[metrics] "))
    lines = []
    for row in _rows(table):
        body = ", ".join(f'"{name}": {value}' for name, value in row.items())
        if form == "nested":
            body = f'"type": "train", "data": {{{body}}}'
        text = f"{{{body}}}"
        lines.append(
            wrap
            + {"compact": text.replace(", ", ",").replace(": ", ":"), "Python's": text.replace('"', "'")}.get(
                form, text
            )
        )
    for at in range(20, len(lines), 25) if draw.whether("rows of evaluations", 0.4) else ():
        lines.insert(
            at,
            wrap
            + json.dumps({"eval_loss": 1.2345, "eval_runtime": 12.35, "eval_samples_per_second": 809.1, "step": at}),
        )
    return _made(table, "\n".join(lines) + "\n")


def csv(draw: Draw) -> Made:
    """A table with a line of names."""
    table = _table(draw)
    rows, names = _rows(table), list(table.cells)
    between = draw.one("between cells", (",", ",", ",", ";", "\t", ", "))
    index = draw.whether("an index before the cells", 0.15)
    evaluated = draw.whether("a column of evaluations, mostly empty", 0.3)
    heads = [*([""] if index else []), *names, *(["val_loss"] if evaluated else [])]
    lines = [between.join(heads)]
    for number, row in enumerate(rows):
        cells = [*([str(number)] if index else []), *(text.strip('"') for text in row.values())]
        lines.append(between.join([*cells, *(["1.2345" if number % 25 == 24 else ""] if evaluated else [])]))
    return _made(table, "\n".join(lines) + "\n")


def aligned(draw: Draw) -> Made:
    """A table whose rows are printed as the training goes: blanks, bars or a frame between the columns."""
    table = _table(draw)
    rows, names = _rows(table), list(table.cells)
    widths = [max(len(name), 10) for name in names]
    between, edge = draw.one("rules of a table", (("  ", ""), (" | ", "|"), (" │ ", "│"), ("\t", "")))
    again = draw.one("names stand again after so many rows", (0, 0, 10, 20))

    def line(texts: Sequence[str]) -> str:
        body = between.join(text.rjust(width) for text, width in zip(texts, widths, strict=True))
        return f"{edge} {body} {edge}" if edge else body

    lines = [line(names), line(["-" * width for width in widths])]
    for number, row in enumerate(rows):
        if again and number and number % again == 0:
            lines.append(line(names))
        lines.append(line([text.strip('"') for text in row.values()]))
    return _made(table, "\n".join(lines) + "\n")


def logfmt(draw: Draw) -> Made:
    """Keys and values of a line, as logfmt and many loggers of metrics print them."""
    table = _table(draw)
    head, after = draw.one(
        "before the keys",
        (("level=info msg=train ", "="), ("", "="), ("metrics: ", ": "), ("", ":"), ("train | ", " = ")),
    )
    between = draw.one("between keys", (" ", ", ", " | ", "; "))
    lines = [head + between.join(f"{name}{after}{value}" for name, value in row.items()) for row in _rows(table)]
    return _made(table, "\n".join(lines) + "\n")


def tracker(draw: Draw) -> Made:
    """An export of W&B's history by its page, or of a scalar by TensorBoard's."""
    training = train(draw, pauses=False)
    loop = begin(draw, training, clock_on_lines=False)
    found = [row for row in loop.found if row.phase == "train"]
    loop.found = found
    if draw.whether("TensorBoard's", 0.4):
        base = loop.began.replace(tzinfo=UTC).timestamp()
        lines = [
            "Wall time,Step,Value",
            *(f"{base + row.at:.6f},{row.step + 1},{2.3 / (at + 1) ** 0.3}" for at, row in enumerate(found)),
        ]
        loop.told.clocks.append(1e-6)
    else:
        lines = _history(draw, loop)
    return Made("", "\n".join(lines) + "\n", truth(training, found, loop.told), draw.chosen)


def _history(draw: Draw, loop: Loop) -> list[str]:
    work = draw.one("work that a rate counts", ("tokens", "samples", "steps"))
    seconds = column(loop.found, "interval") / column(loop.found, "covered")
    key = draw.one("key of a rate", _RATES[work])
    values = amount(loop.training, work) / seconds
    run = draw.one("a run's name", ("fancy-river-7", "baseline", "llama-1b-run2"))
    names = [f"{run} - {key}", f"{run} - {key}__MIN", f"{run} - {key}__MAX"]
    loop.told.rates.append(("interval", 1e-12, work))
    return [
        ",".join(f'"{name}"' for name in ("Step", *names)),
        *(",".join(f'"{text}"' for text in (row.step + 1, value, value, value)) for row, value in zip(loop.found, values, strict=True)),
    ]  # fmt: skip


# ---------------------------------------------------------------- reinforcement learning


@dataclass(frozen=True, slots=True)
class Iteration:
    """What is known at the end of an iteration: its number, how many there are, the environment's steps of each, its own
    time, and the time since the first."""

    at: int
    count: int
    work: int
    own: float
    ran: float


def key_and_value(draw: Draw) -> Made:
    """A frame of keys and values for each iteration, as libraries of reinforcement learning print it."""
    training = train(draw, every=1, epochs=False, lines=(30, 60), seconds=(0.5, 20), pauses=False)
    per_iteration = draw.one("environment steps of an iteration", (512, 1024, 2048, 4096, 24576, 98304))
    first = float(training.begin[0])
    ran = training.end - first
    write = draw.one("a frame", (_frames, _learning_iterations, _ruled, _plain_pairs))
    lines = [
        line
        for at in range(training.steps)
        for line in write(Iteration(at, training.steps, per_iteration, float(training.seconds[at]), float(ran[at])))
    ]
    rate = per_iteration / training.mean
    once = ((rate, rate),)
    # the total of environment steps is a counter of steps by its name
    rates: Rates = {
        ("frames", ""): once,
        ("samples", ""): once,
        ("steps", ""): ((1 / training.mean, 1 / training.mean), *once),
    }
    tick = 0.01 if write in (_learning_iterations,) else 1.0
    digits = tick / float(ran[-1] - ran[20])
    return Made(
        "",
        "\n".join(lines) + "\n",
        Truth(
            "yes" if digits < 0.01 else "may",
            rates,
            0.03 + digits + training.spread / 3,
            "a total of steps beside a clock",
        ),
        draw.chosen,
    )


def _frames(one: Iteration) -> list[str]:
    pairs = {"ep_len_mean": f"{180 + one.at}", "ep_rew_mean": f"{one.at * 0.7:.3g}"}
    clocks = {
        "fps": f"{int(one.work * (one.at + 1) / one.ran)}",
        "iterations": f"{one.at + 1}",
        "time_elapsed": f"{int(one.ran)}",
        "total_timesteps": f"{one.work * (one.at + 1)}",
    }
    body = [
        ("rollout/", ""),
        *((f"   {name}", text) for name, text in pairs.items()),
        ("time/", ""),
        *((f"   {name}", text) for name, text in clocks.items()),
    ]
    return ["-" * 38, *(f"| {name:<20} | {text:<11} |" for name, text in body), "-" * 38]


def _learning_iterations(one: Iteration) -> list[str]:
    return [
        "#" * 80, f"Learning iteration {one.at}/{one.count}".center(80), "",
        f"{'Computation:':>30} {one.work / one.own:.0f} steps/s (collection: {0.8 * one.own:.3f}s, learning {0.2 * one.own:.3f}s)",
        f"{'Mean reward:':>30} {0.7 * one.at:.2f}", "-" * 80, f"{'Total timesteps:':>30} {one.work * (one.at + 1)}", f"{'Iteration time:':>30} {one.own:.2f}s",
        f"{'Total time:':>30} {one.ran:.2f}s", f"{'ETA:':>30} {(one.count - one.at - 1) * one.own:.1f}s", "",
    ]  # fmt: skip


def _ruled(one: Iteration) -> list[str]:
    pairs = {
        "Epoch": f"{one.at}",
        "AverageEpRet": f"{0.7 * one.at:.3g}",
        "TotalEnvInteracts": f"{one.work * (one.at + 1)}",
        "Time": f"{one.ran:.0f}",
    }
    return ["-" * 45, *(f"| {name:>22} | {text:>16} |" for name, text in pairs.items()), "-" * 45]


def _plain_pairs(one: Iteration) -> list[str]:
    pairs = {
        "iteration": f"{one.at + 1}",
        "reward/mean": f"{0.7 * one.at:.3f}",
        "time/total_s": f"{one.ran:.0f}",
        "env_steps": f"{one.work * (one.at + 1)}",
    }
    return [*(f"{name:<18} {text}" for name, text in pairs.items()), ""]


CLASSES: Mapping[str, tuple[float, Callable[[Draw], Made]]] = {
    "JSON lines": (7, json_lines),
    "CSV": (6, csv),
    "rows of a table": (4, aligned),
    "keys and values of a line": (4, logfmt),
    "export of a tracker": (3, tracker),
    "frame of keys and values": (3, key_and_value),
}
