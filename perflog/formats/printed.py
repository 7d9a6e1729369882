"""Numbers as programs print them for people: clocks, durations in words, and numbers with a suffix."""

from __future__ import annotations

import re
from functools import lru_cache

_NUMBER = re.compile(r"[-+]?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|[-+]?\.[0-9]+")
#: A plain number: its digits before and behind the point, and its exponent.
_DIGITS = re.compile(r"[-+]?(\d[\d,]*)(?:\.(\d*))?(?:[eE]([-+]?\d+))?$")
_DAYS = re.compile(r"([0-9]+) days?, *")
_COLONS = re.compile(r"[0-9]+(?::[0-9]{1,2}){1,2}(?:[.,][0-9]+)?")
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?) *([a-z]+)[,: ]*(?:and +)?")
_SECONDS = {
    **dict.fromkeys(("d", "day", "days"), 86_400.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3_600.0),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "µs", "microsecond", "microseconds"), 1e-6),
}
#: The largest and the smallest number, by its size, that a log can mean: steps, bytes, tokens and nanoseconds since
#: 1970 lie far within. What is beyond has no place in a sum, and products of a few such numbers would be infinite.
LARGEST, SMALLEST = 1e24, 1e-24
_POWER = {"": 0, "k": 3, "m": 6, "b": 9, "g": 9, "t": 12, "p": 15, "q": 15, "e": 18}


@lru_cache(maxsize=16_384)  # clocks of bars are the same in many logs
def number_in(text: str, form: str) -> float | None:
    """The number that a text prints in a form, ``clock`` or ``scaled``; None for what is no such number."""
    return clock_seconds(text) if form == "clock" else scaled_number(text)


def clock_seconds(text: str) -> float | None:
    """A duration in seconds.

    >>> [clock_seconds(text) for text in ("04:00", "26:03:11", "1 day, 2:03:11", "18m 42s", "18m:42s", "1d 2h 3m 4s")]
    [240.0, 93791.0, 93791.0, 1122.0, 1122.0, 93784.0]
    >>> clock_seconds("14 minutes and 44.12 seconds"), clock_seconds("12.5"), clock_seconds("?")
    (884.12, 12.5, None)
    """
    text = text.strip()
    days = _DAYS.match(text)
    rest = text[days.end() :] if days else text
    before = float(days[1]) * 86_400 if days else 0.0
    if _COLONS.fullmatch(rest):
        seconds = 0.0
        for part in rest.replace(",", ".").split(":"):
            seconds = seconds * 60 + float(part)
        return before + seconds
    if days:
        return None
    return float(text) if _NUMBER.fullmatch(text) else _words(text.lower())


def _words(text: str) -> float | None:
    place, seconds = 0, 0.0
    while place < len(text):
        part = _PART.match(text, place)
        if part is None or part[2] not in _SECONDS:
            return None
        seconds += float(part[1]) * _SECONDS[part[2]]
        place = part.end()
    return seconds if place else None


def clock_digit(text: str) -> float | None:
    """The last printed digit of a duration in seconds: what it is uncertain by, as clocks are cut and not rounded.

    >>> clock_digit("04:00"), clock_digit("00:04.5"), clock_digit("18m 42s"), clock_digit("17ms"), clock_digit("soon")
    (1.0, 0.1, 1.0, 0.001, None)
    """
    text = text.strip().lower()
    if ":" in text and not text.endswith("s"):
        return float(f"1e-{len(text.replace(',', '.').partition('.')[2])}")
    parts = list(_PART.finditer(text)) if clock_seconds(text) is not None else []
    if not parts:
        return None
    return float(f"1e-{len(parts[-1][1].partition('.')[2])}") * _SECONDS[parts[-1][2]]


def scaled_number(text: str) -> float | None:
    """A number with commas or a suffix.

    >>> scaled_number("1,048,576"), scaled_number("2.05M"), scaled_number("1.2Kit"), scaled_number("1.2e-3")
    (1048576.0, 2050000.0, 1200.0, 0.0012)
    """
    parts = _scaled(text)
    if parts is None:
        return None
    number, power = parts
    value = float(number if not power else f"{number}e{power}")
    return value if abs(value) <= LARGEST else None


def scaled_digit(text: str) -> float | None:
    """Half of the last printed digit of a number with a suffix: what it is uncertain by.

    >>> scaled_digit("1.20k"), scaled_digit("1,204")
    (5.0, 0.5)
    """
    parts = _scaled(text)
    if parts is None or "e" in parts[0].lower():
        return None
    number, power = parts
    return float(f"0.5e{power - len(number.partition('.')[2])}")


def _scaled(text: str) -> tuple[str, int] | None:
    """(the digits, the power of ten of the suffix)."""
    plain = text.strip().replace(",", "")
    found = _NUMBER.match(plain)
    if found is None:
        return None
    suffix = plain[found.end() :].removesuffix("it").lower()
    if not plain.isascii() or suffix not in _POWER or (suffix and "e" in found[0].lower()):
        return None
    return found[0], _POWER[suffix]


def half_digit(printed: str) -> float | None:
    """Half of the last printed digit's worth; None for what is no number.

    A clock is cut to its last digit and not rounded, so that a whole digit may be missing.

    >>> half_digit("1"), half_digit("0.52"), half_digit("1.2e-03"), half_digit("04:00"), half_digit("1.2k")
    (0.5, 0.005, 5e-05, 1.0, 50.0)
    """
    found = _DIGITS.match(printed.strip())
    if found is None:
        is_clock = not printed[-1:].isupper()  # 5M is no 5 minutes
        return (clock_digit(printed) if is_clock else None) or scaled_digit(printed)
    decimals = len(found[2]) if found[2] else 0
    return float(f"0.5e{int(found[3] or 0) - decimals}")


# ----------------------------------------------------------------------------------------------------
# Units of work and time as programs print them, and what they mean.
#
# A rate's unit is ``<work>/s``. Work of one kind (items: images, samples, sequences …) can be compared under
# different names; tokens, words and steps are kinds of their own.

_ITEMS = {
    "images": ("image", "images", "img", "imgs"),
    "frames": ("frame", "frames"),
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
_ABBREVIATED = {"fps": "frames", "ips": "samples", "wps": "words"}


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
