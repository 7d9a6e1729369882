"""What the columns of a table say that they are: counters, clocks, durations, rates; by the words beside them and by
how they go on from row to row.

A unit that stands on the line is taken at its word. What it is a mean over, and whose work it counts, is held against
the log's other numbers (:mod:`perflog.inference.readings`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct, structs

from perflog.formats.printed import rate_unit
from perflog.inference import words
from perflog.matching.tables import Column, Table
from perflog.measurements.rows import Floats

Kind = Literal["step", "epoch", "rate", "duration", "elapsed", "moment"]
Scope = Literal["job", "device", "unknown"]

#: Seconds since 1970 lie here: of 2001 to 2064; in milliseconds a thousand times as much.
_SINCE_1970 = (1e9, 3e9)
#: One that is called elapsed may begin anew with short epochs.
FEW_EPOCHS = 0.34
#: A time of so many rows that falls in fewer than this share of them has elapsed; of steps alike it falls in half.
LEAST_RISING, FEW_FALLS, MORE_RISES = 6, 0.1, 2
#: A column counts when it rises from row to row in so many of them.
_MOST_RISE = 0.9


class Meaning(Struct, frozen=True):
    """What a column says that it is.

    Attributes:
        kind: ``step`` and ``epoch`` count, ``moment`` is a stamp.
        unit: of a rate (``images/s``) or a time; ``clock`` of one that is printed as 0:10:00; empty where none is said.
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


class Columns(Struct, frozen=True):
    """What the columns of a table say that they are.

    Attributes:
        step, epoch: the counters of steps and of epochs; ``total``: the place of the steps in all (``120/5005``).
        measures: rates, durations and elapsed times.
        moment: the place of a stamp among the line's own words; ``is_bar``: a progress bar is drawn.
        evaluates: whether the words are an evaluation's; ``trains``: whether they are a training's. Lines that tell
            both are a training's that hold an evaluation's numbers too (``holds_evaluation``).
    """

    step: Meaning | None
    epoch: Meaning | None
    total: int | None
    measures: tuple[Meaning, ...]
    moment: Meaning | None
    is_bar: bool
    evaluates: bool
    trains: bool
    holds_evaluation: bool = False

    def of_kind(self, kind: Kind) -> list[Meaning]:
        return [meaning for meaning in self.measures if meaning.kind == kind]


def columns_of(table: Table) -> Columns:
    """What the columns of a table say that they are."""
    places = [place for place, kind in enumerate(table.kinds) if kind in ("number", "clock")]
    counters = [
        place for place in places
        if table.kinds[place] == "number" and table.column(place).is_whole
        and not words.PERCENT_BEHIND.match(table.words[place + 1])
    ]  # fmt: skip
    epoch = next((place for place in counters if words.EPOCH.search(table.words[place])), None)
    step = _step_of(table, counters, epoch)
    if epoch is None and step is not None:
        epoch = _epoch_beside(table, counters, step)
    total = _total_of(table, step)
    measures, moment = list[Meaning](), None
    for place in places:
        if place in (epoch, None if step is None else step.place, total):
            continue
        meaning = _measure(table, place)
        if meaning is not None and meaning.kind == "moment":
            moment = moment or meaning
        elif meaning is not None:
            measures.append(meaning)
    stamp = next((place for place, kind in enumerate(table.kinds) if kind == "stamp"), None)
    text = words.NO_VALUE.sub("", table.text)
    evaluates, is_mixed = bool(words.EVALUATES.search(text)), _is_mixed(table, text)
    if evaluates and is_mixed:  # a step's time is its own, and what is since the line before may hold the evaluation
        measures = [measure for measure in measures if measure.steps or measure.kind == "elapsed"]
    return Columns(
        step, None if epoch is None else Meaning(epoch, "epoch"), total, _of_two_scopes(measures),
        moment if stamp is None else Meaning(stamp, "moment"), "bar" in table.kinds or _is_meter(table),
        evaluates and not is_mixed, bool(words.TRAINS.search(text)), evaluates and is_mixed,
    )  # fmt: skip


