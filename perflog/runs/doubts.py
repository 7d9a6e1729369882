"""Why a segment of measurements is no run, and what is said beside one that is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from perflog.evidence.witness import clock_share
from perflog.formats.parser import Pattern
from perflog.formats.printed import seconds_in
from perflog.matching.matches import AFTER, BEFORE, Samples
from perflog.matching.one_line import read_line
from perflog.measurements.basis import Basis
from perflog.measurements.rows import Floats
from perflog.measurements.segment import Segment, Taken, epochs_between
from perflog.measurements.series import RankSeries
from perflog.measurements.structure import SLOW
from perflog.notes import Note
from perflog.reading.reading import Reading
from perflog.stats.arrays import middle
from perflog.stats.resolution import printed_quantum

#: Where a format's step counter may stand still (a loss scaler backing off), for at most this share of records.
MOST_REPEATS = 0.45
#: Of the time that is measured, the second that a clock in whole seconds may be off is at most this share.
MOST_OF_A_SECOND = 0.03
#: So many lines, and so large a share of those that could be read, are many that could not. (Of 598 logs without damage
#: four have as many: lines of another kind with the same words.)
LEAST_UNREAD, UNREAD = 3, 0.5
#: Records whose distance is so many times that of the positions are not all that were printed.
FARTHER = 1.5
#: Up to so many records, of which more than this share lie farther or nearer than most by more than this share, may be
#: those that are left of more.
FEW_RECORDS, MOST_UNEVEN = 50, 0.25
#: One of so many measurements or more does not do more than this share of the work.
LEAST_WORKED, MOST_WORK = 5, 0.5
#: A clock that is set jumps by this, in seconds, and about so many more or less; of fewer stamps none is usual.
AN_HOUR, ABOUT, LEAST_STAMPED = 3600.0, 2.0, 5
#: The last epoch of a log may not have been finished.
LAST_OPEN = 1
#: Differences of stamps are no more exact than this many decimals.
_DECIMALS = 6


def refusal(reading: Reading, pattern: Pattern, segment: Segment, main: int) -> str:
    if segment.refused:
        return segment.refused
    if segment.tally.printed >= 10 and segment.tally.repeats > MOST_REPEATS * segment.tally.printed:
        repeats = f"{segment.tally.repeats} of {segment.tally.printed} records repeat the step before them"
        return f"{repeats}: several ranks are blended"
    headings = _headings(reading, pattern, main)
    if segment.tally.behind_first:  # evaluations would stand behind each position
        lacking = max(segment.tally.unplaced, _headings_without_line(reading.series[pattern.key], main, headings))
        if segment.tally.behind_first <= 2 * lacking:
            return (
                f"the lines are out of order: epochs without a line: {lacking}, lines behind another one of their "
                f"epoch: {segment.tally.behind_first}"
            )
    for part in headings:
        if part.refused and part.first_line <= segment.last_line:
            return part.refused
        if part.blend is not None and (segment.blend is None or segment.blend.records != part.blend.records):
            return part.blend.reason
    return _times_missing(segment, headings)


def _times_missing(segment: Segment, headings: Sequence[Segment]) -> str:
    """Why nothing tells how many steps a record's time is of: only some of the positions have a record; else empty."""
    between = min((part.count.interval for part in headings if part.count.interval), default=0.0)
    if not _is_mean_between(segment.basis) or not 0 < FARTHER * between <= segment.count.interval:
        return ""
    return (
        f"the log tells of a step every {between:g} steps and of a time every {segment.count.interval:g}: times "
        "between them are missing, or each is of more steps"
    )


def _headings(reading: Reading, pattern: Pattern, main: int) -> Sequence[Segment]:
    """The lines that print the positions of a pattern's measurements; none where its own lines do."""
    if not pattern.position:
        return ()
    positions = reading.series.get(f"{pattern.parser}.{pattern.position}", {})
    series = positions.get(main) or next(iter(positions.values()), None)
    return series.segments if series else ()


