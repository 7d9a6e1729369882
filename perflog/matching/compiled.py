"""The compiled scanner, ``scan.c``, as Python sees it: rules in, arrays of matches out.

The library lies beside this file when it was compiled (``build_hook.py``). It needs PCRE2 at run time. Where either
is missing, :func:`available` says so and the same work is done by another engine.

Nothing of perflog is imported here, and calls release the interpreter's lock: threads may scan with one
:class:`Program` at the same time.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

Role = Literal["metadata", "ignore", "other"]
Kind = Literal["tail", "jump", "line"]
GroupKind = Literal["number", "text", "unit"]
Buffer = bytes | bytearray | memoryview
Ints = NDArray[np.int64]

#: What the library must answer to ``pf_abi``: raised in both files when what they exchange changes.
ABI: Final = 2
#: Steps PCRE2 may take for one regex on one line; a text on which it needs more is LONG. Ordinary lines take hundreds.
MATCH_LIMIT: Final = 200_000

#: Flags of a text: why it needs the slow cleaning (none of its rows are given then) ...
DIRTY_NUL, DIRTY_ESCAPE, DIRTY_BACKSPACE, DIRTY_TAG, DIRTY_REPEATED, DIRTY_UTF8 = 1, 2, 4, 8, 16, 32
DIRTY: Final = DIRTY_NUL | DIRTY_ESCAPE | DIRTY_BACKSPACE | DIRTY_TAG | DIRTY_REPEATED | DIRTY_UTF8
#: ... that a sub-line is so long that its regexes might take too much time, so that an engine whose regexes are linear
#: has to match the text (none of its rows are given, and a text that is dirty too has those flags alone) ...
LONG: Final = 64
#: ... that the matches of its last line were dropped, and that its last byte is no line feed.
CUT, NO_LINE_END = 256, 512

_ROLES: Final[dict[Role, int]] = {"metadata": 0, "ignore": 1, "other": 2}
_KINDS: Final[dict[Kind, int]] = {"tail": 0, "jump": 1, "line": 2}
_GROUP_KINDS: Final[dict[GroupKind, int]] = {"number": 0, "text": 1, "unit": 2}
_FIRST, _ALSO = 0, 2
_NO_MEMORY, _BAD_RULE = 1, 5


@dataclass(frozen=True, slots=True)
class Rule:
    """One pattern. Rules take turns in the order in which a program gets them.

    The parser of the first rule that matches on a sub-line, metadata apart, owns the sub-line; of other parsers only
    metadata is kept there. So rules must come in the order of their priority, and those of one parser together.

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


@dataclass(frozen=True, slots=True)
class Found:
    """What one rule found, by text and then by offset; all arrays but the candidates' are (n,).

    ``line``: from 0, in its text. ``offset``: of the literal's first byte, or of the sub-line for a *line* rule.
    ``rank``: -1 where there is none; ``ranked`` says whether any is given. ``numbers``: NaN for absent.
    ``strings``: captures as UTF-8, joined by line feeds, a NUL for an absent one (see :meth:`text_column`).
    ``units``: each text's distinct captures, in the order in which they first came.
    ``candidates``: how often a text holds the rule's literal, or for a *line* rule how many of its sub-lines do,
    whether or not the rule was tried there: pairs of a text and a number.
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
    candidate_text: NDArray[np.int32]
    candidate_count: Ints

    def __len__(self) -> int:
        return len(self.offset)

    def text_column(self, group: str) -> list[str | None]:
        """A text group's captures, one per row."""
        if not len(self):
            return []
        return [None if item == "\x00" else item for item in self.strings[group].decode("utf-8").split("\n")]


@dataclass(frozen=True, slots=True)
class Scan:
    """What a scan found. ``found``: of the rules whose literal came up; ``line_feeds`` and ``flags`` are per text."""

    found: list[Found]
    line_feeds: Ints
    flags: NDArray[np.int32]


class _Fault(ctypes.Structure):
    _fields_ = [("rule", ctypes.c_int32), ("message", ctypes.c_char * 252)]