def _is_mixed(table: Table, text: str) -> bool:
    """Whether lines that tell an evaluation's numbers tell a training's too, which come first."""
    train, evaluation = words.SAYS_TRAIN.search(text), words.EVALUATES.search(text)
    heads = "".join(table.words[:2])
    return bool(train and evaluation and train.start() < evaluation.start() and not words.EVALUATES.search(heads))


def _of_two_scopes(measures: Sequence[Meaning]) -> tuple[Meaning, ...]:
    """The measures of a line; where it tells one device's rate, the other one in that unit is all devices'."""
    of_device = {meaning.unit for meaning in measures if meaning.scope == "device"}
    return tuple(
        structs.replace(one, scope="job") if one.scope == "unknown" and one.unit in of_device else one
        for one in measures
    )


def columns_with(table: Table, columns: Columns, told: Sequence[Meaning]) -> Columns:
    """The columns of a table some of which a user tells: where these are measures no other is one."""
    step = next((meaning for meaning in told if meaning.kind == "step"), columns.step)
    epoch = next((meaning for meaning in told if meaning.kind == "epoch"), columns.epoch)
    taken = {meaning.place for meaning in told}
    if epoch is not None and epoch not in told and epoch.place in taken:
        epoch = None
    if step is not None and step.place in taken and step not in told:
        step = None
    total = _total_of(table, step)
    measures = tuple(meaning for meaning in told if meaning.kind not in ("step", "epoch"))
    return structs.replace(
        columns, step=step, epoch=epoch, total=None if total in taken else total,
        measures=measures or tuple(one for one in columns.measures if one.place not in taken), evaluates=False,
        trains=True,
    )  # fmt: skip


def _is_meter(table: Table) -> bool:
    """Whether an elapsed time stands before the time that is left, as progress bars print them."""
    return any(
        kind == "clock" and word.startswith("<") for kind, word in zip(table.kinds, table.words[1:], strict=True)
    )


# ----------------------------------------------------------------------------------------------------
# Counters.


def _step_of(table: Table, places: Sequence[int], epoch: int | None) -> Meaning | None:
    """The column that counts steps: whole numbers that rise from row to row."""
    counting = [place for place in places if place != epoch and counts(table.column(place))]
    named = [
        place for place in counting
        if words.STEP.search(table.words[place]) and (_rises_evenly(table.column(place)) or not _measure(table, place))
    ]  # fmt: skip
    if named:  # one that counts through the whole run before one that begins anew with each epoch
        through = [place for place in named if is_rising(table.column(place).values)]
        return Meaning(through[0] if through else named[0], "step")
    second = next((place for place in counting if place - 1 in places and _is_second(table, place)), None)
    if second is not None:
        return Meaning(second, "step")
    for place in counting:
        before, behind = table.words[place], table.words[place + 1]
        if words.NO_STEPS.search(before[-20:]) or words.OF_WORK.match(behind) or _measure(table, place):
            continue
        if _of_whole(table, place):
            of_work = words.OF_WORK.match(table.words[place + 2])
            return None if of_work else Meaning(place, "step", is_named=_says_steps(table, place))
        if _is_last_of_some(table, place):
            return Meaning(place, "step", is_named=False)
        moving = (one for one in places if np.ptp(table.column(one).values) > 0)
        begins = place == next(moving, place) and not re.search("[A-Za-z]{2}", words.SAYS_TRAIN.sub("", before))
        if begins and not re.fullmatch(r",\s*", behind):
            return Meaning(place, "step")
        if words.BETWEEN.fullmatch(before) and _is_epoch_of(table, place - 1, place):
            return Meaning(place, "step")
    return None


def _is_second(table: Table, place: int) -> bool:
    """Whether a number counts steps behind an epoch or where its line's steps begin, which the words before name:
    ``epoch/iter: 0/19``, ``Batch 0/100``, ``Batch [80-100]``.
    """
    before, first = table.words[place - 1], table.column(place - 1).values
    if not words.STEP.search(before) or not re.fullmatch(r"\s*[/,:.-]\s*|\]\[", table.words[place]):
        return False
    last = table.column(place).values
    goes_on = bool(np.isin(np.diff(first), (0, 1)).all()) and is_rising(last)
    begins = bool((first <= last).all()) and bool(np.isin(first[1:] - last[:-1], (0, 1)).mean() >= _MOST_RISE)
    return bool((first == first[0]).all()) or goes_on or begins or _is_epoch_of(table, place - 1, place)


