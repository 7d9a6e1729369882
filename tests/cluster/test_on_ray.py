"""Shares on a Ray cluster of two nodes: workers and nodes that go away lose nothing and count nothing twice."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from perflog.cache.cache import EntryFile, sizes_of
from perflog.cluster.shares import Task, parts_by_ray, read_share, task_of
from perflog.errors import UsageError
from perflog.extraction import extract_paths
from perflog.logs.find import find_logs
from tests.parts.test_parts import document
from tests.support import ROOT, catalog, options

#: Ray is imported where a test uses it: most runs of the tests only collect these.
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: its tests are skipped"),
]
CAMPAIGN = ROOT / "fixtures" / "campaign"
PERFLOG = [sys.executable, "-m", "perflog"]


class Cluster:
    """Two Ray nodes on this machine, each with a raylet of its own."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster as RayCluster

        self._cluster: Any = RayCluster(
            initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False}
        )
        self.second = self._cluster.add_node(num_cpus=2)
        self.address = self._cluster.address

    def remove_second(self) -> None:
        self._cluster.remove_node(self.second, allow_graceful=False)

    def end(self) -> None:
        self._cluster.shutdown()


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    """One test at a time on this machine: Ray joins a cluster that it finds there, which another test may end."""
    with (Path(tempfile.gettempdir()) / "perflog-tests-ray.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    made = Cluster()
    yield made
    made.end()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Enough logs for shares that take a while."""
    for number in range(60):
        shutil.copytree(CAMPAIGN / "short", tmp_path / "logs" / f"day{number}")
        for log in (tmp_path / "logs" / f"day{number}").rglob("*.log"):
            log.write_text(log.read_text(encoding="utf-8") + f"# {log}\n", encoding="utf-8")
    return tmp_path / "logs"


def task(place: Path) -> Task:
    return task_of([str(place)], options(), [], [])


def workers() -> list[int]:
    """The processes that read a share at this moment."""
    pids = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if words.startswith(b"ray::read_share"):
                pids.append(int(entry.name))
    return pids


def when_reading(do: threading.Event, harm: object) -> threading.Thread:
    def wait() -> None:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if workers():
                harm()  # type: ignore[operator]
                do.set()
                return
            time.sleep(0.01)

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_what_a_cluster_reads_is_what_one_machine_reads(cluster: Cluster, tmp_path: Path) -> None:
    parts_by_ray(cluster.address, task(CAMPAIGN), tmp_path, shards=5)
    together = extract_paths([tmp_path], options(), catalog())
    assert document(together) == document(extract_paths([CAMPAIGN], options(), catalog()))


@pytest.mark.parametrize("harm", ["worker", "node"])
def test_what_goes_away_is_read_again(cluster: Cluster, place: Path, tmp_path: Path, harm: str) -> None:
    harmed = threading.Event()

    def kill() -> None:
        if harm == "worker":
            os.kill(workers()[0], signal.SIGKILL)
        else:
            cluster.remove_second()

    parts = tmp_path / "parts"
    parts.mkdir()
    told: list[tuple[int, int]] = []
    thread = when_reading(harmed, kill)
    parts_by_ray(cluster.address, task(place), parts, shards=12, told=lambda done, count: told.append((done, count)))
    thread.join()
    assert harmed.is_set()
    assert told == [(done, 12) for done in range(1, 13)]
    assert document(extract_paths([parts], options(), catalog())) == document(
        extract_paths([place], options(), catalog())
    )


def test_the_command_starts_a_cluster_of_this_machine(tmp_path: Path) -> None:
    words = [*PERFLOG, "extract", str(CAMPAIGN), "--format", "json", "--quiet"]
    plain = subprocess.run(words, capture_output=True, check=False, cwd=tmp_path)
    on_ray = subprocess.run([*words, "--on", "ray", "--shards", "3"], capture_output=True, check=False, cwd=tmp_path)
    assert on_ray.stderr == plain.stderr
    assert json.loads(on_ray.stdout) == json.loads(plain.stdout)
    assert on_ray.stdout == plain.stdout
    assert on_ray.returncode == plain.returncode


def test_relative_paths_are_printed_as_they_were_given(tmp_path: Path) -> None:
    (tmp_path / "logs").symlink_to(CAMPAIGN)
    words = [*PERFLOG, "extract", "logs/", "--format", "json", "--quiet"]
    plain = subprocess.run(words, capture_output=True, check=False, cwd=tmp_path)
    on_ray = subprocess.run([*words, "--on", "ray", "--shards", "2"], capture_output=True, check=False, cwd=tmp_path)
    assert b'"file": "logs/' in plain.stdout
    assert on_ray.stdout == plain.stdout


def test_a_worker_reads_with_one_process(cluster: Cluster, place: Path, tmp_path: Path) -> None:
    """The cluster gives a task one processor: helpers of its own would take those of other tasks."""
    environments: list[bytes] = []
    done = threading.Event()
    thread = when_reading(done, lambda: environments.append(Path(f"/proc/{workers()[0]}/environ").read_bytes()))
    parts_by_ray(cluster.address, task(place), tmp_path, shards=12)
    thread.join()
    assert done.is_set()
    assert {b"PERFLOG_THREADS=1", b"POLARS_MAX_THREADS=1"} <= set(environments[0].split(b"\0"))


def test_workers_keep_what_they_read_where_it_is_asked_for(tmp_path: Path) -> None:
    shutil.copytree(CAMPAIGN / "short", tmp_path / "logs")
    time_of_logs = time.time() - 3600
    for log in (tmp_path / "logs").rglob("*"):
        os.utime(log, (time_of_logs, time_of_logs))
    time.sleep(2.1)  # what was written within two seconds is not kept
    cache = tmp_path / "cache"
    environment = {**os.environ, "PERFLOG_CACHE": str(cache), "PYTHONPATH": str(ROOT)}
    words = [*PERFLOG, "extract", str(tmp_path / "logs"), "--format", "json", "--quiet"]
    plain = subprocess.run([*words, "--no-cache"], capture_output=True, check=False, env=environment)
    assert not cache.exists()
    for _ in range(2):
        on_ray = [*words, "--on", "ray", "--shards", "2", "--cache"]
        done = subprocess.run(on_ray, capture_output=True, check=False, env=environment, cwd=tmp_path)
        assert (done.stdout, done.stderr, done.returncode) == (plain.stdout, plain.stderr, plain.returncode)
    count, _ = sizes_of(EntryFile(cache))
    assert count == len(find_logs([tmp_path / "logs"]))


def test_a_worker_that_does_not_find_the_logs_says_so(cluster: Cluster, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file or folder"):
        parts_by_ray(cluster.address, task(tmp_path / "missing"), tmp_path, shards=2)


def test_a_worker_with_another_perflog_is_refused() -> None:
    other = Task((str(CAMPAIGN),), b"{}", perflog="0.0.1")
    with pytest.raises(UsageError, match=r"a worker has perflog .*, and this is 0\.0\.1"):
        read_share(other, 1, 2)
