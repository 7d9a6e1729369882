"""One regex searched in one line: for lines that are read again, and for those that nobody understood."""

from __future__ import annotations

import ctypes
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from perflog.formats.parser import Pattern
from perflog.matching.engine import use_compiled
from perflog.matching.library import Fault, library


class LineRegex(Protocol):
    """A regex of the dialect (docs/parsers.md)."""

    def find(self, line: str) -> tuple[str, dict[str, str | None]] | None:
        """The first match in a line and its groups by name, None for one that took no part; None without a match."""

    def end(self, line: str) -> int:
        """Where the first match ends, in characters; -1 without a match."""


@lru_cache(maxsize=4096)
def line_regex(regex: str) -> LineRegex:
    """A regex, to be used by any number of threads.

    Raises:
        ValueError: for a text that is no regex.
    """
    return _Compiled(regex) if use_compiled() else _Polars(regex)


class _Compiled:
    """By the matcher of the compiled engine."""

    __slots__ = ("_handle", "_library", "_names")

    def __init__(self, regex: str) -> None:
        self._library = library()
        self._handle: Any = None
        fault, size = Fault(), ctypes.c_size_t()
        text = regex.encode()
        self._handle = self._library.pf_regex(text, len(text), ctypes.byref(fault))
        if not self._handle:
            raise ValueError(fault.message.decode("utf-8", "replace"))
        self._names: list[str] = []
        while address := self._library.pf_regex_group(self._handle, len(self._names) + 1, ctypes.byref(size)):
            self._names.append(ctypes.string_at(address, size.value).decode())

    def __del__(self) -> None:
        if self._handle:
            self._library.pf_regex_drop(self._handle)

    def find(self, line: str) -> tuple[str, dict[str, str | None]] | None:
        data = line.encode("utf-8", "replace")
        places = self._places(data)
        if places is None:
            return None
        whole, *groups = [
            None if begin < 0 else data[begin:end].decode()
            for begin, end in zip(places[::2], places[1::2], strict=True)
        ]
        return whole or "", dict(zip(self._names, groups, strict=True))

    def end(self, line: str) -> int:
        data = line.encode("utf-8", "replace")
        places = self._places(data)
        return -1 if places is None else len(data[: places[1]].decode())

    def _places(self, data: bytes) -> list[int] | None:
        places = np.empty(2 * len(self._names) + 2, dtype=np.int32)
        found = self._library.pf_regex_find(self._handle, data, len(data), places.ctypes.data)
        if found < 0:
            raise MemoryError
        return places.tolist() if found else None


class _Polars:
    """By polars, where no compiler was at hand."""

    __slots__ = ("_regex",)

    def __init__(self, regex: str) -> None:
        import polars as pl

        self._regex = regex
        try:
            pl.Series([""]).str.contains(regex)
        except pl.exceptions.PolarsError as error:
            raise ValueError(str(error).splitlines()[-1]) from None

    def find(self, line: str) -> tuple[str, dict[str, str | None]] | None:
        import polars as pl

        series = pl.Series([line])
        whole = series.str.extract(self._regex, 0)[0]
        if whole is None:
            return None
        fields = series.str.extract_groups(self._regex)[0] or {}  # unnamed groups are named by number
        return whole, {name: text for name, text in fields.items() if not name.isdigit()}

    def end(self, line: str) -> int:
        import polars as pl

        start = pl.Series([line]).str.find(self._regex)[0]
        found = self.find(line)
        return -1 if start is None or found is None else len(line.encode()[:start].decode()) + len(found[0])


def read_line(pattern: Pattern, line: str) -> dict[str, str | None] | None:
    """The named groups that ``pattern`` reads from ``line``, or None where it does not match."""
    if pattern.literal not in line:
        return None
    found = line_regex(pattern.regex).find(line)
    if found is None:
        return None
    read = {group: found[1].get(group) for group in pattern.groups}
    if pattern.also_groups:
        also = line_regex(pattern.also).find(line)
        read |= {group: also[1].get(group) if also else None for group in pattern.also_groups}
    return read


#: Of so many lines and more polars reads the groups: sooner, but it takes a tenth of a second to import.
_MANY = 5000


def numbers_of(lines: Sequence[str], regex: str, group: str) -> NDArray[np.float64]:
    """What a named group of a regex reads of each of some lines, (n,); NaN where it reads no number."""
    if len(lines) >= _MANY:
        import polars as pl

        texts = pl.Series(lines, dtype=pl.String).str.extract_groups(regex).struct.field(group).to_list()
    else:
        found = map(line_regex(regex).find, lines)
        texts = [None if one is None else one[1].get(group) for one in found]
    return np.fromiter(map(_number, texts), dtype=np.float64, count=len(lines))


def _number(text: str | None) -> float:
    try:
        return float("nan") if text is None else float(text.replace(",", ""))
    except ValueError:
        return float("nan")


def holds_twice(pattern: Pattern, line: str) -> bool:
    """Whether a pattern's match in a line holds its literal twice."""
    found = line_regex(pattern.regex).find(line)
    return found is not None and found[0].count(pattern.literal) > 1


def gave_up(pattern: Pattern, line: str) -> str:
    """The line with a caret under the first character that the pattern could not match."""
    if pattern.literal not in line:
        return f"  {line}\n  ^ the literal {pattern.literal!r} does not occur in this line"
    parts, sizes = _beginnings(pattern.regex)
    # no regex of the dialect is a choice of whole regexes: where a beginning does not match, no longer one does
    unmatched = bisect_left(parts, True, key=lambda size: line_regex(pattern.regex[:size]).end(line) < 0)
    for size in sizes[: bisect_left(sizes, parts[unmatched]) if unmatched < len(parts) else None][::-1]:
        if (matched := line_regex(pattern.regex[:size]).end(line)) > 0:
            return f"  {line}\n  {' ' * matched}^ expected here: {pattern.regex[size:][:60]}"
    return f"  {line}\n  ^ the pattern does not match from its first character on"


@lru_cache(maxsize=4096)
def _beginnings(regex: str) -> tuple[list[int], list[int]]:
    """The sizes of the beginnings of a regex that are regexes: of those that end with a whole part, a character, class
    or group with its repeat; and of all."""
    from perflog.formats.dialect import TOKEN

    parts: list[int] = []
    sizes: list[int] = []
    depth = 0
    for token in TOKEN.finditer(regex):
        depth += {"open": 1, "named": 1, "close": -1}.get(token.lastgroup or "", 0)
        if depth:
            continue
        if token.lastgroup == "repeat":
            sizes += [token.end() - 1] if token[0][1:].endswith("?") else []
            parts.pop()
        ends = range(token.start() + 1, token.end() + 1) if token.lastgroup == "char" else [token.end()]
        parts += ends
        sizes += ends
    return parts, sizes
