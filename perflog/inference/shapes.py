"""Lines of one shape: the same words around other numbers, many times in one log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from msgspec import Struct, field

from perflog.formats.printed import clock_seconds, rate_unit, scaled_number
from perflog.lazy_regex import lazy_regex

#: A number as programs print one: a clock, or digits with commas, decimals and an exponent; none that is unusable.
NUMBER = lazy_regex(
    r"(?<![A-Za-z_])(?:\d+(?::\d\d)+(?:\.\d+)?|[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?"
    r"|[-+]?(?:nan|inf|NaN|Inf)(?![A-Za-z]))(?![0-9])"
)
#: What stands in front of a program's own words: stamps, levels, ranks, file names and lines.
_PREFIX = lazy_regex(
    r"^(?:[\s\[(<|>,-]*"
    r"(?:[IWEF]\d{4}(?= )|\d{2,4}[-/.]\d{1,2}[-/.]\d{1,4}(?=[ T,:_|\]])|\d{2}[-/]\d{2}(?=[ T,:_|]+\d{1,2}:\d\d)"
    r"|T?\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|(?:INFO|DEBUG|WARNING|I|root|__main__|rank ?\d+|[A-Za-z_.]+\.py:\d+)\b[\])>:]*)"
    r"[\s\])>|,:-]*)+"
)
#: A line that tells a step has one of these, in small letters: a word for it, or a place of a whole.
_COUNTS = ("step", "iter", "itr", "batch", "update", "it:", "it=", "it ", "/", " of ")
#: What a plain text is made of: printable ASCII, tabs and line feeds.
_PLAIN = bytes(range(32, 127)) + b"\t\n"
#: A shape counts when so many lines have it.
LEAST_LINES = 20
#: A line of more characters is no line that a person would print.
LONGEST_LINE = 2_000
#: Of a log so many lines are looked at, to find its shapes.
MOST_LINES = 20_000


class Shape(Struct):
    """Lines of one shape.

    Attributes:
        words: the texts around the numbers, one more than there are numbers, the prefix of the line left out.
        numbers: the numbers of each line, as they were printed.
        first: the first of the lines, without its prefix.
    """

    words: tuple[str, ...]
    first: str
    numbers: list[tuple[str, ...]] = field(default_factory=list)

    def column(self, place: int) -> list[str]:
        return [row[place] for row in self.numbers]

    def whole_numbers(self, place: int) -> list[int] | None:
        """A column as whole numbers, with commas or without; None where one is none."""
        texts = [text.replace(",", "") for text in self.column(place)]
        return [int(text) for text in texts] if all(text.isdigit() for text in texts) else None


def shapes_of(lines: Iterable[str]) -> list[Shape]:
    """The shapes that many lines have, the most frequent first."""
    found: dict[tuple[str, ...], Shape] = {}
    for line in lines:
        if len(line) > LONGEST_LINE or not _may_count(line.lower()):
            continue
        own = without_prefix(line.rstrip())
        numbers = NUMBER.findall(own)
        if len(numbers) < 2:
            continue
        words = tuple(_one_blank(NUMBER.split(own)))
        shape = found.get(words)
        if shape is None:
            shape = found[words] = Shape(words, own)
        shape.numbers.append(tuple(numbers))
    able = [shape for shape in found.values() if len(shape.numbers) >= LEAST_LINES]
    return sorted(able, key=lambda shape: -len(shape.numbers))


def may_have_shapes(text: bytes) -> bool:
    """Whether :func:`shapes_of` may find a shape in a whole log; decided without a regex, and soon where it may."""
    if not text.isascii() or text.translate(None, _PLAIN):
        return True  # what a terminal would show is known only when the text is clean
    count = 0
    for line in text.decode("ascii").lower().split("\n"):
        if _may_count(line) and (sum(map(str.isdigit, line)) > 1 or "nan" in line or "inf" in line):
            count += 1
            if count >= LEAST_LINES:
                return True
    return False


def _may_count(line: str) -> bool:
    """Whether a line in small letters may tell a step: soon decided for most lines of logs that are no training's."""
    return any(word in line for word in _COUNTS)


def without_prefix(line: str) -> str:
    """A line from the program's own first word on."""
    prefix = _PREFIX.match(line)
    rest = line[prefix.end() :] if prefix else line
    return rest if re.search("[A-Za-z]", rest) else line


def _one_blank(words: Sequence[str]) -> Iterable[str]:
    return (re.sub(r"\s+", " ", word) for word in words)


# ----------------------------------------------------------------------------------------------------
# What a number of a shape may mean, by the words beside it and by how it goes on from line to line.