class _Result(ctypes.Structure):
    _fields_ = [
        ("error", ctypes.c_int32),
        ("rule", ctypes.c_int32),
        ("text", ctypes.c_int64),
        ("line", ctypes.c_int64),
        ("message", ctypes.c_char * 232),
        ("n_texts", ctypes.c_int64),
        ("line_feeds", ctypes.c_void_p),
        ("flags", ctypes.c_void_p),
        ("n_directory", ctypes.c_int64),
        ("directory", ctypes.c_void_p),
    ]


_SIGNATURES: Final[dict[str, tuple[Any, list[Any]]]] = {
    "pf_abi": (ctypes.c_int, []),
    "pf_open": (ctypes.c_char_p, []),
    "pf_pcre2_version": (ctypes.c_char_p, []),
    "pf_compile": (
        ctypes.c_void_p,
        [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint32, ctypes.c_int, ctypes.POINTER(_Fault)],
    ),
    "pf_is_jit": (ctypes.c_int, [ctypes.c_void_p]),
    "pf_drop": (None, [ctypes.c_void_p]),
    "pf_scan": (
        ctypes.POINTER(_Result),
        [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int],
    ),
    "pf_free": (None, [ctypes.POINTER(_Result)]),
    "pf_number": (ctypes.c_int, [ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_double)]),
    "pf_is_utf8": (ctypes.c_int, [ctypes.c_char_p, ctypes.c_size_t]),
}

#: Where the library is, beside this file.
LIBRARY: Final = Path(__file__).with_name("_scan.dylib" if sys.platform == "darwin" else "_scan.so")


class _Loader:
    """Opens the library once, and remembers why not."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._opened: ctypes.CDLL | str | None = None

    def __call__(self) -> ctypes.CDLL | str:
        with self._lock:
            if self._opened is None:
                self._opened = self._open()
            return self._opened

    def _open(self) -> ctypes.CDLL | str:
        if not LIBRARY.exists():
            return "perflog was installed without its compiled scanner"
        try:
            library = ctypes.CDLL(str(LIBRARY))
            for name, (result, arguments) in _SIGNATURES.items():
                function = getattr(library, name)
                function.restype, function.argtypes = result, arguments
            if library.pf_abi() != ABI:
                return f"{LIBRARY.name} is of another version of perflog; compile it again"
        except (OSError, AttributeError) as error:
            return f"{LIBRARY.name} cannot be used: {error}"
        missing = library.pf_open()
        return library if missing is None else str(missing.decode())


_load = _Loader()


def available() -> str:
    """Empty when the compiled scanner can be used, else the reason why not."""
    library = _load()
    return library if isinstance(library, str) else ""


def _library() -> ctypes.CDLL:
    library = _load()
    if isinstance(library, str):
        raise RuntimeError(library)
    return library


class _Memory:
    """A result's memory, given back when the last array that looks at it is gone."""

    __slots__ = ("_library", "result")

    def __init__(self, library: ctypes.CDLL, result: Any) -> None:
        self._library = library
        self.result = result

    def __del__(self) -> None:
        self._library.pf_free(self.result)


class _View:
    """Numbers in a result's memory, in the form that numpy takes without copying."""

    __slots__ = ("__array_interface__", "_memory")

    def __init__(self, memory: _Memory, address: int, count: int, dtype: str) -> None:
        self._memory = memory
        self.__array_interface__ = {"data": (address, False), "shape": (count,), "typestr": dtype, "version": 3}


_INT32, _INT64, _FLOAT64 = (np.dtype(name).str for name in ("int32", "int64", "float64"))


def _view(memory: _Memory, address: int, count: int, dtype: str) -> NDArray[Any]:
    return np.asarray(_View(memory, address, count, dtype)) if count else np.empty(0, dtype)


