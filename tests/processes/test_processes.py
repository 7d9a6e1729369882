"""Workers in processes of their own: the same result to the byte, whoever reads a batch and whatever becomes of them."""

from __future__ import annotations

import gzip
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perflog.errors import ParserError
from perflog.extraction import extract_logs, extract_paths
from perflog.formats.catalog import load_catalog
from perflog.logs.find import LogFile, Pipe, find_logs
from perflog.processes import pool
from perflog.processes import pool as helping
from tests.processes.support import Ready, document, task, use
from tests.support import FIXTURES, ROOT, catalog, options

PICOGPT = "".join(f"iter {n}: loss 3.0, time 250.00ms, mfu 17.89%\n" for n in range(60))


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[LogFile]:
    """Logs of all kinds: of many formats, repeats, large, packed, of machines, growing, and what is none."""
    folder = tmp_path_factory.mktemp("logs")
    shutil.copytree(FIXTURES / "campaign", folder / "campaign")
    (folder / "machine.json").write_text('{"name": "a", "cores": 2, "memory_gb": 512.0}')
    (folder / "large.log").write_text(PICOGPT + "x" * 5_000_000 + "\n")
    (folder / "packed.log.gz").write_bytes(gzip.compress(PICOGPT.encode() + b"# packed\n"))
    (folder / "cut.log.gz").write_bytes(gzip.compress(PICOGPT.encode())[:60])
    (folder / "table.log").write_bytes(b"\x89PNG" + bytes(100))
    (folder / "empty.log").write_bytes(b"")
    (folder / "unknown.log").write_text("nothing known\n" * 9)
    (folder / "own.log").write_text("".join(f"step {n}: 32 samples took 0.25 s\n" for n in range(99)))
    (folder / "growing.log.running").write_text(PICOGPT)
    (folder / "none.log").symlink_to(folder / "nothing")
    (folder / os.fsdecode(b"name\xe9.log")).write_text(PICOGPT + "# a name that is no UTF-8\n")
    with zipfile.ZipFile(folder / "some.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/bz8/1n1g/1.log", PICOGPT + "# a\n")
        archive.writestr("a/bz8/1n2g/1.log", PICOGPT + "x" * 5_000_000 + "\n")
        archive.writestr("notes.txt", "nothing\n")
    return find_logs([folder])


