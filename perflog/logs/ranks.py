"""Which rank wrote a line: the tags that launchers put in front of lines.

A bare number (``0: ``, which srun --label writes) is no tag here, for programs print such lines too: where it stands on
most lines of a log, :mod:`perflog.logs.prefixes` writes the first of these tags in its place.
"""

from __future__ import annotations

import re

#: A rank has 18 digits at most: more are no rank, and fit no column.
_RANK = re.compile(
    rb"^(?:\[1,([0-9]{1,18})\]<stdout>:"  # as clean_block leaves mpirun's and horovodrun's
    rb"|\[(?:rank|default)([0-9]{1,18})\]:)"  # torchrun --tee
)
_RAY = re.compile(rb"^\((?:[^()]*?)\bpid=([0-9]{1,18})(?:, ip=[0-9.]+)?\)")

#: How a line begins that may carry a tag. Each regex begins with text, which Python's engine finds ten times as fast as
#: a choice of beginnings.
_BEGINNING = rb"(?:\[(?:rank|default|1,)|\()"
_FIRST, _AFTER_FEED, _AFTER_RETURN = (re.compile(before + _BEGINNING) for before in (b"", b"\n", b"\r"))


def may_hold_ranks(text: bytes) -> bool:
    """Whether a clean text may have a launcher's tag at the start of a line or sub-line.

    A cheap test before every match's line is looked at: where it is False, :func:`rank_of` finds none in any line.
    """
    if _FIRST.match(text) or _AFTER_FEED.search(text):
        return True
    return b"\r" in text and _AFTER_RETURN.search(text) is not None


def rank_of(line: bytes) -> int | None:
    """The rank in the launcher's tag at the start of a clean line or sub-line; None where there is none."""
    tag = _RANK.match(line)
    if tag:
        return int(tag[1] or tag[2])
    ray = _RAY.match(line)
    return int(ray[1]) if ray else None
