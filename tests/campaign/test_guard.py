"""Guards that are killed: the training ends with them, its run fails, and the next run is alone. Real processes all."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from perflog.campaign import guard
from tests.campaign.forking_runner.train import alive, notes
from tests.campaign.test_campaign import campaign
from tests.support import ROOT

RUNNER = ROOT / "tests/campaign/forking_runner"
pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found in /proc")
BARE = "299.75"


@dataclass
class Run:
    """A campaign at work, with the processes that belong to it."""

    folder: Path
    process: subprocess.Popen[str]
    seen: set[int] = field(default_factory=set)

    @property
    def notes(self) -> Path:
        return self.folder / "notes"

    def guards(self) -> tuple[int, int]:
        """The first guard and the second one, once both are there."""
        found: list[int] = []

        def both() -> bool:
            found[:] = [child for child in children(self.process.pid) if "guard.py" in command(child)]
            found[1:] = [child for one in found for child in children(one) if "guard.py" in command(child)]
            return len(found) == 2

        eventually(both, "two guards")
        return found[0], found[1]

    def whole(self) -> None:
        """Wait until the training is half done, with all its processes."""
        eventually(lambda: len(notes(self.notes)) >= 3 and "Step: 10 " in self.log(), "the training")

    def log(self) -> str:
        return "".join(path.read_text() for path in self.folder.rglob("*.log.running"))

    def processes(self) -> list[object]:
        return [note["pid"] for note in notes(self.notes)]

    def end(self) -> str:
        """Let it go on to its end; what it said."""
        Path(f"{self.notes}.hold").unlink(missing_ok=True)
        return self.process.communicate(timeout=60)[1]


def begun(folder: Path, hold: bool = True, **given: object) -> Run:
    if hold:
        (folder / "notes.hold").touch()
    environment = {"NOTES": str(folder / "notes")} | dict(given.pop("environment", {}))  # type: ignore[call-overload]
    usual: dict[str, object] = {
        "runners": [str(RUNNER)], "frameworks": ["forking_runner"], "models": ["forking"], "environment": environment,
    }  # fmt: skip
    file = campaign(folder, **usual | given)
    return Run(folder, again(file))


def again(file: Path) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "perflog", "run", str(file)]
    return subprocess.Popen(words, cwd=ROOT, stderr=subprocess.PIPE, text=True)


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path) -> Iterator[None]:
    yield
    left = [note["pid"] for note in notes(tmp_path / "notes") if alive(note["pid"])]
    for pid in left:
        os.kill(int(str(pid)), signal.SIGKILL)
    assert not left


def eventually(true: Callable[[], bool], what: str, seconds: float = 30.0) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, f"{what}: not within {seconds:g} s"
        time.sleep(0.01)


def children(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    return ""


def stopped(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)
    eventually(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T", "stopped")


def strike(which: str, guards: tuple[int, int], number: int) -> None:
    """Kill the first guard, the second, or both in one moment: neither can see to anything after the other's end."""
    if which == "both":
        stopped(guards[0])
    for pid in {"first": guards[:1], "second": guards[1:], "both": guards[::-1]}[which]:
        os.kill(pid, number if which != "both" or pid == guards[1] else signal.SIGKILL)


EVERY = [(which, name, moment) for which in ("first", "second", "both") for name in ("SIGKILL", "SIGSEGV")
         for moment in ("begin", "middle")]  # fmt: skip
SHORT = {("first", "SIGKILL", "middle"), ("second", "SIGSEGV", "middle")}


@pytest.mark.parametrize(
    ("which", "name", "moment"),
    [pytest.param(*case, marks=() if case in SHORT else pytest.mark.long) for case in EVERY],
)
def test_a_training_dies_with_its_guard_and_the_next_is_alone(
    which: str, name: str, moment: str, tmp_path: Path
) -> None:
    run = begun(tmp_path, environment={} if which == "both" else {"BARE": BARE})
    guards = run.guards()
    if moment == "middle":
        run.whole()
    strike(which, guards, getattr(signal, name))
    eventually(lambda: bool(list(tmp_path.rglob("*.log.failed"))), "the end of the first run")
    assert [pid for pid in run.processes() if alive(pid)] == []
    text = run.end()
    assert run.process.returncode == 3, text
    (failed,) = tmp_path.rglob("*.log.failed")
    killer = "SIGKILL" if which == "both" else name
    assert f"failed: the guard of its processes was killed by {killer}" in failed.read_text().splitlines()[-1]
    assert [path.name for path in tmp_path.rglob("*.log")] == ["forking_b8_fp32_2.log"]
    mains = [note for note in notes(run.notes) if note["who"] == "main"]
    assert [note["beside"] for note in mains] == [[]] * len(mains)
    assert mains, "a training ran"
    assert subprocess.run(["pgrep", "-fx", f"sleep {BARE}"], capture_output=True, check=False).stdout == b""


@pytest.mark.long
def test_the_kernel_ends_the_training_where_both_halves_are_dead(tmp_path: Path) -> None:
    run = begun(tmp_path)
    first, second = run.guards()
    run.whole()
    (main,) = (int(str(note["pid"])) for note in notes(run.notes) if note["who"] == "main")
    stopped(run.process.pid)
    stopped(first)
    os.kill(second, signal.SIGKILL)
    eventually(lambda: not alive(main), "the death of the training")
    os.kill(first, signal.SIGKILL)
    os.kill(run.process.pid, signal.SIGCONT)
    run.end()


