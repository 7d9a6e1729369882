"""What happens to logs: lost lines, resumes, clocks that are set, columns that are cut, logs that are mixed, bars in bars.

Each is made of a real log whose truth is known, and none of them changes how fast the training was: a number that is
another one now is wrong, however plausible the log looks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from perflog.formats.printed import clock_seconds
from perflog.reading.account import LogFact
from tests.tools.faults import clock_text, later, measured_lines, rewritten
from tests.tools.laboratory import Faulty, Subject

#: Fewer measured lines are too few to lose some.
FEWEST = 20
#: Of fewer measured lines one is more than a tenth of the measurements, whose number may be another one.
FEWEST_TO_LOSE_ONE = 10
#: A bar of fewer steps is none that anybody draws.
FEWEST_STEPS = 5
#: A process writes what it prints in blocks of so many bytes where nobody looks at it.
BLOCK = 4096
#: So many epochs are made of a bar, and so many files of each of them.
EPOCHS, SHARDS = 5, 3
#: A clock is set back by this share of the run's time.
SET_BACK = 0.3
#: A bar that is made faster counts so many steps in each second of its clock.
STEPS_IN_A_SECOND = 8.0
_BAR = re.compile(
    r"(?P<percent>\d+)%\|(?P<blocks>[^|]*)\| *(?P<step>\d+)/(?P<total>\d+) \[(?P<elapsed>\d+(?::\d\d)+)<(?P<left>[0-9:?]+)"
)
#: What programs print of a feature that is off, in the words that formats read.
DEFAULTS = (
    "AMP :", "use_amp : False", "use_amp: False", "level : O1", "use_pure_fp16 : False", "amp: False", "fp16: False",
    "bf16: False", "  fp16 ............................................ False", "fp16=False, bf16=False, fp16_opt_level='O1'",
    "Namespace(amp=False, fp16=False, opt_level='O1', use_amp=False, use_pure_fp16=False)", "mixed_precision: no",
    '"fp16": {"enabled": false}', "apex opt_level: O1 (amp disabled)", "gradient_accumulation_steps = 1",
)  # fmt: skip


# ---------------------------------------------------------------- lines


def without_line(subject: Subject, share: float) -> tuple[int, str] | None:
    """(the place of the measured line at this share of all of them, the text without it); None of a log of few."""
    places = measured_lines(subject)
    if len(places) < FEWEST_TO_LOSE_ONE:
        return None
    place = places[int(share * len(places))]
    return place, "\n".join([*subject.lines[:place], *subject.lines[place + 1 :]])


def line_lost(subject: Subject, share: float) -> str | None:
    """The text without the measured line at this share of all of them."""
    lost = without_line(subject, share)
    return None if lost is None else lost[1]


def cut_columns(subject: Subject, width: int) -> str | None:
    """Each line cut at a column; None where none is as long."""
    if all(len(line) <= width for line in subject.lines):
        return None
    return "\n".join(line[:width] for line in subject.lines)


def cut_in_number(subject: Subject) -> str | None:
    """Each line cut at the column of the last digit of a measured number in the middle of the log."""
    places = measured_lines(subject)
    if len(places) < FEWEST:
        return None
    place = places[len(places) // 2]
    found = re.search(subject.measured.pattern.regex, subject.lines[place])
    group = subject.measured.basis.value.group
    if found is None or len(found.groupdict().get(group) or "") < 2:
        return None
    return cut_columns(subject, found.end(group) - 1)


def defaults(subject: Subject) -> str | None:
    """What a program prints of features that are off, in front of the first measurement; None of a log that has them."""
    if subject.metadata.values.get("precision") not in (None, "fp32"):
        return None
    places = measured_lines(subject)
    if not places:
        return None
    place = places[0]
    head = next((line for line in subject.lines[:place] if " INFO: " in line), "").partition(" INFO: ")
    return "\n".join(
        [*subject.lines[:place], *(f"{head[0]}{head[1]}{line}" for line in DEFAULTS), *subject.lines[place:]]
    )


# ---------------------------------------------------------------- two runs in a file


def inside(subject: Subject, other: Subject) -> Faulty:
    """Another run in the middle of a log."""
    places = measured_lines(subject)
    middle = places[len(places) // 2] if places else len(subject.lines) // 2
    return Faulty("\n".join([*subject.lines[:middle], *other.lines, *subject.lines[middle:]]), also=other)


def mixed(subject: Subject, other: Subject) -> Faulty | None:
    """The blocks in which two processes write to one file, in turn."""
    texts = ["\n".join(one.lines) for one in (subject, other)]
    if min(map(len, texts)) < 2 * BLOCK:
        return None
    pieces = [[text[at : at + BLOCK] for at in range(0, len(text), BLOCK)] for text in texts]
    count = max(map(len, pieces))
    return Faulty(
        "".join(piece for number in range(count) for of_one in pieces for piece in of_one[number : number + 1]),
        also=other,
    )


def partners(subjects: Sequence[Subject]) -> Iterator[tuple[Subject, Subject]]:
    """Pairs of logs of one format that need the same options, with speeds that differ by a tenth or more."""
    for subject in subjects:
        for other in subjects:
            if (
                other is not subject
                and other.measured.pattern.key == subject.measured.pattern.key
                and other.options == subject.options
                and not 1 / 1.1 < other.value / subject.value < 1.1
            ):
                yield subject, other
                break


# ---------------------------------------------------------------- clocks


def resumed(subject: Subject) -> str | None:
    """The second half of a run, whose own summary divides the steps of all by the time of this half."""
    places = measured_lines(subject)
    if len(places) < FEWEST or not measured_from_zero(subject):
        return None
    text = summary_times(subject, len(places) / (len(places) - len(places) // 2))
    first, middle = places[0], places[len(places) // 2]
    if text is None:
        return None
    lines = text.split("\n")
    if subject.measured.basis.value.quantity == "elapsed":
        begin = _clock_at(subject, middle - 1)
        again = rewritten(subject, lambda number, place: number - begin if place >= len(places) // 2 else number)
        lines = lines if again is None else [*again.split("\n")[: places[-1] + 1], *lines[places[-1] + 1 :]]
    return "\n".join([*lines[:first], *lines[middle:]])


def measured_from_zero(subject: Subject) -> bool:
    """Whether the log begins where its run does, and its numbers do not need what stood before."""
    value = subject.measured.basis.value
    return not subject.measured.segment.count.resumed and (value.span in ("interval", "last") or value.is_clock)


def _clock_at(subject: Subject, place: int) -> float:
    """What the program's clock shows on the measured line at or before a place; 0 where none stands there."""
    group, regex = subject.measured.basis.value.group, re.compile(subject.measured.pattern.regex)
    for line in reversed(subject.lines[: place + 1]):
        found = regex.search(line)
        if found is not None:
            return clock_seconds(found.groupdict().get(group) or "") or 0.0
    return 0.0