def _is_last_of_some(table: Table, place: int) -> bool:
    """Whether a number is the last in brackets behind one or two others: ``(0, 149)``, ``(0, 1000, 149)``."""
    return re.match(r"\s*[)\]]", table.words[place + 1]) is not None and any(
        table.words[first].rstrip().endswith(("(", "["))
        and all(re.fullmatch(r"\s*,\s*", word) for word in table.words[first + 1 : place + 1])
        for first in range(max(place - 2, 0), place)
    )


def _rises_evenly(column: Column) -> bool:
    """Whether whole numbers rise by one amount, as counters do and times never."""
    changes = np.diff(column.values)
    risen = changes[changes > 0]
    return len(risen) > 2 and counts(column) and float((risen == np.median(risen)).mean()) >= _MOST_RISE


def _says_steps(table: Table, place: int) -> bool:
    """Whether a place of a whole counts steps: a word behind it says so, or it is none that samples would have.

    Programs that count samples do so in each epoch, whose number stands before them, by whole batches.
    """
    if words.OF_STEPS.match(table.words[place + 2]):
        return True
    values, total = table.column(place).values, table.column(place + 1).values[0]
    changes = np.diff(values)
    usual = float(np.median(changes[changes > 0])) if (changes > 0).any() else 0.0
    epochs = bool((changes < 0).any() or _epoch_words(table, place))
    inside = values[np.isfinite(values) & (values < total)]  # the last one is all samples, whatever a batch is
    has_batch = len(inside) < 3 or int(np.gcd.reduce(inside.astype(np.int64))) > 1
    return usual == 1 or not has_batch or (usual % 8 != 0 and usual > 0 and not epochs)


def _epoch_words(table: Table, place: int) -> bool:
    return bool(re.search(r"(?:^|[^a-z])(?:e|ep|epochs?)(?![a-z])", "\n".join(table.words[: place + 1]), re.I))


def _epoch_beside(table: Table, places: Sequence[int], step: Meaning) -> int | None:
    """The column that rises by one wherever the steps begin anew, and nowhere else."""
    able = (place for place in places if place != step.place and _is_epoch_of(table, place, step.place))
    return next(able, None)


def _is_epoch_of(table: Table, place: int, step: int) -> bool:
    """Whether a column rises by one wherever the steps begin anew, and nowhere else."""
    falls = np.diff(table.column(step).values) < 0
    changes = np.diff(table.column(place).values) if place >= 0 and table.column(place).is_whole else None
    return changes is not None and bool(falls.any() and (changes[falls] == 1).all() and (changes[~falls] == 0).all())


def _of_whole(table: Table, place: int) -> bool:
    """Whether a number is one of so many: ``120/5005``, ``120 of 5005``."""
    behind = table.words[place + 1].strip().lower()
    if place + 2 > len(table.words) - 1 or behind not in ("/", "of", "out of"):
        return False
    whole = table.column(place + 1).values
    return bool((whole == whole[0]).all())


def _total_of(table: Table, step: Meaning | None) -> int | None:
    return step.place + 1 if step is not None and _of_whole(table, step.place) else None


def counts(column: Column) -> bool:
    """Whether a column is of whole numbers that rise from row to row, but where an epoch begins."""
    if not column.is_whole:
        return False
    values = column.values
    if len(values) < 2:
        return True
    changes = np.diff(values)
    usual = float(np.median(changes[changes > 0])) if (changes > 0).any() else 0.0
    anew = (changes < 0) & (values[1:] <= values.min() + usual)
    on = int((changes > 0).sum())
    begun = int(anew.sum())
    return on > begun and on >= _MOST_RISE * (len(changes) - begun) - 1