_STEP = lazy_regex(
    r"(?:^|[^A-Za-z])(?:steps?|iters?|itrs?|iterations?|it|(?:mini-?)?batch(?:es)?|updates?)"
    r"(?:[_ ]?(?:num|number|no|idx|index|count|id)\.?)?[\s\"':=#\[(]*$", re.I
)  # fmt: skip
_EPOCH = lazy_regex(r"(?:^|[^A-Za-z])epochs?[\s\"':=#\[(]*$", re.I)
#: What stands between an epoch and a place in it, as in ``Epoch: [3][ 120/5005]``.
_BETWEEN = lazy_regex(r"[\s\])]*[\[(|,-][\s\[(]*$")
_STEP_WORD = r"(?:it|iter|iteration|step|batch|update)s?"
_PER_STEP = lazy_regex(rf"^\s*(ms|s|sec|secs|seconds?)\s*/\s*{_STEP_WORD}\b(?!\s*[:=])", re.I)
_RATE = lazy_regex(
    rf"^\s*((?:k|m)?(?:tokens?|tok|img|imgs|images?|samples?|sequences?|seqs?|examples?|records?|{_STEP_WORD}))\s*/\s*"
    r"(?:s|sec|secs|second)\b(\s*/\s*(?:gpu|device|rank))?(?!\s*[:=])", re.I
)  # fmt: skip
_TIME_UNIT = lazy_regex(r"^\s*(ms|s|sec|secs|seconds?)\b(?!\s*[/:=])", re.I)
_KEY = lazy_regex(r"([A-Za-z][A-Za-z0-9_/. ]*?)[\s\"']*(?:\(([A-Za-z/]+)\))?\s*[:=]?[\s\"']*$")
_TIME_KEY = lazy_regex(
    rf"^(?:.*[_ ./])?(?:dt|time|t|{_STEP_WORD}[_ ]?time|time[_ ]?(?:per[_ ]?|/){_STEP_WORD}|{_STEP_WORD}[_ ]?ms"
    rf"|(?:batch|{_STEP_WORD})[_ ]?cost|time[_ ](?:taken|used|spent|cost)|duration)(?:[_ ](ms|s|sec))?$", re.I
)  # fmt: skip
#: Words before a time that is followed by its unit.
_TOOK = lazy_regex(r"(?:^|[^A-Za-z])(?:took|takes|in|cost|costs|used|spent)\s*:?\s*$|\(\s*$", re.I)
#: Times of a part of a step, or of something else.
_PARTIAL = lazy_regex(
    r"(?:^|[^a-z])(?:data|load(?:er|ing)?|read(?:er|ing)?|fetch|forward|fwd|backward|bwd|opt(?:im(?:izer)?)?|comm|sync|io"
    r"|wait|eta|left|remain(?:ing)?|gen(?:erate|eration)?|rollout|sampl(?:e|ing)|reward|sav(?:e|ing)|ckpt|checkpoint"
    r"|compile|copy|h2d|d2h|loss|cuda|gpu|cpu|prep(?:are|rocess)?|log(?:ging)?|end|start|max|min|std|epoch)(?:[^a-z]|$)",
    re.I,
)  # fmt: skip
_RATE_KEY = lazy_regex(
    rf"^(?:.*[_ ./])?((?:k|m)?(?:tokens?|tok|samples?|images?|imgs?|sequences?|seqs?|examples?|{_STEP_WORD}))"
    r"(?:[_ ]?per[_ ]?|[_ ]?/[_ ]?)(?:s|sec|secs|second)(?:[_ ]?(?:per[_ ]?|/)[_ ]?(gpu|device|rank))?$", re.I
)  # fmt: skip
_ABBREVIATED = lazy_regex(r"^(?:.*[_ ./])?(fps|ips|wps)$", re.I)
_ELAPSED_KEY = lazy_regex(r"(?:elapsed|total[_ ]?time|train[_ ]?time|time[_ ]?elapsed|wall[_ ]?time)", re.I)
#: What a bare time may be: of a step, of the last one, or of all steps since the line before.
_TIMES = (("step_time", "interval"), ("step_time", "last"), ("interval_time", "interval"))
_EVALUATES = lazy_regex(r"(?:^|[^a-z])(?:eval|evaluat|valid|val|test|infer)", re.I)


class Meaning(Struct, frozen=True):
    """A column's meaning: ``kind`` is step, epoch, or a quantity of the format language with its unit and span."""

    place: int
    kind: str
    unit: str = ""
    span: str = ""
    scope: str = "job"


class Meanings(Struct, frozen=True):
    """What the columns of a shape may mean: the step, the epoch where one stands there, and each measure's choices."""

    step: Meaning
    epoch: Meaning | None
    measures: tuple[tuple[Meaning, ...], ...]