def _headings_without_line(of_ranks: Mapping[int, RankSeries], main: int, headings: Sequence[Segment]) -> int:
    """How many positions no line stands behind, but for the last one of each run, which may not have been finished."""
    series = of_ranks.get(main)
    if series is None or not headings:
        return 0
    placed = sum(segment.tally.printed + segment.tally.doubled for segment in series.segments)
    is_open = headings[-1].previous.epoch != series.segments[-1].previous.epoch
    return sum(part.tally.printed for part in headings) - placed - (len(headings) - 1) - is_open


def notes_of_headings(reading: Reading, pattern: Pattern, segment: Segment, main: int) -> list[Note]:
    """What is said of a log's last run where several epochs begin behind its last measurement."""
    headings = _headings(reading, pattern, main)
    behind = headings[-1].previous.epoch - segment.previous.epoch if headings else 0.0
    if headings and headings[-1].first_line > segment.last_line:  # no heading stands before a measurement
        behind = float(headings[-1].tally.printed)
    if not behind > LAST_OPEN:  # NaN where no epoch is printed
        return []
    missing = "their times are missing"
    return [Note(f"{behind:g} epochs begin behind the last measurement (line {segment.last_line}): {missing}")]


def too_coarse(pattern: Pattern, segment: Segment, taken: Taken) -> str:
    """Why there is no number where a clock in whole seconds is too coarse for what is measured; else empty."""
    if segment.basis is None or not segment.basis.value.is_clock or taken.estimate.time <= 0:
        return ""
    bars, stretches = _bars_and_stretches(pattern, segment, taken)
    share = clock_share(1.0, taken.estimate.time, bars, stretches)
    if share <= MOST_OF_A_SECOND or whole_seconds(pattern, segment) is None:
        return ""
    pieces = f" in {bars} bars" if bars > 1 else f" in {stretches} pieces" if stretches > 1 else ""
    time = f"{taken.estimate.time:g} s{pieces}"
    return f"the clock is printed in whole seconds, and {time} are measured: they may be {share:.0%} off"


def whole_seconds(pattern: Pattern, segment: Segment) -> tuple[bool, int] | None:
    """Of a clock in whole seconds (whether it begins anew with each epoch, in how many pieces more it is at most); None
    for any other.
    """
    if segment.basis is None or not segment.basis.value.is_clock:
        return None
    if not all(np.array_equal(rows[3], np.rint(rows[3])) for rows in segment.store.blocks()):
        return None
    return _parted(pattern, segment)


def clock_set(segment: Segment, taken: Taken) -> str:
    """Why stamps give no number: they jump by an hour, as a clock does that daylight saving time sets; else empty."""
    if segment.basis is None or segment.basis.value.quantity != "timestamp" or taken.estimate.used < LEAST_STAMPED:
        return ""
    for rows in segment.store.blocks():
        inside = rows[:, taken.holds(rows)]
        if not inside.shape[1]:
            continue
        usual = float(middle(inside[3] / inside[2])) * inside[2]
        jumps = (np.abs(inside[3] - usual - AN_HOUR) <= usual + ABOUT) & (usual < AN_HOUR / 2)
        if jumps.any():
            line = f"line {inside[5, jumps.argmax()]:g}"
            return f"the stamps jump by an hour before {line}: the clock was set, or the program waited"
    return ""


def clock_rounding(pattern: Pattern, segment: Segment, taken: Taken, times: Floats) -> float:
    """How much the last digit of a clock may hide of the measured time, as a share of it.

    Args:
        times: of some of the measurements, in seconds, (k,); they show the digit.
    """
    if segment.basis is None or not len(times) or taken.estimate.time <= 0:
        return 0.0
    unit = seconds_in(segment.basis.value.unit)
    digit = printed_quantum(np.round(times / unit, _DECIMALS))
    if digit is None:
        return 0.0
    return clock_share(digit * unit, taken.estimate.time, *_bars_and_stretches(pattern, segment, taken))


def record_rounding(basis: Basis, times: Floats) -> float:
    """How much the last digit of a clock may hide of one record, as a share; 1 where that cannot be known.

    Args:
        times: of some of the measurements, in seconds, (k,); they show the digit.
    """
    unit = seconds_in(basis.value.unit)
    digit = printed_quantum(np.round(times / unit, _DECIMALS)) if len(times) else None
    typical = float(middle(times)) if len(times) else 0.0
    return digit * unit / typical if digit is not None and typical > 0 else 1.0


