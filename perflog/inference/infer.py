"""Reads a log of an unknown format, where two witnesses in it agree on what its numbers mean.

Each reading of the most frequent shapes is tried as a parser on the whole log. It counts where the evidence in the log
agrees with it and nothing contradicts it, and only if all readings that count give one number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations, islice, pairwise, product
from pathlib import Path
from typing import Any

from msgspec import Struct

from perflog.errors import ParserError
from perflog.formats.catalog import Catalog
from perflog.inference.shapes import (
    LEAST_LINES,
    LONGEST_LINE,
    MOST_LINES,
    NUMBER,
    Meaning,
    Meanings,
    Shape,
    may_have_shapes,
    meanings_of,
    shapes_of,
    without_prefix,
)
from perflog.logs.clean import clean_block, valid_utf8
from perflog.logs.containers import UnreadableError, blocks_of
from perflog.logs.find import LogFile
from perflog.matching.checks import is_sound
from perflog.notes import Note
from perflog.reading.reading import Reading
from perflog.reading.schedule import read_logs
from perflog.runs.build import build_runs
from perflog.runs.run import Run, Skipped
from perflog.settings.options import Options

# ----------------------------------------------------------------------------------------------------
# A shape and the meanings of its numbers as the tables of a parser's file.

#: The shortest text that tells lines of one shape from others.
LEAST_LITERAL = 3
_CLOCK, _WHOLE, _NUMBER = "(?P<{}>[0-9:.]+)", "(?P<{}>[0-9,]+)", "(?P<{}>[-+0-9.,eEnaifNAIF]+)"
_ANY = r"[-+0-9.,:eEnaifNAIF]+"


def tables_of(shape: Shape, meanings: Sequence[Meaning], name: str) -> dict[str, Any] | None:
    """A parser's file as tables, None where no text long enough to find the lines by stands before their numbers."""
    by_place = {meaning.place: meaning for meaning in meanings}
    first, last = min(by_place), max(by_place)
    start = next((place for place in range(first + 1) if len(shape.words[place].strip()) >= LEAST_LITERAL), first)
    opening = shape.words[start].strip()
    regex = _escaped(opening) + (r"[ \t]*" if shape.words[start].endswith(" ") else "")
    for place in range(start, last + 1):
        meaning = by_place.get(place)
        regex += _ANY if meaning is None else _group(meaning)
        following = shape.words[place + 1]
        regex += _escaped(following if place < last else following.rstrip()[:12])
    literal = _literal(shape, start, last)
    if literal is None:
        return None
    pattern: dict[str, Any] = {
        "name": "step", "role": "step", "literal": literal, "regex": regex, "step_base": _base(shape, meanings),
        "value": [_value(meaning) for meaning in meanings if meaning.kind not in ("step", "epoch")],
        "sample": [{"line": shape.first, "expect": _expected(shape, meanings)}],
    }  # fmt: skip
    scaled = [_name(m) for m in meanings if m.unit != "clock" and any("," in text for text in shape.column(m.place))]
    if scaled:
        pattern["scaled"] = scaled
    if any(meaning.kind == "epoch" for meaning in meanings) and _restarts(shape, meanings):
        pattern["step_per"] = "epoch"
    return {"title": name, "source": "inferred from a log", "pattern": [pattern]}


def _literal(shape: Shape, start: int, last: int) -> str | None:
    """A text between blanks that lines hold once from their first column on, the one there if it can be; else None."""
    words, numbers = NUMBER.split(shape.first), NUMBER.findall(shape.first)
    rest = "".join(number + word for number, word in zip(numbers[start:], words[start + 1 :], strict=True))
    opening = words[start].lstrip()
    parts = (part for place in range(start, last + 1) for part in words[place].split())
    able = (word for word in (opening.rstrip(), opening, *parts) if len(word.strip()) >= LEAST_LITERAL)
    return next((word for word in able if (opening + rest).count(word) == 1), None)


def _escaped(text: str) -> str:
    parts = re.split(r"( )", text)
    return "".join(r"[ \t]*" if part == " " else re.sub(r"([\\.\[\](){}*+?|^$])", r"\\\1", part) for part in parts)


def _group(meaning: Meaning) -> str:
    form = _CLOCK if meaning.unit == "clock" else _WHOLE if meaning.kind in ("step", "epoch") else _NUMBER
    return form.format(_name(meaning))


def _name(meaning: Meaning) -> str:
    return meaning.kind if meaning.kind in ("step", "epoch") else f"{meaning.kind}_{meaning.place}"


