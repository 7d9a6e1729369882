"""The compiled scanner, ``scan.c``, as Python sees it: rules in, arrays of matches out.

Calls release the interpreter's lock: threads may scan with one :class:`Program` at the same time.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from perflog.matching.library import FLOAT64, INT32, INT64, Fault, Memory, library, view

Role = Literal["metadata", "ignore", "other", "position"]
Kind = Literal["tail", "jump", "line"]
GroupKind = Literal["number", "text", "unit", "clock", "scaled"]
Buffer = bytes | bytearray | memoryview
Ints = NDArray[np.int64]

#: Flags of a text: why it needs cleaning (none of its rows are given then) ...
DIRTY_NUL, DIRTY_ESCAPE, DIRTY_BACKSPACE, DIRTY_TAG, DIRTY_REPEATED, DIRTY_UTF8 = 1, 2, 4, 8, 16, 32
DIRTY: Final = DIRTY_NUL | DIRTY_ESCAPE | DIRTY_BACKSPACE | DIRTY_TAG | DIRTY_REPEATED | DIRTY_UTF8
#: ... that the matches of its last line were dropped, and that its last byte is no line feed.
CUT, NO_LINE_END = 256, 512

_ROLES: Final[dict[Role, int]] = {"metadata": 0, "ignore": 1, "other": 2, "position": 3}
_KINDS: Final[dict[Kind, int]] = {"tail": 0, "jump": 1, "line": 2}
#: What scan.c calls a group's kind, and the form in which its numbers are printed.
_GROUP_KINDS: Final[dict[GroupKind, tuple[int, int]]] = {
    "number": (0, 0),
    "text": (1, 0),
    "unit": (2, 0),
    "clock": (0, 1),
    "scaled": (0, 2),
}
_FIRST, _ALSO = 0, 2
_NO_MEMORY, _BAD_RULE = 1, 5


class Rule(Struct, frozen=True):
    """One pattern. Rules take turns in the order in which a program gets them.

    The parser of the first rule that matches on a sub-line, metadata apart, owns the sub-line; of other parsers only
    metadata and positions are kept there. So rules must come in the order of their priority, and those of one parser
    together.

    ``kind``: with *tail*, ``regex`` is matched right after ``literal``; with *jump*, ``tail`` is then matched right
    after the first ``jump``; with *line*, ``regex`` is searched in the sub-line. ``also``: a second regex whose
    groups, numbers all, are wanted of each text's last 64 matches only.
    """

    literal: bytes
    parser: int
    priority: int
    role: Role
    kind: Kind
    regex: str
    groups: tuple[tuple[str, GroupKind], ...] = ()
    jump: bytes = b""
    tail: str = ""
    also: str = ""
    also_groups: tuple[str, ...] = ()


class RuleError(ValueError):
    """A rule that cannot be compiled; ``rule`` is its index, -1 when the fault is no single rule's."""

    def __init__(self, rule: int, message: str) -> None:
        super().__init__(f"rule {rule}: {message}" if rule >= 0 else message)
        self.rule = rule
        self.message = message


class ScanError(RuntimeError):
    """A scan that could not go on: at ``line`` (from 0; -1 when at none) of ``text``, because of ``rule`` (or -1)."""

    def __init__(self, rule: int, text: int, line: int, message: str) -> None:
        super().__init__(f"rule {rule}, text {text}, line {line}: {message}")
        self.rule = rule
        self.text = text
        self.line = line
        self.message = message


class Found(Struct, frozen=True):
    """What one rule found, by text and then by offset; all arrays are (n,).

    ``line``: from 0, in its text. ``offset``: of the literal's first byte, or of the sub-line for a *line* rule.
    ``rank``: -1 where there is none; ``ranked`` says whether any is given. ``numbers``: NaN for absent.
    ``strings``: captures as UTF-8, joined by line feeds, a NUL for an absent one (see :meth:`text_column`).
    ``units``: each text's distinct captures, in the order in which they first came.
    ``candidates``: how often a text holds the rule's literal, or for a *line* rule how many of its sub-lines do,
    whether or not the rule was tried there, by text.
    """

    rule: int
    text: NDArray[np.int32]
    line: Ints
    offset: Ints
    rank: Ints
    ranked: bool
    numbers: dict[str, NDArray[np.float64]]
    strings: dict[str, bytes]
    units: dict[str, list[tuple[int, str]]]
    candidates: dict[int, int]

    def __len__(self) -> int:
        return len(self.offset)

    def text_column(self, group: str) -> list[str | None]:
        """A text group's captures, one per row."""
        if not len(self):
            return []
        return [None if item == "\x00" else item for item in self.strings[group].decode("utf-8").split("\n")]


