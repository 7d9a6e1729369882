"""Layouts of lines: what the patterns find in a line is decided once for all lines that differ in their digits alone.

A layout is a line with a wild byte in place of each digit. Where a decision hangs on some digits (a literal has one, a
regex tells one from another) the layout *looks* at their places: it holds for the lines whose digits there are as it
wants them. The others are of a layout in which these digits are known, and so on. So the captures of a layout stand at
the same places in each of its lines, and its numbers are read for all of them at once.

What is decided depends on the patterns and the layout alone, so that layouts go from one batch to the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, repeat
from operator import itemgetter
from typing import Any

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from perflog.formats.parser import Pattern
from perflog.matching.matches import Ints, is_text
from perflog.matching.polars_lines import Hits, Lines, literals_in, numbers, owned
from perflog.matching.widened import ALL, FIRST_WILD, LAST_WILD, NONE, WILD, WILD_LEAD

#: In place of a digit; a clean text has no such byte. Carriage returns part lines as line feeds do.
_WILD = 0
_LAYOUT = bytes.maketrans(b"0123456789\r", bytes([_WILD]) * 10 + b"\n")
#: A layout and its literals with one digit for all.
_PLAIN = bytes.maketrans(b"123456789" + bytes([_WILD]), b"0" * 10)
_WILD_BYTE = re.compile(b"\0")
#: A line that begins so may have a launcher's tag (:func:`perflog.logs.clean.rank_of`).
_TAGGED = re.compile(rb"\[(?:rank|default|[0-9\0]+,)|\([^()]*pid=")
#: The number of a layout that was not met.
_UNKNOWN = -1
#: So many layouts are decided at once.
MOST_AT_ONCE = 5_000
#: Layouts beyond these are forgotten, all at once.
MOST_LAYOUTS, MOST_BYTES = 20_000, 4 << 20
#: A number of so many digits is exact in a float, and so is the power of ten that it is divided by.
_MOST_DIGITS = 15
_TENS = np.array([10**n for n in range(_MOST_DIGITS + 1)], dtype=np.float64)  # numpy's own power may round
_NUMBER = re.compile(r"([-+]?)([0-9,]*)(?:\.([0-9]*))?")
#: Behind every text: reading there gives the digit 0.
_NOWHERE = 1 << 60

#: What a capture is: the same in all lines, digits to be put together, or a text to be cut out.
_SAME, _DIGITS, _CUT_OUT = range(3)
_LAYOUTS = np.dtype([(name, np.int32) for name in ("first_row", "rows", "first_literal", "literals")]
                    + [("looks", np.bool_), ("tagged", np.bool_)])  # fmt: skip
_ROWS = np.dtype([(name, np.int32) for name in ("pattern", "at", "first_capture")])
_LITERALS = np.dtype([("literal", np.int32), ("count", np.int32)])
_CAPTURES = np.dtype([("kind", np.int8), ("start", np.int32), ("size", np.int32), ("value", np.float64),
                      ("n_digits", np.int8), ("digits", np.int64, (_MOST_DIGITS,)), ("scale", np.float64)])  # fmt: skip


class Look(Struct, frozen=True):
    """What a layout looks at: places in it, (k,), and the digits that may stand there as bits, (k,)."""

    layout: bytes
    literals: Sequence[str]
    places: Ints
    digits: Ints


class Cut(Struct, frozen=True):
    """Clean texts behind each other, cut into lines: at carriage returns, too.

    Attributes:
        texts: each text, with a line feed behind it where it does not end with one.
        data: all of them, and a ``0`` at the end.
        raw: the same as numbers.
        start: where each line begins, and the end of all, (lines + 1,).
        text: the text of each line, (lines,).
        first: each text's first line, and the number of all, (texts + 1,).
        feeds: how many line feeds stand before each line, (lines + 1,).
    """

    texts: Sequence[bytes]
    data: bytes
    raw: NDArray[np.uint8]
    start: Ints
    text: Ints
    first: Ints
    feeds: Ints

    @staticmethod
    def of(texts: Sequence[bytes]) -> Cut:
        whole = [text if not text or text.endswith((b"\n", b"\r")) else text + b"\n" for text in texts]
        data = b"".join((*whole, b"0"))
        raw = np.frombuffer(data, dtype=np.uint8)
        breaks = np.flatnonzero((raw == 10) | (raw == 13)) if b"\r" in data else np.flatnonzero(raw == 10)
        start = np.append(0, breaks + 1)
        first = np.searchsorted(start, np.append(0, np.cumsum([len(text) for text in whole], dtype=np.int64)))
        text = np.repeat(np.arange(len(texts)), np.diff(first))
        return Cut(whole, data, raw, start, text, first, np.append(0, np.cumsum(raw[breaks] == 10)))


def _are_numbers(pattern: Pattern) -> Iterator[bool]:
    """Which of a pattern's groups, with those of its ``also``, are numbers."""
    for group in dict.fromkeys(pattern.groups + pattern.also_groups):
        yield group in pattern.also_groups or not is_text(pattern, group)