def _bars_and_stretches(pattern: Pattern, segment: Segment, taken: Taken) -> tuple[int, int]:
    """(how often the clock of a window began anew, in how many pieces it is at most)."""
    by_epoch, more = _parted(pattern, segment)
    bars = epochs_between(segment, taken.first_line, taken.last_line) if by_epoch else 1
    return bars, bars + more


def _parted(pattern: Pattern, segment: Segment) -> tuple[bool, int]:
    """(whether a clock begins anew with each epoch, in how many pieces more its time is at most).

    A record that is left out parts two pieces, but for those in front of all; those before the window are counted too.
    """
    tally = segment.tally
    by_epoch = pattern.restarts or (segment.basis is not None and segment.basis.value.since == "epoch")
    return by_epoch, tally.paused + max(0, tally.unusable + tally.unknown - tally.leading)


def notes_of_segment(segment: Segment) -> list[Note]:
    notes: list[str] = []
    tally = segment.tally
    if tally.doubled:
        notes.append(f"{_many(tally.doubled, 'event')} printed twice, counted once")
    if tally.restarts:
        times = "1 time" if tally.restarts == 1 else f"{tally.restarts} times"
        notes.append(f"the bar began again {times} and no line says that a run begins: one training is counted")
    if tally.gaps:
        times = "1 record is" if tally.gaps == 1 else f"{tally.gaps} records are"
        notes.append(f"{times} missing, the first {tally.gap_place}")
    notes += _notes_of_left_out(segment)
    if tally.unusable:
        place = f", the first at line {tally.unusable_line}" if tally.unusable_line else ""
        notes.append(f"{_many(tally.unusable, 'record')} without a usable number{place}")
    if tally.unknown:
        value = segment.basis.value if segment.basis is not None else None
        means = value is not None and value.span == "cumulative" and not value.is_clock
        what = _many(tally.unknown, "running mean" if means else "record")
        cover = "it covers" if tally.unknown == 1 else "they cover"
        notes.append(f"{what} left out: how many steps {cover} cannot be known")
    if segment.basis is not None and segment.basis.note:
        notes.append(segment.basis.note)
    before = _before_first(segment)
    among = tally.printed == 2 or (before > 0 and segment.count.interval % before == 0)
    if among and _is_mean_between(segment.basis) and 1 < before < segment.count.interval:
        between = "the two records" if tally.printed == 2 else "two records"
        notes.append(
            f"{segment.count.interval:g} steps lie between {between} and {before:g} before the first: if records "
            "between them are missing, the times are of fewer steps"
        )
    elif not tally.gaps and (distances := _uneven(segment)):
        low, high = distances
        notes.append(
            f"the records lie {low:g} to {high:g} steps apart: if records between them are missing, the times are of "
            "fewer steps"
        )
    return list(map(Note, notes))


#: What a record that is left out holds beside steps.
PAUSED = "an evaluation or the like"


def _notes_of_left_out(segment: Segment) -> Iterator[str]:
    """What is said of records that hold something else than training; their time where it is in seconds."""
    tally, left = segment.tally, segment.left_out
    timed = segment.basis is not None and segment.basis.real_time  # else in seconds per unit of work per step
    if tally.paused:
        hold = "holds" if tally.paused == 1 else "hold"
        seconds = f" ({tally.paused_time:.4g} s)" if timed else ""
        yield f"{_many(tally.paused, 'record')} left out that {hold} {PAUSED}{seconds}"
    if left.records:
        seconds = f", {left.time:.4g} s" if timed else ""
        yield (
            f"{_many(left.records, 'record')} left out at the end of an epoch or beside an evaluation, {SLOW:g} times "
            f"as slow as the neighbours or slower (first: line {left.first_line}{seconds})"
        )


