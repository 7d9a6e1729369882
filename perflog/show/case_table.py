"""The cases of an extraction as a table of texts, for terminals and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from perflog.cases.case import Case, data_of, short_labels
from perflog.errors import UsageError
from perflog.extraction import Extraction
from perflog.formats.vocabulary import CASE_KEYS, INTEGERS
from perflog.logs.find import natural
from perflog.notes import Note, alike, texts
from perflog.runs.run import DATA
from perflog.settings.config import names_in
from perflog.show.text import MARK, TextTable, caption, counted, interval, marked, number
from perflog.spelling import did_you_mean
from perflog.stats.quotient import QuotientInterval

#: The headings of columns that are not called as what they hold.
TITLES = {
    "framework_version": "version", "batch_size": "batch/device", "tokens_per_second_per_device": "tokens/s/device",
    "tflops_per_device": "TFLOPS/device",
}  # fmt: skip
#: Keys whose values say by themselves what they are: they stand above a table without their names.
_SELF_EVIDENT = ("framework", "framework_version", "model", "precision", "accelerator")
#: What a table shows beside throughput where the logs give it.
_OTHERS = ("time_to_train", "accuracy", "tflops_per_device", "mfu")
#: Titles of columns that a narrow terminal may leave out, the first to go first.
_SPARE = ("efficiency", "TFLOPS/device")
#: What stands in the row of a case that has no throughput, the first that some such case has.
_INSTEAD = ("reported", "step_time")
#: What a speedup bears that is made of a number that may be another one.
_SPEEDUP = Note("", "number")
#: What a table may show of a case beside its keys and metrics.
OF_CASES = ("n", "throughput", "unit", "interval", "speedup", "efficiency", "notes", "log")


@dataclass(frozen=True, slots=True)
class Shown:
    """How cases are shown.

    Attributes:
        columns: these columns alone, in this order; empty: what the cases have.
        wide: every column, with the ends of each interval, however wide the table is.
        notes: every note (True), none (False), or those without which the table would mislead (None).
    """

    columns: tuple[str, ...] = ()
    wide: bool = False
    notes: bool | None = None


@dataclass(frozen=True, slots=True)
class _Column:
    """A column: its name, its heading, one text for each case, and whether they stand to the right."""

    name: str
    title: str
    cells: list[str]
    right: bool = False


def case_table(extraction: Extraction, shown: Shown = Shown()) -> TextTable:
    """The table of cases: what tells them apart, the centre, its interval, speedup, efficiency, notes.

    Raises:
        UsageError: for a column that no case has.
    """
    marks, numbered = _footnotes(extraction.cases, shown.notes)
    columns = _Columns(extraction.cases, marks, shown.wide)
    heading = ""
    if shown.columns:
        chosen = columns.named(shown.columns)
        units = list(dict.fromkeys(case.throughput.unit for case in extraction.cases))
        if len(units) == 1 and units[0] and "throughput" in shown.columns and "unit" not in shown.columns:
            heading = f"throughput in {units[0]}"
    elif shown.wide:
        chosen = columns.wide()
    else:
        chosen = columns.compact()
        if len(extraction.cases) > 1:
            heading, chosen = _lifted(chosen)
    rows = [list(cells) for cells in zip(*(column.cells for column in chosen), strict=True)]
    keys = sum(1 for column in chosen if column.name in columns.keys)
    of_all = extraction.notes if shown.notes else []
    footnotes = [*numbered, *_of_intervals(extraction.cases, chosen, shown.wide), *of_all]
    return TextTable(
        [column.title for column in chosen], rows, [column.right for column in chosen], footnotes, caption(extraction),
        heading, max(1, keys), _SPARE,
    )  # fmt: skip


class _Columns:
    """The columns that a table of these cases may have."""

    def __init__(self, cases: list[Case], marks: list[str], wide: bool) -> None:
        """``marks``: for each case the marks of its footnotes; ``wide``: give the ends of intervals."""
        self.cases, self.marks, self.is_wide = cases, marks, wide
        self.labels = short_labels(cases)
        self.metrics = list(dict.fromkeys(name for case in cases for name in case.metrics))
        self.keys = self._keys()

    def _keys(self) -> list[str]:
        """What tells the cases apart; the label only where nothing else does."""
        keys = [key for key in CASE_KEYS if any(key in case.key for case in self.cases)]
        if "batch_size" not in keys and any("micro_batch_size" in case.key for case in self.cases):
            keys.append("micro_batch_size")  # all that is known of the batch
        if any(DATA in case.key for case in self.cases) and not data_of(self.cases):
            keys.append(DATA)  # where it is one for all, the caption says it
        for extra in dict.fromkeys(key for case in self.cases for key in case.key if key not in CASE_KEYS):
            varies = len({str(case.key.get(extra, "")) for case in self.cases}) > 1
            if varies and extra not in keys and not _told_apart(self.cases, keys):
                keys.append(extra)
        if len(set(self.labels)) > 1 and not _told_apart(self.cases, keys):
            keys.append("log")
        return keys

    def wide(self, instead: Sequence[str] = ()) -> list[_Column]:
        """Every column; ``instead``: what stands in the place of throughputs that there are not."""
        others = [name for name in self.metrics if name in _OTHERS]
        names = [*self.keys, "n", "throughput", "unit", "interval", *instead, *others, "speedup", "efficiency", "notes"]
        return [self.column(name) for name in names]

    def compact(self) -> list[_Column]:
        """The columns that say something, with the program's own summary, or else the time of a step, where cases have
        no throughput.
        """
        without = [case.metrics for case in self.cases if case.throughput.value is None]
        instead = [name for name in _INSTEAD if any(name in has and has[name].value is not None for has in without)]
        columns = self.wide(instead[:1])
        return [column for column in columns if column.name == "throughput" or any(column.cells)]

    def named(self, names: Sequence[str]) -> list[_Column]:
        """The columns of these names, with the unit where it varies, and the notes where there are some: no number
        without its unit and doubts.

        Raises:
            UsageError: for a name that no case has, with the nearest one.
        """
        require_columns(names, known_fields(self.cases))
        wanted = list(names)
        if "throughput" in wanted and "unit" not in wanted and len({case.throughput.unit for case in self.cases}) > 1:
            wanted.insert(wanted.index("throughput") + 1, "unit")
        notes = ["notes"] if any(self.marks) and "notes" not in wanted else []
        return [self.column(name) for name in (*wanted, *notes)]

    def column(self, name: str) -> _Column:
        """The column of one name."""
        readers: dict[str, Callable[[Case], str]] = {
            "n": _count, "throughput": _throughput, "unit": lambda case: case.throughput.unit,
            "interval": self._interval, "speedup": self._speedup, "efficiency": self._efficiency,
        }  # fmt: skip
        if name in ("log", "notes"):
            return _Column(name, name, list(self.labels if name == "log" else self.marks))
        if name in readers:
            cells = [readers[name](case) for case in self.cases]
            right = name not in ("unit", "interval") or (name == "interval" and not self.is_wide)
            return _Column(name, name, cells, right)
        if name in self.metrics:
            return _Column(name, TITLES.get(name, name), [_metric(case, name) for case in self.cases], True)
        cells = [str(case.key.get(name, "")) for case in self.cases]
        return _Column(name, TITLES.get(name, name), cells, name in INTEGERS)

    def _interval(self, case: Case) -> str:
        """The ends of the interval and its level, or how far it reaches from the centre; empty for none."""
        summary = case.throughput
        if self.is_wide:
            return interval(summary.low, summary.high, summary.level)
        if summary.low is None or summary.high is None or not summary.value:
            return ""
        return _relative(summary.low, summary.high, summary.value)

    def _speedup(self, case: Case) -> str:
        """The speedup with its interval, and behind it that it is made of a number that may be another one."""
        if case.speedup is None:
            return ""
        text = f"{case.speedup:.2f}"
        shown = text + self._bounds(case.speedup, case.speedup_interval)
        behind = f"{case.other_speedup:.2f}" if case.other_speedup is not None else ""
        return marked(shown, _SPEEDUP, behind if behind != text else "") if case.is_marked else shown

    def _efficiency(self, case: Case) -> str:
        if case.efficiency is None:
            return ""
        bounds = self._bounds(case.efficiency, case.efficiency_interval, 100) if self.is_wide else ""
        return f"{100 * case.efficiency:.1f}%{bounds}" + (f" {MARK}" if case.is_marked else "")

    def _bounds(self, value: float, interval: QuotientInterval | None, scale: int = 1) -> str:
        """The interval behind a speedup (scale 1) or an efficiency (in per cent: scale 100); empty for none."""
        if interval is None:
            return ""
        if not self.is_wide:
            return f" {_relative(interval.low, interval.high, value)}"
        decimals = 2 if scale == 1 else 1
        return f" [{scale * interval.low:.{decimals}f}, {scale * interval.high:.{decimals}f}]"


def known_fields(cases: Sequence[Case]) -> list[str]:
    """All names of columns that these cases have."""
    keys = (key for case in cases for key in case.key)
    return list(dict.fromkeys((*CASE_KEYS, *keys, *OF_CASES, *(name for case in cases for name in case.metrics))))


def unknown_name(option: str, name: str, known: Sequence[str]) -> UsageError:
    """The error for a name that there is not, with the one that is nearest."""
    hint = did_you_mean(name, known, otherwise=f"there are {', '.join(known)}")
    return UsageError(f"--{option} {name!r}: no case has such a field{hint}")


def require_columns(names: Sequence[str], known: Sequence[str]) -> None:
    """Raise UsageError for a column that there is not, with the nearest one."""
    for name in names:
        if name not in known:
            raise unknown_name("columns", name, known)


def _throughput(case: Case) -> str:
    text = number(case.throughput.value) or "no value"
    return marked(text, case.mark, number(case.mark.other) if case.mark else "")


def _footnotes(cases: Sequence[Case], every: bool | None) -> tuple[list[str], list[str]]:
    """(the marks of each case, the notes as numbered lines; where not every note is given, how many rows have more)."""
    if every is False:
        return [""] * len(cases), []
    shown = [notes_of(case) if every else texts(note for note in case.notes if note.is_needed) for case in cases]
    marks, lines = numbered_notes(shown)
    in_cells = [{case.mark.text} if case.mark is not None else set() for case in cases]
    more = sum(
        bool(set(notes_of(case)) - {*own} - in_cell) for case, own, in_cell in zip(cases, shown, in_cells, strict=True)
    )
    return marks, lines + ([remarks(more)] if more else [])


def numbered_notes(notes: Sequence[Sequence[str]]) -> tuple[list[str], list[str]]:
    """(the marks of each row, the rows' notes as numbered lines, each once), in the order in which they come.

    Where notes differ in numbers alone, one with the ranges of these stands for them.

    >>> numbered_notes([["a rate of +1.7 %", "b"], ["a rate of +1.9 %"]])
    (['1,2', '1'], ['1. a rate of +1.7 to +1.9 %', '2. b'])
    """
    numbered = list(enumerate(alike(note for own in notes for note in own), 1))
    numbers = {note: mark for mark, (members, _) in numbered for note in members}
    marks = [",".join(map(str, sorted({numbers[note] for note in own}))) for own in notes]
    return marks, [f"{mark}. {text}" for mark, (_, text) in numbered]


def notes_of(case: Case) -> list[str]:
    """Every note of a case, and why its speedup has no interval."""
    no_interval = [case.no_interval] if case.no_interval and case.base is not case else []
    return [*texts(case.notes), *no_interval]


def remarks(count: int, what: str = "row") -> str:
    """The line in place of the notes that change little: how many rows or cells have some."""
    return f"{counted(count, what)} {'has' if count == 1 else 'have'} smaller remarks: --notes"


def _lifted(columns: list[_Column]) -> tuple[str, list[_Column]]:
    """(what is the same in all rows, in words; the columns without it). One column that names rows stays."""
    varying = [column for column in columns if len(set(column.cells)) > 1]
    fixed = ("n", "throughput", "interval", "speedup", "efficiency", "notes", *_OTHERS, *_INSTEAD)
    constant = [column for column in columns if column not in varying and column.name not in fixed]
    names = " ".join(column.cells[0] for column in constant if column.name in _SELF_EVIDENT)
    parts = [names] if names else []
    for column in constant:
        if column.name == "unit":
            parts.append(f"throughput in {column.cells[0]}")
        elif column.name not in _SELF_EVIDENT:
            parts.append(f"{column.title} {column.cells[0]}")
    return ", ".join(parts), [column for column in columns if column not in constant]


def _of_intervals(cases: Sequence[Case], columns: Sequence[_Column], wide: bool) -> list[str]:
    """What the intervals of a table are, as lines below it."""
    lines = []
    levels = sorted({case.throughput.level for case in cases if case.throughput.level is not None})
    if levels and not wide and any(column.name == "interval" for column in columns):
        ends = " to ".join(f"{100 * level:.4g}" for level in dict.fromkeys((levels[0], levels[-1])))
        lines.append(f"±: the farther end of the interval of the median, at a level of {ends} %")
    if any(column.name == "speedup" for column in columns):
        own = {case.speedup_interval.level for case in cases if case.speedup_interval is not None}
        of_speedups = [f"of speedup and efficiency at {100 * level:g} %" for level in own]
        lines = [f"{lines[0]}; {of_speedups[0]}", *of_speedups[1:]] if lines and of_speedups else lines + of_speedups
    return lines


def _count(case: Case) -> str:
    """How many runs have a value, and of how many where some have none."""
    summary = case.throughput
    return f"{summary.n}" if summary.n == len(case.runs) else f"{summary.n}/{len(case.runs)}"


def _relative(low: float, high: float, centre: float) -> str:
    """The farther of two ends in per cent of the centre, two digits of it.

    >>> _relative(98.0, 103.0, 100.0), _relative(99.99, 100.0, 100.0), _relative(50.0, 250.0, 100.0)
    ('±3.0 %', '±0.010 %', '±150 %')
    """
    share = 100 * max(centre - low, high - centre) / abs(centre)
    decimals = 0 if share >= 9.95 else 1 if share >= 0.995 else 2 if share >= 0.0995 else 3
    return f"±{share:.{decimals}f} %"


def _metric(case: Case, name: str) -> str:
    """The value of a metric beside throughput, with its unit; empty for none."""
    summary = case.metrics.get(name)
    return "" if summary is None or summary.value is None else f"{number(summary.value)} {summary.unit}".strip()


def _told_apart(cases: Sequence[Case], keys: Sequence[str]) -> bool:
    return len({tuple(str(case.key.get(key, "")) for key in keys) for case in cases}) == len(cases)


# ----------------------------------------------------------------------------------------------------
# The order in which cases are shown, as the user asks for it.

Item = TypeVar("Item")


def in_order(cases: Sequence[Case], order: str) -> list[Case]:
    """Cases by the fields that ``order`` names: ``devices,-throughput``; ``-`` turns a field's order round.

    Raises:
        UsageError: for a field that no case has, with the nearest one.
    """
    labels = dict(zip(map(id, cases), short_labels(cases), strict=True))

    def value(case: Case, name: str) -> float | str | None:
        return labels[id(case)] if name == "log" else value_of_case(case, name)

    known = [name for name in known_fields(cases) if name not in ("notes", "interval")]
    return ordered(cases, order, known, value)


def ordered(
    items: Sequence[Item], order: str, known: Sequence[str], value: Callable[[Item, str], float | str | None]
) -> list[Item]:
    """What has fields by those that ``order`` names.

    Numbers stand by their size, texts in natural order, and what has not the field stands last either way.

    Args:
        known: the fields that there are.
        value: an item's value of a field; None where it has none.

    Raises:
        UsageError: for a field that there is not, with the nearest one.
    """
    sorted_items = list(items)
    for part in reversed(names_in(order)):
        name, backwards = part.removeprefix("-"), part.startswith("-")
        if name not in known:
            raise unknown_name("sort", name, known)
        valued = [(item, value(item, name)) for item in sorted_items]
        have = [(item, own) for item, own in valued if own is not None]
        have.sort(
            key=lambda pair: (0, pair[1], []) if isinstance(pair[1], int | float) else (1, 0.0, natural(pair[1])),
            reverse=backwards,
        )
        sorted_items = [item for item, _ in have] + [item for item, own in valued if own is None]
    return sorted_items


def value_of_case(case: Case, name: str) -> float | str | None:
    """A case's value of one field; None where it has none."""
    own: dict[str, float | str | None] = {
        "n": case.throughput.n, "unit": case.throughput.unit, "speedup": case.speedup, "efficiency": case.efficiency
    }  # fmt: skip
    if name in own:
        return own[name]
    if name in case.metrics:
        return case.metrics[name].value
    return case.key.get(name)