class Work(NamedTuple):
    """What a scan cost: bytes searched for literals (all others were compared), literals found, regex steps."""

    searched: int
    occurrences: int
    steps: int


class Scan(Struct, frozen=True):
    """What a scan found. ``found``: of the rules whose literal came up; ``line_feeds`` and ``flags`` are per text."""

    found: list[Found]
    line_feeds: Ints
    flags: NDArray[np.int32]
    work: Work


class Program:
    """Rules, compiled: immutable, to be used by any number of threads."""

    def __init__(self, rules: Sequence[Rule], check: bool = False) -> None:
        """Make a program.

        Args:
            rules: in the order of their priority, the highest first, and those of one parser together.
            check: whether to compile all regexes now. Without it each is compiled when it is first tried, which is
                quicker, and :meth:`scan` raises what is wrong with it.

        Raises:
            RuleError: when a rule cannot be used.
        """
        self._library = library()
        self._handle: Any = None
        self.rules = tuple(rules)
        self._text = program_text(self.rules)
        fault = Fault()
        self._handle = self._library.pf_compile(self._text, len(self._text), int(check), ctypes.byref(fault))
        if not self._handle:
            raise RuleError(fault.rule, fault.message.decode("utf-8", "replace"))

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._library.pf_drop(self._handle)

    def dump(self, path: str | os.PathLike[str]) -> None:
        """Write the program as the text that ``pf_compile`` reads, for ``tests/tools/scan_fuzz.c``."""
        Path(path).write_bytes(self._text)

    def scan(
        self,
        texts: Sequence[bytes] | tuple[Buffer, Sequence[int] | Ints],
        at_end: Sequence[bool] | NDArray[np.bool_] | bool = True,
        cleaned: bool = False,
    ) -> Scan:
        """Find all rules in all texts.

        Args:
            texts: the texts, or one buffer that holds them behind each other and the offsets at which each ends.
            at_end: per text, or for all, whether its end is the end of its log, so that its last line may be cut.
            cleaned: whether the texts were cleaned, so that none is asked for again.

        Raises:
            ScanError: when a cleaned text is not UTF-8.
            RuleError: when a rule that is tried for the first time cannot be compiled.
            MemoryError: when there is no memory.
        """
        buffer, ends = _buffer(texts)
        n = len(ends)
        flags = np.full(n, at_end, dtype=np.uint8) if isinstance(at_end, bool) else np.asarray(at_end, dtype=np.uint8)
        if len(flags) != n:
            raise ValueError(f"at_end must say it for {n} texts, not {len(flags)}")
        addresses = [array.ctypes.data for array in (buffer, ends, flags)]
        result = self._library.pf_scan(self._handle, addresses[0], addresses[1], n, addresses[2], int(cleaned))
        if not result:
            raise MemoryError
        memory = Memory(self._library, result)
        head = result.contents
        if head.error == _NO_MEMORY:
            raise MemoryError
        if head.error == _BAD_RULE:
            raise RuleError(head.rule, head.message.decode("utf-8", "replace"))
        if head.error:
            raise ScanError(head.rule, head.text, head.line, head.message.decode("utf-8", "replace"))
        directory = view(memory, head.directory, head.n_directory, INT64).tolist()
        return Scan(
            list(self._read(memory, directory)),
            view(memory, head.line_feeds, n, INT64),
            view(memory, head.flags, n, INT32),
            Work(head.searched, head.occurrences, head.steps),
        )

    def _read(self, memory: Memory, directory: list[int]) -> Iterator[Found]:
        """The rows, by what ``make_directory`` in scan.c wrote: a rule has eight numbers, candidates, groups."""
        at = 0
        while at < len(directory):
            index, n, ranked, n_candidates, text, line, offset, rank = directory[at : at + 8]
            groups = at + 8 + 2 * n_candidates
            candidates = dict(zip(directory[at + 8 : groups : 2], directory[at + 9 : groups : 2], strict=True))
            at = groups
            rule = self.rules[index]
            numbers: dict[str, NDArray[np.float64]] = {}
            strings: dict[str, bytes] = {}
            units: dict[str, list[tuple[int, str]]] = {}
            for name, kind in _groups(rule):
                address, size, texts, entries = directory[at : at + 4]
                at += 4
                if kind == "text":
                    strings[name] = ctypes.string_at(address, size) if n else b""
                elif kind != "unit":
                    numbers[name] = view(memory, address, size, FLOAT64)
                else:
                    captures = ctypes.string_at(address, size).decode("utf-8").split("\n") if entries else []
                    units[name] = list(zip(view(memory, texts, entries, INT32).tolist(), captures, strict=True))
            yield Found(
                index,
                view(memory, text, n, INT32),
                view(memory, line, n, INT64),
                view(memory, offset, n, INT64),
                view(memory, rank, n, INT64),
                bool(ranked),
                numbers,
                strings,
                units,
                candidates,
            )