def _uneven(segment: Segment) -> tuple[float, float] | None:
    """(the least, the greatest) distance of few records in steps, where it is another one for many; else None.

    Of many records the commonest distance is that of lines between which none is missing. The last record of an epoch
    stands where the epoch ends.
    """
    usual = segment.count.interval
    if not _is_mean_between(segment.basis) or not usual or not 2 < segment.store.count <= FEW_RECORDS:
        return None
    rows = np.concatenate(list(segment.store.blocks()), axis=1)
    epoch = rows[6]
    inside = (epoch[1:] == epoch[:-1]) & np.append(epoch[2:] == epoch[1:-1], True)
    distances = np.diff(rows[1])[inside]
    uneven = int((np.abs(distances - usual) > MOST_UNEVEN * usual).sum())
    if uneven - segment.tally.paused <= MOST_UNEVEN * len(distances):  # a record that is left out is not missing
        return None
    return float(distances.min()), float(distances.max())


def note_of_work(segment: Segment, taken: Taken) -> Note | None:
    """What is said of a measurement that alone did most of the work, where lines say how much was done; else None."""
    basis = segment.basis
    if basis is None or (basis.work is None and basis.weight is None) or taken.estimate.used < LEAST_WORKED:
        return None
    most, time, line = 0.0, 0.0, 0.0
    for rows in segment.store.blocks():
        inside = rows[:, taken.holds(rows)]
        if inside.shape[1] and inside[4].max() > most:
            most, (time, line) = float(inside[4].max()), inside[[3, 5], inside[4].argmax()].tolist()
    work, share = taken.estimate.work - most, most / taken.estimate.work
    if share <= MOST_WORK:
        return None
    text = f"line {line:g} alone holds {share:.0%} of the measured work: its numbers may be damaged"
    rest = taken.estimate.time - time
    move = work / rest / (taken.estimate.work / taken.estimate.time) - 1 if work > 0 and rest > 0 else None
    return Note(text, "number", move, label=f"without line {line:g}", undecided=True)


def _before_first(segment: Segment) -> float:
    """The steps of the program up to the first measured record; 0 where there is none."""
    first = next(iter(segment.store.blocks()), None)
    return float(first[1, 0]) if first is not None and first.shape[1] else 0.0


def notes_of_unread(reading: Reading, pattern: Pattern) -> list[Note]:
    """What is said of a log in which many lines look like measured ones and could not be read."""
    if not pattern.words:
        return []  # any line may hold blanks
    unread, read = reading.counts.unread(pattern)
    if unread < LEAST_UNREAD or unread < UNREAD * read:
        return []
    return [Note(f"{unread} lines hold {pattern.words!r} and could not be read, {read} could: see `perflog explain`")]


def _is_mean_between(basis: Basis | None) -> bool:
    """Whether a value tells of the steps since the line before, and no clock how long they took together."""
    return basis is not None and basis.value.span == "interval" and not basis.value.is_clock


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


# ----------------------------------------------------------------------------------------------------
# Numbers of which a line holds a part alone: a decimal comma behind them, or a column at which all lines were cut.

#: Columns of terminals.
WIDTHS = (80, 100, 120, 132, 160, 200)
#: So many of a log's sampled lines are looked at, and so many of them are to end at one column inside a number.
LOOKED_AT, LEAST = 4, 2
#: So many lines whose last numbers begin at different columns do not end at one column by chance, where so large a
#: share of those that were sampled does.
LEAST_UNLIKE, NEARLY_ALL = 3, 0.75
_LOSS = "loss"
#: Groups that are no values and that a number is made from.
_COUNTS = ("global_batch_size", "batch_size", "covers", "devices", "nodes")
_COMMA = re.compile(r"[0-9],[0-9]")
#: The milliseconds of Python's stamps, and thousands that are parted by commas beside them.
_MILLISECONDS = re.compile(r":[0-9]{2},[0-9]{3}")
_PARTED = re.compile(rf"(?<![0-9.,])[1-9][0-9]{{0,2}}(?:,[0-9]{{3}})+(?![0-9,])|{_MILLISECONDS.pattern}")
_GROUPED = re.compile(r"[0-9]{1,3}(,[0-9]{3})+(\.[0-9]*)?[A-Za-z]?")
_OF_NUMBERS = b"0123456789."
#: What a number or a word goes on with.
_WITHIN_WORD = re.compile(r"[A-Za-z0-9/]|\.[0-9]")


