"""Runs a command and measures it: wall seconds, CPU seconds, and the peak of its anonymous memory."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter

REPO = Path(__file__).resolve().parents[3]
POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Tool:
    """A command to time, how often, and how to count the records in what it prints (None: not counted)."""

    name: str
    argv: tuple[str, ...]
    repeats: int
    count: Callable[[str], int] | None = None
    expected: int = 0


@dataclass(slots=True)
class Timing:
    """What the runs of one tool took."""

    name: str
    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    peak_mb: float = 0
    failure: str = ""

    @property
    def median(self) -> float | None:
        """Median wall seconds, or None when the tool failed."""
        return median(self.seconds) if self.seconds and not self.failure else None


def interleave(tools: Sequence[Tool], work: Path) -> list[Timing]:
    """Run the tools in turn, round after round, so that a busy spell of the machine meets all of them."""
    timings = [Timing(tool.name) for tool in tools]
    for round_ in range(max((tool.repeats for tool in tools), default=0)):
        for tool, timing in zip(tools, timings, strict=True):
            if round_ < tool.repeats and not timing.failure:
                _run(tool, timing, work)
    return timings


def _run(tool: Tool, timing: Timing, work: Path) -> None:
    out, err = work / "stdout.txt", work / "stderr.txt"
    peak = Peak()
    cpu = _children_cpu()
    with out.open("wb") as stdout, err.open("wb") as stderr:
        start = perf_counter()
        process = subprocess.Popen(tool.argv, stdout=stdout, stderr=stderr, cwd=work, env=_environment())
        with peak.watching(process.pid):
            status = process.wait()
            seconds = perf_counter() - start
    timing.seconds.append(seconds)
    timing.cpu.append(_children_cpu() - cpu)
    timing.peak_mb = max(timing.peak_mb, peak.bytes / 1e6)
    timing.failure = _failure(tool, status, out, err)
    print(f"  {tool.name}: {seconds:.2f} s {timing.failure}", file=sys.stderr, flush=True)


def _failure(tool: Tool, status: int, out: Path, err: Path) -> str:
    """Why a run does not count, or an empty text."""
    if status:
        lines = err.read_text(encoding="utf-8", errors="replace").splitlines()
        said = [line.strip(" │") for line in lines if any(map(str.isalnum, line))]
        return f"exit status {status}: {said[-1] if said else 'nothing on stderr'}"
    if tool.count and (found := tool.count(out.read_text(encoding="utf-8", errors="replace"))) != tool.expected:
        return f"counted {found:,} records, not {tool.expected:,}"
    return ""


def _environment() -> dict[str, str]:
    """The environment of what is measured: a user's, in which Python keeps what it has compiled."""
    paths = [str(REPO), os.environ.get("PYTHONPATH", "")]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def _children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@dataclass(slots=True)
class Peak:
    """The highest RssAnon of a process and its descendants, polled: pages of mapped logs are not in it."""

    bytes: int = 0

    @contextmanager
    def watching(self, pid: int) -> Iterator[None]:
        """Poll, in a thread, while the context lasts."""
        ended = threading.Event()
        thread = threading.Thread(target=self._poll, args=(pid, ended))
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _poll(self, pid: int, ended: threading.Event) -> None:
        while not ended.wait(POLL_SECONDS):
            self.bytes = max(self.bytes, sum(map(_anonymous, _family(pid))))


def _family(pid: int) -> Iterator[int]:
    """The process and its descendants; any of them may end while we look."""
    yield pid
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                for child in (task / "children").read_text(encoding="ascii").split():
                    yield from _family(int(child))


def _anonymous(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("RssAnon:"):
                return 1024 * int(line.split()[1])
    return 0