def _groups(rule: Rule) -> Iterator[tuple[str, GroupKind]]:
    yield from rule.groups
    for name in rule.also_groups:
        yield name, "number"


def _buffer(texts: Sequence[bytes] | tuple[Buffer, Sequence[int] | Ints]) -> tuple[NDArray[np.uint8], Ints]:
    """The texts' bytes, copied only where there are several texts, and where each ends."""
    if isinstance(texts, tuple) and len(texts) == 2 and not isinstance(texts[1], bytes):
        data: Any = texts[0]
        ends = np.ascontiguousarray(texts[1], dtype=np.int64)
        size = memoryview(data).nbytes
        if len(ends) and int(ends[-1]) > size:
            raise ValueError(f"the last text ends at {int(ends[-1])}, the buffer at {size}")
    else:
        parts: Any = texts
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    return (np.frombuffer(data, dtype=np.uint8) if memoryview(data).nbytes else np.zeros(1, np.uint8)), ends


def _string(text: str | bytes) -> bytes:
    data = text.encode("utf-8") if isinstance(text, str) else text
    return b"%d:%s\n" % (len(data), data)


def program_text(rules: Sequence[Rule]) -> bytes:
    """Rules in the form that ``pf_compile`` reads (described in scan.c above its reader)."""
    parts = [b"perflog-scan 1 %d\n" % len(rules)]
    for rule in rules:
        n_groups = len(rule.groups) + len(rule.also_groups)
        parts.append(b"%d %d %d %d %d\n" % (rule.parser, rule.priority, _ROLES[rule.role], _KINDS[rule.kind], n_groups))
        parts += [_string(text) for text in (rule.literal, rule.regex, rule.jump, rule.tail, rule.also)]
        for name, kind in rule.groups:
            parts += [b"%d %d %d\n" % (*_GROUP_KINDS[kind], _FIRST), _string(name)]
        for name in rule.also_groups:
            parts += [b"%d %d %d\n" % (*_GROUP_KINDS["number"], _ALSO), _string(name)]
    return b"".join(parts)


def cleaned(text: bytes) -> bytes:
    """A text as :func:`perflog.logs.clean.clean_block` and :func:`perflog.logs.clean.valid_utf8` make it."""
    size = ctypes.c_size_t()
    address = library().pf_clean(text, len(text), ctypes.byref(size))
    if not address:
        raise MemoryError
    try:
        return ctypes.string_at(address, size.value)
    finally:
        library().pf_clean_free(address)


def number(text: bytes, kind: GroupKind = "number") -> float:
    """A capture as the scanner reads it; NaN when it is no number. For tests."""
    value = ctypes.c_double()
    if library().pf_number(_GROUP_KINDS[kind][1], text, len(text), ctypes.byref(value)) < 0:
        raise MemoryError
    return value.value


def is_utf8(text: bytes) -> bool:
    """Whether the scanner takes a text for UTF-8. For tests."""
    return bool(library().pf_is_utf8(text, len(text)))