class _Line(NamedTuple):
    """A line's number, and its text from its match on."""

    number: int
    text: str


class _Lines(NamedTuple):
    """A pattern's sampled lines, of the log's first block, up to where a terminal drew each anew."""

    samples: Samples
    texts: Sequence[bytes]

    @classmethod
    def of(cls, samples: Samples) -> _Lines:
        pairs = zip(samples.text, samples.place, strict=True)
        return cls(samples, [text if b"\r" not in text else _until_redrawn(text, place) for text, place in pairs])

    def __len__(self) -> int:
        return len(self.texts)

    def line(self, at: int) -> _Line:
        return _Line(int(self.samples.line[at]), self.match(at).decode("utf-8", "replace"))

    def match(self, at: int) -> bytes:
        """A line from its match on."""
        return self.texts[at][self.samples.place[at] :]

    def is_whole(self, at: int) -> bool:
        """Whether a line's end is known: of a very long one a part is kept."""
        place = self.samples.place[at]
        return place < BEFORE and len(self.samples.text[at]) - place < AFTER


def _until_redrawn(text: bytes, place: int) -> bytes:
    end = text.find(b"\r", place)
    return text if end < 0 else text[:end]


def why_cut(reading: Reading, pattern: Pattern) -> str:
    """Why the numbers on the lines of a pattern may be parts of numbers; empty where nothing shows it.

    One that is followed by a comma and a digit goes on behind it, unless the format's own samples show such lists.
    """
    of_patterns = reading.lines_of_records if pattern.block else reading.samples
    record = (pattern.parser, pattern.block)  # of one on several lines each is looked at
    patterns = (
        [one for one in reading.patterns.values() if (one.parser, one.block) == record] if pattern.block else [pattern]
    )
    for one in patterns:
        for samples in of_patterns.get(one.key, ())[:1]:
            lines = _Lines.of(samples)
            if why := _why_ended_early(lines, one) or _why_parted(lines, one):
                return why
    return ""


