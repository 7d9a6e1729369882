"""What one number of a line measures: a time, a rate, a moment; by the words and the unit beside it and by how it goes
on from row to row. A unit that stands on the line is taken at its word.
"""

from __future__ import annotations

import re
from typing import Literal

import numpy as np
from msgspec import Struct

from perflog.formats.printed import rate_unit
from perflog.inference import words
from perflog.matching.tables import Table
from perflog.measurements.rows import Floats

Kind = Literal["step", "epoch", "work", "rate", "duration", "elapsed", "moment"]
Scope = Literal["job", "device", "unknown"]

#: Seconds since 1970 lie here: of 2001 to 2064; in milliseconds a thousand times as much.
_SINCE_1970 = (1e9, 3e9)
#: One that is called elapsed may begin anew with short epochs.
FEW_EPOCHS = 0.34
#: A time of so many rows that falls in fewer than this share of them has elapsed; of steps alike it falls in half.
LEAST_RISING, FEW_FALLS, MORE_RISES = 6, 0.1, 2


class Meaning(Struct, frozen=True):
    """What a column says that it is.

    Attributes:
        kind: ``step``, ``epoch`` and ``work`` count, ``moment`` is a stamp.
        unit: of work (``frames``), of a rate (``images/s``) or a time; ``clock`` of one that is printed as 0:10:00;
            empty where none is said.
        scope: whose work a rate counts: the ``job``'s, a ``device``'s, or ``unknown`` where no word says it.
        steps: of a duration, over how many steps the line says that it is (1: ``s/it``); 0 where it does not say.
        is_named: whether words beside it say that it is this; else its form alone does.
        key: the words before it.
    """

    place: int
    kind: Kind
    unit: str = ""
    scope: Scope = "job"
    steps: int = 0
    is_named: bool = True
    key: str = ""


def measure(table: Table, place: int) -> Meaning | None:
    """What a column measures; None where nothing beside it says that it is a time, a rate or a moment."""
    before = words.BEHIND_A_TIME.sub(" ", table.words[place]) if place else table.words[place]
    key, unit = key_of(before) if not place or not _is_unit_of(table, place - 1) else ("", "")
    if words.OTHERS.search(key) or _is_window(table, place) or _is_window(table, place + 1):
        return None
    behind = table.words[place + 1] if _is_unit_of(table, place) or not _is_next_key(table, place, key) else ""
    behind = "" if rate_unit(unit) is not None else behind  # throughput (samples/s) 363 tokens/s 23248
    if table.kinds[place] == "clock":
        return _of_clock(table, place, key)
    if words.PERCENT_BEHIND.match(behind):
        return None
    for one in (_of_so_many(table, place), _rate(place, key, unit, behind), _per_step(place, key, unit, behind)):
        if one is not None:
            return one
    if words.IS_LEFT.match(table.words[place + 1]):
        return None
    if words.PER_EPOCH_BEHIND.match(behind) or (behind[:1].isalpha() and not words.TIME_BEHIND.match(behind)):
        return None  # what sticks to the number is part of it, and not understood
    values = table.column(place).values
    if (not key or words.MOMENT_KEY.match(key)) and _is_since_1970(values):
        return Meaning(place, "moment", "ms" if values[0] > _SINCE_1970[1] else "s", key=key)
    return _time(table, place, key, unit, behind)


def _is_window(table: Table, place: int) -> bool:
    """Whether a number stands behind a time that is set, over which it is a mean: ``10 sec: 25823.2``."""
    if not 0 < place < len(table.kinds) or not words.WINDOW.fullmatch(table.words[place]):
        return False
    before = table.column(place - 1)
    return before.is_whole and len(before.texts) > 1 and len(set(before.texts)) == 1


def _of_so_many(table: Table, place: int) -> Meaning | None:
    """A time with its unit of so many steps as the words before it say: ``Time(100 iters): 4.2s``, ``20 steps in ``."""
    unit = unit_behind(table.words[place + 1])
    if not unit or not place or table.kinds[place - 1] != "number" or not words.OF_SO_MANY.match(table.words[place]):
        return None
    before = table.column(place - 1)
    if not before.is_whole or not (before.values == before.values[0]).all():
        return None
    return Meaning(place, "duration", time_unit(unit), steps=int(before.values[0]), key="time")


def _is_next_key(table: Table, place: int, key: str) -> bool:
    """Whether what stands behind a number is the key of the next one: nothing parts the two, and it has one itself.

    Of ``step time 25.6 ips 9999`` the word between is the second number's key; of ``5.2 it/s 0.19 s/it`` the first
    number has no key, so that it is its unit.
    """
    is_next = place + 1 < len(table.kinds) and table.kinds[place + 1] != "stamp"  # a stamp has no key
    return bool(key) and is_next and words.ONE_WORD.fullmatch(table.words[place + 1]) is not None


