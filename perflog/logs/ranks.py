"""Which rank wrote a line: the tags that launchers put in front of lines."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

_RANK = re.compile(
    rb"^(?:\[1,([0-9]+)\]<stdout>:"  # as clean_block leaves mpirun's and horovodrun's
    rb"|\[(?:rank|default)([0-9]+)\]:"  # torchrun --tee
    rb"| {0,3}([0-9]{1,5}): )"  # srun --label
)
_RAY = re.compile(rb"^\((?:[^()]*?)\bpid=([0-9]+)(?:, ip=[0-9.]+)?\)")

_TAG = rb"(?: {0,3}[0-9]{1,5}: \S|\[(?:rank|default|1,)[0-9]|\([^()\n\r]*\bpid=)"
#: A launcher's tag at the start of a line, or of a sub-line, that is not the first.
_TAGGED, _TAG_HERE = re.compile(rb"[\n\r]" + _TAG), re.compile(_TAG)
#: From this size on, numpy looks at the lines' beginnings: a regex takes twice as long (18 ms for 8 MiB, numpy 8).
_LARGE = 64 << 10
#: A tag is told, but for Ray's, by this many bytes.
_REACH = 16
_SPACES = np.frombuffer(b" \t\n\r\x0b\x0c", np.uint8)
#: How tags in brackets begin: `[rank`, `[default`, `[1,`.
_IN_BRACKETS = (b"ran", b"def", b"1,")


def may_hold_ranks(data: bytes) -> bool:
    """Whether a clean block has a launcher's tag anywhere (a cheap test before every match's line is looked at)."""
    if _TAG_HERE.match(data):
        return True
    if len(data) < _LARGE:
        return _TAGGED.search(data) is not None
    raw = np.frombuffer(data, np.uint8)
    ends = raw == 10
    if b"\r" in data:
        ends |= raw == 13
    starts = np.flatnonzero(ends[:-_REACH]) + 1
    first = raw[starts]
    numbered = starts[(first == ord(" ")) | _is_digit(first)]
    if _hold_number(raw, numbered) or _TAGGED.search(data, len(data) - _REACH):
        return True
    bracketed = starts[first == ord("[")]
    for begin in _IN_BRACKETS:
        same = [raw[bracketed + 1 + place] == byte for place, byte in enumerate(begin)]
        if any(_TAG_HERE.match(data, start) for start in bracketed[np.logical_and.reduce(same)].tolist()):
            return True
    in_parentheses = starts[first == ord("(")]
    return bool(len(in_parentheses)) and b"pid=" in data and _TAGGED.search(data) is not None


def _is_digit(raw: NDArray[np.uint8]) -> NDArray[np.bool_]:
    return (raw >= ord("0")) & (raw <= ord("9"))


def _hold_number(raw: NDArray[np.uint8], starts: NDArray[np.intp]) -> bool:
    """Whether srun's tag stands at one of these places: up to three spaces, one to five digits, ``: ``, no space."""
    places = starts
    for _ in range(3):
        places = places + (raw[places] == ord(" "))
    digits = places
    for _ in range(5):
        places = places + _is_digit(raw[places])
    tagged = (places > digits) & (raw[places] == ord(":")) & (raw[places + 1] == ord(" "))
    return bool((tagged & ~np.isin(raw[places + 2], _SPACES)).any())


def rank_of(line: bytes) -> int | None:
    """The rank in the launcher's tag at the start of a clean line or sub-line; None where there is none."""
    tag = _RANK.match(line)
    if tag:
        return int(tag[1] or tag[2] or tag[3])
    ray = _RAY.match(line)
    return int(ray[1]) if ray else None
