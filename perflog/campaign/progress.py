"""How trainings go and went, as their logs tell: whether one came off, and what a campaign's folder shows now.

The exit status alone tells little: gloo aborts now and then after a complete log, and launchers end well after a
rank's failure.
"""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from perflog.campaign.guard import STATUS_KILLED
from perflog.campaign.plan import OWN, Campaign, Folder
from perflog.errors import REFUSED, UsageError
from perflog.files import write_atomically
from perflog.formats.catalog import Catalog, load_catalog
from perflog.inference.infer import inferred_outcome
from perflog.logs.find import FAILED, MACHINE, RUNNING, LogFile, natural
from perflog.reading.reading import Reading
from perflog.reading.schedule import read_logs
from perflog.runs.build import build_runs
from perflog.runs.run import Metric, Outcome, Skipped
from perflog.settings.options import Amount, Options, Window
from perflog.stats.centre import median

# ----------------------------------------------------------------------------------------------------
# Whether a training came off: all steps printed, no loss that is no number.

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


def glance(log: Path, catalog: Catalog, warmup: float, of_any: bool = False) -> tuple[Outcome, Metric | None]:
    """What a log, which may still grow, says of its throughput after so many steps of warm-up.

    Args:
        of_any: read it by what its lines show where no format gives a number.
    """
    options = Options(Window(Amount(warmup)))
    logs = [LogFile(str(log), log.stat().st_size)]

    def judged(reading: Reading) -> Outcome:
        outcome = build_runs(reading, catalog, options)
        return inferred_outcome(reading, outcome, catalog, options).outcome if of_any else outcome

    (outcome,) = read_logs(logs, catalog, judged)
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


# ----------------------------------------------------------------------------------------------------
# What a campaign's folder shows at this moment: each configuration's runs, and how far the growing one is.

#: The list of a campaign's runs, in the folder of its own files.
PLAN = "plan.json"
#: Steps left out where no plan says how many: as many as `perflog extract` leaves out.
DEFAULT_WARMUP = 20
#: After so many seconds without a byte a growing log is called silent: frameworks print at least every few seconds.
SILENT = 20.0
#: The kind of a log whose name does not say whether its training has ended, and the endings that logs have.
_PLAIN, _LOGS = "plain", (".log", ".out", ".err")
#: What programs print when they have ended.
_AT_END = frozenset({"reported", "time_to_train", "train_runtime"})
_KNOWN = (".log", f".log{RUNNING}", f".log{FAILED}")
#: A counter with its end (``step 20/500``, ``20 of 500``), which is no date or path; what stands before one of epochs;
#: and words of lines that count something else than the steps of the training.
_COUNTER = re.compile(rb"(?<![\w./:-])(\d+) ?(?:/|of) ?(\d+)(?![\w./-]*\d)")
_OF_EPOCHS = re.compile(rb"(?i)\bepochs?\W{0,3}$")
_ASIDE = re.compile(rb"(?i)\b(?:val|valid\w*|eval\w*|test\w*|predict\w*|warm-?up|checkpoint\w*)\b")


@dataclass(frozen=True, slots=True)
class Progress:
    """One configuration's runs.

    Attributes:
        name: its path below the folder, without the number of the run.
        wanted: how many runs there will be; 0 where no plan says it.
        throughput: the median of the finished runs, in ``unit``; None where none has a value.
        unread: how many logs could not be read, which count as nothing else.
        now: how far the growing run is, in words; empty for none.
        reason: why the last failed run failed, or the last log could not be read.
        decision: what is decided so far of a configuration that is measured against another one; empty for any other.
    """

    name: str
    wanted: int = 0
    finished: int = 0
    failed: int = 0
    unread: int = 0
    throughput: float | None = None
    unit: str = ""
    now: str = ""
    reason: str = ""
    decision: str = ""

    @property
    def ended(self) -> bool:
        """Whether all runs that are wanted have ended, well or not."""
        return 0 < self.wanted <= self.finished + self.failed

    @property
    def is_idle(self) -> bool:
        """Whether no plan says how many runs there will be, and all that have begun have ended."""
        return not self.wanted and not self.now and not self.unread and self.finished + self.failed > 0


@dataclass(frozen=True, slots=True)
class _Glance:
    """A log's throughput and its unit, the last step it has, and why it has no throughput.

    ``is_run``: whether it is a training's; ``tells_end``: whether it holds what programs print when they have ended;
    ``is_whole``: whether it has all steps that it names; ``unread``: whether it could not be read, so that it may be a
    training's.
    """

    value: float | None = None
    unit: str = ""
    reached: float = 0.0
    reason: str = ""
    is_run: bool = False
    tells_end: bool = False
    is_whole: bool = False
    unread: bool = False


