"""Which rank wrote a line: the tags that launchers put in front of lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

_RANK = re.compile(
    rb"^(?:\[1,([0-9]+)\]<stdout>:"  # as clean_block leaves mpirun's and horovodrun's
    rb"|\[(?:rank|default)([0-9]+)\]:"  # torchrun --tee
    rb"| {0,3}([0-9]{1,5}): )"  # srun --label
)
_RAY = re.compile(rb"^\((?:[^()]*?)\bpid=([0-9]+)(?:, ip=[0-9.]+)?\)")


#: Launcher tags are looked for in this much of a block's beginning, and in slices of the rest.
_SAMPLE, _SLICE, _SLICES = 16384, 2048, 8


def _samples(data: bytes) -> Iterator[bytes]:
    yield data[:_SAMPLE]
    if len(data) > _SAMPLE:
        for at in range(_SAMPLE, len(data), max(_SLICE, (len(data) - _SAMPLE) // _SLICES)):
            part = data[at : at + _SLICE]
            yield part[part.find(b"\n") + 1 :]


#: A launcher's tag at the start of a line (one regex that begins with text: found fast).
_TAGGED = re.compile(rb"\n(?: {0,3}[0-9]{1,5}: \S|\[(?:rank|default|[0-9]+,)[0-9]|\([^()\n]*\bpid=)")


def may_hold_ranks(data: bytes) -> bool:
    """Whether a clean block has launcher tags at all (a cheap test before every match's line is looked at).

    A launcher tags every line it forwards, so a sample of a large block tells.
    """
    sample = b"\n".join((b"", *_samples(data)))
    return _TAGGED.search(sample.replace(b"\r", b"\n") if b"\r" in sample else sample) is not None


def rank_of(line: bytes) -> int | None:
    """The rank in the launcher's tag at the start of a clean line or sub-line; None where there is none."""
    found = _RANK.match(line)
    if found:
        return int(found[1] or found[2] or found[3])
    ray = _RAY.match(line)
    return int(ray[1]) if ray else None