def _why_parted(lines: _Lines, pattern: Pattern) -> str:
    last = len(lines) - 1
    for place in sorted({last * part // LOOKED_AT for part in range(LOOKED_AT)}) if last >= 0 else ():
        line = lines.line(place)
        if _COMMA.search(line.text) is None or _COMMA.search(_MILLISECONDS.sub("", line.text)) is None:
            continue
        mark = "a decimal comma" if _COMMA.search(_PARTED.sub("", line.text)) else "a comma that parts thousands"
        for group, shown in _numbers(pattern, line.text):
            if _goes_on(line.text, shown) and not _listed(pattern, group):
                return f"line {line.number} has {mark} ({group} {shown}): its numbers would be read in part"
    return ""


def _why_ended_early(lines: _Lines, pattern: Pattern) -> str:
    """Why the lines of a pattern were cut at a column, as by a terminal, a pager or ``cut``; empty where they were not.

    They are the longest and of one length, and end inside a number or a word: by the format's samples, or because the
    last number begins at another column on each and yet ends at the same.
    """
    sizes = [len(text) for text in lines.texts]
    characters = sizes
    if not b"".join(lines.texts).isascii():
        characters = [len(text.decode("utf-8", "replace")) for text in lines.texts]
    for lengths in (sizes, characters) if characters != sizes else (sizes,):
        longest = max(lengths, default=0)
        at = [place for place, length in enumerate(lengths) if length == longest and lines.is_whole(place)]
        if len(at) < LEAST:
            continue
        apart = len(at) >= NEARLY_ALL * len(lines) and _begin_apart([*map(lines.match, at)], longest)
        first, are_all = lines.line(at[0]), len(at) == len(lines)
        if apart or all(_is_cut(line, longest, pattern, are_all) for line in (first, lines.line(at[-1]))):
            as_by = "a terminal cut there" if longest in WIDTHS else "were all cut there"
            return f"line {first.number} ends inside a number or a word at column {longest}, as lines do that {as_by}"
    return ""


def _begin_apart(at: Sequence[bytes], column: int) -> bool:
    """Whether lines that end at one column end with numbers that begin at different ones."""
    if len(at) < LEAST_UNLIKE:
        return False
    texts = [text.rstrip(b",") for text in at]
    shown = [text[len(text.rstrip(_OF_NUMBERS)) :].lstrip(b".") for text in texts]
    begins, decimals = {column - len(text) for text in shown}, {len(text.partition(b".")[2]) for text in shown}
    # a rate times its time is one
    return all(shown) and (len(begins) > 1 if len(decimals) > 1 else decimals == {0} and len(begins) > 2)


def _is_cut(line: _Line, column: int, pattern: Pattern, are_all: bool) -> bool:
    """Whether a line ends where no line of the format does.

    Its last number ends no sample, and the column is a terminal's or all lines end there; or all do, and it ends inside
    a word of the samples, or that number is whole where each of them has decimals.
    """
    if not (are_all or column in WIDTHS) or not _WITHIN_WORD.match(line.text.rstrip(",.")[-1:]):
        return False
    shape = _shape(line.text)
    samples = [_shape(sample.line.rstrip()) for sample in pattern.samples]
    if any(whole.endswith(shape) for whole in samples):  # what it ends with ends a sample too
        return False
    end = line.text.rstrip(",.")
    for group, shown in _numbers(pattern, line.text):
        if end[-1:].isdigit() and end.endswith(shown.rstrip(",.")):  # no words of a clock
            decimals = [_decimals(text) for text in _of_samples(pattern, group)]
            if are_all and decimals and min(decimals) > 0 == _decimals(shown):
                return True
            return not _ends_line(pattern, group)
    if not are_all or not _WITHIN_WORD.match(line.text[-1:]):
        return False
    behind = [whole[at + len(shape) :] for whole in samples if (at := whole.find(shape)) >= 0]
    return bool(behind) and all(_WITHIN_WORD.match(rest) for rest in behind)


def _shape(text: str) -> str:
    """A text in which numbers are alike, whatever digits they have and how far they are moved to the right."""
    return re.sub(" +", " ", re.sub("[0-9]+", "0", text))


def _decimals(shown: str) -> int:
    return len(shown.partition(".")[2])


def _of_samples(pattern: Pattern, group: str) -> list[str]:
    """A group's numbers as the format's samples print them."""
    return [shown for sample in pattern.samples for name, shown in _numbers(pattern, sample.line) if name == group]


def _numbers(pattern: Pattern, text: str) -> Iterator[tuple[str, str]]:
    """(group, number as it is printed) of a line's values and its loss."""
    read = read_line(pattern, text) or {}
    measured = [value for value in pattern.values if value.quantity != "timestamp"]
    added = [group for value in measured for group in value.plus]
    for group in dict.fromkeys((*(value.group for value in measured), *added, *_COUNTS, _LOSS)):
        if (shown := read.get(group)) and shown[0].isdigit():
            yield group, shown


def _goes_on(text: str, shown: str) -> bool:
    """Whether a number goes on behind a comma wherever it stands in a text, or holds one that parts no thousands."""
    if "," in shown:
        return _GROUPED.fullmatch(shown) is None
    ends = [text[match.end() :] for match in re.finditer(rf"(?<![0-9.]){re.escape(shown)}(?![0-9.])", text)]
    return bool(ends) and all(re.match(r",[0-9]", end) for end in ends)


def _ends_line(pattern: Pattern, group: str) -> bool:
    """Whether a group may end a line: it does in a sample of the format, or is the loss, which anything may print."""
    return group == _LOSS or any(
        name == group and sample.line.rstrip().endswith(shown)
        for sample in pattern.samples
        for name, shown in _numbers(pattern, sample.line)
    )


def _listed(pattern: Pattern, group: str) -> bool:
    """Whether a comma and a digit stand behind a group in a sample of the format."""
    return any(
        name == group and _goes_on(sample.line, shown)
        for sample in pattern.samples
        for name, shown in _numbers(pattern, sample.line)
    )
