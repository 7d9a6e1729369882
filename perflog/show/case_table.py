"""The cases of an extraction as a table of texts, for terminals and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from perflog.cases.case import Case, data_of, short_labels, spelling
from perflog.cases.choosing import names_of_one, sections
from perflog.extraction import Extraction
from perflog.formats.vocabulary import CASE_KEYS, INTEGERS
from perflog.logs.find import natural
from perflog.notes import Note, alike, texts
from perflog.runs.run import DATA
from perflog.show.fields import known_fields, require_columns
from perflog.show.links import link_to
from perflog.show.text import MARK, TextTable, caption, counted, interval, marked, number, size_of
from perflog.stats.quotient import QuotientInterval

#: The headings of columns that are not called as what they hold.
TITLES = {
    "framework_version": "version", "batch_size": "batch/device", "tokens_per_second_per_device": "tokens/s/device",
    "tflops_per_device": "TFLOPS/device",
}  # fmt: skip
#: What stands before values above a table in place of their column's title: nothing where they say what they are.
_WORDS = dict.fromkeys(("framework", "version", "model", "precision", "accelerator"), "") | {"unit": "throughput in"}
#: What a table shows beside throughput where the logs give it.
_OTHERS = ("time_to_train", "accuracy", "tflops_per_device", "mfu")
#: What may stand across a table, the first that its cases have in several values, and so many of these at most.
_ACROSS, _MOST_ACROSS = ("devices", "framework_version"), 6
#: What is shown of each case, its keys, runs and notes aside; a table with values across is filled by so much at least.
_OF_CELLS, _LEAST_FILLED = ("throughput", "interval", "speedup", "efficiency"), 0.5
#: Models with fewer cases stand together in one table.
_FEW = 3
#: Titles of columns that a narrow terminal may leave out, the first to go first.
_SPARE = ("efficiency", "TFLOPS/device")
#: Titles of columns that may stand behind the number before them.
_BEHIND = ("interval",)
#: What stands in the row of a case that has no throughput, the first that some such case has.
_INSTEAD = ("reported", "step_time")
#: What a speedup bears that is made of a number that may be another one.
_SPEEDUP = Note("", "number")


@dataclass(frozen=True, slots=True)
class Shown:
    """How cases are shown.

    Attributes:
        columns: these columns alone, in this order; empty: what the cases have.
        wide: every column, with the ends of each interval, however wide the table is.
        notes: every note (True), none (False), or those without which the table would mislead (None).
        view: the address of the page of runs over time that throughputs lead to on a terminal; empty for none.
    """

    columns: tuple[str, ...] = ()
    wide: bool = False
    notes: bool | None = None
    view: str = ""


@dataclass(frozen=True, slots=True)
class _Column:
    """A column: its name, its heading, one text for each case, and whether they stand to the right."""

    name: str
    title: str
    cells: list[str]
    right: bool = False


def case_table(extraction: Extraction, shown: Shown = Shown()) -> TextTable:
    """One table of all cases: what tells them apart, the centre, its interval, speedup, efficiency, notes.

    Raises:
        UsageError: for a column that no case has.
    """
    marks, numbered, more = _footnotes(extraction.cases, shown.notes)
    table = _of_all(extraction, shown, marks)
    return replace(table, footnotes=[*numbered, *([remarks(more)] if more else []), *_said_of_all(extraction, shown)])


def _of_all(extraction: Extraction, shown: Shown, marks: list[str]) -> TextTable:
    """One table of all cases with the marks of their notes, which stand below it."""
    columns = _Columns(extraction.cases, marks, shown.wide, shown.view)
    heading = ""
    if shown.columns:
        chosen = columns.named(shown.columns)
        units = list(dict.fromkeys(case.throughput.unit for case in extraction.cases))
        if len(units) == 1 and units[0] and "throughput" in shown.columns and "unit" not in shown.columns:
            heading = f"throughput in {units[0]}"
        table = columns.table(chosen, heading)
    elif shown.wide:
        table = columns.table(columns.wide())
    else:
        table = columns.compact()
    return replace(table, caption=_made(extraction, shown, table.titles))


def case_tables(extraction: Extraction, shown: Shown = Shown(), width: int | None = None) -> list[TextTable]:
    """The cases as people read them: a table for each model and unit, what is constant above it.

    Devices or versions stand across where that takes fewer lines and there is room; what is said of all cases stands
    below the last table: in one paragraph how the numbers were made, how many cases have smaller remarks, and which
    models may be one, and then the notes that the tables need. Models with few cases stand together. Where columns are
    chosen, all cases are one table.

    Args:
        width: how wide the terminal is; None: as wide as the tables are.

    Raises:
        UsageError: for a column that no case has.
    """
    parts = [] if shown.columns or shown.wide else _parts(extraction.cases)
    in_turn = [case for part in parts for case in part] or extraction.cases  # notes are numbered as they are met
    marks, numbered, more = _footnotes(in_turn, shown.notes)
    if parts:
        of_case = dict(zip(map(id, in_turn), marks, strict=True))
        tables = [
            _of_part(_Columns(part, [of_case[id(case)] for case in part], False, shown.view), width) for part in parts
        ]
    else:
        tables = [_of_all(extraction, shown, marks)]
    rows = sum(len(table.rows) for table in tables)
    said = [
        _made(extraction, shown, [title for table in tables for title in table.titles]),
        remarks(more, "row" if rows == len(extraction.cases) else "case") if more else "",
        "" if shown.notes is False or not parts else _one_model(extraction.cases),
    ]
    last = replace(tables[-1], caption=_sentences(said), footnotes=[*numbered, *_said_of_all(extraction, shown)])
    return [*tables[:-1], last]


def _one_model(cases: Sequence[Case]) -> str:
    """The lines that take models of nearly one name for one, offered once: the user knows whether they are."""
    pairs = [f"`{_toml(name)} = {_toml(other)}`" for name, other in names_of_one(cases).items()]
    return f"If these are one model, perflog.toml says so below [aliases]: {', '.join(pairs)}" if pairs else ""


def _toml(text: str) -> str:
    """A text in TOML."""
    import json

    return json.dumps(text, ensure_ascii=False)


def _sentences(texts: Iterable[str]) -> str:
    """Texts as a paragraph; the last may end with what is to be copied, and gets no full stop."""
    *before, last = [text for text in texts if text]
    return " ".join([*(f"{text.removesuffix('.')}." for text in before), last])


def _parts(cases: Sequence[Case]) -> list[list[Case]]:
    """The cases by model and unit, those of models with few cases together and last; each in the order of all."""
    parts = [section.cases for section in sections(cases)]
    few = [part for part in parts if len(part) < _FEW]
    if len(few) > 1:
        parts = [part for part in parts if len(part) >= _FEW] + [tuple(case for part in few for case in part)]
    place = {id(case): number for number, case in enumerate(cases)}
    return [sorted(part, key=lambda case: place[id(case)]) for part in parts]


def _of_part(columns: _Columns, width: int | None) -> TextTable:
    """The table of cases of one model and unit: that with fewest lines."""
    across = (columns.across(name) for name in _ACROSS)
    tables = [*(table for table in across if table is not None), columns.compact()]
    return min(tables, key=lambda table: size_of(table, width)) if len(tables) > 1 else tables[0]


def _made(extraction: Extraction, shown: Shown, titles: Sequence[str]) -> str:
    """How the numbers of a table with these columns were made."""
    return f"{caption(extraction)} {_of_intervals(extraction.cases, () if shown.wide else titles)}".strip()


def _said_of_all(extraction: Extraction, shown: Shown) -> list[str]:
    """The notes that hold of all cases, where they are asked for."""
    return extraction.notes if shown.notes else []


class _Columns:
    """The columns that a table of these cases may have."""

    def __init__(self, cases: list[Case], marks: list[str], wide: bool, view: str = "") -> None:
        """``marks``: for each case the marks of its footnotes; ``wide``: give the ends of intervals; ``view``: the
        address of the page of runs over time.
        """
        self.cases, self.marks, self.is_wide, self.view = cases, marks, wide, view
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

    def compact(self) -> TextTable:
        """The columns that say something, with the program's own summary, or else the time of a step, where cases have
        no throughput; what is the same in all rows stands above them.
        """
        return self._lifted(self._saying())

    def across(self, name: str) -> TextTable | None:
        """The columns with the values of a key, such as the devices, beside each other; None where they are not the one
        thing that varies in each row, or more than throughput and what is made of it is to be shown.
        """
        saying = {column.name: column for column in self._saying()}
        values = sorted({str(case.key.get(name, "")) for case in self.cases}, key=natural)
        titled = [f"{value} device{'s' * (value != '1')}" if name == "devices" else value for value in values]
        keys = [column for key, column in saying.items() if key in self.keys and key != name]
        of_runs = [column for key, column in saying.items() if key in ("n", "unit")]
        if not {*saying} <= {*self.keys, "n", "unit", *_OF_CELLS, "notes"} or not 1 < len(values) <= _MOST_ACROSS:
            return None
        if "" in values or any(len(set(column.cells)) > 1 for column in of_runs):
            return None
        rows: dict[tuple[str, ...], dict[str, int]] = {}
        for place, case in enumerate(self.cases):
            row = rows.setdefault(tuple(column.cells[place] for column in keys), {})
            if row.setdefault(str(case.key[name]), place) != place:
                return None
        if len(rows) < 2 or len(self.cases) < _LEAST_FILLED * len(rows) * len(values):
            return None
        first = [min(row.values()) for row in rows.values()]
        columns = [replace(column, cells=[column.cells[place] for place in first]) for column in (*keys, *of_runs)]
        for value, title in zip(values, titled, strict=True):
            for column in (saying[key] for key in _OF_CELLS if key in saying):
                cells = [column.cells[row[value]] if value in row else "" for row in rows.values()]
                says = any(cells) and (column.name == "throughput" or not self._is_base(rows.values(), value))
                if says or (column.name == "interval" and any(cells)):
                    columns.append(
                        replace(column, title=title if column.name == "throughput" else column.title, cells=cells)
                    )
        if "notes" in saying:
            marks = [
                sorted(
                    {mark for place in row.values() for mark in saying["notes"].cells[place].split(",") if mark},
                    key=natural,
                )
                for row in rows.values()
            ]
            columns.append(replace(saying["notes"], cells=[",".join(row) for row in marks]))
        return replace(self._lifted(columns), links=[self._links(row.values()) for row in rows.values()])

    def _links(self, places: Iterable[int]) -> dict[str, str]:
        """Where the throughputs of some cases lead, by their texts; two of one text lead nowhere."""
        links: dict[str, str] = {}
        for case in (self.cases[place] for place in places if self.view):
            text = number(case.throughput.value)
            links[text] = "" if text in links else link_to(self.view, [run.log.name for run in case.runs])
        return links

    def _is_base(self, rows: Iterable[Mapping[str, int]], value: str) -> bool:
        """Whether all cases of a value are those that speedups are relative to."""
        return all(self.cases[row[value]].base in (None, self.cases[row[value]]) for row in rows if value in row)

    def _lifted(self, columns: Sequence[_Column]) -> TextTable:
        """Columns as a table, those above it that are the same in all rows; a case alone keeps its columns."""
        table = self.table(columns)
        fixed = {*_OF_CELLS, "notes", *_OTHERS, *_INSTEAD}
        constant = [
            i for i, own in enumerate(columns) if own.name not in fixed and len(set(own.cells)) == 1 and own.cells[0]
        ]
        return replace(table.lifted(constant) if len(table.rows) > 1 else table, settled=True)

    def _saying(self) -> list[_Column]:
        """The columns that say something."""
        without = [case.metrics for case in self.cases if case.throughput.value is None]
        instead = [name for name in _INSTEAD if any(name in has and has[name].value is not None for has in without)]
        gone = set() if any(case.base not in (None, case) for case in self.cases) else {"speedup", "efficiency"}
        if len(self.cases) > 1 and {str(case.key.get("nodes", 1)) for case in self.cases} == {"1"}:
            others = [key for key in self.keys if key != "nodes"]
            gone |= {"nodes"} if _distinct(self.cases, others) == _distinct(self.cases, self.keys) else set()
        columns = [column for column in self.wide(instead[:1]) if column.name not in gone]
        counts = [_count(case) if case.throughput.value is not None else str(len(case.runs)) for case in self.cases]
        if len({*counts}) == 1 and any(case.throughput.value is not None for case in self.cases):
            columns = [replace(c, cells=counts) if c.name == "n" else c for c in columns]  # "no value" says the rest
        if len({spelling(str(case.key.get("model", ""))) for case in self.cases}) == 1:  # however it is spelt
            names = "/".join(dict.fromkeys(str(case.key.get("model", "")) for case in self.cases))
            columns = [replace(c, cells=[names] * len(c.cells)) if c.name == "model" else c for c in columns]
        units = {case.throughput.unit for case in self.cases if case.throughput.unit}
        if len(units) == 1:  # a case that has no value has no unit of its own
            columns = [replace(c, cells=[*units] * len(c.cells)) if c.name == "unit" else c for c in columns]
        return [column for column in columns if column.name == "throughput" or any(column.cells)]

    def table(self, columns: Sequence[_Column], heading: str = "") -> TextTable:
        """Columns as a table."""
        rows = [list(cells) for cells in zip(*(column.cells for column in columns), strict=True)]
        keys = sum(1 for column in columns if column.name in self.keys)
        titles, right = [column.title for column in columns], [column.right for column in columns]
        return TextTable(
            titles, rows, right, heading=heading, keys=max(1, keys), spare=_SPARE, behind=_BEHIND, words=_WORDS,
            links=[self._links([place]) for place in range(len(self.cases))],
        )  # fmt: skip

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
            without = [name not in _INSTEAD or self.is_wide or case.throughput.value is None for case in self.cases]
            cells = [_metric(case, name) if own else "" for case, own in zip(self.cases, without, strict=True)]
            return _Column(name, TITLES.get(name, name), cells, True)
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


def _throughput(case: Case) -> str:
    text = number(case.throughput.value) or "no value"
    return marked(text, case.mark, number(case.mark.other) if case.mark else "")


def _footnotes(cases: Sequence[Case], every: bool | None) -> tuple[list[str], list[str], int]:
    """(the marks of each case, the notes as numbered lines, how many cases have others than these)."""
    if every is False:
        return [""] * len(cases), [], 0
    shown = [notes_of(case) if every else texts(note for note in case.notes if note.is_needed) for case in cases]
    marks, lines = numbered_notes(shown)
    in_cells = [{case.mark.text} if case.mark is not None else set() for case in cases]
    more = sum(
        bool(set(notes_of(case)) - {*own} - in_cell) for case, own, in_cell in zip(cases, shown, in_cells, strict=True)
    )
    return marks, lines, more


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


def _of_intervals(cases: Sequence[Case], titles: Container[str]) -> str:
    """What the intervals of a table with these columns are, as a sentence for its caption; empty where it has none."""
    levels = sorted({case.throughput.level for case in cases if case.throughput.level is not None})
    of_speedups = {case.speedup_interval.level for case in cases if case.speedup_interval is not None}
    parts = []
    if levels and "interval" in titles:
        ends = " to ".join(f"{100 * level:.4g}" for level in dict.fromkeys((levels[0], levels[-1])))
        parts.append(f"±: the farther end of the interval of the median, at a level of {ends} %")
    parts += [f"of speedup and efficiency at {100 * level:g} %" for level in of_speedups if "speedup" in titles]
    return f"{'; '.join(parts)}." if parts else ""


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
    """The value of a metric beside throughput, with its unit where that is another one; empty for none."""
    summary = case.metrics.get(name)
    if summary is None or summary.value is None:
        return ""
    return f"{number(summary.value)} {summary.unit if summary.unit != case.throughput.unit else ''}".strip()


def _told_apart(cases: Sequence[Case], keys: Sequence[str]) -> bool:
    return _distinct(cases, keys) == len(cases)


def _distinct(cases: Sequence[Case], keys: Sequence[str]) -> int:
    """How many cases these keys tell apart."""
    return len({tuple(str(case.key.get(key, "")) for key in keys) for case in cases})