class Program:
    """Rules, compiled: immutable, to be used by any number of threads."""

    def __init__(self, rules: Sequence[Rule], match_limit: int = MATCH_LIMIT, check: bool = False) -> None:
        """Make a program.

        Args:
            rules: in the order of their priority, the highest first, and those of one parser together.
            match_limit: how many steps a regex may take on one subject.
            check: whether to compile all regexes now. Without it each is compiled when it is first tried, which is
                quicker, and :meth:`scan` raises what is wrong with it.

        Raises:
            RuleError: when a rule cannot be used.
        """
        self._library = _library()
        self._handle: Any = None
        self.rules = tuple(rules)
        self._text = program_text(self.rules)
        fault = _Fault()
        self._handle = self._library.pf_compile(
            self._text, len(self._text), match_limit, int(check), ctypes.byref(fault)
        )
        if not self._handle:
            raise RuleError(fault.rule, fault.message.decode("utf-8", "replace"))

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._library.pf_drop(self._handle)

    def dump(self, path: str | os.PathLike[str]) -> None:
        """Write the program as the text that ``pf_compile`` reads, for ``tests/tools/scan_fuzz.c``."""
        Path(path).write_bytes(self._text)

    def description(self) -> str:
        """The engine in a few words, such as ``compiled (PCRE2 10.42, JIT)``."""
        version = self._library.pf_pcre2_version().decode().split(" ")[0]
        return f"compiled (PCRE2 {version}, {'JIT' if self._library.pf_is_jit(self._handle) else 'no JIT'})"

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
            cleaned: whether the texts come from the slow cleaning, so that none is asked for again.

        Raises:
            ScanError: when a regex takes too many steps, or a cleaned text is not UTF-8.
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
        memory = _Memory(self._library, result)
        head = result.contents
        if head.error == _NO_MEMORY:
            raise MemoryError
        if head.error == _BAD_RULE:
            raise RuleError(head.rule, head.message.decode("utf-8", "replace"))
        if head.error:
            raise ScanError(head.rule, head.text, head.line, head.message.decode("utf-8", "replace"))
        directory = _view(memory, head.directory, head.n_directory, _INT64).tolist()
        return Scan(
            list(self._read(memory, directory)),
            _view(memory, head.line_feeds, n, _INT64),
            _view(memory, head.flags, n, _INT32),
        )

    def _read(self, memory: _Memory, directory: list[int]) -> Iterator[Found]:
        """The rows, by what ``make_directory`` in scan.c wrote: ten numbers per rule and four per group."""
        at = 0
        while at < len(directory):
            index, n, ranked, n_candidates, candidate_text, candidate_count = directory[at : at + 6]
            text, line, offset, rank = directory[at + 6 : at + 10]
            at += 10
            rule = self.rules[index]
            numbers: dict[str, NDArray[np.float64]] = {}
            strings: dict[str, bytes] = {}
            units: dict[str, list[tuple[int, str]]] = {}
            for name, kind in _groups(rule):
                address, size, texts, entries = directory[at : at + 4]
                at += 4
                if kind == "number":
                    numbers[name] = _view(memory, address, size, _FLOAT64)
                elif kind == "text":
                    strings[name] = ctypes.string_at(address, size) if n else b""
                else:
                    captures = ctypes.string_at(address, size).decode("utf-8").split("\n") if entries else []
                    units[name] = list(zip(_view(memory, texts, entries, _INT32).tolist(), captures, strict=True))
            yield Found(
                index,
                _view(memory, text, n, _INT32),
                _view(memory, line, n, _INT64),
                _view(memory, offset, n, _INT64),
                _view(memory, rank, n, _INT64),
                bool(ranked),
                numbers,
                strings,
                units,
                _view(memory, candidate_text, n_candidates, _INT32),
                _view(memory, candidate_count, n_candidates, _INT64),
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
            parts += [b"%d %d\n" % (_GROUP_KINDS[kind], _FIRST), _string(name)]
        for name in rule.also_groups:
            parts += [b"%d %d\n" % (_GROUP_KINDS["number"], _ALSO), _string(name)]
    return b"".join(parts)


def number(text: bytes) -> float:
    """A capture as the scanner reads it; NaN when it is no number. For tests."""
    value = ctypes.c_double()
    if _library().pf_number(text, len(text), ctypes.byref(value)) < 0:
        raise MemoryError
    return value.value


def is_utf8(text: bytes) -> bool:
    """Whether the scanner takes a text for UTF-8. For tests."""
    return bool(_library().pf_is_utf8(text, len(text)))
