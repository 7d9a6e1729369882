"""Units of work and time as programs print them, and what they mean.

A rate's unit is ``<work>/s``. Work of one kind (items: images, samples, sequences …) can be compared under
different names; tokens, words and steps are kinds of their own.
"""

from __future__ import annotations

import re
from functools import lru_cache

_ITEMS = {
    "images": ("image", "images", "img", "imgs", "frames", "frame"),
    "samples": ("sample", "samples", "instance", "instances", "item", "items"),
    "sequences": ("sequence", "sequences", "seq", "seqs", "sents", "sentences"),
    "examples": ("example", "examples"),
    "records": ("record", "records"),
    "videos": ("video", "videos", "clips"),
}
_OTHER = {
    "tokens": ("token", "tokens", "tok", "tks", "tk"),
    "words": ("word", "words"),
    "steps": (
        "step",
        "steps",
        "it",
        "iter",
        "iters",
        "iteration",
        "iterations",
        "batch",
        "batches",
        "update",
        "updates",
    ),
    "epochs": ("epoch", "epochs"),
    # of simulated environments, which are no steps of an optimizer
    "env_steps": ("env_step", "env_steps", "timestep", "timesteps", "environment steps", "env-steps"),
}
_WORK = {alias: name for table in (_ITEMS, _OTHER) for name, aliases in table.items() for alias in aliases}
_KIND = dict.fromkeys(_ITEMS, "items") | {name: name for name in _OTHER}
#: A duration that is printed as a clock or in words is read as seconds.
_TIME = {"clock": 1.0, "s": 1.0, "sec": 1.0, "secs": 1.0, "second": 1.0, "seconds": 1.0,
         "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0, "hour": 3600.0, "hours": 3600.0}  # fmt: skip
#: A time may be of several units of work: `ms/64 images`.
_NUMBERED = re.compile(r"(?:([1-9][0-9]*) )?(.*)", re.DOTALL)
_ABBREVIATED = {"fps": "images", "ips": "samples", "wps": "words"}


@lru_cache(maxsize=1024)  # pure, and asked for every log
def rate_unit(text: str | None) -> tuple[str, float] | None:
    """The canonical unit of a printed rate unit, and the factor to it.

    >>> rate_unit("imgs/sec"), rate_unit("Ktokens/s"), rate_unit("64 images/s"), rate_unit("None")
    (('images/s', 1.0), ('tokens/s', 1000.0), ('images/s', 64.0), None)
    """
    if not text:
        return None
    text = text.strip().strip(".,").lower()
    if text in _ABBREVIATED:
        return f"{_ABBREVIATED[text]}/s", 1.0
    work, slash, time = text.partition("/")
    if not slash or time.strip() not in _TIME or time.strip() == "clock":
        return None
    number, counted = _NUMBERED.fullmatch(work.strip()).groups()  # type: ignore[union-attr]
    work, factor = counted, float(number or 1)
    if work not in _WORK and work[:1] in ("k", "m"):
        factor *= 1e3 if work[0] == "k" else 1e6
        work = work[1:].strip()
    if work not in _WORK:
        return None
    return f"{_WORK[work]}/s", factor / _TIME[time.strip()]


def is_time(unit: str) -> bool:
    """Whether a unit is one of time, so that :func:`seconds_in` knows it."""
    return unit.lower() in _TIME


def is_work(unit: str) -> bool:
    """Whether a word names work that is counted, such as ``samples`` or ``tok``."""
    return unit.lower() in _WORK


def work_unit(word: str) -> str:
    """The canonical name of work that is counted; samples where nothing is said. Raises KeyError for what is none."""
    return _WORK[(word or "samples").lower()]


def seconds_in(unit: str) -> float:
    """Seconds in one of a time unit (``ms`` → 0.001). Raises KeyError for what is no time unit."""
    return _TIME[(unit or "s").lower()]


@lru_cache(maxsize=1024)  # pure, and asked for every log
def kind(unit: str) -> str:
    """What is counted: ``items``, ``tokens``, ``steps``, ``tokens/device`` … Rates of one kind can be compared."""
    work, _, rest = unit.partition("/")
    part = rest.partition("/")[2]
    counted = _KIND.get(work, unit)
    return f"{counted}/{part}" if part and counted != unit else counted


def per_part(unit: str, scope: str) -> str:
    """The unit of one device's, rank's or node's work: ``tokens/s`` → ``tokens/s/device``."""
    return f"{unit}/{scope}"


def is_of_job(unit: str) -> bool:
    """Whether a unit counts work of the whole job, so that runs on more devices can be set against it."""
    return kind(unit) != "steps" and "/" not in kind(unit)
