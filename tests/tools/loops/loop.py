"""Loops that people write themselves: lines of a counter with times, rates and what else a training tells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np

from tests.tools.loops.draw import Draw
from tests.tools.loops.measures import Span, Told, coarse, elapsed_field, rate_field, time_field
from tests.tools.loops.rows import Habits, Row, column, habits, rows
from tests.tools.loops.spelling import Style, clock, style
from tests.tools.loops.stamps import Stamp, moment, stamp
from tests.tools.loops.training import Numbers, Training, train


@dataclass(slots=True)
class Event:
    """One line at its moment; ``rank`` prints it."""

    at: float
    text: str
    rank: int = 0


# ---------------------------------------------------------------- counters

#: {i} of {n} steps, epoch {e} of {E}, {p} per cent, {s} of {d} samples. The PyTorch examples (imagenet: `Epoch: [0][  10/5005]`;
#: mnist: `Train Epoch: 1 [640/60000 (1%)]`; word_language_model: `| epoch   1 |   200/ 2983 batches`), tutorials (`[1,  2000]`,
#: `Epoch [1/5], Step [100/600]`), PyTorch-GAN (`[Epoch 0/200] [Batch 0/938]`), BasicSR (`[epoch:  0, iter:     100]`).
OF_EPOCHS = (
    "Epoch [{e}/{E}], Step [{i}/{n}]", "Epoch: [{e}][{i:4d}/{n}]", "Epoch {e} Step {i}/{n}", "epoch {e} | step {i}/{n}",
    "[epoch {e}, batch {i}]", "[batch {i}/{n}, epoch {e}/{E}]", "[{e}, {i:5d}]", "[Epoch {e}/{E}] [Batch {i}/{n}]",
    "epoch {e:3d} | {i:5d}/{n:5d} batches", "Epoch {e} [{i}/{n} ({p:.0f}%)]", "epoch: {e}, iter: {i}", "e{e} {i}/{n}",
    "[epoch:{e:3d}, iter:{i:8,d}]", "Epoch {e}/{E} Iter {i}", "epoch={e} batch={i}", "Epoch[{e}] Batch [{i}]", "({e}/{E}) {i}/{n}",
    "epoch {e}, batch {i} of {n}",
)  # fmt: skip
OF_RUN = (
    "step {i}", "step {i}/{n}", "Step: {i}", "iter {i}:", "Iteration {i}", "iteration {i:8d}/{n:8d}", "[{i}/{n}]", "{i}/{n}",
    "step {i} of {n}", "step={i}", "global_step: {i}", "step {i:06d}", "iters: {i}", "Iter: {i},", "update {i}", "batch {i}",
    "{i}", "({i}/{n})", "[step {i}]", "step {i} / {n} ({p:.1f}%)", "Step {i:,}", "it {i}", "[{i:5d}]", "Train step {i}", "@ {i}",
    "num_updates {i}", "#{i}",
)  # fmt: skip
OF_SAMPLES = (
    "Train Epoch: {e} [{s}/{d} ({p:.0f}%)]",
    "Epoch {e}: [{s}/{d}]",
    "epoch {e} {s:>5d}/{d:>5d}",
    "Epoch {e} [{s:>5d}/{d:>5d}]",
)


def _counters(draw: Draw, found: Sequence[Row], form: str, training: Training, of_epochs: bool) -> list[str]:
    first, total = draw.one("epochs count from", (0, 1)), -(-training.total // training.per_epoch)
    return [
        form.format(
            i=row.counter, n=row.of, e=row.epoch + first, E=total, p=100 * row.counter / max(row.of, 1),
            s=row.counter * training.batch, d=row.of * training.batch,
        )
        if of_epochs or "{e}" not in form
        else form
        for row in found
    ]  # fmt: skip


# ---------------------------------------------------------------- what else stands on a line


def _losses(draw: Draw, count: int) -> Numbers:
    noise = draw.noise.standard_normal(count)
    found = 0.4 + draw.plain().uniform(1, 9) * np.exp(-np.linspace(0, 3, count)) * (1 + 0.05 * noise)
    if draw.whether("losses that are no numbers", 0.04):
        found[count // 2 :] = np.nan
    return found


def _others(draw: Draw, found: Sequence[Row], form: Style, training: Training, clockless: bool) -> list[list[str]]:
    """Fields that are no measure of speed: losses, rates of learning, memory, parts of a step's time."""
    count, rng, own = len(found), draw.plain(), column(found, "own")
    small = np.linspace(1, 0.1, count) * 10 ** rng.uniform(-5, -2)
    left = draw.one("form of the time left", ("h:mm:ss", "hh:mm:ss", "1h 2m 3s", "mm:ss"))
    gigabytes = rng.uniform(2, 75)
    makers: dict[str, Callable[[], list[str]]] = {
        "rate of learning": lambda: [form.field("lr", f"{value:.3e}") for value in small],
        "rate of learning, %g": lambda: [form.field("lr", f"{value:g}") for value in small],
        "accuracy": lambda: [form.field("acc", f"{100 * i / count:.2f}%") for i in range(count)],
        "Acc@1": lambda: [form.field("Acc@1", f"{90 * i / count:.3f} ({80 * i / count:.3f})") for i in range(count)],
        "norm of gradients": lambda: [form.field("grad_norm", f"{abs(value):.3f}") for value in draw.noise.standard_normal(count)],
        "perplexity": lambda: [form.field("ppl", f"{900 - 880 * i / count:.2f}") for i in range(count)],
        "memory": lambda: [form.field("mem", f"{gigabytes:.1f}GB")] * count,
        "memory in MB": lambda: [form.field("max mem", f"{gigabytes * 1000:.0f}")] * count,
        "scale of losses": lambda: [form.field("loss scale", "65536.0")] * count,
        "time for data": lambda: [form.field("data", f"{value:.4f}") for value in own * 0.03],
        "time for data with a unit": lambda: [form.field("data_time", f"{value * 30:.2f}ms") for value in own],
        "several losses": lambda: [form.field("loss_cls", f"{3 / (i + 2):.4f}") + form.between + form.field("loss_box", f"{2 / (i + 2):.4f}") for i in range(count)],
        "samples so far": lambda: [form.field("consumed samples", str((row.step + 1 + training.first) * training.samples)) for row in found],
        "tokens so far": lambda: [form.field("tokens", f"{(row.step + 1 + training.first) * training.samples * training.length:,}") for row in found],
        "time left": lambda: [form.field("eta", clock((row.of - row.counter) * row.running, left)) for row in found],
        "time left in minutes": lambda: [f"{(row.of - row.counter) * row.running / 60:.1f} min left" for row in found],
        "share of peak": lambda: [form.field("mfu", f"{rng.uniform(10, 60):.2f}%")] * count,
    }  # fmt: skip
    names = draw.some("other fields", [name for name in makers if not (clockless and name.startswith("time left"))], 4)
    return [makers[name]() for name in names]