def _is_unit_of(table: Table, place: int) -> bool:
    """Whether the word between two numbers is the first one's unit: ``speed 4744 examples/s 20.9 ms/step``.

    It is a unit per time, and the key before says that a speed comes, or the next number has a unit of its own behind,
    which is not the key of one more: ``loss 0.5 sec/batch 0.26 samples_per_sec 30.8``.
    """
    if place + 1 >= len(table.kinds) or not words.ONE_WORD.fullmatch(table.words[place + 1]):
        return False
    if rate_unit(key_of(table.words[place])[1]) is not None:
        return False
    behind, following = table.words[place + 1], table.words[place + 2]
    if not (words.RATE_BEHIND.match(behind) or words.PER_STEP_BEHIND.match(behind)):
        return False
    units = (words.RATE_BEHIND, words.PER_STEP_BEHIND, words.TIME_BEHIND)
    has_unit = any(unit.match(following) for unit in units)
    is_key = place + 2 < len(table.kinds) and words.ONE_WORD.fullmatch(following) and not _is_unit_of(table, place + 1)
    return bool(has_unit and not is_key) or words.SPEED_KEY.match(key_of(table.words[place])[0]) is not None


def key_of(before: str) -> tuple[str, str]:
    """(the words before a number, the unit in brackets behind them); empty where there are none."""
    found = words.KEY.search(before)
    key, unit = (found[1].strip(" -."), (found[2] or "").strip()) if found else ("", "")
    told = words.IN_UNIT.match(key) if not unit else None
    return (told[1], told[2]) if told else (key, unit)


def _rate(place: int, key: str, unit: str, behind: str) -> Meaning | None:
    """A rate by what stands behind it, or by its key."""
    found = words.RATE_BEHIND.match(behind)
    if found:
        return _rate_of(place, found[1], found[2], key)
    short = words.SHORT_BEHIND.match(behind)
    if short:
        return _rate_of(place, short[1] + words.ABBREVIATED[short[2].lower()], short[3], key)
    spelled = parted(key)
    if words.OTHER_RATE.search(spelled):
        return None
    inside = rate_unit(unit)
    if inside is not None:
        return Meaning(place, "rate", unit, _scope_of(inside[0], "", key), key=key)
    by_key, short_key = words.RATE_KEY.match(spelled), words.SHORT_KEY.match(spelled)
    joined = words.JOINED_KEY.match(spelled)
    if behind[:1].isalpha():
        return None
    if joined:
        return _rate_of(place, joined[1], joined[2], key)
    if by_key:
        return _rate_of(place, by_key[1], by_key[2], key)
    if short_key:
        part = "gpu" if short_key[1].lower() == "tgs" else ""
        return _rate_of(place, words.ABBREVIATED[short_key[1].lower()], part, key)
    is_speed = words.SPEED_KEY.match(spelled) and not _says_time(behind)
    return Meaning(place, "rate", scope="unknown", key=key) if is_speed else None


def _rate_of(place: int, work: str, part: str | None, key: str) -> Meaning | None:
    """A rate of work with its unit in perflog's words."""
    said = re.sub(r"[ _-]+", "", work.lower())
    said = "steps" if re.fullmatch(words.STEP_WORD.replace("[_ ]?", ""), said) else words.SPELLED.get(said, said)
    if said[0] in "km" and said[1:] in words.SPELLED:
        said = said[0] + words.SPELLED[said[1:]]
    unit = f"{said}/s"
    if rate_unit(unit) is None or words.OTHER_RATE.search(parted(key)):
        return None
    return Meaning(place, "rate", unit, _scope_of(unit, part, key), key=key)


def _scope_of(unit: str, part: str | None, key: str) -> Scope:
    """Whose work a rate counts, by its words; a step all devices do together."""
    if part or words.OF_ONE.search(key):
        return "device"
    return "job" if unit == "steps/s" or words.OF_ALL.search(key) else "unknown"


def _per_step(place: int, key: str, unit: str, behind: str) -> Meaning | None:
    """A time that says of how many steps it is."""
    if is_partial(key):
        return None
    found = words.PER_STEP_BEHIND.match(behind)
    if found:
        return Meaning(place, "duration", time_unit(found[1]), steps=int(found[2] or 1), key=key)
    named = words.PER_STEP_BEHIND.match(unit)
    if named:
        return Meaning(place, "duration", time_unit(named[1]), steps=1, key=key)
    by_key = words.PER_STEP_KEY.match(key)
    if by_key is None:
        return Meaning(place, "duration", steps=1, key=key) if words.PER_STEP_ALONE.match(behind) else None
    at_hand = next((one for one in by_key.groups() if one), "") or unit or unit_behind(behind)
    return Meaning(place, "duration", time_unit(at_hand), steps=1, key=key)