@pytest.fixture(scope="module")
def two() -> Iterator[Ready]:
    with Ready(2, task()) as ready:
        assert ready.statuses == [None, None]
        yield ready


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), logs_of_a_batch=st.integers(1, 9), threads=st.sampled_from(["1", "3"]))
def test_workers_and_threads_give_the_same_to_the_byte(
    data: st.DataObject, logs_of_a_batch: int, threads: str, logs: list[LogFile], two: Ready,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    chosen = [logs[place] for place in sorted(data.draw(st.sets(st.integers(0, len(logs) - 1), min_size=1)))]
    monkeypatch.setenv("PERFLOG_THREADS", threads)
    use(two, monkeypatch, logs_of_a_batch)
    before = two.logs_read
    helped = document(extract_logs(chosen, options(), catalog()))
    assert two.logs_read > before
    use(None, monkeypatch, logs_of_a_batch)
    assert helped == document(extract_logs(chosen, options(), catalog()))


def test_all_of_them_at_once(logs: list[LogFile], two: Ready, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    use(two, monkeypatch)
    helped = extract_logs(logs, options(), catalog(), told.append)
    assert len(helped.runs) > 40
    assert sum(told) == sum(max(log.size, 0) for log in logs)
    use(None, monkeypatch)
    alone = extract_logs(logs, options(), catalog())
    assert document(helped) == document(alone)
    assert [run.evidence for run in helped.runs] == [run.evidence for run in alone.runs]
    assert [run.machine for run in helped.runs] == [run.machine for run in alone.runs]


@pytest.mark.parametrize("moment", ["before", "while it reads"])
def test_the_batch_of_a_worker_that_is_killed_is_read_here(
    moment: str, logs: list[LogFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    use(None, monkeypatch)
    expected = document(extract_logs(logs, options(), catalog()))
    with Ready(1, task()) as one:
        use(one, monkeypatch)
        if moment == "before":
            os.kill(one.pids[0], signal.SIGKILL)
            assert document(extract_logs(logs, options(), catalog())) == expected
        else:
            os.kill(one.pids[0], signal.SIGSTOP)
            found: list[bytes] = []
            reading = threading.Thread(target=lambda: found.append(document(extract_logs(logs, options(), catalog()))))
            reading.start()
            os.kill(one.pids[0], signal.SIGKILL)
            reading.join()
            assert found == [expected]
        assert one.logs_read == 0


@pytest.mark.parametrize("program", ["/bin/false", "/bin/cat", "/nowhere/python", "", None])
def test_workers_that_cannot_be_started_are_not_missed(
    program: str | None, logs: list[LogFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    use(None, monkeypatch)
    expected = document(extract_logs(logs[:9], options(), catalog()))
    monkeypatch.setattr(sys, "executable", program)
    with Ready(2, task()) as none:
        use(none, monkeypatch)
        assert document(extract_logs(logs[:9], options(), catalog())) == expected
        assert none.logs_read == 0


def test_what_only_this_process_can_read_is_not_given_away(two: Ready, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(PICOGPT)
    path = str(tmp_path / "a.log")
    assert two.read([LogFile(path, 9, pipe=Pipe())]) is None
    assert two.read([LogFile(path, 9, text=b"iter")]) is None
    outcomes = two.read([LogFile(path, len(PICOGPT))])
    assert outcomes is not None
    assert isinstance(outcomes[0], list)
    assert outcomes[0][0].throughput.value == 4.0


def test_ctrl_c_is_no_matter_of_a_worker(two: Ready, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(PICOGPT)
    for pid in two.pids:
        os.kill(pid, signal.SIGINT)
    for _ in two.pids:
        assert two.read([LogFile(str(tmp_path / "a.log"), len(PICOGPT))]) is not None
    assert two.statuses == [None, None]


@pytest.mark.long
def test_workers_end_with_the_command_that_ctrl_c_ends(logs: list[LogFile], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), Ready(2, task()) as ready:
        use(ready, monkeypatch)
        extract_logs(logs, options(), catalog(), interrupted)
    assert ready.statuses == [-signal.SIGKILL, -signal.SIGKILL]


_STARTER = """
import sys
from tests.processes.support import Ready, task
with Ready(1, task()) as one:
    print(one.pids[0], flush=True)
    sys.stdin.read()
"""


def test_a_worker_ends_when_the_process_that_started_it_is_killed() -> None:
    starter = subprocess.Popen(
        [sys.executable, "-c", _STARTER], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert starter.stdout is not None
    worker = os.pidfd_open(int(starter.stdout.readline()))
    try:
        starter.kill()
        assert select.select([worker], [], [], 60)[0], "the worker outlives the process that started it"
    finally:
        os.close(worker)
        starter.communicate()


_SCRIPT = """
import sys
print("begun")
from perflog.processes import pool as helping
helping.LEAST = 0
from tests.processes import support
from perflog.processes import pool
pool.Processes = support.Ready
import perflog
print(len(perflog.extract(sys.argv[1]).runs))
"""


@pytest.mark.long
def test_a_script_without_a_guard_runs_once(tmp_path: Path) -> None:
    """Workers never run the user's own program, as those of multiprocessing do; and no module beside the logs."""
    for number in range(4):
        (tmp_path / f"{number}.log").write_text(PICOGPT + f"# {number}\n")
    for module in ("json", "numpy", "perflog"):
        (tmp_path / f"{module}.py").write_text("raise SystemExit('not mine')\n")
    script = tmp_path / "script" / "mine.py"
    script.parent.mkdir()
    script.write_text(_SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PERFLOG_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], cwd=tmp_path, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr, done.returncode) == ("begun\n4\n", "", 0)


OWN = """
title = "Mine"
source = "none"
priority = 90
traps = []
[[pattern]]
name = "step"
role = "step"
literal = "mystep"
regex = 'mystep (?P<step>{I}) rate (?P<rate>{N})'
[[pattern.value]]
group = "rate"
quantity = "rate"
unit = "samples/s"
[[pattern.sample]]
line = "mystep 1 rate 5.0"
expect = { step = 1, rate = RATE }
"""


@pytest.mark.parametrize(("rate", "is_sound"), [("5.0", True), ("6.0", False)])
def test_parsers_of_ones_own(rate: str, is_sound: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker has the parsers that are in force; one that does not do as it promises is told as always."""
    (tmp_path / "mine.toml").write_text(OWN.replace("RATE", rate))
    for number in range(1, 5):
        text = "".join(f"mystep {step} rate {number}.0\n" for step in range(1, 40))
        (tmp_path / f"{number}.log").write_text(text)
    own = load_catalog([tmp_path / "mine.toml"])
    logs = find_logs(tmp_path.glob("*.log"))
    monkeypatch.setattr(helping, "LEAST", 0)
    monkeypatch.setattr(pool, "Processes", Ready)
    monkeypatch.setenv("PERFLOG_THREADS", "2")
    chosen = options(warmup="1records", set={"batch_size": "8", "devices": "1"})
    if is_sound:
        values = [run.throughput.value for run in extract_logs(logs, chosen, own).runs]
        assert values == pytest.approx([1.0, 2.0, 3.0, 4.0])
    else:
        with pytest.raises(ParserError, match=r"sample expects rate = 6\.0, read '5\.0'"):
            extract_logs(logs, chosen, own)


def test_numbers_of_devices_are_told_among_all_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is decided among names reaches the workers: gpu0 to gpu3 are devices, whoever reads gpu3."""
    for number in range(4):
        (tmp_path / f"gpu{number}.log").write_text(PICOGPT + f"# {number}\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "gpu4.log").write_text(PICOGPT + "# other\n")
    alone = document(extract_paths([tmp_path], options(), catalog()))
    readers: list[Ready] = []

    class Kept(Ready):
        def __enter__(self) -> Self:
            readers.append(self)
            return super().__enter__()

    monkeypatch.setattr(helping, "LEAST", 0)
    monkeypatch.setattr(pool, "Processes", Kept)
    monkeypatch.setattr("perflog.reading.schedule.BATCH_LOGS", 1)
    monkeypatch.setenv("PERFLOG_THREADS", "2")
    assert document(extract_paths([tmp_path], options(), catalog())) == alone
    assert [reader.logs_read > 0 for reader in readers] == [True]