def _value(meaning: Meaning) -> Mapping[str, Any]:
    value = {"group": _name(meaning), "quantity": meaning.kind, "unit": meaning.unit, "span": meaning.span}
    return {**value, **({"scope": meaning.scope} if meaning.scope != "job" else {})}


def _expected(shape: Shape, meanings: Sequence[Meaning]) -> dict[str, Any]:
    numbers = NUMBER.findall(shape.first)
    return {_name(meaning): numbers[meaning.place] for meaning in meanings}


def _base(shape: Shape, meanings: Sequence[Meaning]) -> int:
    step = next(meaning for meaning in meanings if meaning.kind == "step")
    return 0 if shape.numbers[0][step.place] == "0" else 1


def _restarts(shape: Shape, meanings: Sequence[Meaning]) -> bool:
    step = next(meaning for meaning in meanings if meaning.kind == "step")
    return any(later <= earlier for earlier, later in pairwise(shape.whole_numbers(step.place) or ()))


#: The name of a parser that nobody wrote.
INFERRED = "inferred"
NOTE = "the format is inferred from the log and declared by no parser: `perflog parsers new NAME --from LOG` writes it"
#: So many shapes of a log are tried, and so many readings of each.
MOST_SHAPES, MOST_READINGS = 3, 40
#: A witness of a format that nobody declared agrees within this much, and readings that count give one number so near.
SAME = 0.02


class Inferred(Struct, frozen=True):
    """A format that a log shows: the tables of its parser, and the runs that it gives."""

    tables: dict[str, Any]
    runs: list[Run]


def infer(log: LogFile, catalog: Catalog, options: Options, beginning: LogFile | None = None) -> Inferred | None:
    """The format of a log, None where it shows none or two witnesses of its numbers do not agree.

    Args:
        catalog: its patterns of paths are used.
        beginning: the first lines of the log as a log of their own, where they are at hand. A reading that they do not
            corroborate is not tried on the rest: a large log is not read again and again.
    """
    logs = (log,) if beginning is None or beginning is log else (beginning, log)
    for shape in shapes_of(first_lines(logs[0]))[:MOST_SHAPES]:
        meanings = meanings_of(shape)
        if meanings is None:
            continue
        trial = _Trial(shape, meanings, logs, catalog, options)
        found = trial.of_columns() or trial.of_pairs()
        if found:
            return found[-1] if _agree([reading.runs for reading in found]) else None
    return None


def shape_of(log: LogFile) -> dict[str, Any] | None:
    """The tables of a parser for the most frequent shape that may measure steps, to be corrected by a person."""
    for shape in shapes_of(first_lines(log)):
        meanings = meanings_of(shape)
        if meanings is not None:
            tables = _tables(shape, meanings, [choices[0] for choices in meanings.measures])
            if tables is not None:
                return tables
    return None


def first_lines(log: LogFile) -> Iterator[str]:
    """The first lines of a log, clean."""
    with suppress(UnreadableError):
        blocks = (valid_utf8(clean_block(load())).decode("utf-8") for load in blocks_of(log))
        yield from islice((line for block in blocks for line in block.split("\n")), MOST_LINES)


def _tables(shape: Shape, meanings: Meanings, measures: Sequence[Meaning]) -> dict[str, Any] | None:
    """A reading of a shape as the tables of a parser: some of its measures beside its step and epoch."""
    positions = [meanings.step, *([meanings.epoch] if meanings.epoch is not None else [])]
    return tables_of(shape, sorted([*positions, *measures], key=lambda meaning: meaning.place), INFERRED)