class Layouts:
    """The layouts that were met, by number; 0 is that of lines in which nothing is found. For one thread at a time."""

    def __init__(self, patterns: Sequence[Pattern], priority: Mapping[str, int]) -> None:
        """``patterns`` in the order in which they take turns; ``priority`` of each parser."""
        self._patterns, self._priority, self.n_patterns = patterns, priority, len(patterns)
        self.literals = list(dict.fromkeys((pattern.literal, pattern.tail is None) for pattern in patterns))
        searched = [pattern.literal for pattern in patterns]
        searched += [pattern.jump.literal for pattern in patterns if pattern.jump is not None]
        self._exact: dict[str, list[str]] = {}
        for literal in dict.fromkeys(searched):
            self._exact.setdefault(literal.encode().translate(_PLAIN).decode(), []).append(literal)
        self._numbers_of_patterns = {pattern.key: number for number, pattern in enumerate(patterns)}
        self._are_numbers = [list(_are_numbers(pattern)) for pattern in patterns]
        self.forget()

    def forget(self) -> None:
        """Forget all layouts."""
        self._numbers: dict[bytes, int] = {}
        self._bytes = 0
        self._alike: dict[tuple[tuple[int, int], ...] | None, int] = {(): 0}  # of those without rows, by their counts
        self._looks: dict[int, Look] = {}
        self.texts: list[str | None] = []
        self.layouts = np.zeros(1, _LAYOUTS)
        self.rows, self.counts, self.captures = np.empty(0, _ROWS), np.empty(0, _LITERALS), np.empty(0, _CAPTURES)

    def of(self, cut: Cut) -> Ints:
        """The layout of each line, by number, (lines,)."""
        if len(self._numbers) > MOST_LAYOUTS or self._bytes > MOST_BYTES:
            self.forget()
        parts: list[Ints] = []
        unknown: dict[int, bytes] = {}
        for text, first in zip(cut.texts, cut.first.tolist(), strict=False):
            lines = text.translate(_LAYOUT).split(b"\n")
            part = np.fromiter(map(self._numbers.get, lines, repeat(_UNKNOWN)), np.int64, len(lines))[:-1]
            parts.append(part)
            unknown |= {first + n: lines[n] for n in np.flatnonzero(part == _UNKNOWN).tolist()}
        found = np.concatenate([np.empty(0, np.int64), *parts])
        if unknown:
            new = list(dict.fromkeys(unknown.values()))
            literals = literals_in([layout.translate(_PLAIN) for layout in new], list(self._exact))
            self._decide(new, literals)
            found[list(unknown)] = [self._numbers[layout] for layout in unknown.values()]
        looking = np.flatnonzero(self.layouts["looks"].take(found))
        while len(looking):
            looking = self._looked(cut, found, looking)
        return found

    def numbers(self, cut: Cut, captures: Ints, start: Ints) -> NDArray[np.float64]:
        """Captures as numbers, (n,); ``start``: where their lines begin, (n,)."""
        values, kind = self.captures["value"].take(captures), self.captures["kind"].take(captures)
        digits = np.flatnonzero(kind == _DIGITS)
        if len(digits):
            of = captures.take(digits)
            width = int(self.captures["n_digits"].take(of).max())
            places = self.captures["digits"][:, -width:].take(of, axis=0)
            places += start.take(digits)[:, np.newaxis]
            printed = cut.raw.take(places, mode="clip") - np.uint8(ord("0"))
            values[digits] = printed.astype(np.float64) @ _TENS[:width][::-1] / self.captures["scale"].take(of)
        others = np.flatnonzero(kind == _CUT_OUT)
        if len(others):
            values[others] = numbers(self._cut_out(cut, captures[others], start[others]))
        return values

    def printed(self, cut: Cut, captures: Ints, start: Ints) -> list[str | None]:
        """The same as texts; None where the group took no part."""
        texts = [self.texts[capture] for capture in captures.tolist()]
        others = np.flatnonzero(self.captures["kind"].take(captures) != _SAME)
        for n, text in zip(others.tolist(), self._cut_out(cut, captures[others], start[others]), strict=True):
            texts[n] = text
        return texts

    def _cut_out(self, cut: Cut, captures: Ints, start: Ints) -> list[str]:
        begin = start + self.captures["start"].take(captures)
        ends = (begin + self.captures["size"].take(captures)).tolist()
        return [cut.data[low:high].decode() for low, high in zip(begin.tolist(), ends, strict=True)]

    def _looked(self, cut: Cut, found: Ints, looking: Ints) -> Ints:
        """Give those of the lines ``looking`` whose digits are not as their layouts want them another layout.

        Returns:
            Those of them whose layouts look at digits, too.
        """
        looking = looking[np.argsort(found[looking], kind="stable")]
        bounds = np.flatnonzero(np.diff(found[looking], prepend=-1, append=-1))
        moved: list[tuple[Ints, list[bytes], dict[bytes, bytes]]] = []
        new: dict[bytes, Sequence[str]] = {}
        for low, high in pairwise(bounds.tolist()):
            lines = looking[low:high]
            look = self._looks[int(found[lines[0]])]
            printed = cut.raw[cut.start[lines, np.newaxis] + look.places]
            others = np.flatnonzero(((look.digits >> (printed - ord("0"))) & 1 == 0).any(axis=1))
            if not len(others):
                continue
            printed = printed[others]
            same = bool((printed == printed[0]).all())  # nearly always
            digits = [printed[0].tobytes()] if same else printed.view(f"S{len(look.places)}").ravel().tolist()
            layouts = {some: _with_digits(look, some) for some in set(digits)}
            new |= {layout: look.literals for layout in layouts.values() if layout not in self._numbers}
            moved.append((lines[others], digits, layouts))
        self._decide(list(new), list(new.values()))
        for lines, digits, layouts in moved:
            number = {some: self._numbers[layout] for some, layout in layouts.items()}
            found[lines] = [number[some] for some in digits] if len(digits) > 1 else number[digits[0]]
        again = np.concatenate([looking[:0], *(lines for lines, _, _ in moved)])
        return np.asarray(again[self.layouts["looks"][found[again]]])

    def _decide(self, layouts: Sequence[bytes], literals: Sequence[Sequence[str]]) -> None:
        """Find out what the patterns find in new layouts, of each of which the literals are given that it may hold."""
        self._bytes += sum(map(len, layouts))
        self._numbers |= dict.fromkeys(layouts, 0)
        held = [(layout, some) for layout, some in zip(layouts, literals, strict=True) if some]
        for low in range(0, len(held), MOST_AT_ONCE):
            self._decide_some([_Decision(*pair) for pair in held[low : low + MOST_AT_ONCE]])

    def _decide_some(self, decisions: Sequence[_Decision]) -> None:
        for decision in decisions:
            decision.look_at_literals()
        for has_wild in (True, False):
            ready = [decision for decision in decisions if decision.has_wild is has_wild and not decision.looks]
            if ready:
                self._match(ready, has_wild)
        self._keep(decisions)

    def _match(self, decisions: Sequence[_Decision], has_wild: bool) -> None:
        """Match the layouts, and note in their decisions what was found."""
        lines = Lines(_with_wild([decision.layout for decision in decisions]), has_wild)
        holding: dict[str, list[int]] = {}
        for n, decision in enumerate(decisions):
            for literal in decision.literals:
                holding.setdefault(literal, []).append(n)
        held = {literal: holding[plain] for plain in holding for literal in self._exact.get(plain, ())}
        for number, (literal, by_line) in enumerate(self.literals):
            counts = lines.counts(literal, by_line, held[literal]) if literal in held else {}
            for n, count in counts.items():
                decisions[n].counts.append((number, count))
        hits = [lines.match(pattern, held[pattern.literal]) for pattern in self._patterns if pattern.literal in held]
        hits = [found for found in hits if len(found)]
        for found in hits:
            for column, digits in found.unsure:
                for n, text in zip(found.line.tolist(), column, strict=True):
                    decisions[n].look_at(text, digits)
        for found in owned(hits, len(decisions), self._priority):
            self._note(found, decisions)

    def _note(self, found: Hits, decisions: Sequence[_Decision]) -> None:
        """Note a pattern's hits in the decisions of their layouts."""
        number = self._numbers_of_patterns[found.pattern.key]
        captured = zip(*found.texts.values(), strict=True) if found.texts else repeat(())
        for n, place, texts in zip(found.line.tolist(), found.place, captured, strict=False):
            before = decisions[n].layout.translate(_PLAIN).decode()[:place]
            decisions[n].rows.append((len(before.encode()), number, texts))

    def _keep(self, decisions: Sequence[_Decision]) -> None:
        """Number the layouts that were decided."""
        layouts: list[tuple[int | bool, ...]] = []
        rows: list[tuple[int, int, int]] = []
        counts: list[tuple[int, int]] = []
        texts: list[str | None] = []
        are_numbers: list[bool] = []
        have_wild: list[bool] = []
        for decision in decisions:
            alike = None if decision.rows or decision.looks else tuple(decision.counts)
            if alike in self._alike:
                self._numbers[decision.layout] = self._alike[alike]
                continue
            self._numbers[decision.layout] = number = len(self.layouts) + len(layouts)
            if alike is not None:
                self._alike[alike] = number
            first = len(self.rows) + len(rows), len(decision.rows)
            counted = len(self.counts) + len(counts), len(decision.counts)
            tagged = _TAGGED.match(decision.layout) is not None
            layouts.append((*first, *counted, bool(decision.looks), tagged))
            counts += decision.counts
            for at, pattern, captured in sorted(decision.rows, key=itemgetter(0)):
                rows.append((pattern, at, len(self.captures) + len(texts)))
                texts += captured
                are_numbers += self._are_numbers[pattern]
                have_wild += repeat(decision.has_wild, len(captured))
            if decision.looks:
                self._looks[number] = decision.look()
        self.layouts = np.concatenate((self.layouts, np.array(layouts, _LAYOUTS)))
        self.rows = np.concatenate((self.rows, np.array(rows, _ROWS)))
        self.counts = np.concatenate((self.counts, np.array(counts, _LITERALS)))
        if texts:
            captures = _captures(texts, are_numbers, have_wild)
            self.texts += [None if size else text for text, size in zip(texts, captures["size"].tolist(), strict=True)]
            self.captures = np.concatenate((self.captures, captures))


