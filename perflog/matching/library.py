"""The library that ``scan.c`` is compiled to: found beside this file, opened, and its memory looked at.

It is there where it was compiled (``build_hook.py``). Where it is missing, :func:`available` says so and the other
engine does the same work.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

#: What the library must answer to ``pf_abi``: raised in both files when what they exchange changes.
ABI: Final = 10


class Fault(ctypes.Structure):
    _fields_ = [("rule", ctypes.c_int32), ("message", ctypes.c_char * 252)]


class Result(ctypes.Structure):
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
        ("searched", ctypes.c_int64),
        ("occurrences", ctypes.c_int64),
        ("steps", ctypes.c_int64),
    ]


_SIGNATURES: Final[dict[str, tuple[Any, list[Any]]]] = {
    "pf_abi": (ctypes.c_int, []),
    "pf_open": (ctypes.c_char_p, []),
    "pf_compile": (
        ctypes.c_void_p,
        [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int, ctypes.POINTER(Fault)],
    ),
    "pf_drop": (None, [ctypes.c_void_p]),
    "pf_scan": (
        ctypes.POINTER(Result),
        [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int],
    ),
    "pf_clean": (ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_size_t)]),
    "pf_clean_free": (None, [ctypes.c_void_p]),
    "pf_free": (None, [ctypes.POINTER(Result)]),
    "pf_read": (None, [ctypes.c_char_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p]),
    "pf_regex": (ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(Fault)]),
    "pf_regex_drop": (None, [ctypes.c_void_p]),
    "pf_regex_group": (ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_int32, ctypes.POINTER(ctypes.c_size_t)]),
    "pf_regex_find": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32, ctypes.c_void_p]),
    "pf_number": (ctypes.c_int, [ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_double)]),
    "pf_is_utf8": (ctypes.c_int, [ctypes.c_char_p, ctypes.c_size_t]),
}

#: Where the library is, beside this file. A path without a folder would be looked up as a name.
LIBRARY: Final = Path(__file__).absolute().with_name("_scan.dylib" if sys.platform == "darwin" else "_scan.so")


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


def library() -> ctypes.CDLL:
    library = _load()
    if isinstance(library, str):
        raise RuntimeError(library)
    return library


class Memory:
    """A result's memory, given back when the last array that looks at it is gone."""

    __slots__ = ("_library", "result")

    def __init__(self, library: ctypes.CDLL, result: Any) -> None:
        self._library = library
        self.result = result

    def __del__(self) -> None:
        self._library.pf_free(self.result)


INT32, INT64, FLOAT64 = (np.dtype(name) for name in ("int32", "int64", "float64"))


def view(memory: Memory, address: int, count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Numbers in a result's memory, which lives as long as they do."""
    if not count:
        return np.empty(0, dtype)
    held: Any = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    held.memory = memory
    return np.frombuffer(held, dtype)
