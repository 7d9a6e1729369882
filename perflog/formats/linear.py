"""Python's regexes matched in a bounded number of steps: for patterns that others may have written.

Python's own matcher goes back and tries every way in which repeats can share a text: forty letters can take it years.
This one remembers from which places of the text each part of the pattern has failed, so that it tries none of them
twice (Cox's bit-state matcher, https://swtch.com/~rsc/regexp/regexp3.html): the same matches, in steps that grow with
the pattern times the text. Only a repeat of what may match nothing, as in ``(?:a*?)+``, may match more than Python's.
It is made for names of files, which are short; it is slower on what is easy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from perflog.errors import ParserError

#: The most parts of a pattern, with its repeats written out, its most groups, and the most steps for one text.
MOST_PARTS, MOST_GROUPS, MOST_STEPS = 5_000, 100, 200_000
#: Longer texts match nothing: no file system has such names, only damaged or hostile archives do.
LONGEST_TEXT = 1_024

# Python's own parser and compiler read the pattern, so that its syntax and classes mean what they mean there.
_parser: Any = re._parser  # type: ignore[attr-defined]
_compiler: Any = re._compiler  # type: ignore[attr-defined]
_codes: Any = re._constants  # type: ignore[attr-defined]

#: Where a group begins and ends, -1 where it matched nothing; twice the number of groups.
_Spans = tuple[int, ...]
#: (what to do, with what). The names of what to do:
_Part = tuple[str, Any]
_TAKE, _SPLIT, _JUMP, _SAVE, _LOOK, _FAIL, _MATCH = "take", "split", "jump", "save", "look", "fail", "match"


class TooCostlyError(ParserError):
    """A pattern that needs more than :data:`MOST_STEPS` for a text, or has more than :data:`MOST_PARTS`."""


@dataclass(frozen=True, slots=True)
class LinearMatch:
    """A match, with the part of :class:`re.Match` that is needed of it."""

    text: str
    spans: _Spans
    groups: Mapping[str, int]

    def span(self, group: str | int = 0) -> tuple[int, int]:
        """Where a group begins and ends; (-1, -1) where it matched nothing."""
        number = self.groups[group] if isinstance(group, str) else group
        return self.spans[2 * number], self.spans[2 * number + 1]

    def start(self, group: str | int = 0) -> int:
        """Where a group begins."""
        return self.span(group)[0]

    def end(self, group: str | int = 0) -> int:
        """Where a group ends."""
        return self.span(group)[1]

    def __getitem__(self, group: str | int) -> str | None:
        start, end = self.span(group)
        return None if start < 0 or end < 0 else self.text[start:end]

    def groupdict(self) -> dict[str, str | None]:
        """The texts of the named groups."""
        return {name: self[name] for name in self.groups}


class LinearPattern:
    """A regex, with the part of :class:`re.Pattern` that is needed of it.

    Attributes:
        pattern: its text.
    """

    def __init__(self, pattern: str) -> None:
        """Read a pattern.

        Raises:
            re.error: for what is no regex, and for back-references, conditions, atomic groups and possessive repeats.
            TooCostlyError: for a pattern with too many parts.
        """
        self.pattern = pattern
        parsed = _parser.parse(pattern)
        self._groups: dict[str, int] = dict(parsed.state.groupdict)
        self._count: int = parsed.state.groups
        if self._count > MOST_GROUPS:
            raise TooCostlyError(f"the pattern has more than {MOST_GROUPS} groups")
        self._program = _Program(parsed.state.flags)
        self._program.add(parsed, parsed.state.flags)
        self._program.parts.append((_MATCH, None))

    def search(self, text: str, start: int = 0) -> LinearMatch | None:
        """The first match from ``start`` on. Raises TooCostlyError."""
        if len(text) > LONGEST_TEXT:
            return None
        run = _Run(text)
        nothing = (-1,) * (2 * self._count)
        tried: set[int] = set()
        for place in range(start, len(text) + 1):
            found = run.match(self._program.parts, place, nothing, tried)
            if found is not None:
                end, spans = found
                return LinearMatch(text, (place, end, *spans[2:]), self._groups)
        return None

    def finditer(self, text: str) -> Iterator[LinearMatch]:
        """The matches that do not overlap, from left to right. Raises TooCostlyError."""
        start = 0
        while (match := self.search(text, start)) is not None:
            yield match
            start = match.end() + (match.end() == match.start())
            if start > len(text):
                return


def limited(pattern: str) -> re.Pattern[str]:
    """A pattern that is matched in a bounded number of steps; raises what :class:`LinearPattern` does."""
    re.compile(pattern)  # compiling takes no time to speak of, and says what is wrong
    return cast("re.Pattern[str]", LinearPattern(pattern))  # it has all that path patterns use of one


@dataclass(slots=True)
class _Program:
    """A pattern as a list of parts, run from the first one on."""

    flags: int
    parts: list[_Part] = field(default_factory=list)

    def add(self, nodes: Sequence[Any], flags: int) -> None:
        """Add the parts of a parsed pattern. Raises re.error and TooCostlyError."""
        for code, value in nodes:
            self._add_node(code, value, flags)
            if len(self.parts) > MOST_PARTS:
                raise TooCostlyError(f"the pattern has more than {MOST_PARTS:,} parts, counting those of its repeats")

    def _add_node(self, code: Any, value: Any, flags: int) -> None:
        if code in (_codes.LITERAL, _codes.NOT_LITERAL, _codes.ANY, _codes.IN):
            self.parts.append((_TAKE, (_matcher(code, value, flags), 1)))
        elif code is _codes.AT:
            self.parts.append((_TAKE, (_matcher(code, value, flags), 0)))
        elif code is _codes.SUBPATTERN:
            self._add_group(*value, flags=flags)
        elif code in (_codes.MAX_REPEAT, _codes.MIN_REPEAT):
            self._add_repeat(*value, greedy=code is _codes.MAX_REPEAT, flags=flags)
        elif code is _codes.BRANCH:
            self._add_branch(value[1], flags)
        elif code in (_codes.ASSERT, _codes.ASSERT_NOT):
            self._add_look(*value, wanted=code is _codes.ASSERT, flags=flags)
        elif code is _codes.FAILURE:
            self.parts.append((_FAIL, None))
        else:
            raise re.error(f"{str(code).lower()}: back-references, conditions, atomic groups and possessive repeats")

    def _add_group(self, number: int | None, more: int, less: int, nodes: Any, *, flags: int) -> None:
        if number is not None:
            self.parts.append((_SAVE, 2 * number))
        self.add(nodes, (flags | more) & ~less)
        if number is not None:
            self.parts.append((_SAVE, 2 * number + 1))

    def _add_repeat(self, least: int, most: int, nodes: Any, *, greedy: bool, flags: int) -> None:
        for _ in range(least):
            before = len(self.parts)
            self.add(nodes, flags)
            if len(self.parts) == before:
                return  # nothing, however often it is repeated
        if most is _codes.MAXREPEAT:
            begin = self._split()
            self.add(nodes, flags)
            self.parts.append((_JUMP, begin))
            self._lead_out([begin], greedy)
            return
        splits = []
        for _ in range(most - least):
            splits.append(self._split())
            self.add(nodes, flags)
        self._lead_out(splits, greedy)

    def _split(self) -> int:
        """Add a choice, whose ways are given later; its place."""
        self.parts.append((_SPLIT, ()))
        return len(self.parts) - 1

    def _lead_out(self, splits: Sequence[int], greedy: bool) -> None:
        """Let choices lead to what follows them or behind the last part, in the order in which they are tried."""
        for place in splits:
            ways = (place + 1, len(self.parts))
            self.parts[place] = (_SPLIT, ways if greedy else ways[::-1])

    def _add_branch(self, branches: Sequence[Any], flags: int) -> None:
        jumps = []
        for branch in branches[:-1]:
            place = self._split()
            self.add(branch, flags)
            jumps.append(len(self.parts))
            self.parts.append((_JUMP, 0))
            self._lead_out([place], greedy=True)
        self.add(branches[-1], flags)
        for jump in jumps:
            self.parts[jump] = (_JUMP, len(self.parts))

    def _add_look(self, direction: int, nodes: Any, *, wanted: bool, flags: int) -> None:
        inner = _Program(flags)
        inner.add(nodes, flags)
        inner.parts.append((_MATCH, None))
        back = nodes.getwidth()[0] if direction < 0 else 0
        self.parts.append((_LOOK, (inner.parts, back, wanted)))


def _matcher(code: Any, value: Any, flags: int) -> re.Pattern[str]:
    """A regex of one character or place, which leaves Python's matcher no choice."""
    state = _parser.State()
    state.flags = flags
    compiled: re.Pattern[str] = _compiler.compile(_parser.SubPattern(state, [(code, value)]))
    return compiled


