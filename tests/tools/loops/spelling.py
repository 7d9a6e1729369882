"""How loops spell names, numbers, times and rates.

Names and forms are those of public programs: Megatron-LM (`elapsed time per iteration (ms)`), nanoGPT (`iter 10: loss
2.1, time 203.41ms, mfu 41.20%`), llm.c (`step 10/100 | loss 2.1 | 203.41 ms | 41.2% bf16 MFU | 130872 tok/s`),
torchtitan (`tps: 3,104`), fairseq (`wps`, `ups`), MXNet's Speedometer (`Speed: 616.50 samples/sec`), PaddlePaddle
(`avg_batch_cost: 0.20 sec, ips: 616.5 images/sec`), the PyTorch examples (`ms/batch`), maskrcnn-benchmark (`time: 0.4 (0.4)`),
Lightning (`it/s`), MindSpore (`per step time: 203.4 ms`), T5X and CLU (`steps_per_second`), stable-baselines3 (`fps`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tests.tools.loops.draw import Draw
from tests.tools.loops.training import Numbers


@dataclass(frozen=True, slots=True)
class Style:
    """How the names and the fields of a line are put together; ``taken``: names of times that stand on it already."""

    between: str
    after_name: str
    case: str
    taken: set[str] = field(default_factory=set)

    def free(self, draw: Draw, dimension: str, names: Sequence[str]) -> str:
        """One of the names that is not on the line yet."""
        chosen = draw.one(dimension, [name for name in names if name not in self.taken] or names)
        self.taken.add(chosen)
        return chosen

    def name(self, text: str) -> str:
        """A name in the style's letters."""
        if self.case == "Capital":
            return text[:1].upper() + text[1:]
        return text.upper() if self.case == "UPPER" else text

    def field(self, name: str, value: str) -> str:
        """A name with its value."""
        return f"{self.name(name)}{self.after_name}{value}"


