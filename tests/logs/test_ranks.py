"""Launchers' tags: found wherever they stand in a block, and only at the start of a line or sub-line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perflog.logs.clean import may_hold_ranks, rank_of

_TAGS = [
    (b"[1,12]<stdout>:x", 12),
    (b"[rank3]:x", 3),
    (b"[default0]:x", 0),
]
_RAY = [(b"(RayTrainWorker pid=1193, ip=10.244.4.193) x", 1193), (b"(W pid=5) x", 5)]
_NONE = [
    b"step 1: x",
    b"0: :::MLLOG",
    b" 7: x",
    b"x",
    b"123456: x",
    b"    1: x",
    b"12:30 x",
    b"1:x",
    b"[2023-01-02] x",
    b"[default] x",
    b"[rank] x",
    b"(pid 5) x",
    b" 68%|## ",
    b"",
]


@pytest.mark.parametrize(("line", "rank"), [*_TAGS, *_RAY, *((line, None) for line in _NONE)])
def test_rank(line: bytes, rank: int | None) -> None:
    assert rank_of(line) == rank


@pytest.mark.parametrize("line", [line for line in _NONE if not line.startswith((b"[rank", b"[default", b"("))])
def test_a_text_without_tags(line: bytes) -> None:
    assert not may_hold_ranks(line + b"\n" + line + b"\r" + line)


@pytest.mark.parametrize("line", [line for line, _ in _TAGS + _RAY])
@pytest.mark.parametrize("end", [b"\n", b"\r"])
@pytest.mark.parametrize("place", [0, 1, 5_000, 9_998, 9_999, 10_000])
def test_a_tag_is_found_anywhere_in_a_large_block(line: bytes, end: bytes, place: int) -> None:
    lines = [b"12:30 [INFO] (a) loss"] * 10_000
    assert not may_hold_ranks(end.join(lines))
    assert may_hold_ranks(end.join([*lines[:place], line, *lines[place:]]))
    assert not may_hold_ranks(end.join([*lines[:place], b"x" + line, *lines[place:]]))


_PIECES = st.sampled_from(
    [
        b"\n",
        b"\n",
        b"\r",
        b" ",
        b"  ",
        b"1",
        b"12345",
        b": ",
        b":",
        b"x",
        b"[rank",
        b"[1,",
        b"]<stdout>:",
        b"]:",
        b"(W ",
        b"pid=",
        b")",
        b"[default",
        b"\t",
    ]
)


@given(st.lists(_PIECES, max_size=12).map(b"".join))
def test_a_text_that_may_hold_no_ranks_holds_none(text: bytes) -> None:
    lines = text.replace(b"\r", b"\n").split(b"\n")
    assert may_hold_ranks(text) or not any(rank_of(line) is not None for line in lines)