def meanings_of(shape: Shape) -> Meanings | None:
    """What the columns of a shape may mean; None for lines that count no steps of a training, or measure nothing."""
    if any(_EVALUATES.search(word) for word in shape.words):
        return None
    epoch = next((p for p in _places(shape) if _EPOCH.search(shape.words[p]) and shape.whole_numbers(p)), None)
    step, is_named = _step_of(shape, epoch)
    if step is None:
        return None
    measures = []
    for place in _places(shape):
        possible = _measures(shape, place) if place not in (step, epoch) else []
        if not is_named:  # it may count samples, which a time of each step contradicts and a time of all does not
            possible = [meaning for meaning in possible if meaning.kind not in ("interval_time", "elapsed")]
        if possible:
            measures.append(tuple(possible))
    if not measures:
        return None
    return Meanings(Meaning(step, "step"), None if epoch is None else Meaning(epoch, "epoch"), tuple(measures))


def _places(shape: Shape) -> range:
    return range(len(shape.words) - 1)


def _step_of(shape: Shape, epoch: int | None) -> tuple[int | None, bool]:
    """(the column that counts steps: whole numbers that rise from line to line; whether a word before it says so)."""
    counting = [place for place in _places(shape) if place != epoch and _counts(shape.whole_numbers(place))]
    for place in counting:
        if _STEP.search(shape.words[place]):
            return place, True
    for place in counting:
        in_brackets = place - 1 == epoch and _BETWEEN.fullmatch(shape.words[place]) is not None
        is_followed = place + 1 in _places(shape) and shape.words[place + 1].strip() in ("/", "of")
        of_whole = is_followed and len(set(shape.column(place + 1))) == 1
        if of_whole and (in_brackets or not shape.words[place].strip(" [(")):
            return place, False
    return None, False


def _counts(numbers: Sequence[int] | None) -> bool:
    """Whether a column is of whole numbers that rise from line to line, but where an epoch begins."""
    if numbers is None:
        return False
    return sum(later > earlier for earlier, later in pairwise(numbers)) >= 0.9 * (len(numbers) - 1)


def _measures(shape: Shape, place: int) -> list[Meaning]:
    """What a column may measure; empty where nothing beside it says that it is a time, a rate or a clock."""
    before, after = shape.words[place], shape.words[place + 1]
    per_step = _PER_STEP.match(after)
    if per_step:
        return _step_times(place, per_step[1])
    rate = _RATE.match(after)
    if rate:
        return _rates(place, f"{rate[1]}/s", "device" if rate[2] else "job")
    key = _KEY.search(before)
    name, unit = (key[1].strip(), key[2] or "") if key is not None else ("", "")
    if _PARTIAL.search(name) and not _ELAPSED_KEY.search(name):
        return []
    per_step = _PER_STEP.match(name) or _PER_STEP.match(unit)
    if per_step:
        return _step_times(place, per_step[1])
    by_key, abbreviated = _RATE_KEY.match(name), _ABBREVIATED.match(name)
    if by_key or abbreviated or (unit and rate_unit(unit)):
        work = by_key[1] if by_key else ""
        scope = "device" if by_key and by_key[2] else "job"
        return _rates(place, unit or (abbreviated[1] if abbreviated else f"{work}/s"), scope)
    return _times(shape, place, name, unit)


def _times(shape: Shape, place: int, name: str, unit: str) -> list[Meaning]:
    """What a number may be whose key, or the unit behind it, says that it is a time."""
    behind = _TIME_UNIT.match(shape.words[place + 1])
    unit_behind = behind[1] if behind else ""
    time = _TIME_KEY.match(name)
    if _rises(shape.column(place)):
        if not (time or _ELAPSED_KEY.search(name)):
            return []
        clock = all(":" in text for text in shape.column(place))
        return [Meaning(place, "elapsed", "clock" if clock else _seconds(unit or unit_behind or "s"), "cumulative")]
    if time is None and not (behind and _TOOK.search(shape.words[place])):
        return []
    printed = unit or (time[1] if time else "") or unit_behind
    units = [_seconds(printed)] if printed else ["s", "ms"]
    return [Meaning(place, kind, unit, span) for unit in units for kind, span in _TIMES]


def _step_times(place: int, unit: str) -> list[Meaning]:
    return [Meaning(place, "step_time", _seconds(unit), span) for span in ("interval", "last")]


def _rates(place: int, unit: str, scope: str) -> list[Meaning]:
    if rate_unit(unit) is None:
        return []
    return [Meaning(place, "rate", unit, span, scope) for span in ("interval", "last")]


def _seconds(unit: str) -> str:
    return "ms" if unit.lower() == "ms" else "s"


def _rises(column: Sequence[str]) -> bool:
    numbers = [clock_seconds(text) if ":" in text else scaled_number(text) for text in column]
    known = [number for number in numbers if number is not None]
    return len(known) > 2 and all(later >= earlier for earlier, later in pairwise(known)) and known[-1] > known[0]
