"""Whether a training came off, told by its log: all steps printed, no loss that is no number.

The exit status alone tells little: gloo aborts now and then after a complete log, and launchers end well after
a rank's failure.
"""

from __future__ import annotations

import errno
import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from perflog.campaign.guard import STATUS_KILLED
from perflog.campaign.plan import Campaign
from perflog.errors import REFUSED
from perflog.formats.catalog import Catalog
from perflog.logs.find import LogFile
from perflog.reading.schedule import read_logs
from perflog.runs.build import build_runs
from perflog.runs.run import Metric, Outcome, Skipped
from perflog.settings.options import Amount, Options, Window

_MEMORY = re.compile(
    rb"out of memory|OutOfMemory|OUT_OF_MEMORY|std::bad_alloc|MemoryError|Cannot allocate memory"
    rb"|can't allocate memory|ResourceExhausted|Unable to allocate",
    re.IGNORECASE,
)
_NAN = re.compile(rb"(?i)\bloss\b[^\n]{0,16}?[ =]nan\b|Invalid loss")
_ERROR = re.compile(rb"\s*[A-Za-z_.]*(?:Error|Exception)\b|.*\bFATAL\b|terminate called")
#: Lines at the end of a log in which the error that ended it is looked for, and letters of it that are kept: a
#: traceback with its notes is shorter, and a reason is one line.
_TAIL, _LETTERS = 200, 160


@dataclass(frozen=True, slots=True)
class Completion:
    """How a training ended.

    Attributes:
        reason: why it failed; empty when it ended well.
        throughput: of the log, after the campaign's warm-up, in ``unit``; None for one that failed.
        remark: what is odd about a training that ended well all the same.
    """

    reason: str
    throughput: float | None = None
    unit: str = ""
    remark: str = ""


def completion_of(
    log: Path,
    others: Sequence[Path],
    status: int | None,
    at_end: bool,
    campaign: Campaign,
    catalog: Catalog,
    disturbed: str = "",
) -> Completion:
    """How an ended training came off.

    Args:
        others: what the other ranks and nodes printed.
        status: exit status as a shell gives it; None when it was killed at its time limit.
        at_end: whether the training did what it does last (its side file is there): a log need not show its last steps.
        disturbed: why it cannot count, whatever its log says; empty where it can.

    Raises:
        OSError: when the system does not let the log be read: it may be a complete one.
    """
    outcome, metric = glance(log, catalog, 0)
    if isinstance(outcome, Skipped) and outcome.reason.startswith(REFUSED):
        raise OSError(errno.EIO, outcome.reason, str(log))
    reached = metric.last_step if metric is not None and metric.last_step else 0.0
    data = log.read_bytes()
    if disturbed:
        return Completion(f"failed: {disturbed}; {_so_far(reached, campaign)}")
    if nan := _NAN.search(data):
        return Completion(f"failed: NaN loss ({_place(data, nan.start())})")
    if metric is not None and reached > campaign.steps - campaign.log_interval and (status == 0 or at_end):
        counted = glance(log, catalog, campaign.warmup)[1] or metric
        return Completion("", counted.value, counted.unit, _remark(status))
    texts = [data, *(other.read_bytes() for other in others if other.is_file())]
    return Completion(_failure(texts, status, reached, campaign, outcome, metric))


def glance(log: Path, catalog: Catalog, warmup: float) -> tuple[Outcome, Metric | None]:
    """What a log, which may still grow, says of its throughput after so many steps of warm-up."""
    options = Options(Window(Amount(warmup)))
    logs = [LogFile(str(log), log.stat().st_size)]
    (outcome,) = read_logs(logs, catalog, lambda reading: build_runs(reading, catalog, options))
    return outcome, outcome[0].throughput if isinstance(outcome, list) and outcome else None


def _remark(status: int | None) -> str:
    if status is None:
        return "killed at its time limit after its last step"
    return f"{ended(status)} after its last step" if status else ""


def _failure(
    texts: Sequence[bytes],
    status: int | None,
    reached: float,
    campaign: Campaign,
    outcome: Outcome,
    metric: Metric | None,
) -> str:
    """Why a training failed whose log is not complete; ``texts``: its log, then what others printed."""
    for text in texts:
        if memory := _MEMORY.search(text):
            return f"OOM: {_place(text, memory.start())}"
    so_far = _so_far(reached, campaign)
    if status is None:
        return f"failed: hang: no end within {campaign.time_limit:g} s; {so_far}"
    if status:
        return f"failed: crash: {ended(status)}; {so_far}; {last_words(texts)}"
    if isinstance(outcome, Skipped):
        return f"failed: no steps logged ({outcome.reason})"
    why = f" ({metric.reason})" if metric is not None and metric.reason and not reached else ""
    return f"failed: the log is incomplete: {so_far}{why}"


def _so_far(reached: float, campaign: Campaign) -> str:
    return f"{reached:g} of {campaign.steps} steps logged" if reached else "no steps logged"


def ended(status: int) -> str:
    """An exit status, as a shell gives it, in words."""
    if status > STATUS_KILLED:
        try:
            name = signal.Signals(status - STATUS_KILLED).name
        except ValueError:
            return f"exit status {status}"
        return f"killed by {name}" + (" (as the kernel does when memory runs out)" if name == "SIGKILL" else "")
    return f"exit status {status}"


def _place(text: bytes, offset: int) -> str:
    start = text.rfind(b"\n", 0, offset) + 1
    end = text.find(b"\n", offset)
    line = text.count(b"\n", 0, offset) + 1
    return f"line {line}: {_short(text[start : end if end >= 0 else None])}"


def last_words(texts: Sequence[bytes]) -> str:
    """The last line that names an error, else the last line of the first text."""
    for text in texts:
        for line in reversed(text.splitlines()[-_TAIL:]):
            if _ERROR.match(line):
                return _short(line)
    lines = [line for text in texts[:1] for line in text.splitlines() if line.strip()]
    return _short(lines[-1]) if lines else "it printed nothing"


def _short(line: bytes) -> str:
    text = " ".join(line.decode("utf-8", "replace").split())
    return text if len(text) <= _LETTERS else text[: _LETTERS - 1] + "…"