class _Trial(Struct, frozen=True):
    """The readings of one shape of a log; ``logs``: its beginning, where that is at hand, and the log."""

    shape: Shape
    meanings: Meanings
    logs: tuple[LogFile, ...]
    catalog: Catalog
    options: Options

    def of_columns(self) -> list[Inferred]:
        """Readings of one measure each that the log's clock agrees with; last, where it counts too, all of them."""
        found: list[Inferred] = []
        kept: list[Meaning] = []
        for choices in self.meanings.measures:
            read = [(meaning, reading) for meaning in choices if (reading := self.read([meaning]))]
            kept += [meaning for meaning, _ in read[:1]]
            found += [reading for _, reading in read]
        together = self.read(kept) if len(kept) > 1 else None
        return [*found, together] if together is not None else found

    def of_pairs(self) -> list[Inferred]:
        """Readings of two measures that agree with one another, as rate and time of a step do.

        Two numbers of one line say nothing of the steps between two lines, but where one of them is a clock.
        """
        is_every_step = self._is_every_step()
        choices = (product(*two) for two in combinations(self.meanings.measures, 2))
        pairs = (pair for pairs in choices for pair in pairs if is_every_step or _has_clock(pair))
        return [reading for pair in islice(pairs, MOST_READINGS) if (reading := self.read(pair))]

    def read(self, measures: Sequence[Meaning]) -> Inferred | None:
        """What a reading gives; None where it is not corroborated, or contradicted."""
        from perflog.formats.load import parser_from  # few logs come so far

        tables = _tables(self.shape, self.meanings, measures)
        if tables is None:
            return None
        try:
            parser = parser_from(tables, Path(f"{INFERRED}.toml"))
        except ParserError:
            return None
        if not is_sound(parser):
            return None
        alone = Catalog((parser,), self.catalog.path_patterns)
        runs: list[Run] = []
        for log in self.logs:
            runs = self._runs(log, alone)
            if not runs or not all(self._counts(run) for run in runs):
                return None
        return Inferred(tables, [replace(run, notes=[*run.notes, Note(NOTE)]) for run in runs])

    def _runs(self, log: LogFile, alone: Catalog) -> list[Run]:
        """What one parser reads in a log; nothing where it is none by it."""
        (reading,) = read_logs([log], alone, lambda finished: finished, self.options.as_printed)
        outcome = build_runs(reading, alone, self.options)
        if isinstance(outcome, Skipped):
            if outcome.failed:  # it was read before: the program failed
                raise RuntimeError(outcome.reason)
            return []
        return outcome

    def _counts(self, run: Run) -> bool:
        """Whether a run has a number that a witness agrees with closely and none doubts.

        Rate times time agrees where it is one whole number within the digits, which then is the batch that is known.
        """
        evidence = run.evidence
        if run.throughput.value is None or evidence is None:
            return False
        if any(witness.agreement in ("contradicts", "doubts") for witness in evidence.witnesses):
            return False
        agreeing = [witness for witness in evidence.witnesses if witness.agreement == "agrees"]
        if not {"batch_size", "global_batch_size"} & run.values.keys():
            agreeing = [witness for witness in agreeing if witness.about != "work per step"]
        return any(abs(witness.told / witness.measured - 1) <= SAME for witness in agreeing)

    def _is_every_step(self) -> bool:
        steps = self.shape.whole_numbers(self.meanings.step.place) or ()
        return all(later - earlier == 1 for earlier, later in pairwise(steps) if later > earlier)


def _has_clock(measures: Iterable[Meaning]) -> bool:
    return any(meaning.kind == "elapsed" for meaning in measures)


def _agree(readings: Sequence[Sequence[Run]]) -> bool:
    """Whether all readings that count give the same runs with the same throughput, or time per step."""
    first = readings[0]
    for other in readings[1:]:
        if len(other) != len(first):
            return False
        for one, two in zip(first, other, strict=True):
            name = "step_time" if "step_time" in one.metrics and "step_time" in two.metrics else "throughput"
            mine, theirs = one.metrics[name], two.metrics[name]
            if mine.unit != theirs.unit or abs((mine.value or 0.0) - (theirs.value or 0.0)) > SAME * (
                mine.value or 0.0
            ):
                return False
    return True


# ----------------------------------------------------------------------------------------------------
# The most frequent shapes of a log's lines, whatever they are: what a person looks at first in an unknown format.

#: A shape is shown when so many lines have it.
_LEAST = 3
#: So many shapes are kept at most while a log is read; a text whose every line is another is no training log.
_MOST_KEPT = 5_000
_QUESTION = """
# Which number is the training's speed, or the time of its steps? Put it into the pattern, with its quantity (rate,
# step_time, interval_time, elapsed …), its unit and its span: docs/parsers.md says what each means.
"""
_WORD = re.compile(r"[A-Za-z][A-Za-z_]*")


class Frequent(Struct, frozen=True):
    """A shape of lines, with numbers in it.

    Attributes:
        shape: its words, and the numbers of every such line.
        line: the number of the first such line, from 1.
    """

    shape: Shape
    line: int

    @property
    def count(self) -> int:
        """How many lines have the shape."""
        return len(self.shape.numbers)

    @property
    def outline(self) -> str:
        """The line with ``#`` for each number."""
        return "#".join(self.shape.words)


