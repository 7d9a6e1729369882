"""Cleaning: launchers, terminals and encodings leave the events as the program wrote them, line for line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perflog.logs.clean import clean_block


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        (b"\x1b[32mloss\x1b[0m 1\n", b"loss 1\n"),
        (b"\x1b[38;2;180;60;0mloss: 8.1\x1b[39m\n", b"loss: 8.1\n"),
        (b"reader: 1.295\x1b[0ms ips\n", b"reader: 1.295s ips\n"),
        (b"a\r\nb\r\n", b"a\nb\n"),
        (b"10%\r20%\n", b"10%\r20%\n"),
        (b"step 10\x08\x08\x08step 20\n", b"step 10\rstep 20\n"),
        (b"st\x00ep 1\n", b"step 1\n"),
        (b"[1,3]<stderr>:step 1\n", b"[1,3]<stdout>:step 1\n"),
        (b"Fri Apr  9 10:16:52 2021[1,0]<stdout>:DLL 1\n", b"[1,0]<stdout>:DLL 1\n"),
        (b"[1,1]<stdout>:Epoch 1 Time 2[1,1]<stdout>:\n", b"[1,1]<stdout>:Epoch 1 Time 2\n"),
        (b"[1,0]<stdout>:ips: 12[1,1]<stdout>:345.6\n", b"[1,0]<stdout>:ips: 12\r[1,1]<stdout>:345.6\n"),
        (b" 68%|## Thu Jun  9 09:17:45 2022[1,0]<stdout>:DLL x\n", b" 68%|## \r[1,0]<stdout>:DLL x\n"),
        (b"[0]<stdout>:horovodrun\n", b"[1,0]<stdout>:horovodrun\n"),
        (b"[1,mpirank:6,algo-1]<stdout>:a\n", b"[1,6]<stdout>:a\n"),
        (b"[prterun-node-1-42@1,5]<stderr>:a\n", b"[1,5]<stdout>:a\n"),
        (b"[1,2]<stderr>: 1%\r 2%\n", b"[1,2]<stdout>: 1%\r[1,2]<stdout>: 2%\n"),
    ],
)
def test_clean(raw: bytes, clean: bytes) -> None:
    assert clean_block(raw) == clean


@given(st.binary(max_size=400))
def test_line_feeds_are_kept_one_for_one(data: bytes) -> None:
    assert clean_block(data).count(b"\n") == data.count(b"\n")


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        # a tag in the middle of a large block, far from its beginning
        (b"loss 1\n" * 50_000 + b"[1,2]<stderr>:x\n" + b"loss 1\n" * 50_000, b"[1,2]<stdout>:x"),
        (b"loss 1\n" * 50_000 + b"(W pid=7) loss 2 [repeated 3x across cluster] (Ray says)\n", b"(W pid=7) loss 2\n"),
    ],
)
def test_every_byte_is_looked_at(raw: bytes, clean: bytes) -> None:
    assert clean in clean_block(raw)


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        (b"(W pid=7) a [repeated 3x across cluster] (x)\r(W pid=8) b\n", b"(W pid=7) a\r(W pid=8) b\n"),
        (b"a [repeated 3x across cluster]\n(W pid=7) b\n", b"a [repeated 3x across cluster]\n(W pid=7) b\n"),
        (b"\x1b]0;title\x07a\n", b"a\n"),
        (b"\x1b]0;no end\nb\x07\n", b"0;no end\nb\x07\n"),
    ],
)
def test_what_is_removed_ends_with_its_line(raw: bytes, clean: bytes) -> None:
    assert clean_block(raw) == clean


_PIECES = st.sampled_from([
    b"[1,0]<stdout>:", b"[1,12]<stderr>:", b"[3]<stdout>:", b"]<std", b"Fri Apr  9 10:16:52 2021", b"\x1b[32m", b"\x1b[", b"\x1b]0;t",
    b"\x07", b"\x1b\\", b"\x00", b"\x08", b"\x08\x08", b"\r", b"\r\n", b"\n", b"\n", b"(W pid=7) ", b" pid=", b"(W pid=7, ip=1.2.3.4) ",
    b" [repeated 3x across cluster]", b" (Ray)", b"ips: 12", b"loss ", b" ", "µ".encode(),
])  # fmt: skip
_LINES = st.lists(_PIECES, max_size=25).map(lambda pieces: b"".join(pieces) + b"\n")


@given(_LINES, _LINES)
def test_cleaning_does_not_depend_on_where_a_log_is_cut(first: bytes, second: bytes) -> None:
    assert clean_block(first + second) == clean_block(first) + clean_block(second)
    assert clean_block(first).count(b"\n") == first.count(b"\n")


_PIECES = st.sampled_from(
    [
        b"[1,0]<stdout>:",
        b"[1,12]<stderr>:",
        b"[host@7,3]<stdout>:",
        b"]<stdout>",
        b"[1,]<stdout>:",
        b"a 1",
        b" ",
        b"[",
        b"\n",
    ]
)


@given(st.lists(_PIECES, max_size=12))
def test_tags_before_lines_alone_are_read_as_in_any_text(pieces: list[bytes]) -> None:
    """A text without a carriage return may be cleaned at once; with one, line by line."""
    text = b"".join(pieces)
    assert clean_block(text + b"\nx\ry") == clean_block(text) + b"\nx\ry"
