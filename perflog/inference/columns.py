"""What the columns of a table say that they are: counters, clocks, durations, rates; by the words beside them and by
how they go on from row to row.

A unit that stands on the line is taken at its word. What it is a mean over, and whose work it counts, is held against
the log's other numbers (:mod:`perflog.inference.readings`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from msgspec import Struct, structs

from perflog.inference import words
from perflog.inference.measures import (
    Kind,
    Meaning,
    is_partial,
    is_rising,
    key_of,
    measure,
    parted,
    rises_by_epochs,
    time_unit,
    unit_behind,
)
from perflog.matching.tables import Column, Table
from perflog.stats.arrays import middle

#: A column counts when it rises from row to row in so many of them.
_MOST_RISE = 0.9


class Columns(Struct, frozen=True):
    """What the columns of a table say that they are.

    Attributes:
        step, epoch: the counters of steps and of epochs; ``total``: the place of the steps in all (``120/5005``).
        work: the counter of the work that is done since the start; of lines that count nothing else ``step`` is it too.
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
    work: Meaning | None = None

    def of_kind(self, kind: Kind) -> list[Meaning]:
        return [meaning for meaning in self.measures if meaning.kind == kind]


def columns_of(table: Table) -> Columns:
    """What the columns of a table say that they are."""
    if "columns" not in table.derived:
        table.derived["columns"] = _columns_of(table)
    columns: Columns = table.derived["columns"]
    return columns


def _columns_of(table: Table) -> Columns:
    places = [place for place, kind in enumerate(table.kinds) if kind in ("number", "clock")]
    counters = [
        place for place in places
        if table.kinds[place] == "number" and table.column(place).is_whole
        and not words.PERCENT_BEHIND.match(table.words[place + 1])
    ]  # fmt: skip
    epoch = next((place for place in counters if words.EPOCH.search(table.words[place])), None)
    work = _work_of(table, counters)
    step = _step_of(table, [place for place in counters if work is None or place != work.place], epoch)
    if step is None and work is not None:
        if epoch is not None and bool((np.diff(table.column(epoch).values) == 1).all()):
            step, epoch = Meaning(epoch, "step"), None  # a row for each: that is what such programs call an iteration
        else:  # steps of environments are called steps too
            step = structs.replace(work, kind="step", unit="" if work.unit == "env_steps" else work.unit)
    if epoch is None and step is not None:
        epoch = _epoch_beside(table, counters, step)
    total = _total_of(table, step)
    measures, moment = list[Meaning](), None
    for place in places:
        if place in (epoch, total, *(one.place for one in (step, work) if one is not None)):
            continue
        meaning = measure(table, place)
        if meaning is not None and meaning.kind == "moment":
            moment = moment or meaning
        elif meaning is not None:
            measures.append(meaning)
    stamp = next((place for place, kind in enumerate(table.kinds) if kind == "stamp"), None)
    text = words.NO_VALUE.sub("", table.text)
    evaluates, is_mixed = bool(words.EVALUATES.search(text)), _is_mixed(table, text)
    if evaluates and is_mixed:  # a step's time is its own, and what is since the line before may hold the evaluation
        measures = [one for one in measures if one.steps or one.kind == "elapsed"]
    return Columns(
        step, None if epoch is None else Meaning(epoch, "epoch"), total, _of_two_scopes(measures),
        moment if stamp is None else Meaning(stamp, "moment"), "bar" in table.kinds or _is_meter(table),
        evaluates and not is_mixed, bool(words.TRAINS.search(text)), evaluates and is_mixed, work,
    )  # fmt: skip


def _is_mixed(table: Table, text: str) -> bool:
    """Whether lines that tell an evaluation's numbers tell a training's too, which come first."""
    train, evaluation = words.SAYS_TRAIN.search(text), words.EVALUATES.search(text)
    heads = "".join(table.words[:2])
    return bool(train and evaluation and train.start() < evaluation.start() and not words.EVALUATES.search(heads))


def _of_two_scopes(measures: Sequence[Meaning]) -> tuple[Meaning, ...]:
    """The measures of a line; where it tells one device's rate, the other one in that unit is all devices', and comes
    first.
    """
    of_device = {meaning.unit for meaning in measures if meaning.scope == "device"}
    told = [
        structs.replace(one, scope="job") if one.scope == "unknown" and one.unit in of_device else one
        for one in measures
    ]
    return tuple(sorted(told, key=lambda one: one.scope == "device"))


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
    """Whether an elapsed time stands before the time that is left, as progress bars print them, or, where they know no
    total, between a count and a rate: ``275it [00:02, 106.25it/s]``.
    """
    return any(
        kind == "clock" and (behind.startswith("<") or (words.OF_METER.fullmatch(before) and behind[:1] == ","))
        for before, kind, behind in zip(table.words, table.kinds, table.words[1:], strict=False)
    )


# ----------------------------------------------------------------------------------------------------
# Counters.


