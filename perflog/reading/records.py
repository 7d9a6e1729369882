"""Records that are printed on several lines: a head line, and lines below it that belong to it.

Patterns that name the same head in ``block`` are parts of one record. The first of them bears the record's values.
A program prints each number of a record once: where one stands there twice and differs, two programs wrote the lines,
or they are out of order, and which of both belongs to the head is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from perflog.formats.moments import Moment, moment_of
from perflog.formats.parser import Pattern
from perflog.matching.matches import FIRST_RANK, TIMESTAMP, Ints, Matches, Samples
from perflog.measurements.rows import Floats, Mask, Rows
from perflog.measurements.series import RankSeries

#: So many records, and so large a share of a segment's, that hold two numbers of one kind are no single damage.
LEAST_MIXED, MIXED = 2, 0.05


class _Lines(Struct):
    """Lines of one pattern and rank in no finished record yet: numbers in the log, places in it, columns, (n,)."""

    lines: Ints
    places: Ints
    columns: Mapping[str, Floats]

    def after(self, line: int) -> _Lines:
        """Those from a line on."""
        low = int(np.searchsorted(self.lines, line, "left"))
        columns = {name: column[low:] for name, column in self.columns.items()}
        return _Lines(self.lines[low:], self.places[low:], columns)


class Records(Struct):
    """The records of one block of a parser, folded block by block of the log.

    ``head``: the key of the pattern of the head line; ``carrier``: the pattern that bears the values; ``mixed``: by
    rank the head lines of records that hold a number twice and not the same.
    """

    head: str
    carrier: Pattern | None = None
    mixed: dict[int, list[int]] = field(default_factory=dict)
    _open: dict[tuple[int, str], _Lines] = field(default_factory=dict)

    def add(self, matches: Matches, first_line: int, places: Ints) -> None:
        """Take the lines of the head or of a part, in a block of the log that begins at ``first_line``.

        Args:
            places: where each match stands among all that the log prints, (n,).
        """
        pattern = matches.pattern
        if pattern.block and self.carrier is None:  # whichever part comes first: all know the values of all
            self.carrier = pattern
        ranks = np.maximum(matches.rank, FIRST_RANK)
        for rank in dict.fromkeys(ranks.tolist()):
            mine = ranks == rank
            columns = {name: column[mine] for name, column in matches.columns.items() if not isinstance(column, list)}
            added = _Lines(matches.line[mine] + first_line, places[mine], columns)
            before = self._open.get((rank, pattern.key))
            self._open[rank, pattern.key] = added if before is None else _joined(before, added)

    def finished(self, at_end: bool, evaluations: Callable[[int], Ints]) -> dict[int, Rows]:
        """By rank the records that no later line can belong to; at the log's end all.

        Args:
            evaluations: the lines of a rank, in order, that evaluations print: what stands behind one is in no record
                before the next head line.
        """
        rows = {}
        for rank in sorted({rank for rank, _ in self._open}):
            heads = self._open.get((rank, self.head))
            if heads is None or not len(heads.lines):
                continue
            whole = len(heads.lines) if at_end else len(heads.lines) - 1
            if whole > 0:
                made = self._rows(rank, heads, whole, evaluations(rank))
                if len(made):
                    rows[rank] = made
                end = int(heads.lines[whole]) if whole < len(heads.lines) else np.iinfo(np.int64).max
                for key in [key for key in self._open if key[0] == rank]:
                    self._open[key] = self._open[key].after(end)
        return rows

    def _rows(self, rank: int, heads: _Lines, whole: int, evaluations: Ints) -> Rows:
        columns = {name: column[:whole] for name, column in heads.columns.items() if name != "rank"}
        bearing, mixed = np.zeros(whole, dtype=bool), np.zeros(whole, dtype=bool)
        for (of_rank, key), part in self._open.items():
            if of_rank != rank or key == self.head:
                continue
            place = np.searchsorted(heads.lines[:whole], part.lines, "right") - 1
            inside = place >= 0
            if whole < len(heads.lines):
                inside &= part.lines < heads.lines[whole]
            if len(evaluations):
                evaluated = np.searchsorted(evaluations, heads.lines[np.maximum(place, 0)])
                inside &= np.searchsorted(evaluations, part.lines) == evaluated
            bearing[place[inside]] = True
            for name, column in part.columns.items():
                if name != "rank":
                    target = columns.setdefault(name, np.full(whole, np.nan)).copy()
                    target[place[inside]] = column[inside]
                    columns[name] = target
                    mixed |= _differing(place[inside], column[inside], whole)
        if mixed.any():
            self.mixed.setdefault(rank, []).extend(heads.lines[:whole][mixed].tolist())
            parts = set(columns) - set(heads.columns)
            columns |= {name: np.where(mixed, np.nan, columns[name]) for name in sorted(parts)}
        rows = Rows(heads.lines[:whole], columns, places=heads.places[:whole])
        return rows.take(bearing)


def refuse_mixed(records: Records, series: Mapping[int, RankSeries]) -> None:
    """Refuse the segments of which many records hold two numbers of one kind: to be called at the log's end.

    Args:
        series: of the records, by rank.
    """
    for rank, heads in records.mixed.items():
        for segment in series[rank].segments if rank in series else ():
            inside = [line for line in heads if segment.first_line <= line <= segment.last_line]
            least = max(min(LEAST_MIXED, segment.tally.printed), MIXED * segment.tally.printed)
            if inside and not segment.refused and len(inside) >= least:
                segment.refused = (
                    f"{len(inside)} of {segment.tally.printed} records, the first at line {inside[0]}, hold two "
                    "different numbers of one kind: several ranks or runs are blended, or lines are out of order"
                )


def _differing(place: Ints, column: Floats, records: int) -> Mask:
    """Which records, (records,), have two different numbers of one group: at their places, in order, (n,) each."""
    again = (place[1:] == place[:-1]) & (column[1:] != column[:-1])
    again &= ~(np.isnan(column[1:]) | np.isnan(column[:-1]))
    differing = np.zeros(records, dtype=bool)
    differing[place[1:][again]] = True
    return differing


def _joined(one: _Lines, other: _Lines) -> _Lines:
    names = dict.fromkeys((*one.columns, *other.columns))
    columns = {
        name: np.concatenate([part.columns.get(name, np.full(len(part.lines), np.nan)) for part in (one, other)])
        for name in names
    }
    return _Lines(np.concatenate((one.lines, other.lines)), np.concatenate((one.places, other.places)), columns)


def with_all_columns(pattern: Pattern, rows: Rows) -> Rows:
    """Rows with a column for each value of a pattern, NaN where the log prints none."""
    lacking = {v.group: np.full(len(rows), np.nan) for v in pattern.values if v.group not in rows.columns}
    return rows.with_columns(lacking)


def samples_of_records(rows: Rows, heads: Sequence[Samples]) -> list[Samples]:
    """The records whose head lines were sampled."""
    found = []
    for samples in heads:
        place = np.searchsorted(rows.lines, samples.line)
        inside = np.flatnonzero(place < len(rows.lines))
        inside = inside[rows.lines[place[inside]] == samples.line[inside]]
        columns: dict[str, Any] = {name: column[place[inside]] for name, column in rows.columns.items()}
        if len(inside):
            texts = tuple(samples.text[head] for head in inside.tolist())
            places = tuple(samples.place[head] for head in inside.tolist())
            found.append(Samples(samples.line[inside], texts, places, columns))
    return found


# ----------------------------------------------------------------------------------------------------
# Printed moments as seconds on one clock: stamps in any of the forms that lines begin with, or numbers.

_DAY = 86_400.0
#: So many characters have the forms that are read for a whole column at once, "2026-01-02 03:04:05" and
#: "2026/01/02 03:04:05", before a point or a comma and the decimals.
_TO_SECONDS = 19


class Clock(NamedTuple):
    """Where a log's clock stands between two blocks: the stamps' form, seconds of the days gone by, the last moment."""

    form: str = ""
    days: float = 0.0
    before: float = float("-inf")


#: Before the first block.
START = Clock()


def seconds_of_timestamps(printed: Sequence[str | None], clock: Clock) -> tuple[NDArray[np.float64], Clock]:
    """Moments as they were printed, in seconds, (n,), NaN where a line holds none; and the clock after them.

    A text that is a number counts as seconds. Of several forms in one column the first one's count, the others are
    NaN. A time without a date that goes back has passed midnight.
    """
    fast = _of_common_form(printed)
    if fast is not None:
        return fast, clock
    seconds = np.full(len(printed), np.nan)
    form, days, before = clock
    for place, text in enumerate(printed):
        moment = _moment(text)
        if moment is None or (form and moment.form != form):
            continue
        form = moment.form
        after = moment.seconds + days
        if form == "time" and after < before - _DAY / 2:
            days += _DAY
            after += _DAY
        elif form == "time" and days and after > before + _DAY / 2:
            after -= _DAY  # a line of before midnight that another rank printed later
        before = seconds[place] = after
    return seconds, Clock(form, days, before)


def _moment(text: str | None) -> Moment | None:
    if text is None:
        return None
    try:
        return Moment(float(text), "number", 0.0)
    except ValueError:
        return moment_of(text.encode())


def _of_common_form(printed: Sequence[str | None]) -> NDArray[np.float64] | None:
    """A column that is all numbers or of one common form, (n,), None for any other.

    By numpy alone: polars would take as long to import as thirty logs take to read.
    """
    present = [text for text in printed if text is not None]
    seconds = np.full(len(printed), np.nan)
    if not present:
        return seconds
    try:
        texts = np.array(present, dtype=np.bytes_)
    except UnicodeEncodeError:
        return None
    values = _of_dates(texts) if texts.dtype.itemsize >= _TO_SECONDS and b":" in texts[0] else _of_numbers(texts)
    if values is None:
        return None
    seconds[[text is not None for text in printed]] = values
    return seconds


def _of_numbers(texts: NDArray[np.bytes_]) -> NDArray[np.float64] | None:
    try:
        return texts.astype(np.float64)
    except ValueError:
        return None


def _of_dates(texts: NDArray[np.bytes_]) -> NDArray[np.float64] | None:
    """Seconds from 1970 of texts in one of the common forms, (n,); None where one of them is not."""
    width = texts.dtype.itemsize
    places = texts.view(np.uint8).reshape(-1, width)
    first = places[0, 4]
    marks = dict.fromkeys((4, 7), first) | {10: ord(" "), 13: ord(":"), 16: ord(":")}
    if first not in b"-/" or any((places[:, place] != mark).any() for place, mark in marks.items()):
        return None
    digits = places.astype(np.int64) - ord("0")
    fraction = _millionths(places, digits)
    if fraction is None or not _are_digits(digits[:, [place for place in range(_TO_SECONDS) if place not in marks]]):
        return None
    dates = places[:, :10].copy()
    dates[:, [4, 7]] = ord("-")
    try:
        days = dates.view("S10").reshape(-1).astype("datetime64[D]").astype(np.int64)
    except ValueError:
        return None
    hour, minute, second = (digits[:, place] * 10 + digits[:, place + 1] for place in (11, 14, 17))
    if (hour > 23).any() or (minute > 59).any() or (second > 59).any():
        return None
    millionths = (days * 86_400 + hour * 3600 + minute * 60 + second) * 1_000_000 + fraction
    seconds: NDArray[np.float64] = millionths / 1e6
    return seconds


def _millionths(places: NDArray[np.uint8], digits: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """What stands behind the whole seconds, in millionths, (n,): nothing, or a point or comma and digits."""
    fraction = np.zeros(len(places), dtype=np.int64)
    behind = places[:, _TO_SECONDS:]
    if not behind.shape[1]:
        return fraction
    ended = behind == 0  # a shorter text is filled up with zeros
    pointed = (behind[:, 0] == ord(".")) | (behind[:, 0] == ord(","))
    decimals = np.where(ended[:, 1:], 0, digits[:, _TO_SECONDS + 1 :])
    pointed &= (~ended[:, 1:2]).any(axis=1)  # a point without decimals is none
    if not (ended[:, 0] | pointed).all() or not _are_digits(decimals):
        return None
    for place, decimal in enumerate(decimals[:, :6].T):
        fraction += decimal * 10 ** (5 - place)
    return fraction


def _are_digits(digits: NDArray[np.int64]) -> bool:
    return bool(((digits >= 0) & (digits <= 9)).all())


# ----------------------------------------------------------------------------------------------------
# Moments that measuring lines print, turned into seconds.


def with_seconds(matches: Matches, clocks: MutableMapping[str, Clock]) -> Matches:
    """The same matches, with seconds in place of the stamps of measuring and position lines.

    Args:
        clocks: where the clock of each pattern stands, by its key; carried on here.
    """
    stamps = matches.columns.get(TIMESTAMP)
    if matches.pattern.role not in ("step", "position") or not isinstance(stamps, list):
        return matches
    key = matches.pattern.key
    seconds, clocks[key] = seconds_of_timestamps(stamps, clocks.get(key, START))
    return replace(matches, columns={**matches.columns, TIMESTAMP: seconds})