# ---------------------------------------------------------------- lines


@dataclass(slots=True)
class Loop:
    """A loop's log while it is made: its training, its style, and what was told so far."""

    draw: Draw
    training: Training
    how: Habits
    form: Style
    found: list[Row]
    told: Told
    stamp: Stamp
    began: datetime
    events: list[Event] = field(default_factory=list)
    #: Whether no line may tell a time of the training.
    clockless: bool = False
    #: Whether the stamp stands behind the line.
    stamp_behind: bool = False

    def line_texts(self, measures: Sequence[list[str]], of_samples: bool = False) -> list[str]:
        """The texts of all rows: counter, measures and other fields in an order."""
        draw, found = self.draw, self.found
        forms = OF_SAMPLES if of_samples else OF_EPOCHS if self.how.by_epoch else OF_RUN
        counters = _counters(draw, found, draw.one("a counter's form", forms), self.training, self.how.by_epoch)
        # a counter of the run stands on a line alone or beside its epoch
        beside = draw.whether("an epoch beside it", 0.5)
        if beside and not self.how.by_epoch and self.training.per_epoch < self.training.steps:
            shares = np.array([(row.step + 1 + self.training.first) / self.training.per_epoch for row in found])
            counters = [
                f"{text}{self.form.between}{self.form.field('epoch', f'{share:.2f}')}"
                for text, share in zip(counters, shares, strict=True)
            ]
        losses = [self.form.field("loss", f"{loss:.4f}") for loss in _losses(draw, len(found))]
        parts = [losses, *_others(draw, found, self.form, self.training, self.clockless)]
        where = draw.one("measures stand", ("last", "mixed", "before the loss"), (5, 3, 1))
        body = [*parts, *measures] if where == "last" else [*measures, *parts]
        body = draw.order("fields", body) if where == "mixed" else body
        trains = draw.one("a training line's word", ("", "", "", "train ", "Train: ", "[train] ", "Training | "))
        return [
            ("" if row.phase != "train" else trains) + ("" if row.phase == "train" else f"{row.phase} ") + self.form.between.join(texts)
            for row, texts in zip(found, zip(counters, *body, strict=True), strict=True)
        ]  # fmt: skip

    def text(self) -> str:
        """The events in their order, stamped."""
        lines, before = [], ""
        for event in sorted(self.events, key=lambda event: event.at):
            head = self.stamp.head(self.began + timedelta(seconds=event.at), event.rank)
            shown = head if self.stamp.repeats or head != before else " " * len(head)
            before = head
            lines.append((f"{event.text} {shown.strip()}" if self.stamp_behind else shown + event.text).rstrip(" "))
        return "\n".join(lines) + "\n"


def begin(draw: Draw, training: Training | None = None, clock_on_lines: bool | None = None) -> Loop:
    """A loop with everything drawn but its measures."""
    training = training or train(draw)
    how = habits(draw, training)
    with_clock = draw.whether("stamps", 0.5) if clock_on_lines is None else clock_on_lines
    found = rows(draw, training, how)
    loop = Loop(draw, training, how, style(draw), found, Told(), stamp(draw, with_clock), moment(draw))
    loop.stamp_behind = draw.whether("the stamp stands behind the line", 0.04) and with_clock
    if with_clock:
        breaks = sum(pause.announced for pause in training.pauses)
        loop.told.clocks.append(coarse(loop.stamp.tick, [row.at for row in found if row.phase == "train"], breaks))
    return loop


def measured(loop: Loop, spans_of_times: Sequence[Span] = (), spans_of_rates: Sequence[Span] = (), elapsed: bool = False,
             of_samples: bool = False) -> None:  # fmt: skip
    """Print the lines with these measures."""
    draw, found, form, told = loop.draw, loop.found, loop.form, loop.told
    measures = [time_field(draw, found, form, span, told) for span in spans_of_times]
    measures += [rate_field(draw, found, form, span, told, loop.training) for span in spans_of_rates]
    if elapsed:
        measures.append(elapsed_field(draw, found, form, told))
    # a record of several lines: the counter on the first, the measures on the second
    apart = bool(measures) and draw.whether("measures on a line of their own", 0.06)
    texts = loop.line_texts([] if apart else measures, of_samples)
    loop.events += [Event(row.at, text) for row, text in zip(found, texts, strict=True)]
    if apart:
        seconds = map(form.between.join, zip(*measures, strict=True))
        loop.events += [Event(row.at + 1e-8, text) for row, text in zip(found, seconds, strict=True)]