class _Run:
    """The matching of one text, with the steps that are left for it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.left = MOST_STEPS

    def match(self, parts: Sequence[_Part], start: int, spans: _Spans, tried: set[int]) -> tuple[int, _Spans] | None:
        """(where the match from ``start`` on ends, the spans of its groups); None where there is none.

        Args:
            tried: the places of parts from which a match was looked for and not found; more are added here.
        """
        width = len(self.text) + 1
        pending = [(0, start, spans)]
        while pending:
            part, place, spans = pending.pop()
            while (key := part * width + place) not in tried:
                tried.add(key)
                self._spend()
                what, with_what = parts[part]
                part += 1
                if what is _TAKE:
                    regex, length = with_what
                    if regex.match(self.text, place) is None:
                        break
                    place += length
                elif what is _SPLIT:
                    part, other = with_what
                    pending.append((other, place, spans))
                elif what is _JUMP:
                    part = with_what
                elif what is _SAVE:
                    spans = (*spans[:with_what], place, *spans[with_what + 1 :])
                elif what is _MATCH:
                    return place, spans
                elif (seen := self._seen(what, with_what, place, spans)) is None:
                    break
                else:
                    spans = seen
        return None

    def _spend(self) -> None:
        """Count a step. Raises TooCostlyError where none was left."""
        self.left -= 1
        if self.left < 0:
            raise TooCostlyError(
                f"a pattern of paths.toml needs more than {MOST_STEPS:,} steps for the name {self.text!r}; "
                "repeat fewer parts of it"
            )

    def _seen(self, what: str, with_what: Any, place: int, spans: _Spans) -> _Spans | None:
        """The spans where what is asked for stands at a place, or around it; None where it does not."""
        if what is _FAIL:
            return None
        parts, back, wanted = with_what
        found = None
        if place >= back:
            found = self.match(parts, place - back, spans, set())
        if (found is not None) != wanted:
            return None
        return spans if found is None else found[1]