def is_rising(values: Floats) -> bool:
    """Whether the numbers that are known never fall, and rise in all."""
    known = values[np.isfinite(values)]
    return len(known) > 2 and bool((np.diff(known) >= 0).all()) and bool(known[-1] > known[0])


# ----------------------------------------------------------------------------------------------------
# Times and rates.


def _measure(table: Table, place: int) -> Meaning | None:
    """What a column measures; None where nothing beside it says that it is a time, a rate or a moment."""
    before = words.BEHIND_A_TIME.sub(" ", table.words[place]) if place else table.words[place]
    key, unit = key_of(before) if not place or not _is_unit_of(table, place - 1) else ("", "")
    if words.OTHERS.search(key):
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
    if words.PER_STEP_ALONE.match(behind):
        return None if _partial(key) else Meaning(place, "duration", steps=1, key=key)
    if words.PER_EPOCH_BEHIND.match(behind) or (behind[:1].isalpha() and not words.TIME_BEHIND.match(behind)):
        return None  # what sticks to the number is part of it, and not understood
    values = table.column(place).values
    if (not key or words.MOMENT_KEY.match(key)) and _is_since_1970(values):
        return Meaning(place, "moment", "ms" if values[0] > _SINCE_1970[1] else "s", key=key)
    return _time(table, place, key, unit, behind)


def _of_so_many(table: Table, place: int) -> Meaning | None:
    """A time with its unit of so many steps as the words before it say: ``Time(100 iters): 4.2s``, ``20 steps in ``."""
    unit = _unit_behind(table.words[place + 1])
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
    spelled = _parted(key)
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
    if rate_unit(unit) is None or words.OTHER_RATE.search(_parted(key)):
        return None
    return Meaning(place, "rate", unit, _scope_of(unit, part, key), key=key)


def _scope_of(unit: str, part: str | None, key: str) -> Scope:
    """Whose work a rate counts, by its words; a step all devices do together."""
    if part:
        return "device"
    return "job" if unit == "steps/s" or words.OF_ALL.search(key) else "unknown"


def _per_step(place: int, key: str, unit: str, behind: str) -> Meaning | None:
    """A time that says of how many steps it is."""
    found = words.PER_STEP_BEHIND.match(behind)
    if found:
        return (
            None
            if _partial(key)
            else Meaning(place, "duration", time_unit(found[1]), steps=int(found[2] or 1), key=key)
        )
    named = words.PER_STEP_BEHIND.match(unit)
    if named and not _partial(key):
        return Meaning(place, "duration", time_unit(named[1]), steps=1, key=key)
    by_key = words.PER_STEP_KEY.match(key)
    if by_key is None or _partial(key):
        return None
    at_hand = next((one for one in by_key.groups() if one), "") or unit or _unit_behind(behind)
    return Meaning(place, "duration", time_unit(at_hand) if at_hand else "", steps=1, key=key)


def _time(table: Table, place: int, key: str, unit: str, behind: str) -> Meaning | None:
    """A time by its key or the unit behind it: one that rises throughout has elapsed; a part of a sum is none."""
    if words.PER_SECOND.search(key) or table.words[place + 1].strip() == "+":
        return None
    at_hand = unit if re.fullmatch(words.TIME, unit, re.I) else _unit_behind(behind)
    named, values = words.TIME_KEY.match(key), table.column(place).values
    elapsed = words.ELAPSED_KEY.search(key)
    if elapsed or (named and not _partial(key) and len(values) > LEAST_RISING and _rises_by_epochs(values)):
        if not _rises_by_epochs(values, FEW_EPOCHS if elapsed else FEW_FALLS):
            return None
        in_key = words.UNIT_OF_KEY.search(key)
        at_hand = at_hand or (in_key[1] if in_key else "")
        return Meaning(place, "elapsed", time_unit(at_hand) if at_hand else "s", key=key)
    if _partial(key):
        return None
    if named:
        in_key = words.IS_UNIT.match(key)
        at_hand = at_hand or next((one for one in named.groups() if one), "") or (in_key[1] if in_key else "")
        return Meaning(place, "duration", time_unit(at_hand) if at_hand else "", key=key)
    if re.fullmatch(words.STEP_WORD, key, re.I) and not table.column(place).is_whole and not is_rising(values):
        return Meaning(place, "duration", time_unit(at_hand) if at_hand else "", steps=1, key=key)
    if at_hand and not key and len(values) > LEAST_RISING and _rises_by_epochs(values):
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
    if not _rises_by_epochs(values, FEW_EPOCHS if elapsed else FEW_FALLS):
        is_of_steps = words.TIME_KEY.match(key) and not _partial(key) and not elapsed
        return Meaning(place, "duration", "clock", key=key) if is_of_steps else None
    named = bool(behind.startswith("<") or elapsed or words.TIME_KEY.match(key))
    return Meaning(place, "elapsed", "clock", is_named=named, key=key)