def _time(table: Table, place: int, key: str, unit: str, behind: str) -> Meaning | None:
    """A time by its key or the unit behind it: one that rises throughout has elapsed; a part of a sum is none."""
    if words.PER_SECOND.search(key) or table.words[place + 1].strip() == "+":
        return None
    at_hand = unit if re.fullmatch(words.TIME, unit, re.I) else unit_behind(behind)
    named, values = words.TIME_KEY.match(key), table.column(place).values
    elapsed = words.ELAPSED_KEY.search(key)
    if elapsed or (named and not is_partial(key) and len(values) > LEAST_RISING and rises_by_epochs(values)):
        if not rises_by_epochs(values, FEW_EPOCHS if elapsed else FEW_FALLS):
            return None
        in_key = words.UNIT_OF_KEY.search(key)
        at_hand = at_hand or (in_key[1] if in_key else "")
        return Meaning(place, "elapsed", time_unit(at_hand) or "s", key=key)
    if is_partial(key):
        return None
    if named:
        in_key = words.IS_UNIT.match(key)
        at_hand = at_hand or next((one for one in named.groups() if one), "") or (in_key[1] if in_key else "")
        return Meaning(place, "duration", time_unit(at_hand), key=key)
    if re.fullmatch(words.STEP_WORD, key, re.I) and not table.column(place).is_whole and not is_rising(values):
        return Meaning(place, "duration", time_unit(at_hand), steps=1, key=key)
    if at_hand and not key and len(values) > LEAST_RISING and rises_by_epochs(values):
        return Meaning(place, "elapsed", time_unit(at_hand), is_named=False)
    if at_hand and (words.TOOK.search(table.words[place]) or not key):
        return Meaning(place, "duration", time_unit(at_hand), key=key, is_named=False)
    return None


def _of_clock(table: Table, place: int, key: str) -> Meaning | None:
    """A duration such as 0:10:00: one that has elapsed rises, the time that is left falls."""
    values, behind = table.column(place).values, table.words[place + 1]
    is_left = table.words[place].endswith("<") or re.search(r"eta|left|remain|finish(?!ed)", key, re.I)
    if is_left:
        return None
    elapsed = words.ELAPSED_KEY.search(key)
    if not rises_by_epochs(values, FEW_EPOCHS if elapsed else FEW_FALLS):
        is_of_steps = words.TIME_KEY.match(key) and not is_partial(key) and not elapsed
        return Meaning(place, "duration", "clock", key=key) if is_of_steps else None
    named = bool(behind.startswith("<") or elapsed or words.TIME_KEY.match(key))
    return Meaning(place, "elapsed", "clock", is_named=named, key=key)


def rises_by_epochs(values: Floats, falling: float = FEW_FALLS) -> bool:
    """Whether a time rises from row to row, but where it begins anew: more often than it falls, and never below 0.

    Args:
        falling: in this share of the rows at most.
    """
    known = values[np.isfinite(values)]
    if len(known) < 2:
        return len(known) == 1
    changes = np.diff(known)
    rises, falls = int((changes > 0).sum()), int((changes < 0).sum())
    return rises > MORE_RISES * falls and falls <= falling * len(changes) and bool((known >= 0).all())


def is_partial(key: str) -> bool:
    return bool(words.PARTIAL.search(parted(key))) and not words.ELAPSED_KEY.search(key)


def parted(key: str) -> str:
    """A key whose words capital letters part, with blanks between them: ``samplesPerSec``."""
    return re.sub("(?<=[a-z])(?=[A-Z])", " ", key)


def _says_time(behind: str) -> bool:
    return bool(unit_behind(behind) or words.PER_STEP_BEHIND.match(behind) or words.PER_EPOCH_BEHIND.match(behind))


def unit_behind(behind: str) -> str:
    found = words.TIME_BEHIND.match(behind)
    return found[1] if found else ""


def time_unit(text: str) -> str:
    """A unit of time in the words of the format language; empty for none."""
    said = text.lower()
    return next(unit for unit, form in words.UNITS if re.match(form, said)) if said else ""


def _is_since_1970(values: Floats) -> bool:
    low, high = _SINCE_1970
    return any(bool(((values > low * scale) & (values < high * scale)).all()) for scale in (1, 1000))


def is_rising(values: Floats) -> bool:
    """Whether the numbers that are known never fall, and rise in all."""
    known = values[np.isfinite(values)]
    return len(known) > 2 and bool((np.diff(known) >= 0).all()) and bool(known[-1] > known[0])