def test_what_outlived_everything_is_ended_before_the_next_run_and_said(tmp_path: Path) -> None:
    run = begun(tmp_path, repeats=1)
    guards = run.guards()
    run.whole()
    stopped(run.process.pid)
    strike("both", guards, signal.SIGKILL)
    run.process.kill()
    run.end()
    left = [pid for pid in run.processes() if alive(pid)]
    assert len(left) == 2, "its child and its daemon live on"
    following = Run(tmp_path, again(tmp_path / "campaign.toml"))
    text = following.end()
    assert following.process.returncode == 0, text
    numbers = ", ".join(map(str, sorted(map(int, map(str, left)))))
    assert text.startswith(
        f"killed processes {numbers} of an earlier run (forking_runner/forking/bz8/1n1g/forking_b8_fp32_1), "
        "which had outlived it\n"
    )
    assert [note["beside"] for note in notes(run.notes) if note["who"] == "main"] == [[], []]


def test_a_run_beside_which_another_lived_is_failed(tmp_path: Path) -> None:
    run = begun(tmp_path)
    first, _ = run.guards()
    run.whole()
    (mark,) = (part for part in Path(f"/proc/{first}/environ").read_text().split("\0") if part.startswith(guard.MARK))
    mine = mark.removeprefix(f"{guard.MARK}=").split("/", 2)
    with subprocess.Popen(["sleep", "300"], env={guard.MARK: f"{mine[0]}/another/its/name"}) as other:
        text = run.end()
        assert other.wait() == -signal.SIGKILL, "it is ended before the second run"
    said = f"failed: other processes of the campaign lived beside it: {other.pid} (its/name); 20 of 20 steps logged"
    assert said in text
    assert f"killed process {other.pid} of an earlier run (its/name), which had outlived it\n" in text
    assert [path.name for path in tmp_path.rglob("*.log")] == ["forking_b8_fp32_2.log"]


@pytest.mark.long
@pytest.mark.parametrize("half", [0, 1])
def test_a_guard_that_was_stopped_ends_at_the_time_limit(half: int, tmp_path: Path) -> None:
    run = begun(tmp_path, time_limit=3, repeats=1)
    guards = run.guards()
    run.whole()
    stopped(guards[half])
    eventually(lambda: bool(list(tmp_path.rglob("*.log.failed"))), "the end of the run", 60)
    text = run.end()
    assert "failed: hang: no end within 3 s" in text
    assert [pid for pid in (*run.processes(), *guards) if alive(pid)] == []


def group_with_a_limit(limit: int) -> Iterator[Path]:
    """A control group of the memory controller, of version 1 or 2; none where it cannot be made."""
    for root, name in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        folder = Path(root, f"perflog-test-{os.getpid()}")
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            if (folder / name).exists():
                (folder / name).write_text(str(limit))
                yield folder
                return
        finally:
            eventually(lambda folder=folder: gone(folder), "the removal of the group")  # type: ignore[misc]


def gone(folder: Path) -> bool:
    with suppress(OSError):
        folder.rmdir()
    return not folder.exists()


@pytest.fixture
def group() -> Iterator[Path]:
    made = group_with_a_limit(64 << 20)
    try:
        folder = next(made)
    except (StopIteration, OSError) as error:
        pytest.skip(
            f"no control group with a limit of memory can be made here (root, a writable /sys/fs/cgroup): {error}"
        )
    try:
        yield folder
    finally:
        for _ in made:
            pass


@pytest.mark.parametrize("victim", ["first", "second"])
def test_out_of_memory(victim: str, group: Path, tmp_path: Path) -> None:
    """The kernel kills a guard in a group whose memory its training has filled: the process with the highest score."""
    run = begun(tmp_path)
    first, second = run.guards()
    run.whole()
    trained = [int(str(pid)) for pid in run.processes()]
    for pid in (first, second, *trained):
        (group / "cgroup.procs").write_text(str(pid))
    chosen = {"first": first, "second": second}[victim]
    Path(f"/proc/{chosen}/oom_score_adj").write_text("1000")
    Path(f"{run.notes}.eat").touch()
    eventually(lambda: bool(list(tmp_path.rglob("*.log.failed"))), "the end of the first run")
    Path(f"{run.notes}.eat").unlink()
    text = run.end()
    (failed,) = tmp_path.rglob("*.log.failed")
    reason = failed.read_text().splitlines()[-1]
    killed = "the guard of its processes was killed by SIGKILL (as the kernel does when memory runs out)"
    assert f"failed: {killed}" in reason, text
    assert [path.name for path in tmp_path.rglob("*.log")] == ["forking_b8_fp32_2.log"]
    assert [note["beside"] for note in notes(run.notes) if note["who"] == "main"] == [[], []]


def test_the_guard_alone(tmp_path: Path) -> None:
    """As a script, on any host: a status, a command that is not there, and nothing without a first line."""

    def of(*argv: str) -> tuple[int, str]:
        given = json.dumps({"mark": "a/b/c", "commands": [{"argv": argv, "output": str(tmp_path / "out")}]})
        words = [sys.executable, "-I", "-S", guard.__file__]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdin is not None
            assert process.stderr is not None
            process.stdin.write(f"{given}\n")
            process.stdin.flush()
            process.wait(30)
            return process.returncode, process.stderr.read()

    assert of("sh", "-c", "exit 7") == (7, "")
    assert of("sh", "-c", "kill -9 $$") == (137, "")
    assert of("sh", "-c", "exit 201") == (191, ""), "no command's own status reads as a lost guard"
    assert of("sh", "-c", f'test "${guard.MARK}" = a/b/c') == (0, "")
    assert of("/no/such/program") == (127, "cannot start /no/such/program: No such file or directory\n")
    assert subprocess.run([sys.executable, guard.__file__], stdin=subprocess.DEVNULL, check=False).returncode == 137