def _step_of(table: Table, places: Sequence[int], epoch: int | None) -> Meaning | None:
    """The column that counts steps: whole numbers that rise from row to row."""
    counting = [place for place in places if place != epoch and counts(table.column(place))]
    named = [
        place for place in counting
        if words.STEP.search(table.words[place]) and not words.OF_EACH_STEP.search(table.words[place])
        and (_rises_evenly(table.column(place)) or not measure(table, place))
    ]  # fmt: skip
    if named:  # one that counts through the whole run before one that begins anew with each epoch, each line first
        through = [place for place in named if is_rising(table.column(place).values)]
        each = [place for place in through if bool((np.diff(table.column(place).values) == 1).all())]
        return Meaning((each or through or named)[0], "step")
    second = next((place for place in counting if place - 1 in places and _is_second(table, place)), None)
    if second is not None:
        return Meaning(second, "step")
    for place in counting:
        before, behind = table.words[place], table.words[place + 1]
        if words.NO_STEPS.search(before[-20:]) or words.OF_WORK.match(behind) or measure(table, place):
            continue
        if _of_whole(table, place):
            of_work = words.OF_WORK.match(table.words[place + 2])
            return None if of_work else Meaning(place, "step", is_named=_says_steps(table, place))
        if _is_last_of_some(table, place):
            return Meaning(place, "step", is_named=False)
        moving = (one for one in places if np.ptp(table.column(one).values) > 0)
        begins = place == next(moving, place) and not re.search("[A-Za-z]{2}", words.SAYS_TRAIN.sub("", before))
        has_words = re.search("[A-Za-z%]", "".join(table.words[place + 1 :]))  # numbers alone may be a row an epoch
        if begins and has_words and not re.fullmatch(r",\s*", behind):
            return Meaning(place, "step")
        if words.BETWEEN.fullmatch(before) and _is_epoch_of(table, place - 1, place):
            return Meaning(place, "step")
    return None


def _work_of(table: Table, places: Sequence[int]) -> Meaning | None:
    """The column that counts the work since the start: numbers that rise from row to row, behind a word for it.

    Of several that one which is farthest: the steps of all environments.
    """
    able = []
    for place in places:
        found = words.OF_ENVIRONMENTS.search(table.words[place]) or words.WORK_SEEN.search(table.words[place])
        if found is not None and is_rising(table.column(place).values) and counts(table.column(place)):
            able.append(Meaning(place, "work", (found[1] or "env_steps").lower(), key=key_of(table.words[place])[0]))
    return max(able, key=lambda one: float(table.column(one.place).values[-1]), default=None)


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
    return len(risen) > 2 and counts(column) and float((risen == middle(risen)).mean()) >= _MOST_RISE


def _says_steps(table: Table, place: int) -> bool:
    """Whether a place of a whole counts steps: a word behind it says so, or it is none that samples would have.

    Programs that count samples do so in each epoch, whose number stands before them, by whole batches.
    """
    if words.OF_STEPS.match(table.words[place + 2]) or _goes_through(table, place):
        return True
    values, total = table.column(place).values, table.column(place + 1).values[0]
    changes = np.diff(values)
    usual = float(middle(changes[changes > 0])) if (changes > 0).any() else 0.0
    epochs = bool((changes < 0).any() or _epoch_words(table, place))
    inside = values[np.isfinite(values) & (values < total)]  # the last one is all samples, whatever a batch is
    has_batch = len(inside) < 3 or int(np.gcd.reduce(inside.astype(np.int64))) > 1
    return usual == 1 or not has_batch or (usual % 8 != 0 and usual > 0 and not epochs)


def _goes_through(table: Table, place: int) -> bool:
    """Whether a counter goes on where the epoch before it does."""
    epochs = [one for one in range(place) if words.EPOCH.search(table.words[one]) and table.column(one).is_whole]
    return is_rising(table.column(place).values) and any(is_rising(table.column(one).values) for one in epochs)


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
    usual = float(middle(changes[changes > 0])) if (changes > 0).any() else 0.0
    anew = (changes < 0) & (values[1:] <= values.min() + usual)
    on = int((changes > 0).sum())
    begun = int(anew.sum())
    return on > begun and on >= _MOST_RISE * (len(changes) - begun) - 1


def unnamed_times(table: Table, columns: Columns) -> list[Meaning]:
    """The numbers with a unit of time of which no word says what they are the time of."""
    taken = {meaning.place for meaning in (columns.step, columns.epoch, *columns.measures) if meaning is not None}
    found = []
    for place, kind in enumerate(table.kinds):
        key, unit = key_of(table.words[place])[0], unit_behind(table.words[place + 1])
        if kind == "number" and unit and place not in taken and not is_partial(key) and not words.OTHERS.search(key):
            found.append(Meaning(place, "duration", time_unit(unit), is_named=False, key=key))
    return found


def data_times(table: Table) -> list[int]:
    """The places of the times of loading data."""
    return [
        place for place, kind in enumerate(table.kinds)
        if kind == "number" and words.OF_DATA.search(parted(key_of(table.words[place])[0]))
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
        at_hand = (unit if re.fullmatch(words.TIME, unit, re.I) else "") or unit_behind(behind)
        per_epoch = words.PER_EPOCH_BEHIND.match(behind)
        at_hand = at_hand or (per_epoch[1] if per_epoch else "")
        at_hand = "clock" if kind == "clock" else at_hand
        named = not own or words.TIME_KEY.match(own) or words.TOOK.search(table.words[place]) or per_epoch
        if place == columns.epoch.place or kind not in ("number", "clock") or not (at_hand and named):
            continue
        if is_partial(own) or words.OTHERS.search(own) or rises_by_epochs(table.column(place).values):
            continue
        found.append(Meaning(place, "duration", at_hand if kind == "clock" else time_unit(at_hand), key=key))
    return found