@dataclass(frozen=True, slots=True)
class _Plan:
    steps: int = 0
    warmup: int = DEFAULT_WARMUP
    logs: tuple[str, ...] = ()
    decisions: Mapping[str, str] = field(default_factory=dict)


def write_plan(
    folder: Folder, logs: Iterable[Path], campaign: Campaign, asked: Sequence[str], against: Path | None = None,
    decisions: Mapping[str, str] | None = None,
) -> None:  # fmt: skip
    """Leave the list of runs for whoever watches, and what they are made of for whoever compares them.

    Args:
        folder: the campaign's.
        logs: of all runs that are wanted, below the folder.
        campaign: of the runs; of two sides, the new one's.
        asked: what was asked for beside its file, as the words of a command line.
        against: what the old side was named by, where there are two.
        decisions: what is decided of configurations, by their names below the folder.
    """
    data = {
        "steps": campaign.steps, "warmup": campaign.warmup, "logs": [str(log) for log in logs],
        "decisions": dict(decisions or {}), "file": str(campaign.file.absolute()), "asked": list(asked),
        "against": None if against is None else str(against.absolute()),
    }  # fmt: skip
    write_atomically(folder.own / PLAN, json.dumps(data) + "\n", parents=True)


def watch(logs: str | os.PathLike[str], catalog: Catalog | None = None) -> list[Progress]:
    """The runs of a campaign's folder as they are now, one entry per configuration, in natural order.

    Raises:
        UsageError: when there is no such folder, or what its campaign left there cannot be read.
    """
    return Watcher(logs, catalog).look()


class Watcher:
    """Looks at a folder again and again; a log that has ended is read once."""

    def __init__(self, logs: str | os.PathLike[str], catalog: Catalog | None = None) -> None:
        self.root = Path(logs)
        if not self.root.is_dir():
            raise UsageError(f"no such folder: {str(logs)!r}")
        self.catalog = catalog or load_catalog()
        self._seen: dict[tuple[str, int], _Glance] = {}
        self._of_campaign = any((self.root / name).exists() for name in (OWN, MACHINE))

    def look(self) -> list[Progress]:
        """The folder's configurations as they are now, in natural order."""
        plan = _plan(self.root)
        entries: dict[str, Progress] = {}
        for log in plan.logs:
            entry = entries.get(_configuration(log), Progress(_configuration(log)))
            entries[entry.name] = replace(entry, wanted=entry.wanted + 1)
        values: dict[str, list[float]] = {}
        for path in self._files():
            kind = self._kind(path)
            name = _configuration(str(path.relative_to(self.root)))
            with suppress(FileNotFoundError):  # renamed while it was looked at
                seen = self._glance(path, plan.warmup)
                if kind == _PLAIN and not seen.is_run and not seen.unread and path.suffix not in _LOGS:
                    continue
                kind = ".log" if kind == _PLAIN and _has_ended(path, seen) else kind
                entries[name] = _with_log(entries.get(name, Progress(name)), path, kind, seen, plan.steps)
                if kind == ".log" and seen.value is not None:
                    values.setdefault(name, []).append(seen.value)
        measured = [replace(e, throughput=median(values[e.name])) if e.name in values else e for e in entries.values()]
        decided = [replace(entry, decision=str(plan.decisions.get(entry.name, ""))) for entry in measured]
        return sorted(decided, key=lambda entry: natural(entry.name))

    def _files(self) -> list[Path]:
        """Every file that may be a log, in natural order; none of the campaign's own."""
        files = (path for path in self.root.rglob("*") if not _is_hidden(path.relative_to(self.root)))
        return sorted((path for path in files if path.is_file()), key=lambda path: natural(str(path)))

    def _kind(self, path: Path) -> str:
        """The ending of a campaign's log, which says how it stands; or that nothing but the log itself says it."""
        kind = next((kind for kind in reversed(_KNOWN) if path.name.endswith(kind)), _PLAIN)
        return kind if kind != ".log" or self._of_campaign else _PLAIN

    def _glance(self, path: Path, warmup: int) -> _Glance:
        key = (str(path), path.stat().st_size)
        if key in self._seen:
            return self._seen[key]
        outcome, metric = glance(path, self.catalog, 0 if path.name.endswith(RUNNING) else warmup, of_any=True)
        seen = _Glance()
        if isinstance(outcome, Skipped):
            seen = _Glance(reason=outcome.reason, unread=outcome.failed)
        elif metric is not None:
            tells_end = any(name in _AT_END for run in outcome for name in run.metrics)
            is_whole = self._is_whole(path, outcome[-1].throughput)
            seen = _Glance(metric.value, metric.unit, metric.last_step or 0.0, metric.reason, True, tells_end, is_whole)
        if not seen.unread:  # else it may be read the next time
            self._seen[key] = seen
        return seen

    def _is_whole(self, path: Path, metric: Metric) -> bool:
        """Whether the last step line that a log's number stands on is the training's last one, by its own counters.

        A counter that may be that of an epoch says so only beside one of the epochs: another epoch may follow.
        """
        if not metric.last_line:
            return False
        lines = path.read_bytes().split(b"\n")
        line = lines[metric.last_line - 1] if metric.last_line <= len(lines) else b""
        counters = list(_COUNTER.finditer(line))
        if not counters or _ASIDE.search(line) or any(int(found[1]) != int(found[2]) for found in counters):
            return False
        of_epochs = [found for found in counters if _OF_EPOCHS.search(line[: found.start()])]
        if of_epochs:
            return len(counters) > len(of_epochs)
        before = b"\n".join(lines[: metric.last_line - 1])
        return self._counts_the_run(metric.parser) and not any(found[0] in before for found in counters)

    def _counts_the_run(self, name: str) -> bool:
        """Whether the totals in a parser's step lines are those of the whole run, and not of an epoch or a bar."""
        patterns = [p for parser in self.catalog.parsers if parser.name == name for p in parser.patterns]
        steps = [pattern for pattern in patterns if pattern.role == "step"]
        other = any("epoch_steps" in p.groups or p.redrawn or p.restarts for p in steps)
        return not other and any("run_steps" in pattern.groups for pattern in steps)


