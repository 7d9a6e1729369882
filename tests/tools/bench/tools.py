"""The commands that are compared: the DLPerf-style script, ``rg -c``, and perflog."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.tools.bench.data import Data
from tests.tools.bench.measure import REPO, Tool
from tests.tools.bench.report import PERFLOG

SCRIPT, LEAN, RG, JSON = "script", "script, lean regex", "rg", PERFLOG
POLARS, TABLE = "perflog, polars engine", "perflog table"
WARMUP = "100"

_N = r"[-+0-9.][-+0-9.eE]*"


@dataclass(frozen=True, slots=True)
class Form:
    """A format's parser, a line of it, and the regex to give rg while the parser cannot be read."""

    parser: str
    line: str
    fallback: str


PADDLE = Form(
    "paddleclas",
    "[2023/08/02 20:45:46] ppcls INFO: epoch:0   train step:60   lr: 0.100000, loss:  6.9227 top1:  0.0000"
    " top5: -0.0039 batch_cost: 0.28160 s, reader_cost: 0.00776 s, ips: 909.07842 samples/sec.",
    rf"epoch:(?P<epoch>[0-9]+) +train step:(?P<step>[0-9]+) .*?loss: +(?P<loss>{_N}) .*?"
    rf"batch_cost: (?P<t>{_N}) s, reader_cost: (?:{_N}) s, ips: (?P<ips>{_N}) samples/sec",
)
NGC = Form(
    "ngc_pyt_convnets",
    "DLL 2021-03-29 06:37:43.187188 - Epoch: 0 Iteration: 200  train.loss : 7.56592  train.total_ips : 820.73 img/s",
    rf"DLL (?P<timestamp>[-0-9]+ [0-9:.]+) - Epoch: (?P<epoch>[0-9]+) Iteration: (?P<step>[0-9]+) .*?"
    rf"train\.loss : (?P<loss>{_N}) .*?train\.total_ips : (?P<ips>{_N})",
)


@dataclass(frozen=True, slots=True)
class Regex:
    """A regex for rg and where it is from."""

    text: str
    source: str


def regex_of(form: Form) -> Regex:
    """The regex of the parser's pattern that reads the line, else the fallback and the reason."""
    try:
        return _parsers_regex(form)
    except Exception as error:  # whatever is wrong there, the baselines can still be timed
        return Regex(form.fallback, f"tests/tools/bench/tools.py ({error})")


def _parsers_regex(form: Form) -> Regex:
    from perflog.formats.load import load_parser

    for pattern in load_parser(REPO / "parsers" / f"{form.parser}.toml").patterns:
        if pattern.role == "step" and pattern.literal in form.line and re.search(pattern.regex, form.line):
            return Regex(pattern.regex, f"parsers/{form.parser}.toml, pattern '{pattern.name}'")
    raise LookupError(f"no step pattern of parsers/{form.parser}.toml reads its line")


def script_tools(data: Data, repeats: int) -> list[Tool]:
    """The DLPerf-style script over all files in one process, with DLPerf's form of regex and with a lean one."""
    script = str(Path(__file__).with_name("dlperf_style.py"))
    argv = (sys.executable, script, "--log_dir", str(data.path))
    return [
        Tool(name, words, repeats, _last_number, data.records)
        for name, words in ((SCRIPT, argv), (LEAN, (*argv, "--lean")))
    ]


def lean_tool(data: Data, regex: str, repeats: int) -> Tool:
    """The script with one lean regex."""
    script = str(Path(__file__).with_name("dlperf_style.py"))
    argv = (sys.executable, script, "--log_dir", str(data.path), "--regex", regex)
    return Tool(LEAN, argv, repeats, _last_number, data.records)


def _last_number(text: str) -> int:
    return int(text.rsplit(maxsplit=1)[-1])


def rg_tools(data: Data, regexes: Sequence[Regex], repeats: int) -> list[Tool]:
    """``rg -c`` with every regex at once; nothing when rg is not installed."""
    rg = shutil.which("rg")
    if rg is None:
        return []
    patterns = [word for regex in regexes for word in ("-e", _unnamed(regex.text))]
    argv = (rg, "--no-config", "--no-ignore", "-c", *patterns, str(data.path))
    return [Tool(RG, argv, repeats, _rg_total, data.records)]


def perflog_tools(
    path: Path, work: Path, repeats: int, options: tuple[str, ...] = (), warmup: str = WARMUP
) -> list[Tool]:
    """perflog to JSON, with the engine that it chooses and with polars."""
    argv = (*perflog("extract", str(path), "--warmup", warmup), *options)
    out = ("--format", "json", "-o", str(work / "perflog.json"))
    return [Tool(JSON, (*argv, *out), repeats), Tool(POLARS, ("env", "PERFLOG_ENGINE=polars", *argv, *out), repeats)]


def perflog(*words: str) -> tuple[str, ...]:
    """perflog's command line, run from this checkout."""
    return (sys.executable, "-m", "perflog", *words)


def _unnamed(regex: str) -> str:
    """The regex without group names: rg joins its regexes into one, where a name may occur only once."""
    return re.sub(r"\(\?P<\w+>", "(", regex)


def _rg_total(text: str) -> int:
    """The sum of ``file:count`` lines, or of the bare count of one file."""
    return sum(int(line.rsplit(":", 1)[-1]) for line in text.splitlines())
