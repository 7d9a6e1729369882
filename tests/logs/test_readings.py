"""Encodings and blocks, seen from the end: the numbers that come out of them."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
import zipfile
from pathlib import Path

import pytest
import zstandard

from perflog.logs import containers as source
from perflog.reading import schedule as read
from tests.support import CAMPAIGN, FIXTURES, arguments, extracted, parser_fixtures

LOG = FIXTURES / "seed001/GPUx8_time2train_ips-bs8.log"


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


def test_containers_change_no_number(tmp_path: Path) -> None:
    data = LOG.read_bytes()
    (log,) = extracted(LOG).runs
    for name, content in {
        "a_gpu8.log.gz": gzip.compress(data), "b_gpu8.log.zst": zstandard.compress(data), "c_gpu8.log.xz": lzma.compress(data),
        "d_gpu8.log.bz2": bz2.compress(data),
    }.items():  # fmt: skip
        (tmp_path / name).write_bytes(content)
    with zipfile.ZipFile(tmp_path / "e.zip", "w") as archive:
        archive.write(LOG, "e_gpu8.log")
    with tarfile.open(tmp_path / "f.tar", "w") as tar:
        tar.add(LOG, "f_gpu8.log")
    packed = (tmp_path / "f.tar").read_bytes()
    (tmp_path / "f.tar.gz").write_bytes(gzip.compress(packed))
    (tmp_path / "f.tar.xz").write_bytes(lzma.compress(packed))
    (tmp_path / "f.tar.bz2").write_bytes(bz2.compress(packed))
    (tmp_path / "f.tar.zst").write_bytes(zstandard.compress(packed))
    runs = [run for path in sorted(tmp_path.iterdir()) for run in extracted(path).runs]  # together one counts once
    assert [run.throughput.value for run in runs] == [log.throughput.value] * 10
    assert {run.values["devices"] for run in runs} == {8}


@pytest.mark.parametrize("step", [1] if CAMPAIGN else [8, pytest.param(2, marks=pytest.mark.long)])
@pytest.mark.parametrize("size", [1500, 6000])
@pytest.mark.long
def test_reading_in_blocks_gives_what_reading_whole_gives(
    size: int, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large log is folded block by block; tiny blocks make every fixture a large log.

    Each of two neighbours is read in blocks of the one size or the other, and both in both sizes by `make fuzz`; a fourth
    of these pairs where not all is tried.
    """
    every = [(log, arguments(side.get("options", []))) for _, log, side in parser_fixtures()]
    cases = every if step == 1 else every[size == 6000 :: step]

    def values() -> list[list[tuple[str, float | None]]]:
        return [[(r.parser, r.throughput.value) for r in extracted(log, **given).runs] for log, given in cases]

    whole = values()
    monkeypatch.setattr(source, "BLOCK", size)
    monkeypatch.setattr(read, "SMALL", 0)
    for mine, theirs in zip(values(), whole, strict=True):
        assert [p for p, _ in mine] == [p for p, _ in theirs]
        for (_, value), (_, wanted) in zip(mine, theirs, strict=True):
            assert value == (pytest.approx(wanted, rel=1e-9) if wanted is not None else None)


@pytest.mark.parametrize("size", [700, 1500, 2900])
def test_a_table_that_is_drawn_again_across_a_blocks_end_is_no_second_run(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each new row of nerfstudio's table comes with those above it once more: a block may begin among these."""
    log = FIXTURES / "parsers/nerfstudio/train.log"
    (whole,) = extracted(log).runs
    monkeypatch.setattr(source, "BLOCK", size)
    monkeypatch.setattr(read, "SMALL", 0)
    (run,) = extracted(log).runs
    assert run.throughput.value == pytest.approx(whole.throughput.value, rel=1e-9)