def _with_log(entry: Progress, path: Path, kind: str, seen: _Glance, steps: int) -> Progress:
    """A configuration's progress with one more of its logs."""
    if seen.unread:
        return replace(entry, unread=entry.unread + 1, reason=f"{path.name}: {seen.reason}")
    if kind == ".log":
        return replace(entry, finished=entry.finished + 1, unit=seen.unit or entry.unit)
    if kind.endswith(FAILED):
        return replace(entry, failed=entry.failed + 1, reason=seen.reason)
    age = _age(path)
    now = f"step {seen.reached:g}" + (f" of {steps}" if steps else "")
    now += f", {seen.value:.1f} {seen.unit}" if seen.value is not None else ""
    now += ", has all its steps" if kind == _PLAIN and seen.is_whole else ""
    if kind == _PLAIN and not seen.is_run:
        now = seen.reason
    return replace(entry, now=now + (f", silent for {_duration(age)}" if age > SILENT else ""))


def _has_ended(path: Path, seen: _Glance) -> bool:
    """Whether a log of which nothing else is known has ended: it says so or has all its steps, and no longer grows."""
    return (seen.tells_end or seen.is_whole) and _age(path) > SILENT


def _age(path: Path) -> float:
    """Seconds since a file has grown."""
    return time.time() - path.stat().st_mtime


def _duration(seconds: float) -> str:
    """A time as people say it: ``90 s``, ``5 min``, ``3 h``, ``12 days``."""
    for least, size, unit in ((172_800, 86_400, "days"), (7_200, 3_600, "h"), (120, 60, "min")):
        if seconds >= least:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def _is_hidden(path: Path) -> bool:
    """Whether a path below the folder leads through a hidden folder, or is a hidden file or a machine's facts."""
    return path.name == MACHINE or any(part.startswith(".") for part in path.parts)


def _plan(root: Path) -> _Plan:
    """The plan that a campaign left in its folder; none for a folder of other logs."""
    file = root / OWN / PLAN
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        return _Plan(
            int(data["steps"]), int(data["warmup"]), tuple(map(str, data["logs"])), dict(data.get("decisions", {}))
        )
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
        return _Plan()
    except OSError as error:
        raise UsageError(f"cannot read {str(file)!r}: {error.strerror}") from None


def _configuration(log: str) -> str:
    """A log's path below the folder, without the number of the run and its ending."""
    folder, slash, name = log.rpartition("/")
    stem = name.partition(".log")[0] if ".log" in name else name.rpartition(".")[0] or name
    front, _, number = stem.rpartition("_")
    return f"{folder}{slash}{front if front and number.isdigit() else stem}"
