"""Faults that are put into logs whose truth is known: as misreadings of the measured value, or as what logs hold.

A misreading by a factor is the same whether the declaration or the printed number is changed, as long as nothing else
on the line is: here the measured value's digits are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from perflog.formats import moments
from perflog.formats.parser import Value
from perflog.formats.printed import clock_seconds, seconds_in
from tests.tools.laboratory import Subject

_BAR_CLOCK = re.compile(r"\d+(:\d\d){1,2}")
#: What a number on a line becomes, by the line's place among the measured lines.
Change = Callable[[float, int], float]


def by_factor(subject: Subject, factor: float) -> str | None:
    """The text in which the measured value says ``factor`` times the throughput; None where that cannot be written."""
    if factor in (0, 1) or not math.isfinite(factor):
        return None
    rate = subject.measured.basis.is_rate
    return rewritten(subject, lambda number, _: number * factor if rate else number / factor)


def running_mean(subject: Subject) -> str | None:
    """A running mean where the parser expects values of their own, after a first step 20 times as long."""
    if subject.measured.basis.value.span not in ("interval", "last"):
        return None
    rate, sums = subject.measured.basis.is_rate, [0.0]

    def mean(number: float, place: int) -> float:
        seconds = (1 / number if rate else number) * (20 if place == 0 else 1)
        sums[0] += seconds
        return (place + 1) / sums[0] if rate else sums[0] / (place + 1)

    return rewritten(subject, mean)


def slower(subject: Subject, extra: Mapping[int, float]) -> str | None:
    """Some measured lines take longer, and the stamps behind them are later; None where that cannot be written.

    Args:
        extra: by their places among the measured lines, how much longer, in times that a line takes on average.
    """
    value, rate = subject.measured.basis.value, subject.measured.basis.is_rate
    places, seconds = measured_lines(subject), _seconds_of_a_line(subject)
    if value.span not in ("interval", "last") and not value.is_clock:
        return None  # differences of means: each would be another one
    clock = [0.0, 0.0]  # what the clock showed last, and how much longer the steps behind it took

    def change(number: float, place: int) -> float:
        more = extra.get(place, 0.0)
        if not value.is_clock:
            return number / (1 + more) if rate else number * (1 + more)
        clock[1] = more * seconds + (clock[1] if number >= clock[0] and value.span == "cumulative" else 0.0)
        clock[0] = number
        return number + clock[1] / (seconds_in(value.unit) if value.unit != "clock" else 1.0)

    text = "\n".join(subject.lines) if value.quantity == "timestamp" else rewritten(subject, change)
    for place in sorted(extra, reverse=True):
        text = text and later(text.split("\n"), places[place], seconds * extra[place])
    return text if text != "\n".join(subject.lines) else None


def long_step(subject: Subject, times: float) -> str | None:
    """One measured line in the middle takes so many times as long."""
    count = len(measured_lines(subject))
    return slower(subject, {count // 2: times - 1}) if count >= 8 else None


def slow_last(subject: Subject, times: float = 60) -> str | None:
    """The last measured line takes so many times as long, as one does that holds the validation."""
    count = len(measured_lines(subject))
    return slower(subject, {count - 1: times - 1}) if count >= 8 else None


def evaluation_inside(subject: Subject) -> str | None:
    """One measured line holds an evaluation that takes 30 % of the time of all."""
    return long_step(subject, 1 + 0.3 * len(measured_lines(subject)))


def evaluation_between(subject: Subject) -> str | None:
    """30 % of the run's time passes between two lines, by their stamps: no fault of the number."""
    places = measured_lines(subject)
    if len(places) < 8:
        return None
    seconds = _seconds_of_a_line(subject) * len(places) * 0.3
    text = later(subject.lines, places[len(places) // 2], seconds)
    return text if text != "\n".join(subject.lines) else None


def _seconds_of_a_line(subject: Subject) -> float:
    estimate = subject.measured.taken.estimate
    if subject.measured.scale is None or not estimate.used:
        return 0.0
    return estimate.time * subject.measured.scale / estimate.used


def failed_start(subject: Subject) -> str | None:
    """A start with twice the batch size that ran out of memory, before the log's own."""
    lines, changed = _configuration(subject, lambda key, number: number * 2 if "batch_size" in key else number)
    if not changed:
        return None
    error = ["Traceback (most recent call last):", '  File "train.py", line 8, in <module>', "    main()",
             "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"]  # fmt: skip
    return "\n".join([*(line for _, line in lines), *error, *subject.lines])


def batch_of_all_devices(subject: Subject) -> str | None:
    """The configuration's batch size is that of all devices, where the parser takes it for one's; or the reverse."""
    devices = subject.devices
    if devices is None or devices < 2:
        return None
    lines, changed = _configuration(subject, lambda key, number: number * devices if "batch_size" in key else number)
    if not changed:
        return None
    text = list(subject.lines)
    for place, line in lines:
        text[place] = line
    return "\n".join(text)


def cut_configuration(subject: Subject) -> str | None:
    """Without the lines that say how the training was configured."""
    lines, _ = _configuration(subject, lambda _, number: number)
    without = {place for place, _ in lines}
    kept = [line for place, line in enumerate(subject.lines) if place not in without]
    return "\n".join(kept) if without else None


def doubled_rank(subject: Subject) -> str | None:
    """Every line twice, once as each of two ranks'."""
    if any(line.startswith(("[rank", "[1,", "[default", "0:")) for line in subject.lines[:200]):
        return None
    return "\n".join(f"[rank{rank}]: {line}" for line in subject.lines for rank in (0, 1))


def _configuration(subject: Subject, change: Callable[[str, int], int]) -> tuple[list[tuple[int, str]], bool]:
    """(the lines of facts before the first measurement, by their places, with changed numbers; whether one changed)."""
    lines: dict[int, str] = {}
    changed = False
    for fact in subject.facts:
        place = fact.line - 1
        if fact.pattern.role != "metadata" or fact.line >= subject.measured.segment.first_line:
            continue
        line = lines.setdefault(place, subject.lines[place])
        for key, text in fact.fields.items():
            if text.isdigit() and change(key, int(text)) != int(text):
                found = _group(fact.pattern.regex, key, line)
                if found is not None:
                    line = line[: found[0]] + str(change(key, int(text))) + line[found[1] :]
                    changed = True
        lines[place] = line
    return sorted(lines.items()), changed


def _group(regex: str, group: str, line: str) -> tuple[int, int] | None:
    try:
        found = re.search(regex, line)
    except re.error:
        return None
    return found.span(group) if found is not None and found[group] is not None else None


# ---------------------------------------------------------------- numbers on measured lines


def measured_lines(subject: Subject) -> list[int]:
    """The places of the lines that print the measured value."""
    pattern = subject.measured.pattern
    try:
        regex = re.compile(pattern.regex)
    except re.error:
        return []
    first, last = subject.measured.segment.first_line, subject.measured.segment.last_line
    return [p for p, line in enumerate(subject.lines) if first <= p + 1 <= last and regex.search(line)]


def rewritten(subject: Subject, change: Change) -> str | None:
    """The text with the measured value's numbers changed; None where they are printed in a form of their own."""
    pattern, value = subject.measured.pattern, subject.measured.basis.value
    groups = [value.group, *value.plus, *(other.group for other in pattern.values if other.same == value.group)]
    if any(pattern.forms.get(group, "clock") != "clock" for group in groups) or value.quantity == "timestamp":
        return None
    by_group = {other.group: other for other in pattern.values}
    regex, lines = re.compile(pattern.regex), list(subject.lines)
    any_changed = False
    for number, place in enumerate(measured_lines(subject)):
        found = regex.search(lines[place])
        printed = found.groupdict() if found is not None else {}
        spans = [(found.span(group), group) for group in groups if found is not None and printed.get(group) is not None]
        for (start, end), group in sorted(spans, reverse=True):
            text = _changed(lines[place][start:end], number, change, by_group.get(group))
            line = lines[place][:start] + text + lines[place][end:]
            again = regex.search(line)
            if again is None or again[group] != text:
                return None
            any_changed = any_changed or line != lines[place]
            lines[place] = line
    return "\n".join(lines) if any_changed else None


def _changed(text: str, place: int, change: Change, value: Value | None) -> str:
    if value is not None and value.unit == "clock":
        shown = clock_seconds(text) if _BAR_CLOCK.fullmatch(text) else None
        return text if shown is None else clock_text(change(shown, place))
    try:
        number = float(text.replace(",", ""))
    except ValueError:
        return text
    if not math.isfinite(number) or number == 0:
        return text
    inverse = value is not None and value.inverse
    new = 1 / change(1 / number, place) if inverse else change(number, place)
    if new == number:
        return text
    decimals = max(0, 7 - math.floor(math.log10(abs(new))) - 1) if new else 0
    return f"{new:.{decimals}f}"


def clock_text(seconds: float) -> str:
    """Seconds as a bar shows them: ``01:02``, ``1:02:03``."""
    minutes, whole = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{whole:02d}" if hours else f"{minutes:02d}:{whole:02d}"


# ---------------------------------------------------------------- stamps


_ORDER = {"JSON": "Ymd", "T…Z": "Ymd", "year-month-day": "Ymd", "month/day/year": "mdY", "glog": "md", "syslog": "bd",
          "month-day": "md", "time": ""}  # fmt: skip


def later(lines: Sequence[str], place: int, seconds: float) -> str:
    """The lines with the stamps from a place on later by so many seconds."""
    return "\n".join([*lines[:place], *(_later(line, seconds) for line in lines[place:])])


def _later(line: str, seconds: float) -> str:
    head = line[:200].encode("latin-1", "replace")
    for form in moments._FORMS:
        for found in form.regex.finditer(head):
            letters = _ORDER[form.name] + "HMSf"
            parts = {letter: found[n] for n, letter in enumerate(letters, 1) if found[n] is not None}
            stamp = _stamp(parts)
            if stamp is None:
                continue
            moved = stamp + timedelta(seconds=seconds)
            for number, letter in sorted(enumerate(letters, 1), reverse=True):
                if found[number] is None:
                    continue
                start, end = found.span(number)
                line = line[:start] + _part(moved, letter, end - start) + line[end:]
            return line
    return line


def _stamp(parts: dict[str, bytes]) -> datetime | None:
    month = datetime.strptime(parts["b"].decode(), "%b").month if "b" in parts else int(parts.get("m", b"1"))
    fraction = int(float(b"0." + parts.get("f", b"0")) * 1e6)
    try:
        return datetime(int(parts.get("Y", b"2000")), month, int(parts.get("d", b"1")), int(parts["H"]),
                        int(parts["M"]), int(parts["S"]), fraction)  # fmt: skip
    except ValueError:
        return None


def _part(stamp: datetime, letter: str, width: int) -> str:
    if letter == "f":
        return f"{stamp.microsecond:06d}".ljust(width, "0")[:width]
    if letter == "d":
        return str(stamp.day).rjust(width, "0")
    return stamp.strftime(f"%{letter}")
