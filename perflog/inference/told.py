"""What a log's settings tell: the sizes of batches, the number of devices, how many steps an epoch has; and whose work
a rate then counts.
"""

from __future__ import annotations

from itertools import islice

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from perflog.formats.printed import kind, rate_unit
from perflog.inference.measures import Meaning
from perflog.inference.series import SAME
from perflog.lazy_regex import lazy_regex
from perflog.measurements.rows import Floats
from perflog.stats.arrays import middle

# Each regex begins with letters that all it finds begin with, and is searched in small letters: Python's `re` then
# looks for these alone, which takes a tenth of what a choice of beginnings takes at every byte.

#: The size of a batch as logs tell it, and the words before it.
_BATCH = lazy_regex(rb"batch[_ ]?size([^0-9\n]{1,16})([0-9]{1,7})(?![0-9.])")
_BEFORE, _MOST_BEFORE = lazy_regex(rb"(?i)[a-z_ ]*$"), 24
#: Words of a size that it is of all devices, or of one.
_OF_ALL = lazy_regex(rb"(?i)(?:^|[^a-z])(?:global|total|effective|overall)(?:[^a-z]|$)")
_OF_ONE = lazy_regex(rb"(?i)(?:^|[^a-z])(?:per[_ -]?(?:device|gpu|rank|card|worker)|micro|local|device)(?:[^a-z]|$)")
_COUNT = rb"[\"'=:|.\t ]{1,40}([0-9]{1,5})(?![0-9.])"
#: The number of devices as logs tell it: what stands before the words, and these.
_DEVICES = (
    *((lazy_regex(rb"(?:^|[^a-z])$"), lazy_regex(words + _COUNT)) for words in (
        rb"world[_ ]?size", rb"gpu[_ ]?count", rb"device[_ ]?count", rb"rank[_ ]?count",
    )),
    *((lazy_regex(rb"(?:^|[^a-z])(?:n|num|number[ _]of)[_ ]?$"), lazy_regex(words + _COUNT)) for words in (
        rb"gpus?", rb"devices?", rb"ranks", rb"cards", rb"processes",
    )),
    (lazy_regex(rb"(?:^|[^a-z])n[_ ]?$"), lazy_regex(rb"proc[_ ]per[_ ]node" + _COUNT)),
)  # fmt: skip
_PER_EPOCH = rb"[ _]?(?:per|in|/)[ _]?(?:an?[ _]|each[ _])?epoch"
_STEPS = rb"[ _](?:steps|iter(?:ation)?s)"
#: How many steps an epoch, or the run, has as logs tell it.
_TOTALS = tuple(
    lazy_regex(words + rb"[^0-9\n]{1,16}([0-9]{1,9})(?![0-9.,])") for words in (
        rb"steps?" + _PER_EPOCH, rb"iter(?:ation)?s?" + _PER_EPOCH, rb"batch(?:es)?" + _PER_EPOCH,
        rb"num[ _](?:batches|training[ _]steps)", rb"max" + _STEPS, rb"total" + _STEPS, rb"train" + _STEPS,
    )
)  # fmt: skip
#: So many of these are looked at, in so many bytes at the beginning, where programs print their settings.
MOST_TOLD, SETTINGS = 20, 1 << 17
#: Lines that tell of so many steps may be each step's.
LEAST_ROUND = 5
#: A larger batch may be one of tokens, though its name does not say so.
MOST_SAMPLES = 512


class Batch(Struct, frozen=True):
    """The size of a batch as a log tells it; ``of``: of ``all`` devices, of ``one``, or empty where no word says it;
    ``words``: those before it on its line.
    """

    size: float
    of: str
    words: str = ""


class Told(Struct, frozen=True):
    """What a log's settings tell.

    Attributes:
        devices: how many there are, 0 where the log does not tell it; ``totals``: the steps of an epoch, or of the run.
    """

    batches: tuple[Batch, ...] = ()
    devices: int = 0
    totals: tuple[float, ...] = ()

    def may_be_work(self, rate: Meaning, work: float) -> bool:
        """Whether a step may hold the work that a rate and the clock say: at least one, and whole batches of samples
        where the log tells their size.
        """
        unit = rate_unit(rate.unit)
        shares = [work / batch.size for batch in self.batches]
        if unit is None or kind(unit[0]) != "items" or not any(one.size <= MOST_SAMPLES for one in self.batches):
            shares = []
        return work >= 1 - SAME and (
            not shares or any(abs(share / max(round(share), 1) - 1) <= SAME for share in shares)
        )

    def batch_of(self, counted: Floats, total: float) -> Batch | None:
        """The batch of all devices of whose samples a counter is: it holds nothing but whole ones, and goes to as many
        samples as the steps of an epoch have, or on by as many batches as people print after. None where it may count
        steps.

        Args:
            counted: a counter that begins anew with each epoch, (n,); ``total``: what it goes to.
        """
        inside = counted[counted < total]
        able = [one for one in self.batches if one.size > 1 and (one.of == "all" or self.devices <= 1)]
        whole = [one for one in able if bool((inside % one.size == 0).all())]
        for one in whole:
            if any(0 <= steps * one.size - total < one.size for steps in self.totals if steps > 1):
                return one
        changes = np.diff(inside)
        every = float(middle(changes[changes > 0])) if (changes > 0).any() else 0.0
        return next((one for one in whole if is_round(every / one.size) and not is_round(every)), None)

    def of_whose(self, rate: Meaning, work: float = 0.0) -> Meaning | None:
        """A rate with the scope that its work shows: a whole step's, or one device's.

        None where the log tells several devices, and nothing whose work it is.

        Args:
            work: of a step by the rate and a time; 0 where nothing tells it.
        """
        if rate.scope != "unknown" or self.devices <= 1:
            return rate
        unit = rate_unit(rate.unit)
        of_samples = unit is not None and kind(unit[0]) == "items"
        batches = [batch for batch in self.batches if of_samples or batch.size > MOST_SAMPLES]  # tokens are no samples
        jobs = [batch.size * (1 if batch.of == "all" else self.devices) for batch in batches]
        if any(abs(work / size - 1) <= SAME for size in jobs):
            return replace(rate, scope="job")
        if any(abs(work / batch.size - 1) <= SAME for batch in batches if batch.of == "one"):
            return replace(rate, scope="device")
        return None


def is_round(number: float) -> bool:
    """Whether people print after so many steps: 5, 10, 20, 25, 50, 100 and so on."""
    return number >= LEAST_ROUND and f"{number:g}".rstrip("0") in ("1", "2", "25", "5")


def told_in(text: bytes) -> Told:
    """What the settings of a clean text tell."""
    settings = text[:SETTINGS]
    small = settings.lower()
    batches = []
    for found in islice(_BATCH.finditer(small), MOST_TOLD):
        before = _BEFORE.findall(settings[max(found.start() - _MOST_BEFORE, 0) : found.start()])[0]
        said = before + b"|" + found[1]
        if int(found[2]):
            of = "all" if _OF_ALL.search(said) else "one" if _OF_ONE.search(said) else ""
            words = (before + settings[found.start() : found.start(2)]).decode("utf-8", "replace").lstrip()
            batches.append(Batch(float(found[2]), of, words))
    devices = [
        int(found[1]) for before, words in _DEVICES for found in islice(words.finditer(small), MOST_TOLD)
        if before.search(small[max(found.start() - _MOST_BEFORE, 0) : found.start()])
    ]  # fmt: skip
    totals = [float(found[1]) for words in _TOTALS for found in islice(words.finditer(small), MOST_TOLD)]
    return Told(tuple(batches), max(devices, default=0), tuple(totals))
