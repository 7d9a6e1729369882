"""The result of a set of MLPerf runs, as MLCommons scores it, or why the set has none.

Sources: mlcommons/training_policies ``training_rules.adoc`` (commit d73e20f; "Benchmark Results", "Score scaling" and
"Deprecated benchmarks results"), and mlcommons/logging (commit 7bbf792): ``result_summarizer.py`` for the score,
``benchmark_meta.py`` for the number of runs, ``package_checker.py``, which takes that number alone.

Whether a submission converges as the reference does (reference convergence points) is not checked: the factor that
follows from it is taken from ``scaling.json``, where MLCommons' own scripts write it.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from perflog.border import keep_inside
from perflog.cases.case import Summary
from perflog.files import LONGEST_FACTS, read_limited
from perflog.logs.addresses import is_address
from perflog.logs.find import LogFile
from perflog.logs.streams import UnreadableError
from perflog.runs.run import Run
from perflog.spelling import some_of
from perflog.stats.centre import olympic_of_set

#: How many runs make a set, by the benchmark's name in its logs (``benchmark_meta.py``).
RUNS_OF_SET: Mapping[str, int] = {
    "bert": 10, "deepcam": 5, "cosmoflow": 10, "deepseekv3_671b": 3, "dlrm": 5, "dlrm_dcnv2": 10, "flux1": 10,
    "gnmt": 10, "gnn": 10, "gpt3": 3, "gpt_oss_20b": 10, "llama2_70b_lora": 10, "llama31_405b": 3, "llama31_8b": 10,
    "maskrcnn": 5, "minigo": 10, "ncf": 10, "oc20": 5, "openfold": 10, "qwen35_397b_grpo": 3, "resnet": 5,
    "retinanet": 5, "rgat": 10, "rnnt": 10, "ssd": 5, "stable_diffusion": 10, "transformer": 10, "unet3d": 40,
}  # fmt: skip
#: How many runs are dropped at each end, where it is not one.
DROPPED: Mapping[str, int] = {"unet3d": 4}
#: The file beside the logs that holds the factor of a scaled score.
SCALING = "scaling.json"
METRIC = "time_to_train"
#: The parser whose runs are scored so, and names in logs of benchmarks that MLCommons calls otherwise.
_PARSER = "mllog"
_ALIASES: Mapping[str, str] = {"mask": "maskrcnn"}


class SetResult(Struct, frozen=True):
    """The score of a set in seconds, or the reason why there is none, and what is to be said with it."""

    summary: Summary
    notes: tuple[str, ...] = ()


def mlperf_result(runs: Sequence[Run]) -> SetResult | None:
    """The result of a set of runs of one benchmark on one system; None where they are no MLPerf runs."""
    if not any(_is_scored(run) for run in runs):
        return None
    benchmark = _benchmark(runs)
    failed = [run for run in runs if _seconds(run) is None]
    times = [seconds for run in runs if (seconds := _seconds(run)) is not None]
    factor, problem = scaling_factor(runs)
    reason = problem or _why_none(benchmark, runs, failed)
    if reason:
        return _none(len(times), reason)
    dropped = DROPPED.get(benchmark, 1)
    try:
        score = olympic_of_set(times, len(failed), dropped) * factor
    except ValueError as error:
        return _none(len(times), str(error))
    summary = Summary(METRIC, "s", "olympic", len(times), score)
    return SetResult(summary, tuple(_notes(benchmark, runs, failed, factor, score)))


def _none(count: int, reason: str) -> SetResult:
    summary = Summary(METRIC, "s", "olympic", count, None, reason=reason)
    return SetResult(summary, (f"MLPerf gives these runs no result: {reason}",))


def _is_scored(run: Run) -> bool:
    metric = run.metrics.get(METRIC)
    return metric is not None and metric.parser == _PARSER


def _seconds(run: Run) -> float | None:
    """A run's time to train; None for one that failed: aborted, cut off, or without a start."""
    metric = run.metrics.get(METRIC)
    return metric.value if metric is not None else None


def _benchmark(runs: Sequence[Run]) -> str:
    """The benchmark's name, as its logs say it; empty where they do not."""
    named = next((str(run.values["model"]).lower() for run in runs if "model" in run.values), "")
    return _ALIASES.get(named, named)


def _why_none(benchmark: str, runs: Sequence[Run], failed: Sequence[Run]) -> str:
    """Why a set has no result; empty where it has one."""
    allowed, needed = DROPPED.get(benchmark, 1), RUNS_OF_SET.get(benchmark)
    if len(failed) > allowed:
        return (
            f"{len(failed)} of {len(runs)} runs did not reach their target ({_names(failed)}), and MLPerf drops "
            f"at most {allowed}"
        )
    if needed is not None and len(runs) != needed:
        return f"MLPerf scores {benchmark} by sets of {needed} runs, and there are {len(runs)}"
    return ""


def _notes(benchmark: str, runs: Sequence[Run], failed: Sequence[Run], factor: float, score: float) -> list[str]:
    notes = [f"MLPerf's result of {len(runs)} runs: {score / 60:.3f} min"]
    if failed:
        count = "1 run" if len(failed) == 1 else f"{len(failed)} runs"
        notes.append(f"{count} of {len(runs)} did not reach the target and counts as the slowest ({_names(failed)})")
    if factor != 1.0:
        notes.append(f"MLPerf's result is scaled by {factor:g} ({SCALING})")
    if benchmark not in RUNS_OF_SET:
        notes.append(f"how many runs MLPerf asks for is not known of {benchmark or 'a benchmark without a name'}")
    return notes


def _names(runs: Sequence[Run]) -> str:
    return some_of([Path(run.log.name).name for run in runs])


def scaling_factor(runs: Sequence[Run]) -> tuple[float, str]:
    """(the factor of the set's score, why it cannot be known): 1 where no ``scaling.json`` stands beside the logs."""
    factors: set[float] = set()
    for folder, log in {os.path.dirname(run.log.path): run.log for run in runs}.items():  # noqa: PTH120
        try:
            factors.add(read_scaling(folder, log))
        except ValueError as error:
            return 1.0, str(error)
    if len(factors) > 1:
        said = ", ".join(map(str, sorted(factors)))
        return 1.0, f"the folders of the logs say different factors in {SCALING}: {said}"
    return factors.pop(), ""


def read_scaling(folder: str, log: LogFile) -> float:
    """The factor in the file that stands in a log's folder; 1 where there is none.

    Raises:
        ValueError: for a file that cannot be read or holds no positive ``scaling_factor``.
    """
    file = os.path.join(folder, SCALING)  # noqa: PTH118
    try:
        written = _content(file, folder, log)
        if written is None:
            return 1.0
        content = json.loads(written)
    except (OSError, ValueError, UnreadableError) as error:
        raise ValueError(f"{file}: cannot be read as JSON ({error})") from None
    factor = content.get("scaling_factor") if isinstance(content, dict) else None
    if isinstance(factor, bool) or not isinstance(factor, (int, float)) or not 0 < factor < math.inf:
        raise ValueError(f"{file}: expected a positive number scaling_factor, found {factor!r}")
    return float(factor)


def _content(file: str, folder: str, log: LogFile) -> bytes | None:
    """What a file beside a log holds; None where there is none. Raises OSError or UnreadableError."""
    if log.stored is not None:
        return log.stored.store.content_beside(folder, SCALING)
    if is_address(folder):  # an object of which no more is known than what a history keeps
        return None
    keep_inside(file, "the file beside the logs")
    try:
        return read_limited(Path(file), LONGEST_FACTS)
    except (FileNotFoundError, NotADirectoryError):
        return None
