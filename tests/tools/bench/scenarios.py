"""What is compared on which data, and the targets (docs/performance.md says what they are worth)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter

from tests.tools.bench.bars import FAMILIES
from tests.tools.bench.data import Data, bar_logs, dense_log, packed_logs, small_logs, sparse_log, tiny_logs
from tests.tools.bench.formats import costs_of_formats
from tests.tools.bench.measure import REPO, Tool, interleave
from tests.tools.bench.report import Result, Target
from tests.tools.bench.tools import (
    JSON,
    LEAN,
    NGC,
    PADDLE,
    RG,
    Form,
    lean_tool,
    perflog,
    perflog_tools,
    regex_of,
    rg_tools,
    script_tools,
)

GB = 1_000_000_000
CAMPAIGN = REPO / "fixtures" / "seed004" / "logs_fp32" / "mindspore" / "resnet50" / "bz128"
SIZES = ("--set", "devices=8", "--set", "batch_size=256")
START, HELP = "python -c pass", "perflog --help"

#: MB of anonymous memory that no reading may pass.
MOST_MEMORY = 200
#: How much more memory a log five times as large may take and still count as the same.
SAME_MEMORY = 1.25


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line chose."""

    work: Path
    scale: float
    repeats: int
    repeats_slow: int
    repeats_start: int
    baselines: bool
    perflog: bool


def dense(options: Options) -> Result:
    """(a) One log of 2 GB, nine lines in ten a record."""
    data = _made("a", partial(dense_log, options.work, round(2 * GB * options.scale)))
    result = _compare("a", data, [PADDLE], options, options.repeats_slow, SIZES)
    result.targets = [_speed(result, LEAN, 4), _speed(result, RG, 2), _memory(result)]
    return result


def sparse(options: Options) -> Result:
    """(b) One log of 500 MB, one line in a thousand a record."""
    data = _made("b", partial(sparse_log, options.work, round(GB / 2 * options.scale)))
    result = _compare("b", data, [PADDLE], options, options.repeats_slow, SIZES)
    result.targets = [_speed(result, LEAN, 8), _memory(result)]
    return result


def small(options: Options) -> Result:
    """(c) 20,000 logs of 100 kB, whose devices and batch sizes stand in their paths."""
    data = _made("c", partial(small_logs, options.work, options.scale))
    result = _compare("c", data, [PADDLE, NGC], options, options.repeats_slow, ())
    result.targets = [_speed(result, LEAN, 4), _speed(result, RG, 0.6), _memory(result)]
    return result


def campaign(options: Options) -> Result:
    """(d) What a user with thirty logs waits for, beyond the start of Python itself."""
    result = Result("d")
    n = options.repeats_start
    tools = [Tool(START, (sys.executable, "-c", "pass"), n)]
    if options.perflog:
        tools.append(Tool(HELP, perflog("--help"), n))
        if CAMPAIGN.is_dir():
            tools += perflog_tools(CAMPAIGN, options.work, n)
        else:
            result.note = f"no {CAMPAIGN.relative_to(REPO)}, so only the start is timed"
    result.timings = interleave(tools, options.work)
    result.targets = [_more_than_python(result, JSON, 0.35), _more_than_python(result, HELP, 0.12)]
    return result


def bars(options: Options) -> Result:
    """(e) 400 logs of 70 kB of each family of progress bars."""
    result = Result("e")
    for name, family in FAMILIES.items():
        data = _made("e", partial(bar_logs, options.work, name, max(1, round(400 * options.scale))))
        _warm(data)
        tools = [lean_tool(data, family.regex, options.repeats)] if options.baselines else []
        if options.perflog:
            tools += perflog_tools(data.path, options.work, options.repeats, warmup=family.warmup)[:1]
        timings = interleave(tools, options.work)
        lean, ours = (timings[0].median, timings[-1].median) if len(timings) == 2 else (None, None)
        for timing in timings:
            timing.name += f", {name}"
        result.timings += timings
        ratio = lean / ours if lean and ours else None
        result.targets.append(Target(f"speed of perflog / of {LEAN}, {name}", ratio, 3, True, "x"))
    return result