class _Decision(Struct):
    """What is found in a layout.

    Attributes:
        literals: which of the literals it may hold, with one digit for all.
        has_wild: whether its digits may be wild: it has no such characters, and is not too long for them.
        looks: the places that it looks at, and the digits that may stand there as bits.
        counts: the numbers of the literals that it holds, and how often.
        rows: where a pattern's match begins, the pattern's number, and what its groups captured.
    """

    layout: bytes
    literals: Sequence[str]
    has_wild: bool = True
    looks: dict[int, int] = field(default_factory=dict)
    counts: list[tuple[int, int]] = field(default_factory=list)
    rows: list[tuple[int, int, tuple[str | None, ...]]] = field(default_factory=list)

    def look_at_literals(self) -> None:
        """Look at the digits that may be a literal's, and at all of them where none may be wild."""
        self.has_wild = WILD_LEAD not in self.layout and len(self.layout) <= LAST_WILD - FIRST_WILD
        if not self.has_wild:
            self.looks = {found.start(): NONE for found in _WILD_BYTE.finditer(self.layout)}
        for literal in (literal.encode() for literal in self.literals if "0" in literal):
            plain = self.layout.translate(_PLAIN)
            digits = [n for n, byte in enumerate(literal) if byte == ord("0")]
            at = plain.find(literal)
            while at >= 0:
                self.looks |= {at + n: NONE for n in digits if self.layout[at + n] == _WILD}
                at = plain.find(literal, at + 1)

    def look_at(self, text: str | None, digits: int) -> None:
        """Hold only where the digits of a captured text are of these."""
        for found in WILD.finditer(text or ""):
            place = ord(found[0]) - FIRST_WILD
            self.looks[place] = self.looks.get(place, ALL) & digits

    def look(self) -> Look:
        return Look(self.layout, self.literals, np.array(list(self.looks)), np.array(list(self.looks.values())))