def _rises_by_epochs(values: Floats, falling: float = FEW_FALLS) -> bool:
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


def _partial(key: str) -> bool:
    return bool(words.PARTIAL.search(_parted(key))) and not words.ELAPSED_KEY.search(key)


def _parted(key: str) -> str:
    """A key whose words capital letters part, with blanks between them: ``samplesPerSec``."""
    return re.sub("(?<=[a-z])(?=[A-Z])", " ", key)


def _says_time(behind: str) -> bool:
    return bool(_unit_behind(behind) or words.PER_STEP_BEHIND.match(behind) or words.PER_EPOCH_BEHIND.match(behind))


def _unit_behind(behind: str) -> str:
    found = words.TIME_BEHIND.match(behind)
    return found[1] if found else ""


def unnamed_times(table: Table, columns: Columns) -> list[Meaning]:
    """The numbers with a unit of time of which no word says what they are the time of."""
    taken = {meaning.place for meaning in (columns.step, columns.epoch, *columns.measures) if meaning is not None}
    found = []
    for place, kind in enumerate(table.kinds):
        key, unit = key_of(table.words[place])[0], _unit_behind(table.words[place + 1])
        if kind == "number" and unit and place not in taken and not _partial(key) and not words.OTHERS.search(key):
            found.append(Meaning(place, "duration", time_unit(unit), is_named=False, key=key))
    return found


def data_times(table: Table) -> list[int]:
    """The places of the times of loading data."""
    return [
        place for place, kind in enumerate(table.kinds)
        if kind == "number" and words.OF_DATA.search(_parted(key_of(table.words[place])[0]))
        and not words.RATE_BEHIND.match(table.words[place + 1]) and not table.column(place).is_whole
    ]  # fmt: skip


def epoch_times(table: Table, columns: Columns) -> list[Meaning]:
    """The times with their unit on lines that tell an epoch each: those that no word says are of another part of it."""
    if columns.epoch is None or columns.step is not None:
        return []
    found = []
    for place, kind in enumerate(table.kinds):
        key, unit = key_of(table.words[place])
        own, behind = words.OF_EPOCH.sub("", key).strip(" _"), table.words[place + 1]
        at_hand = (unit if re.fullmatch(words.TIME, unit, re.I) else "") or _unit_behind(behind)
        per_epoch = words.PER_EPOCH_BEHIND.match(behind)
        at_hand = at_hand or (per_epoch[1] if per_epoch else "")
        at_hand = "clock" if kind == "clock" else at_hand
        named = not own or words.TIME_KEY.match(own) or words.TOOK.search(table.words[place]) or per_epoch
        if place == columns.epoch.place or kind not in ("number", "clock") or not (at_hand and named):
            continue
        if _partial(own) or words.OTHERS.search(own) or _rises_by_epochs(table.column(place).values):
            continue
        found.append(Meaning(place, "duration", at_hand if kind == "clock" else time_unit(at_hand), key=key))
    return found


def time_unit(text: str) -> str:
    """A unit of time in the words of the format language."""
    said = text.lower()
    return next(unit for unit, form in words.UNITS if re.match(form, said))


def _is_since_1970(values: Floats) -> bool:
    low, high = _SINCE_1970
    return any(bool(((values > low * scale) & (values < high * scale)).all()) for scale in (1, 1000))
