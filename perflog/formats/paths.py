"""What the names of files and folders say of a run.

A piece of a name is a fact only where it stands alone and is of a known form. What names one run (identifiers, dates,
times) is taken out first and says nothing; what is known to be no fact (hyper-parameters, versions) is a label.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from perflog.errors import ParserError
from perflog.formats.toml import Scalar, Text, decode, texts
from perflog.formats.vocabulary import Fact

# ----------------------------------------------------------------------------------------------------
# What every match of a regex needs: sets of texts, of each of which at least one stands in the name.
#
# Looking for a text is a thousand times quicker than compiling a regex, and a name has few of the words that the
# patterns of paths ask for: those whose words it lacks are neither tried nor compiled.

# Python's own parser reads the pattern, so that its syntax means what it means there (as in formats/linear.py).
_parser: Any = re._parser  # type: ignore[attr-defined]
_codes: Any = re._constants  # type: ignore[attr-defined]


#: Of each of these sets, one text stands in every ASCII name that a regex matches, as :func:`_folded` writes it.
Needs = tuple[tuple[str, ...], ...]
#: So many texts at most are told apart as what one part of a regex may match.
_MOST_TEXTS = 256
_REPEATS = (_codes.MAX_REPEAT, _codes.MIN_REPEAT)
_DIGITS = {ord(digit): "0" for digit in "123456789"}


def needed_texts(regex: str) -> Needs:
    """What every match of a regex needs; nothing where nothing is known to be needed.

    Raises:
        re.error: for what is no regex.
    """
    needs = {tuple(sorted(_shortest(texts))) for texts in _of_sequence(_parser.parse(regex)) if "" not in texts}
    return tuple(sorted(texts for texts in needs if not any(_implies(other, texts) for other in needs - {texts})))


def may_match(needs: Needs, name: str) -> bool:
    """Whether a regex that needs these texts may match in a name; always in one that is not ASCII.

    Letters beyond ASCII may match others than those that they become as small letters (ſ matches s).
    """
    return not name.isascii() or _holds(needs, _folded(name))


def _folded(name: str) -> str:
    """A name in small letters, with 0 for each digit."""
    return name.lower().translate(_DIGITS)


def _holds(needs: Needs, folded: str) -> bool:
    return all(any(text in folded for text in texts) for texts in needs)


def _implies(stricter: Iterable[str], texts: Sequence[str]) -> bool:
    return all(any(text in other for text in texts) for other in stricter)


def _shortest(texts: Iterable[str]) -> Iterator[str]:
    """The texts that hold none of the others."""
    kept: list[str] = []
    for text in sorted(texts, key=len):
        if not any(shorter in text for shorter in kept):
            kept.append(text)
            yield text


def _of_sequence(nodes: Iterable[tuple[Any, Any]]) -> Iterator[set[str]]:
    """What the parts of a sequence need; texts that follow on each other are one."""
    run = {""}
    for code, value in _without_groups(nodes):
        texts = _all_texts(code, value)
        if code is _codes.ASSERT:  # what stands before or behind a match stands in the name too
            yield from _of_sequence(value[1])
        if (longer := _product(run, texts)) is not None:
            run = longer
            continue
        before, run = run, texts or {""}
        yield before
        if code in _REPEATS and value[0] > 0:
            once = _texts_of(value[2])
            yield from _of_sequence(value[2]) if once is None else [_product(before, once) or once]
            run = once or {""}  # what is repeated stands before what follows
        elif code is _codes.BRANCH:
            branches = [max(_of_sequence(branch), key=_worth) for branch in value[1]]
            yield set().union(*branches)
    yield run


def _product(before: set[str], texts: set[str] | None) -> set[str] | None:
    """Each text behind each of those before it; None where they are too many, or any may follow."""
    if texts is None or len(before) * len(texts) > _MOST_TEXTS:
        return None
    return {one + other for one in before for other in texts}


def _without_groups(nodes: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    for code, value in nodes:
        if code is _codes.SUBPATTERN:
            yield from _without_groups(value[3])
        else:
            yield code, value


def _worth(texts: set[str]) -> int:
    """Long texts are rare."""
    return min(map(len, texts))


def _texts_of(nodes: Iterable[tuple[Any, Any]]) -> set[str] | None:
    """All texts that a sequence may match, as :func:`_folded` writes them; None where they are too many."""
    run: set[str] | None = {""}
    for code, value in nodes:
        run = run and _product(run, _all_texts(code, value))
    return run


def _all_texts(code: Any, value: Any) -> set[str] | None:
    """All texts that a node may match; none but the empty one where it only looks at what stands around."""
    if code is _codes.LITERAL:
        char = _folded(chr(value))
        return {char} if char.isascii() or char == chr(value).upper() else None
    if code is _codes.IN:
        return _of_class(value)
    if code in (_codes.AT, _codes.ASSERT, _codes.ASSERT_NOT):
        return {""}
    if code is _codes.SUBPATTERN:
        return _texts_of(value[3])
    if code is _codes.BRANCH:
        branches = [_texts_of(branch) for branch in value[1]]
        return None if None in branches else set().union(*(branch or () for branch in branches))
    if code in _REPEATS and value[1] <= 3:
        counts = [_texts_of([*value[2]] * count) for count in range(value[0], value[1] + 1)]
        return None if None in counts else set().union(*(texts or () for texts in counts))
    return None


def _of_class(members: Iterable[tuple[Any, Any]]) -> set[str] | None:
    """The characters of a class; None where they are too many."""
    chars: set[str] = set()
    for code, value in members:
        if code is _codes.LITERAL:
            chars.add(_folded(chr(value)))
        elif code is _codes.CATEGORY and value is _codes.CATEGORY_DIGIT:
            chars.add("0")
        elif code is _codes.RANGE and value[1] < 128:
            chars |= {_folded(chr(char)) for char in range(value[0], value[1] + 1)}
        else:
            return None
    return chars if "".join(chars).isascii() else None


Kind = Literal["file", "folder"]
#: How many parts of a path are looked at, from the file name upwards.
PATH_DEPTH = 6
_LOG_ENDING = re.compile(r"\.(?:log|txt|out|err|gz|zst|xz|bz2|lz4)$")
#: Groups that are no facts: what names one run and no configuration; what is text, whatever digits stand in it;
#: a number that may count repeats, which is decided among the logs; the rank or the device whose log a file is.
RUN_ID, LABEL, COUNTER, RANK, INDEX = "run_id", "label", "counter", "log_rank", "device_index"
#: The fact that tells repeats of one configuration apart.
REPEAT = "repeat"
_NO_FACTS = frozenset({RUN_ID, LABEL, COUNTER, RANK, INDEX})
#: What a match of these groups covers is looked at no more; a model's size is no batch size.
_TAKEN_OUT = frozenset({RUN_ID, LABEL, "model"})
#: Stands for what was taken out of a name: no letter, no digit, no separator.
_GONE = "\0"
#: Names of which very many differ in a number that is nothing but the repeat's.
_IN_SERIES = re.compile(
    r"(?P<stem>.*_(?:fp32|fp16|amp|bf16|tf32|fp8)_)(?P<number>\d{1,3})(?P<ending>\.(?:log|txt|out|err))"
)
#: What the name of a group's other forms ends with.
_FORM = re.compile(r"_[2-9]$")
_SEPARATORS = "-_. "


class _PatternTable(Struct, frozen=True, forbid_unknown_fields=True):
    regex: Text
    where: Literal["any", "file", "folder"] = "any"
    set: dict[str, Scalar] = {}
    sample: dict[str, dict[str, Scalar]] = {}


class _PathsFile(Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Annotated[tuple[_PatternTable, ...], Meta(min_length=1, description="one [[pattern]] or more")]


class Choices(Struct, frozen=True):
    """A regex that is a choice between many words: the text in front of them, each word's, and the text behind.

    ``needs``: what a match of each word needs.
    """

    head: str
    words: tuple[str, ...]
    tail: str
    needs: tuple[Needs, ...]


class PathPattern(Struct, frozen=True, eq=False, dict=True):
    """A regex (Python's) whose named groups are facts; a group ``batch_size_2`` is a second form of ``batch_size``.

    ``source``: the regex's text; ``needs``: what every ASCII name has that it matches; ``given``: facts of every match,
    for words that hold no number; ``own``: whether it is perflog's, and known to be quick, others are matched in
    bounded steps; ``choices``: the words of which it is a choice, where it is perflog's and one.
    """

    source: str
    where: str
    samples: Mapping[str, Mapping[str, str]]
    given: Mapping[str, str] = field(default_factory=dict)
    own: bool = False
    needs: Needs = ()
    choices: Choices | None = None

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """The regex, compiled when it is first used: to compile all takes as long as to read ten logs."""
        return _compiled(self.source, self.own)

    @cached_property
    def _of_words(self) -> dict[tuple[str, ...], re.Pattern[str]]:
        return {}

    def regex_for(self, name: str) -> re.Pattern[str] | None:
        """A regex that matches in a name what :attr:`regex` does; None where that is nothing.

        Of a choice between many words it has those alone that may stand in the name: it is compiled thirty times as
        fast.
        """
        if not name.isascii():
            return self.regex
        folded = _folded(name)
        if not _holds(self.needs, folded):
            return None
        if self.choices is None:
            return self.regex
        pairs = zip(self.choices.words, self.choices.needs, strict=True)
        words = tuple(word for word, needs in pairs if _holds(needs, folded))
        if words and words not in self._of_words:
            self._of_words[words] = _compiled(f"{self.choices.head}{'|'.join(words)}{self.choices.tail}", self.own)
        return self._of_words.get(words)

    def facts_of(self, match: re.Match[str]) -> dict[str, str]:
        """What a match says, by the names of its groups."""
        groups = {_FORM.sub("", group): value for group, value in match.groupdict().items() if value}
        return {**groups, **self.given}


class Counter(Struct, frozen=True):
    """A number in a file's name that may count repeats, or the rank whose log it is.

    ``stem``: the name without the number; ``place``: where the number stands in the name, and where it ends.
    """

    number: int
    stem: str
    place: tuple[int, int]


class PartFacts(Struct, frozen=True):
    """What one part of a path says.

    ``values``: by key, None where it gives two; ``label``: the rest that no pattern understood; ``counter``: the number
    that ``values`` holds as the repeat, where no word says that it is one; ``numbered_label``: the label with that
    number; ``rank``, ``index``: the number of a rank whose log the file is, or that may be a device's.
    """

    values: Mapping[str, str | None]
    label: str
    counter: Counter | None = None
    numbered_label: str = ""
    rank: Counter | None = None
    index: Counter | None = None


class FolderFacts(Struct, frozen=True):
    """What the names of a folder and of those above it say, nearest first, and the rest that nothing understood."""

    facts: tuple[Fact, ...]
    label: str


#: A pattern with the regex by which it may match in a name.
Able = tuple[PathPattern, re.Pattern[str]]


class PathPatterns:
    """The patterns in use, first come first served; what a name says is found out once."""

    __slots__ = ("_able", "_folders", "_known", "_series", "patterns")

    def __init__(self, patterns: tuple[PathPattern, ...]) -> None:
        self.patterns = patterns
        self._able: dict[str, tuple[Able, ...]] = {}
        self._known: dict[tuple[str, Kind], PartFacts] = {}
        self._folders: dict[str, FolderFacts] = {}
        self._series: dict[tuple[str, str], PartFacts | None] = {}

    def __iter__(self) -> Iterator[PathPattern]:
        return iter(self.patterns)

    def __len__(self) -> int:
        return len(self.patterns)

    def facts_of_part(self, part: str, kind: Kind) -> PartFacts:
        """What a file's or a folder's name says."""
        facts = self._known.get((part, kind))
        if facts is None:  # two threads may both find it out: they find the same
            facts = self._of_series(part) if kind == "file" else None
            facts = self._known[part, kind] = facts or self.found_in(part, kind)
        return facts

    def found_in(self, part: str, kind: Kind) -> PartFacts:
        """What a name says, found out anew; which patterns may match in it, once for names that differ in digits."""
        form = _folded(part) if part.isascii() else part
        if form not in self._able:
            pairs = ((pattern, pattern.regex_for(part)) for pattern in self.patterns)
            self._able[form] = tuple((pattern, regex) for pattern, regex in pairs if regex is not None)
        values: dict[str, str | None] = {}
        numbers: dict[str, Counter] = {}
        understood: set[int] = set()
        left = part
        for pattern, regex in self._able[form]:
            for match in regex.finditer(left) if pattern.where in ("any", kind) else ():
                facts = pattern.facts_of(match)
                if COUNTER in facts and REPEAT in values:
                    continue  # a word says which repeat it is: the other number is text
                understood.update(_understood(match.span(), facts, left))
                numbers |= {group: _counter(match, group, part) for group in (COUNTER, RANK, INDEX) if group in facts}
                _add_values(values, facts)
                if not _TAKEN_OUT.isdisjoint(facts):
                    left = f"{left[: match.start()]}{_GONE * len(match[0])}{left[match.end() :]}"
        counter = numbers.get(COUNTER)
        if counter is not None:
            values[REPEAT] = str(counter.number)
        unnumbered = understood if counter is None else understood.difference(range(*counter.place))
        label, numbered = _rest(part, kind, understood), _rest(part, kind, unnumbered)
        return PartFacts(values, label, counter, numbered, numbers.get(RANK), numbers.get(INDEX))

    def _of_series(self, part: str) -> PartFacts | None:
        """What a name says that differs from others in the number of its repeat alone; None for any other name.

        Campaigns have very many of them: what the first says is taken for all, where no pattern makes more of it.
        """
        match = _IN_SERIES.fullmatch(part)
        if match is None:
            return None
        stem = match["stem"], match["ending"]
        if stem not in self._series:
            one, other = (self.found_in(f"{stem[0]}{number}{stem[1]}", "file") for number in (1, 2))
            self._series[stem] = one if one.counter is not None and _alike(one, other) else None
        first = self._series[stem]
        return None if first is None else _numbered(first, match["number"])

    def facts_of_folder(self, folder: str) -> FolderFacts:
        """What the last parts of a folder's path say."""
        facts = self._folders.get(folder)
        if facts is None:
            facts = self._folders[folder] = self._facts_of_folder(folder.split("/")[-(PATH_DEPTH - 1) :])
        return facts

    def _facts_of_folder(self, parts: Sequence[str]) -> FolderFacts:
        facts: dict[str, Fact | None] = {}
        labels = []
        for part in reversed(parts):
            said = self.facts_of_part(part, "folder")
            for key, value in said.values.items():
                facts.setdefault(key, None if value is None else Fact(key, value, "path", part))
            labels.append(said.label)
        known = tuple(fact for fact in facts.values() if fact is not None)
        return FolderFacts(known, "/".join(label for label in reversed(labels) if label))


def load_path_patterns(file: Path, own: bool = False) -> tuple[PathPattern, ...]:
    """Read ``paths.toml``.

    Args:
        own: whether it is perflog's, whose patterns are known to be quick; others are matched in bounded steps.

    Raises:
        ParserError: when the file or one of its patterns is not well formed, with the place and what is expected there.
    """
    table = decode(file, _PathsFile, ParserError)
    return tuple(_path_pattern(item, f"{file}: pattern {number}", own) for number, item in enumerate(table.pattern, 1))


def _path_pattern(table: _PatternTable, where: str, own: bool = False) -> PathPattern:
    try:
        if not own:  # a test compiles all of perflog's, and a log's name needs few of them
            _compiled(table.regex, own)
    except (re.error, ParserError, OverflowError, RecursionError) as error:
        told = f"{where}: regex = {table.regex!r}: expected a regular expression of Python: {error}"
        raise ParserError(told) from None
    samples = {name: texts(facts) for name, facts in table.sample.items()}
    choices = _choices(table.regex) if own else None
    return PathPattern(table.regex, table.where, samples, texts(table.set), own, needed_texts(table.regex), choices)


#: The beginning of a regex up to its first group with a name, and a piece of what follows.
_HEAD = re.compile(r"(?P<flags>(?:\(\?[a-z]+\))?)(?:\(\?<[!=](?:[^()\\]|\\.)*\))*\(\?P<\w+>")
_PIECE = re.compile(r"\\.|\[\^?(?:\\.|[^\]\\])+\]|(?P<group>\((?:\?P<|(?!\?)))|.", re.DOTALL)


def _choices(source: str) -> Choices | None:
    """The words of a regex that is a choice of some in one group, none of which has a group with a name or number."""
    head = _HEAD.match(source)
    if head is None or "#" in source:
        return None
    words, depth, begun = [], 0, head.end()
    for piece in _PIECE.finditer(source, head.end()):
        if piece["group"]:
            return None
        if depth == 0 and piece[0] in "|)":
            words.append(source[begun : piece.start()])
            begun = piece.end()
        depth += (piece[0] == "(") - (piece[0] == ")")
        if depth < 0:
            break
    tail = source[begun - 1 :]
    if len(words) < 2 or any(piece["group"] or piece[0] == "|" for piece in _PIECE.finditer(tail)):
        return None
    return Choices(source[: head.end()], tuple(words), tail, tuple(needed_texts(f"{head['flags']}{w}") for w in words))


def _compiled(source: str, own: bool) -> re.Pattern[str]:
    if own:
        return re.compile(source)
    from perflog.formats.linear import limited  # most users have no patterns of their own

    return limited(source)


def check_path_patterns(patterns: Iterable[PathPattern]) -> list[str]:
    """The patterns whose samples do not give what they promise."""
    faults = []
    for pattern in patterns:
        if not pattern.samples:
            faults.append(f"path pattern {pattern.regex.pattern!r} has no sample")
        for name, expected in pattern.samples.items():
            match = pattern.regex.search(name)
            read = pattern.facts_of(match) if match else {}
            if read != dict(expected):
                faults.append(
                    f"path pattern {pattern.regex.pattern!r}: {name!r} gives {read}, expected {dict(expected)}"
                )
    return faults


def facts_of_path(path: str, patterns: PathPatterns) -> tuple[list[Fact], str]:
    """What a path says, nearest part first, and its label: the rest that no pattern understood."""
    folder, _, name = path.replace("\\", "/").rpartition("/")
    own = patterns.facts_of_part(name, "file")
    above = patterns.facts_of_folder(folder)
    facts = [Fact(key, value, "path", name) for key, value in own.values.items() if value is not None]
    facts += [fact for fact in above.facts if fact.key not in own.values]
    return facts, _joined(above.label, own.label)


def numbered_label(path: str, patterns: PathPatterns) -> str:
    """A path's label where the number at the end of its file's name counts no repeats."""
    folder, _, name = path.replace("\\", "/").rpartition("/")
    return _joined(patterns.facts_of_folder(folder).label, patterns.facts_of_part(name, "file").numbered_label)


def _joined(above: str, own: str) -> str:
    return f"{above}/{own}" if above and own else above or own


def _alike(one: PartFacts, other: PartFacts) -> bool:
    """Whether two names say the same but for the repeat."""
    return one.label == other.label and {**one.values, REPEAT: None} == {**other.values, REPEAT: None}


def _numbered(first: PartFacts, number: str) -> PartFacts:
    """What the name of a series with another number says; the first has the number 1."""
    assert first.counter is not None
    start = first.counter.place[0]
    counter = Counter(int(number), first.counter.stem, (start, start + len(number)))
    values = {**first.values, REPEAT: str(int(number))}
    return replace(first, values=values, counter=counter, numbered_label=f"{first.numbered_label[:-1]}{number}")


def _rest(part: str, kind: Kind, understood: Collection[int]) -> str:
    """What is left of a name without the places that are understood, its ending and separators at its ends."""
    rest = "".join(char for place, char in enumerate(part) if place not in understood)
    return (_LOG_ENDING.sub("", rest) if kind == "file" else rest).strip(_SEPARATORS)


def _understood(span: tuple[int, int], facts: Mapping[str, str], part: str) -> Iterable[int]:
    """The places of a name that a match explains: none of a label's; a run's name takes a separator with it."""
    if LABEL in facts or INDEX in facts:
        return ()
    start, end = span
    if RUN_ID in facts:
        if start and part[start - 1] in _SEPARATORS:
            start -= 1
        elif end < len(part) and part[end] in _SEPARATORS:
            end += 1
    return range(start, end)


def _counter(match: re.Match[str], group: str, part: str) -> Counter:
    start, end = match.span(group)
    return Counter(int(match[group]), part[:start] + _GONE + part[end:], (start, end))


def _add_values(values: dict[str, str | None], facts: Mapping[str, str]) -> None:
    """Put a match's facts with those of its name; a key that has another value already has none then."""
    for key, value in facts.items():
        if key in _NO_FACTS:
            continue
        if key in values and values[key] != value and key != "model":
            values[key] = None  # one name, two values (gpu1_gpu8): the name does not tell
        else:
            values.setdefault(key, value)
