"""Whether a training came off, judged by its log: all steps printed, no loss that is no number.

The exit status alone tells little: gloo aborts now and then after a complete log, and launchers end well after
a rank's failure.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from perflog.campaign.plan import Campaign
from perflog.formats.catalog import Catalog
from perflog.logs.find import LogFile
from perflog.reading.schedule import read_logs
from perflog.runs.build import build_runs
from perflog.runs.run import Metric, Outcome, Skipped
from perflog.settings.amount import Amount, Window
from perflog.settings.options import Options

_MEMORY = re.compile(
    rb"out of memory|OutOfMemory|OUT_OF_MEMORY|std::bad_alloc|MemoryError|Cannot allocate memory|can't allocate memory|ResourceExhausted|Unable to allocate",
    re.IGNORECASE,
)
_NAN = re.compile(rb"(?i)\bloss\b[^\n]{0,16}?[ =]nan\b|Invalid loss")
_STATUS_KILLED = 128


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a training ended; ``reason`` is empty when it ended well. ``remark``: what is odd about one that did."""

    reason: str
    throughput: float | None = None
    unit: str = ""
    remark: str = ""


def judge(log: Path, others: Sequence[Path], status: int | None, at_end: bool, campaign: Campaign, catalog: Catalog) -> Verdict:
    """Judge an ended training.

    Args:
        others: what the other ranks and nodes printed.
        status: exit status as a shell gives it; None when it was killed at its time limit.
        at_end: whether the training did what it does last (its side file is there): a log need not show its last steps.
    """
    outcome, metric = glance(log, catalog, 0)
    reached = metric.last_step if metric is not None and metric.last_step else 0.0
    steps, time_limit = campaign.steps, campaign.time_limit
    complete = reached > steps - campaign.log_interval and (status == 0 or at_end)
    data = log.read_bytes()
    texts = [data, *(other.read_bytes() for other in others if other.is_file())]
    if found := _NAN.search(data):
        return Verdict(f"failed: NaN loss ({_place(data, found.start())})")
    if complete and metric is not None:
        remark = "killed at its time limit after its last step" if status is None else f"{_ended(status)} after its last step" if status else ""
        metric = glance(log, catalog, campaign.warmup)[1] or metric
        return Verdict("", metric.value, metric.unit, remark)
    for text in texts:
        if found := _MEMORY.search(text):
            return Verdict(f"OOM: {_place(text, found.start())}")
    so_far = f"{reached:g} of {steps} steps logged" if reached else "no steps logged"
    if status is None:
        return Verdict(f"failed: hang: no end within {time_limit:g} s; {so_far}")
    if status:
        return Verdict(f"failed: crash: {_ended(status)}; {so_far}; {_last_words(texts)}")
    if isinstance(outcome, Skipped):
        return Verdict(f"failed: no steps logged ({outcome.reason})")
    return Verdict(f"failed: the log is incomplete: {so_far}" + (f" ({metric.reason})" if metric is not None and metric.reason and not reached else ""))


def glance(log: Path, catalog: Catalog, warmup: float) -> tuple[Outcome, Metric | None]:
    """What a log, which may still grow, says of its throughput after so many steps of warm-up."""
    options = Options(Window(Amount(warmup)))
    (outcome,) = read_logs([LogFile(str(log), log.stat().st_size)], catalog, lambda reading: build_runs(reading, catalog, options))
    return outcome, outcome[0].throughput if isinstance(outcome, list) and outcome else None


def _ended(status: int) -> str:
    if status > _STATUS_KILLED:
        try:
            name = signal.Signals(status - _STATUS_KILLED).name
        except ValueError:
            return f"exit status {status}"
        return f"killed by {name}" + (" (as the kernel does when memory runs out)" if name == "SIGKILL" else "")
    return f"exit status {status}"


def _place(text: bytes, at: int) -> str:
    start = text.rfind(b"\n", 0, at) + 1
    end = text.find(b"\n", at)
    line = text.count(b"\n", 0, at) + 1
    return f"line {line}: {_short(text[start : end if end >= 0 else None])}"


def _last_words(texts: Sequence[bytes]) -> str:
    """The last line that names an error, else the last line of all."""
    for text in texts:
        for line in reversed(text.splitlines()[-200:]):
            if re.match(rb"\s*[A-Za-z_.]*(?:Error|Exception)\b|.*\bFATAL\b|terminate called", line):
                return _short(line)
    lines = [line for text in texts[:1] for line in text.splitlines() if line.strip()]
    return _short(lines[-1]) if lines else "it printed nothing"


def _short(line: bytes) -> str:
    text = " ".join(line.decode("utf-8", "replace").split())
    return text if len(text) <= 160 else text[:159] + "…"