def _with_wild(layouts: Sequence[bytes]) -> list[str]:
    """Layouts as texts, with wild characters."""
    codes = _codes(b"\n".join(layouts).decode())
    width = _width(codes)
    begin = np.cumsum(width) - width
    size = np.diff(np.flatnonzero(codes == ord("\n")), prepend=-1, append=len(codes) - 1)
    first = np.repeat(np.cumsum(size) - size, size)  # of each character the first one of its line
    is_wild = codes == _WILD
    codes[is_wild] = FIRST_WILD + (begin - begin.take(first))[is_wild]
    return _text(codes).split("\n")


def _with_digits(look: Look, digits: bytes) -> bytes:
    """A layout in which the digits that it looks at are known."""
    layout = bytearray(look.layout)
    for place, digit in zip(look.places.tolist(), digits, strict=True):
        layout[place] = digit
    return bytes(layout)


def _captures(texts: Sequence[str | None], are_numbers: Sequence[bool], have_wild: Sequence[bool]) -> NDArray[Any]:
    """What groups captured in layouts, (n,): where it stands if it has wild digits."""
    made = np.zeros(len(texts), _CAPTURES)
    codes = _codes("\n".join(text or "" for text in texts)).astype(np.int64)
    ends = np.append(np.flatnonzero(codes == ord("\n")), len(codes))
    first = np.append(0, ends[:-1] + 1)
    owner = np.repeat(np.arange(len(texts)), ends + 1 - first)[:-1]
    wild = np.flatnonzero((codes >= FIRST_WILD) & (codes <= LAST_WILD) & np.array(have_wild)[owner])
    place = codes[wild] - FIRST_WILD
    codes[wild] = ord("0")
    begin = np.append(0, np.cumsum(_width(codes)))  # of each character, in bytes
    is_first = np.diff(owner[wild], prepend=-1) > 0
    which = owner[wild[is_first]]
    made["kind"][which] = _CUT_OUT
    made["start"][which] = place[is_first] - (begin[wild[is_first]] - begin[first[which]])
    made["size"][which] = begin[ends[which]] - begin[first[which]]
    is_known = np.ones(len(texts), dtype=bool)
    is_known[which] = False
    made["value"] = numbers([text if known and number else None
                             for text, known, number in zip(texts, is_known, are_numbers, strict=True)])  # fmt: skip
    printed = _text(codes).split("\n")
    is_digit = (codes >= ord("0")) & (codes <= ord("9"))
    made["n_digits"] = n_digits = np.minimum(np.bincount(owner[is_digit], minlength=len(texts)), _MOST_DIGITS + 1)
    plain = [n for n in which.tolist()
             if are_numbers[n] and n_digits[n] <= _MOST_DIGITS and _NUMBER.fullmatch(printed[n])]  # fmt: skip
    made["kind"][plain] = _DIGITS
    is_plain = (made["kind"] == _DIGITS)[owner]
    digits, points = np.flatnonzero(is_digit & is_plain), np.flatnonzero((codes == ord(".")) & is_plain)
    of = owner[digits]
    turn = np.arange(len(digits)) - np.searchsorted(of, of)
    made["digits"] = _NOWHERE
    made["digits"][of, _MOST_DIGITS - n_digits[of] + turn] = made["start"][of] + digits - first[of]
    made["scale"] = 1.0
    made["scale"][owner[points]] = _TENS[ends[owner[points]] - points - 1]
    made["scale"][plain] *= np.where(codes[first[plain]] == ord("-"), -1, 1)
    return made


def _codes(text: str) -> NDArray[Any]:
    return np.frombuffer(text.encode("utf-32-le"), "<u4").copy()


def _width(codes: NDArray[Any]) -> Ints:
    """How many bytes each character takes in UTF-8."""
    return 1 + (codes >= 0x80).astype(np.int64) + (codes >= 0x800) + (codes >= 0x10000)


def _text(codes: NDArray[Any]) -> str:
    return codes.astype("<u4", copy=False).tobytes().decode("utf-32-le")
