"""Cleaning: launchers, terminals and encodings leave the events as the program wrote them, line for line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perflog.logs import containers as source
from perflog.logs.clean import clean_block
from perflog.logs.ranks import may_hold_ranks, rank_of
from perflog.reading import schedule as read
from tests.support import FIXTURES, arguments, extracted, parser_fixtures

LOG = FIXTURES / "seed001/GPUx8_time2train_ips-bs8.log"


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
    ],
)
def test_clean(raw: bytes, clean: bytes) -> None:
    assert clean_block(raw) == clean


@given(st.binary(max_size=400))
def test_line_feeds_are_kept_one_for_one(data: bytes) -> None:
    assert clean_block(data).count(b"\n") == data.count(b"\n")


@pytest.mark.parametrize(
    ("line", "rank"),
    [(b"[1,12]<stdout>:x", 12), (b"[rank3]:x", 3), (b"[default0]:x", 0), (b"0: :::MLLOG", 0), (b" 7: x", 7), (b"(RayTrainWorker pid=1193, ip=10.244.4.193) x", 1193),
     (b"step 1: x", None), (b"x", None)],
)  # fmt: skip
def test_rank(line: bytes, rank: int | None) -> None:
    assert rank_of(line) == rank
    assert may_hold_ranks(line + b"\n") == (rank is not None)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le-bom", "latin-1", "crlf", "no final line feed", "bom"])
def test_encodings_change_no_number(encoding: str, tmp_path: Path) -> None:
    text = LOG.read_text(encoding="utf-8")
    data = {
        "utf-16": text.encode("utf-16"),
        "utf-16-le-bom": b"\xff\xfe" + text.encode("utf-16-le"),
        "latin-1": ("Durée µs\n" + text).encode("latin-1"),
        "crlf": text.replace("\n", "\r\n").encode(),
        "no final line feed": text.rstrip("\n").encode(),
        "bom": b"\xef\xbb\xbf" + text.encode(),
    }[encoding]
    (tmp_path / "a_gpu8.log").write_bytes(data)
    (run,) = extracted(tmp_path).runs
    assert run.throughput.value == extracted(LOG).runs[0].throughput.value


@pytest.mark.parametrize("size", [1500, 6000])
def test_reading_in_blocks_gives_what_reading_whole_gives(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large log is folded block by block; tiny blocks make every fixture a large log."""

    def values() -> list[list[tuple[str, float | None]]]:
        cases = [(log, arguments(side.get("options", []))) for _, log, side in parser_fixtures()]
        return [[(r.parser, r.throughput.value) for r in extracted(log, **given).runs] for log, given in cases]

    whole = values()
    monkeypatch.setattr(source, "BLOCK", size)
    monkeypatch.setattr(read, "SMALL", 0)
    for mine, theirs in zip(values(), whole, strict=True):
        assert [p for p, _ in mine] == [p for p, _ in theirs]
        for (_, value), (_, wanted) in zip(mine, theirs, strict=True):
            assert value == (pytest.approx(wanted, rel=1e-9) if wanted is not None else None)
