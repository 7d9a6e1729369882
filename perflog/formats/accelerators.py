"""The peak FLOP/s of accelerators, from ``accelerators.toml``: by the names that programs print."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from perflog.errors import ParserError
from perflog.formats import ACCELERATORS
from perflog.formats.toml import decode
from perflog.resources import folder

#: Words in a device's name that say it is less than the accelerator of that name.
_LESS = frozenset({"laptop", "mobile", "mig", "d", "max"})
_WORD = re.compile(r"[a-z0-9]+")

_Text = Annotated[str, Meta(min_length=1)]
_Peak = Annotated[float, Meta(gt=0)] | None


class Accelerator(Struct, frozen=True, forbid_unknown_fields=True):
    """``[[accelerator]]``: the peaks of a device in TFLOP/s by precision; None where the source gives none."""

    name: _Text
    names: Annotated[tuple[_Text, ...], Meta(min_length=1)]
    source: _Text
    without: tuple[_Text, ...] = ()
    fp32: _Peak = None
    tf32: _Peak = None
    fp16: _Peak = None
    bf16: _Peak = None
    sources: dict[str, str] = {}
    note: str = ""

    @property
    def peaks(self) -> dict[str, float]:
        """The peaks that are known, by precision."""
        known = {"fp32": self.fp32, "tf32": self.tf32, "fp16": self.fp16, "bf16": self.bf16}
        return {precision: peak for precision, peak in known.items() if peak is not None}

    def is_meant_by(self, words: frozenset[str]) -> bool:
        """Whether a printed name, as its words in lower case, is this accelerator's."""
        named = any(words.issuperset(name.split()) for name in self.names)
        return named and words.isdisjoint(self.without)


class _AcceleratorsFile(Struct, frozen=True, forbid_unknown_fields=True):
    accelerator: tuple[Accelerator, ...]


class Peak(NamedTuple):
    """The dense peak of one device in TFLOP/s, whose it is, at what precision, and where that stands."""

    tflops: float
    accelerator: str
    precision: str
    source: str


def own_accelerators() -> tuple[Accelerator, ...]:
    """perflog's own table.

    Raises:
        ParserError: when the file is not well formed.
        FileNotFoundError: when the installation lacks it.
    """
    return load_accelerators(folder("parsers") / ACCELERATORS)


def load_accelerators(file: Path) -> tuple[Accelerator, ...]:
    """Read a table of accelerators.

    Raises:
        ParserError: when the file is not well formed, with the place and what is expected there.
    """
    return decode(file, _AcceleratorsFile, ParserError).accelerator


def peak_of(table: Sequence[Accelerator], printed: str, precision: str) -> Peak | None:
    """The peak of a device by its printed name; None where the table does not say it for certain.

    Args:
        precision: in perflog's words. ``amp`` may be fp16 or bf16, ``fp32`` may run as TF32: where these differ on
            the device, its peak is not certain.
    """
    accelerator = _meant(table, printed)
    if accelerator is None:
        return None
    key = _precision_on(accelerator, precision)
    tflops = accelerator.peaks.get(key)
    if tflops is None:
        return None
    return Peak(tflops, accelerator.name, key, accelerator.sources.get(key, accelerator.source))


def most_of(table: Sequence[Accelerator], printed: str, precision: str) -> Peak:
    """The most that a device can do, as far as its name and its precision are known; else that any device can.

    Args:
        printed: the device's name; empty where it is unknown.
    """
    peak = peak_of(table, printed, precision)
    if peak is not None:
        return peak
    meant = _meant(table, printed)
    of_all = [
        (peak, key, board) for board in (table if meant is None else [meant]) for key, peak in board.peaks.items()
    ]
    tflops, key, board = max(of_all, key=lambda entry: entry[0])
    return Peak(tflops, board.name, key, board.sources.get(key, board.source))


def _meant(table: Sequence[Accelerator], printed: str) -> Accelerator | None:
    """The accelerator that a printed name is certainly of; None for any other."""
    words = frozenset(_WORD.findall(printed.lower()))
    if words & _LESS:
        return None
    meant = [accelerator for accelerator in table if accelerator.is_meant_by(words)]
    return meant[0] if len(meant) == 1 else None


def _precision_on(accelerator: Accelerator, precision: str) -> str:
    """The precision of the matrices on a device; empty where that is not certain."""
    if precision == "amp":
        return "fp16" if accelerator.bf16 in (None, accelerator.fp16) else ""
    if precision == "fp32":
        return "fp32" if accelerator.tf32 is None and accelerator.bf16 is None else ""
    return precision
