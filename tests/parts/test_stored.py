"""Shares of logs that lie in an object store: what workers read there and the merge makes is what one machine makes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from perflog.extraction import extract_paths
from tests.forks import perflog
from tests.logs.stores import put, put_folder, s3_server, use
from tests.parts.test_parts import CAMPAIGN, LOG, document, made
from tests.support import ROOT, catalog, options
from tests.tools.faulty_proxy import FaultyProxy

pytest.importorskip("obstore")
PLACE = "s3://bucket/all logs/"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with s3_server() as url:
        put_folder(url, "bucket", CAMPAIGN / "short" / "pytorch", "all logs/pytorch")
        put(url, "bucket", "all logs/größe.log", (ROOT / LOG / "cnn_b16_fp32_1.log").read_bytes() + b"one more line\n")
        put(url, "bucket", "all logs/notes.txt", b"no log\n")
        use(monkeypatch, url, tmp_path)
        yield url


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("count", [1, 3])
def test_all_parts_together_are_what_one_machine_gives_to_the_byte(tmp_path: Path, count: int) -> None:
    files = made([PLACE], tmp_path / "parts", count)  # type: ignore[list-item]
    whole = extract_paths([PLACE], options(), catalog())
    assert whole.runs and any(case.throughput.n > 1 for case in whole.cases)
    assert {run.log.path for run in whole.runs} > {"s3://bucket/all logs/größe.log"}
    merged = extract_paths(files, options(), catalog())
    assert document(merged) == document(whole)
    assert [run.log.place for run in merged.runs] == [run.log.place for run in whole.runs]


def test_a_share_asks_for_each_object_once(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its text is hashed while it is read."""
    with FaultyProxy(store) as proxy:
        use(monkeypatch, proxy.url, tmp_path)
        made([PLACE], tmp_path / "parts", 2)  # type: ignore[list-item]
    asked = [request.path for request in proxy.requests if request.method == "GET" and "list-type" not in request.path]
    logs = [path for path in asked if path.endswith(".log")]
    assert len(logs) > 6 and sorted(set(logs)) == sorted(logs)


@pytest.mark.long
@pytest.mark.usefixtures("store")
def test_the_commands_and_the_server_is_asked_no_more_for_the_merge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    one = perflog("extract", PLACE, "-f", "json", "-q")
    for number in (1, 2):
        done = perflog("extract", PLACE, "--shard", f"{number}/2", "-o", str(parts / f"part{number}.parquet"))
        assert done.returncode == 0, done.stderr
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")  # nobody answers there
    merged = perflog("merge", str(parts), "-f", "json", "-q")
    assert (merged.stdout, merged.returncode) == (one.stdout, one.returncode)