def set_back(subject: Subject) -> str | None:
    """The clock of the machine is set back in the middle of the run: the stamps are earlier from there on."""
    places = measured_lines(subject)
    if len(places) < FEWEST or subject.measured.scale is None:
        return None
    estimate = subject.measured.taken.estimate
    text = later(subject.lines, places[len(places) // 2], -SET_BACK * estimate.time * subject.measured.scale)
    return text if text != "\n".join(subject.lines) else None


def begun_anew(subject: Subject) -> str | None:
    """The program's own clock begins anew in the middle of the run, as one does that times the steps behind a warm-up."""
    places, value = measured_lines(subject), subject.measured.basis.value
    if len(places) < FEWEST or value.quantity != "elapsed" or value.span != "cumulative":
        return None
    middle = len(places) // 2
    begin = _clock_at(subject, places[middle] - 1)
    return rewritten(subject, lambda number, place: number - begin if place >= middle and number >= begin else number)


def coarse_clock(subject: Subject) -> Faulty | None:
    """A clock in whole seconds, of a training that makes several steps in each."""
    value, estimate = subject.measured.basis.value, subject.measured.taken.estimate
    if value.quantity != "elapsed" or not subject.measured.scale or not estimate.time:
        return None
    per_second = estimate.covers / (estimate.time * subject.measured.scale)
    times = max(1.0, STEPS_IN_A_SECOND / per_second)
    text = rewritten(subject, lambda number, _: float(int(number / times)))
    return None if text is None else Faulty(text, times)


# ---------------------------------------------------------------- the program's own account


def summary_times(subject: Subject, times: float) -> str | None:
    """The program's own summary says so many times the rate, and the time that belongs to it; None without one."""
    return _summaries(subject, times, list(subject.lines))


def second_summary(subject: Subject) -> str | None:
    """A second summary below the program's own: of an evaluation, which is four times as fast."""
    lines = _summaries(subject, 4.0, list(subject.lines))
    if lines is None:
        return None
    first = min(fact.line for fact in _own(subject)) - 1
    return "\n".join([*subject.lines, "Summary Inference Statistics on EVAL set", *lines.split("\n")[first:]])


def _own(subject: Subject) -> list[LogFact]:
    return [fact for fact in subject.facts if fact.pattern.role == "summary"]


def _summaries(subject: Subject, times: float, lines: list[str]) -> str | None:
    changed = False
    for fact in _own(subject):
        line = lines[fact.line - 1]
        found = re.search(fact.pattern.regex, line)
        spans = [] if found is None else sorted(
            (*found.span(value.group), value.quantity == "rate") for value in fact.pattern.values
            if value.quantity in ("rate", "step_time", "elapsed") and found.groupdict().get(value.group)
        )  # fmt: skip
        for start, end, is_rate in reversed(spans):
            number = clock_seconds(line[start:end].replace(",", ""))
            if number is not None and ":" not in line[start:end]:
                line = f"{line[:start]}{number * times if is_rate else number / times:.6g}{line[end:]}"
                changed = changed or is_rate
        lines[fact.line - 1] = line
    return "\n".join(lines) if changed else None


# ---------------------------------------------------------------- bars


class _Refresh(NamedTuple):
    """One drawing of a bar: its place among the lines, the step, and the seconds of its clock."""

    place: int
    step: int
    seconds: float


def _bars(subject: Subject) -> tuple[list[list[_Refresh]], int]:
    """(the drawings of each of a log's bars, their length); none where they are of several lengths."""
    found = [(place, _BAR.search(subject.lines[place])) for place in measured_lines(subject)]
    bars: list[list[_Refresh]] = []
    for place, bar in found:
        if bar is not None:
            refresh = _Refresh(place, int(bar["step"]), clock_seconds(bar["elapsed"]) or 0.0)
            if not bars or refresh.step < bars[-1][-1].step:
                bars.append([])
            bars[-1].append(refresh)
    totals = {int(bar["total"]) for _, bar in found if bar is not None}
    return (bars, totals.pop()) if len(totals) == 1 else ([], 0)


def outer_bar(subject: Subject) -> str | None:
    """A bar of epochs around the bar of steps."""
    bars, total = _bars(subject)
    if len(bars) != 1:
        return None
    lines = [[line] for line in subject.lines]
    for epoch in range(1, EPOCHS + 1):
        last = [refresh for refresh in bars[0] if refresh.step <= total * epoch / EPOCHS]
        if last:
            lines[last[-1].place].append(_of_epochs(epoch, last[-1].seconds))
    return "\n".join(line for of_place in lines for line in of_place)


def _of_epochs(epoch: int, seconds: float) -> str:
    return (
        (
            f"Epoch:  {100 * epoch // EPOCHS}%|{'█' * (2 * epoch):10}| {epoch}/{EPOCHS} "
            f"[{clock_text(seconds)}<{clock_text(seconds * (EPOCHS - epoch) / epoch)}, {seconds / epoch:.2f}s/it]"
        )
        .encode()
        .decode("latin-1")
    )


def bar_of_an_epoch(subject: Subject) -> str | None:
    """The one bar of steps begins anew in each epoch, below a bar of epochs."""
    if len(_bars(subject)[0]) != 1:
        return None
    return _begun_anew(subject, EPOCHS, lambda epoch, seconds: [_of_epochs(epoch, seconds)] if epoch else [])


def bar_of_a_shard(subject: Subject) -> str | None:
    """The bar of steps begins anew for each file of data, several in each epoch."""
    if len(_bars(subject)[0]) != 1:
        return _begun_anew(subject, SHARDS, lambda shard, _: [f"Loading data file part-{shard:05d}"])

    def between(shard: int, seconds: float) -> list[str]:
        epoch, part = divmod(shard, SHARDS)
        around = [_of_epochs(epoch, seconds)] if epoch and not part else []
        return [*around, f"Loading data file part-{part:05d}"]

    return _begun_anew(subject, EPOCHS * SHARDS, between)


def _begun_anew(subject: Subject, parts: int, between: Callable[[int, float], list[str]]) -> str | None:
    """Each bar as so many bars of equal length; ``between`` gives the lines in front of a part, by its seconds."""
    bars, total = _bars(subject)
    length = total // parts
    if length < FEWEST_STEPS or any(bar[0].step > length for bar in bars):
        return None
    lines = [[] if re.search(rf"\| *0/{total} \[", line) else [line] for line in subject.lines]
    for bar in bars:
        begun, start, before = -1, 0.0, 0.0
        for place, step, seconds in bar:
            line, part = subject.lines[place], min(max(step - 1, 0) // length, parts - 1)
            of_part = length if part < parts - 1 else total - length * (parts - 1)
            if part != begun:
                start = before if part else 0.0
                head = [*between(part, start), _redrawn(line, 0, of_part, 0.0)]
            lines[place] = [
                *(head if part != begun else []),
                _redrawn(line, step - part * length, of_part, seconds - start),
            ]
            begun, before = part, seconds
    return "\n".join(line for of_place in lines for line in of_place)


def _redrawn(line: str, step: int, total: int, seconds: float) -> str:
    """A line whose bar is at another place."""
    left = clock_text(seconds * (total - step) / step) if step else "?"
    return _BAR.sub(
        lambda bar: f"{100 * step // total}%|{bar['blocks']}| {step}/{total} [{clock_text(seconds)}<{left}",
        line,
        count=1,
    )