def formats(options: Options) -> Result:
    """(f) Every format's fixtures, repeated to 400 kB: matching with all formats loaded."""
    result = Result("f")
    if options.perflog:
        costs = costs_of_formats(round(400_000 * options.scale), options.repeats)
        middle, (slowest, name) = costs[len(costs) // 2][0], costs[-1]
        result.note = "the slowest: " + ", ".join(f"{name} {cost:.1f}" for cost, name in reversed(costs[-12:]))
        result.targets = [
            Target(f"nanoseconds a byte, the median of {len(costs)} formats", middle, 10, False, "ns"),
            Target(f"nanoseconds a byte, the slowest format ({name})", slowest, 10, False, "ns"),
        ]
    return result


def ten(options: Options) -> Result:
    """(a10) The dense log and one five times as large: the peak memory should be the same."""
    result = Result("a10")
    if not options.perflog:
        result.note = "only perflog's memory is measured here"
        return result
    peaks = []
    for times in (1, 5):
        size = round(2 * GB * options.scale * times)
        data = _made("a10", partial(dense_log, options.work, size))
        peaks.append(_peak(result, data, options, f", {data.size / 1e6:,.0f} MB"))
    ratio = peaks[1] / peaks[0] if all(peaks) else None
    result.targets = [Target("peak memory of the larger log / of the smaller", ratio, SAME_MEMORY, False, "x")]
    return result


def packed(options: Options) -> Result:
    """(p) The dense log in .gz and .zst: streamed, in the memory that the plain one takes."""
    result = Result("p")
    for data in packed_logs(options.work, round(2 * GB * options.scale)):
        peak = _peak(result, data, options, f", {data.path.suffix}")
        what = f"peak memory of {data.path.suffix}"
        result.targets.append(Target(what, peak or None, MOST_MEMORY, False, "MB"))
    return result


def many(options: Options) -> Result:
    """(m) 25,000 and 100,000 logs of 3 kB: time and memory rise with their number."""
    result = Result("m")
    counts = [max(10, round(number * options.scale)) for number in (25_000, 100_000)]
    peaks = [_peak(result, tiny_logs(options.work, n), options, f", {n:,} logs", ()) for n in counts]
    seconds = [timing.median for timing in result.timings]
    if all(peaks) and seconds[0] and seconds[1]:
        more = counts[1] - counts[0]
        result.targets = [
            Target("memory for each further log", 1e3 * (peaks[1] - peaks[0]) / more, 3, False, "kB"),
            Target("time of four times as many logs", seconds[1] / seconds[0], 4.4, False, "x"),
        ]
    return result


def _peak(result: Result, data: Data, options: Options, name: str, words: tuple[str, ...] = SIZES) -> float:
    """The peak memory of one run of perflog in MB, 0 when it failed; the run is added to the result."""
    tool = perflog_tools(data.path, options.work, 1, words)[0]
    timing = interleave([tool], options.work)[0]
    timing.name += name
    result.timings.append(timing)
    return 0.0 if timing.failure else timing.peak_mb


def _compare(
    name: str, data: Data, forms: Sequence[Form], options: Options, repeats_script: int, words: tuple[str, ...]
) -> Result:
    """Script, rg and perflog on the same data."""
    result = Result(name, data)
    tools: list[Tool] = []
    if options.baselines:
        regexes = [regex_of(form) for form in forms]
        result.note = "rg's regexes are from " + " and ".join(dict.fromkeys(regex.source for regex in regexes))
        tools += [*script_tools(data, repeats_script), *rg_tools(data, regexes, options.repeats)]
    if options.perflog:
        tools += perflog_tools(data.path, options.work, options.repeats, words)
    _warm(data)
    result.timings = interleave(tools, options.work)
    return result


def _made(name: str, make: Callable[[], Data]) -> Data:
    start = perf_counter()
    print(f"{name}: making the data …", file=sys.stderr, flush=True)
    data = make()
    print(f"{name}: {data.size / 1e6:,.0f} MB in {perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
    return data


def _warm(data: Data) -> None:
    """Read everything once, so that no tool pays for the disk."""
    for path in data.path.rglob("*.log") if data.path.is_dir() else [data.path]:
        with path.open("rb", buffering=0) as file:
            while file.read(1 << 24):
                pass


def _memory(result: Result) -> Target:
    timing = result.timing(JSON)
    return Target("peak memory", timing.peak_mb if timing and not timing.failure else None, MOST_MEMORY, False, "MB")


def _speed(result: Result, other: str, bound: float) -> Target:
    """How many times as fast as the other tool perflog is."""
    ours, theirs = result.median(JSON), result.median(other)
    ratio = theirs / ours if ours and theirs else None
    return Target(f"speed of perflog / of {other}", ratio, bound, True, "x")


def _more_than_python(result: Result, name: str, bound: float) -> Target:
    ours, start = result.median(name), result.median(START)
    more = ours - start if ours and start else None
    return Target(f"{name}, more than starting Python", more, bound, False, "s")