def frequent_shapes(log: LogFile, most: int = 5) -> list[Frequent]:
    """The shapes that most lines of a log's beginning have, the most frequent first; those without numbers left out."""
    found: dict[tuple[str, ...], Frequent] = {}
    for number, line in enumerate(first_lines(log), 1):
        own = without_prefix(line.rstrip())
        numbers = NUMBER.findall(own) if len(own) <= LONGEST_LINE else []
        words = tuple(re.sub(r"\s+", " ", word) for word in NUMBER.split(own))
        if not numbers or (words not in found and len(found) >= _MOST_KEPT):
            continue
        found.setdefault(words, Frequent(Shape(words, own), number)).shape.numbers.append(tuple(numbers))
    able = [frequent for frequent in found.values() if frequent.count >= _LEAST]
    return sorted(able, key=lambda frequent: (-frequent.count, frequent.line))[:most]


def draft(log: LogFile) -> tuple[dict[str, Any], str] | None:
    """A parser of a log's most frequent lines as a person begins one: (its tables, what is to be filled in).

    Nothing in it says what a number means but the step, a whole number that rises. None where no lines are alike, or
    none of them counts.
    """
    for frequent in frequent_shapes(log):
        shape = frequent.shape
        step = next((place for place in range(len(shape.words) - 1) if _rises(shape.whole_numbers(place))), None)
        others = [place for place in range(len(shape.words) - 1) if place != step]
        if step is None or not others:
            continue
        tables = tables_of(shape, [Meaning(step, "step")], "draft")
        if tables is not None:
            del tables["pattern"][0]["value"]
            return tables, "".join([_QUESTION, *(_choice(shape, step, place) for place in others)])
    return None


def _rises(column: Sequence[int] | None) -> bool:
    """Whether whole numbers go up from line to line, as those of steps do."""
    return bool(column) and all(later > earlier for earlier, later in pairwise(column or ()))


def _word_before(words: str) -> str:
    """The last word before a number, as the name of a group; ``step`` and ``epoch`` are names of positions alone."""
    found = _WORD.findall(words)
    word = str(found[-1]).lower() if found else ""
    return "number" if word in ("", "step", "epoch") else word


def _choice(shape: Shape, step: int, place: int) -> str:
    """What a person puts into the pattern where the number at ``place`` is the one that counts."""
    meanings = sorted([Meaning(step, "step"), Meaning(place, _word_before(shape.words[place]))], key=lambda m: m.place)
    tables = tables_of(shape, meanings, "draft")
    if tables is None:
        return ""
    (pattern,) = tables["pattern"]
    group = pattern["value"][0]["group"]
    seen = ", ".join(shape.column(place)[:3])
    return (
        f"#\n# {seen} …: then in [[pattern]]\n#   regex = '{pattern['regex']}'\n# and at the end\n"
        "#   [[pattern.value]]\n"
        f'#   group = "{group}"\n#   quantity = "step_time"\n#   unit = "s"\n#   span = "last"\n'
    )


# ----------------------------------------------------------------------------------------------------
# Whether a log whose lines no parser measured may show its own format.

#: The roles of patterns that measure a training, or tell its result.
_MEASURING = frozenset({"step", "summary"})


def inferred_runs(reading: Reading, catalog: Catalog, options: Options) -> list[Run]:
    """The runs of a log of an unknown format; none where it does not show what its numbers mean.

    A log in which a known format measures has no need of it, and under a convention nothing is inferred.
    """
    if options.convention or options.as_printed or reading.lines < LEAST_LINES or reading.undecided:
        return []
    if any(pattern.role in _MEASURING and reading.accounts[key].matches for key, pattern in reading.patterns.items()):
        return []
    beginning = _beginning(reading)
    is_whole = beginning is not None and beginning.size == reading.bytes
    if reading.log.pipe is not None and not is_whole:
        return []  # a pipe cannot be read once more
    if is_whole and not may_have_shapes(reading.beginning):
        return []

    found = infer(beginning if is_whole and beginning else reading.log, catalog, options, beginning)
    if found is None:
        return []
    return [
        replace(
            run,
            log=reading.log,
            notes=[*(note for note in map(Note, reading.notes) if note not in run.notes), *run.notes],
        )
        for run in found.runs
    ]


def _beginning(reading: Reading) -> LogFile | None:
    """The first whole lines of a log as a log of their own, in memory; None where they are not at hand."""
    text = reading.beginning
    if len(text) < reading.bytes:
        text = text[: text.rfind(b"\n") + 1]
    return replace(reading.log, size=len(text), pipe=None, text=text) if text else None
