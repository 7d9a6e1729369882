"""The structure of a run: which of its records are training, and which hold an evaluation or a save.

Rows become measurements block by block (:mod:`perflog.measurements.series`). What only the whole log can decide is
decided here, at its end: a record is held against its neighbours, and parts of one training are put together.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from perflog.measurements.rows import Floats, Ints, Mask, Store
from perflog.measurements.segment import Segment
from perflog.stats.arrays import middle

#: A record whose steps take so many times as long as its neighbours' is no record of training only.
SLOW = 5.0
#: So many records on each side are a record's neighbours; with fewer than the least of them in all nothing is decided.
NEIGHBOURS, LEAST_NEIGHBOURS = 5, 4


def leave_out_slow_ends(segment: Segment, pauses: Ints) -> None:
    """Leave out the slow records at the end of a run or an epoch, or beside a line of an evaluation or of saving.

    A program that prints the time since its last line counts in it what it did between the two: at these places that
    is an evaluation or a save. A slow record anywhere else stays: a stall is part of the training.

    Args:
        pauses: the lines that report an evaluation, saving or the like, in order, (p,).
    """
    if segment.refused or segment.store.count <= LEAST_NEIGHBOURS:
        return
    value = None if segment.basis is None else segment.basis.value
    runs_on = value is not None and value.since != "epoch" and (value.is_clock or value.holds_pauses)
    places: list[Ints] = []
    aside: list[Floats] = []
    begin = 0
    for rows, following, before in _blocks(segment.store):
        able = _at_ends(rows, following) | _beside(rows, pauses, before, following, runs_on)
        if before is None:
            able[0] = False  # the beginning of a run is the warm-up's
        slow = _slow(rows, able)
        if slow.any():
            aside.append(rows[:, slow])
            segment.left_out = segment.left_out.with_rows(aside[-1])
            places.append(np.flatnonzero(slow) + begin)
        begin += rows.shape[1]
    if places:
        segment.store.leave_out(np.concatenate(places), aside)
        segment.taken = None


def ends_slowly(per_step: Floats) -> bool:
    """Whether the last of a run's records takes far longer than those before it, by their time per step, (n,)."""
    near = per_step[-1 - NEIGHBOURS : -1]
    return len(near) >= LEAST_NEIGHBOURS and bool(0 < SLOW * middle(near) <= per_step[-1])


def _blocks(store: Store) -> Iterator[tuple[Floats, Floats | None, Floats | None]]:
    """(the measurements of a block, the one after it, the one before it); None where there is none."""
    before: Floats | None = None
    held: Floats | None = None
    for rows in store.blocks():
        if held is not None:
            yield held, rows[:, 0], before
            before = held[:, -1]
        held = rows
    if held is not None:
        yield held, None, before


def _at_ends(rows: Floats, following: Floats | None) -> Mask:
    """Which measurements, (fields, n), are the last of their epoch or of the run, (n,)."""
    epoch = rows[6]
    return np.append(epoch[1:] != epoch[:-1], following is None or following[6] != epoch[-1])


def _beside(rows: Floats, pauses: Ints, before: Floats | None, following: Floats | None, runs_on: bool) -> Mask:
    """Which measurements, (fields, n), have a line of a pause between them and the one before or after, (n,).

    A pause before the first record of an epoch is in that record's time only where the clock ``runs_on`` from epoch to
    epoch; else it is slow because the reading of data begins.
    """
    if not len(pauses):
        return np.zeros(rows.shape[1], dtype=bool)
    edges = [rows[5, 0] if before is None else before[5], *rows[5], np.inf if following is None else following[5]]
    passed = np.searchsorted(pauses, np.array(edges), "right")
    between = passed[1:] > passed[:-1]
    first = rows[6] != np.append(rows[6, 0] if before is None else before[6], rows[6, :-1])
    return np.asarray((between[:-1] & (runs_on | ~first)) | between[1:])


def _slow(rows: Floats, able: Mask) -> Mask:
    """Which of the measurements, (fields, n), that may be left out take far longer than their neighbours, (n,)."""
    slow = np.zeros(len(able), dtype=bool)
    per_step = rows[3] / rows[2]
    plain = per_step[~able] if not able.all() else per_step[:0]
    if len(plain) < LEAST_NEIGHBOURS:
        return slow
    places = np.cumsum(~able)
    for place in np.flatnonzero(able & (per_step >= SLOW * plain.min())).tolist():
        near = plain[max(int(places[place]) - NEIGHBOURS, 0) : int(places[place]) + NEIGHBOURS]
        usual = float(middle(near))
        slow[place] = len(near) >= LEAST_NEIGHBOURS and 0 < SLOW * usual <= per_step[place]
    return slow


def joined(first: Segment, second: Segment) -> Segment:
    """Two parts of one training, one behind the other: steps and epochs are counted on from the first one's.

    A part that is refused refuses the whole.
    """
    steps, epochs = first.count.end - second.count.origin, first.count.epochs + 1
    store = Store()
    for part, by_steps, by_epochs in ((first, 0.0, 0), (second, steps, epochs)):
        for rows in part.store.blocks():
            store.append(_moved(rows, by_steps, by_epochs))
        store.aside += [_moved(rows, by_steps, by_epochs) for rows in part.store.aside]
    count = second.count._replace(
        origin=first.count.origin, end=second.count.end + steps, base=second.count.base + steps,
        epochs=second.count.epochs + epochs, interval=first.count.interval, resumed=first.count.resumed,
    )  # fmt: skip
    return replace(
        second, first_line=first.first_line, refused=first.refused or second.refused, last=first.last | second.last,
        basis=first.basis, store=store, tally=first.tally.together(second.tally), count=count, taken=None,
    )  # fmt: skip


def _moved(rows: Floats, by_steps: float, by_epochs: int) -> Floats:
    """Measurements, (fields, n), so many steps and epochs later."""
    moved = rows.copy()
    moved[0:2] += by_steps
    moved[6] += by_epochs
    return moved