def style(draw: Draw) -> Style:
    """A style at random."""
    return Style(
        draw.one("between fields", (", ", " | ", " ", "  ", "\t", "; ", " - ", " || ", ",\t"), (6, 5, 4, 2, 2, 1, 1, 0.3, 0.3)),
        draw.one("after a name", (": ", " ", "=", ":", " = ", " : "), (6, 4, 4, 1, 1, 0.4)),
        draw.one("letters of names", ("lower", "Capital", "UPPER"), (6, 3, 0.3)),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Column:
    """A printed quantity of each record: its texts, how far the printed digits leave them open (a share), and whether its
    unit is printed."""

    texts: list[str]
    coarse: float
    unit: bool = True


def fixed(values: Numbers, digits: int, width: int = 0) -> Column:
    """Numbers with so many digits behind the point."""
    texts = [f"{value:{width}.{digits}f}" for value in values]
    return Column(texts, 0.5 * 10**-digits / float(np.median(np.abs(values))))


def _significant(values: Numbers, digits: int) -> Column:
    return Column([f"{value:.{digits}g}" for value in values], 0.5 * 10.0 ** (1 - digits))


def number(draw: Draw, name: str, values: Numbers) -> Column:
    """Numbers in one of the forms that people choose for such numbers; most show three digits or more."""
    usual = float(np.median(np.abs(values)))
    least = max(0, 2 - int(np.floor(np.log10(usual)))) if usual > 0 else 3
    form = draw.one(f"digits of {name}", ("few", "fitting", "more", "%.4g", "%.6g", "%g of Python", "padded", "scientific", "commas"),
                    (0.6, 5, 4, 1, 1, 1, 2, 0.3, 1))  # fmt: skip
    if form == "few":
        return fixed(values, max(least - 1, 0))
    if form in ("%.4g", "%.6g"):
        return _significant(values, int(form[2]))
    if form == "%g of Python":
        return Column([repr(float(value)) for value in values], 1e-12)
    if form == "scientific":
        return Column([f"{value:.3e}" for value in values], 5e-4)
    if form == "commas":
        digits = max(least - 1, 0) if usual >= 1000 else least
        return Column([f"{value:,.{digits}f}" for value in values], 0.5 * 10**-digits / usual)
    if form == "padded":
        return fixed(values, least, least + 5)
    return fixed(values, least + (1 if form == "more" else 0))


# ---------------------------------------------------------------- durations

#: (unit, its seconds, the text behind the number)
_SECONDS = ("s", "s", "s", " s", " sec", "sec", " secs", " seconds")
_MILLIS = ("ms", "ms", " ms", " msec", " milliseconds")
#: Names of a duration whose unit stands behind the number, and of one whose name alone says what it is.
_TIME_NAMES = ("time", "step time", "step_time", "batch_time", "iter time", "iter_time", "dt", "elapsed per step",
               "avg time", "batch time", "time/step", "time per step", "took", "duration", "batch_cost", "cost")  # fmt: skip
_NAMED_SECONDS = ("time", "batch_time", "step_time", "dt", "iter_time", "sec/step", "sec/batch", "sec_per_step",
                  "seconds_per_step", "time (s)", "step time (s)", "secs/iter", "time_per_iter")  # fmt: skip
_WITHOUT_UNIT = ("time", "batch_time", "step_time", "dt", "iter_time", "time_per_iter")
_NAMED_MILLIS = ("step_time_ms", "ms/step", "ms/batch", "ms_per_step", "time (ms)", "elapsed time per iteration (ms)",
                 "step time (ms)", "iter_ms", "dt_ms")  # fmt: skip
_PER = (
    "s/it",
    "s/iter",
    "s/step",
    "s/batch",
    "sec/step",
    "sec/iter",
    "sec/batch",
    "s / it",
    "s / iter",
    "sec per step",
)
_MILLIS_PER = ("ms/step", "ms/it", "ms/batch", "ms/iter", "ms per step")


def duration(draw: Draw, seconds: Numbers, form: Style, per_step: bool) -> Column:
    """A field that tells a time; ``per_step``: it may be called one of a step."""
    millis = float(np.median(seconds)) < draw.number("below so many seconds in ms", 0.05, 5)
    kinds = ["unit behind", "unit in the name"] + (["per step behind"] if per_step else [])
    kind = draw.one("a duration's unit", kinds, (4, 2, 2)[: len(kinds)])
    found = number(draw, "a duration", seconds * 1e3 if millis else seconds)
    if kind == "unit in the name":
        by_unit = _NAMED_MILLIS if millis else _NAMED_SECONDS
        chosen = by_unit if per_step else [name for name in by_unit if name in ("time", "time (s)", "time (ms)", "dt")]
        named = form.free(draw, "a duration's name", chosen)
        return Column([form.field(named, text) for text in found.texts], found.coarse, named not in _WITHOUT_UNIT)
    if kind == "per step behind":
        behind = draw.one("a duration's unit behind it", _MILLIS_PER if millis else _PER)
        alone = draw.whether("a duration without a name", 0.5)
        space = draw.one("between number and unit", (" ", ""), (3, 1))
        texts = [f"{text}{space}{behind}" for text in found.texts]
        return Column(texts if alone else [form.field("speed", text) for text in texts], found.coarse)
    behind = draw.one("a duration's unit behind it", _MILLIS if millis else _SECONDS)
    texts = [f"{text}{behind}" for text in found.texts]
    form_of = draw.one("a duration stands", ("with a name", "alone", "in brackets"), (6, 1, 1))
    if form_of == "with a name":
        names = _TIME_NAMES if per_step else ("time", "took", "elapsed", "time taken", "cost")
        named = form.free(draw, "a duration's name", names)
        return Column([form.field(named, text) for text in texts], found.coarse)
    return Column(texts if form_of == "alone" else [f"({text})" for text in texts], found.coarse)


# ---------------------------------------------------------------- rates

_UNITS = {
    "steps": ("it/s", "iter/s", "it/sec", "iters/s", "steps/s", "steps/sec", "step/s", "batches/s", "batch/s", "iterations/s"),
    "samples": ("samples/s", "samples/sec", "img/s", "img/sec", "images/s", "images/sec", "imgs/s", "examples/s",
                "examples/sec", "ex/s", "seq/s", "sequences/s", "sents/s", "samples per second"),
    "tokens": ("tok/s", "tok/sec", "tokens/s", "tokens/sec", "toks/s", "t/s", "tokens per second", "words/s", "w/s"),
}  # fmt: skip
_RATE_KEYS = {
    "steps": ("steps_per_sec", "steps_per_second", "it_per_s", "iters/sec", "global_step/sec", "ups", "steps/s", "its"),
    "samples": ("samples_per_sec", "samples_per_second", "images_per_sec", "img/s", "examples_per_sec", "throughput (samples/s)",
                "samples/s", "imgs_per_sec", "train_samples_per_second"),
    "tokens": ("tokens_per_sec", "tokens_per_second", "tok/s", "tokens/s", "tok_per_sec", "tps", "wps", "throughput (tokens/s)"),
}  # fmt: skip
#: Units and names that stand for more than one thing.
_UNCLEAR = ("t/s", "w/s", "tps", "ups", "its")
_RATE_NAMES = ("speed", "throughput", "rate", "ips", "perf", "avg speed", "train speed")


#: What stands behind a rate's unit, and behind a name, where the rate is one rank's.
_OF_RANKS = (("/gpu", "_per_gpu"), ("/device", "_per_device"), ("/GPU", "/gpu"), (" per GPU", "_per_rank"))


def rate(draw: Draw, work: str, per_second: Numbers, form: Style, of_rank: bool = False) -> Column:
    """A field that tells a rate of steps, samples or tokens; ``of_rank``: it says that it is one rank's."""
    behind_it, in_name = draw.one("a rate of a rank says", _OF_RANKS) if of_rank else ("", "")
    kind = draw.one("a rate's unit", ("behind", "behind, no name", "in the name"), (5, 2, 4))
    power, suffix = 1.0, ""
    if float(np.median(per_second)) > 5000:
        power, suffix = draw.one("a rate's power", ((1.0, ""), (1e3, "k"), (1e3, "K"), (1e6, "M")), (6, 1, 1, 0.5))
    found = number(draw, "a rate", per_second / power)
    texts = [text + suffix for text in found.texts] if kind == "in the name" else found.texts
    if kind == "in the name":
        named = form.free(draw, "a rate's name", _RATE_KEYS[work]) + in_name
        return Column([form.field(named, text) for text in texts], found.coarse, named not in _UNCLEAR)
    unit = draw.one("a rate's unit behind it", _UNITS[work]) + behind_it
    space = draw.one("between number and unit", (" ", ""), (4, 1))
    texts = [f"{text}{space}{suffix}{' ' if suffix and space else ''}{unit}" for text in texts]
    if kind == "behind":
        named = form.free(draw, "a rate's name", _RATE_NAMES)
        texts = [form.field(named, text) for text in texts]
    return Column(texts, found.coarse, unit not in _UNCLEAR)


def clock(seconds: float, form: str) -> str:
    """An elapsed or remaining time, cut to its last digit."""
    whole = int(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    if form == "h:mm:ss":
        days, hours = divmod(hours, 24)
        text = f"{hours}:{minutes:02d}:{rest:02d}"
        return f"{days} day{'s' if days > 1 else ''}, {text}" if days else text
    if form == "hh:mm:ss":
        return f"{hours:02d}:{minutes:02d}:{rest:02d}"
    if form == "mm:ss":
        return f"{whole // 60:02d}:{rest:02d}"
    if form == "1h 2m 3s":
        return (f"{hours}h " if hours else "") + f"{minutes}m {rest}s"
    return f"{seconds:.{int(form)}f}"
