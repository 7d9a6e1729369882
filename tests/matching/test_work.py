"""The guard of speed: what reading costs, counted and not timed, for every format's lines with all formats loaded.

The scanner counts the bytes that it searches for literals (all others are compared with a known shape), the literals
that it finds, and the threads of regexes that it moves by a character. A format that makes other logs slower fails
here.
"""

from __future__ import annotations

import random
import sys
from functools import cache
from pathlib import Path
from types import FrameType

import pytest

from perflog.formats.catalog import Catalog
from perflog.formats.load import parser_from
from perflog.formats.parser import Parser
from perflog.logs.clean import clean_block, valid_utf8
from perflog.matching.compiled import Work
from perflog.matching.compiled_engine import CompiledEngine
from perflog.matching.library import available
from tests.support import FIXTURES, catalog
from tests.tools.bench.bars import FAMILIES
from tests.tools.bench.formats import NOT_BY_LINES, text_of_format
from tests.tools.bench.lines import mixed, ngc_records, paddle_records

pytestmark = pytest.mark.skipif(bool(available()), reason="needs the compiled scanner")

#: A byte of text: how many bytes are searched, literals found, threads moved. The format that needs most of each, of
#: its fixtures repeated to 400 kB, needs half: tqdm's are by ten programs.
SEARCHED, OCCURRENCES, STEPS = 0.1, 0.015, 2.0
#: What more formats may add to the work on a log whose lines they do not read.
MORE = 1.05
#: So many calls of Python a log with four times the lines may take more.
CALLS = 100

FORMATS = sorted(folder.name for folder in (FIXTURES / "parsers").iterdir() if folder.name not in NOT_BY_LINES)


@cache
def engine() -> CompiledEngine:
    return CompiledEngine(catalog())


def work_of(engine: CompiledEngine, text: bytes) -> Work:
    return engine.program.scan([text], True, cleaned=True).work


def is_bounded(work: Work, size: int) -> bool:
    return work.searched <= SEARCHED * size and work.occurrences <= OCCURRENCES * size and work.steps <= STEPS * size


def test_every_formats_lines_take_bounded_work() -> None:
    unbounded = {}
    for name in FORMATS:
        text = valid_utf8(clean_block(text_of_format(FIXTURES / "parsers" / name, 400_000)))
        work = work_of(engine(), text)
        if not is_bounded(work, len(text)):
            unbounded[name] = (work, len(text))
    assert unbounded == {}


def four_logs() -> dict[str, tuple[bytes, str]]:
    """Logs by the benchmark's writers, and the format of each."""

    def log(lines: object, count: int) -> bytes:
        return "".join(next(lines) for _ in range(count)).encode()  # type: ignore[call-overload]

    rng = random.Random("work")
    return {
        "paddle": (log(mixed(paddle_records(rng, 32), 9, 10), 1500), "paddleclas"),
        "ngc": (log(mixed(ngc_records(rng, 256), 9, 10), 1500), "ngc_pyt_convnets"),
        "bar": (log(FAMILIES["tqdm"].pieces(rng), 1500) + b"\n", "tqdm"),
        "trainer": (log(FAMILIES["trainer"].pieces(rng), 1500) + b"\n", "hf_trainer"),
    }


@pytest.mark.parametrize("kind", ["paddle", "ngc", "bar", "trainer"])
def test_ten_times_as_many_formats_cost_nothing(kind: str) -> None:
    """A second log of a kind, with all formats and with a tenth of them: its lines' shapes are known in both."""
    text, name = four_logs()[kind]
    parsers = catalog().parsers
    few = CompiledEngine(
        catalog().only([parser.name for n, parser in enumerate(parsers) if n % 10 == 0 or parser.name == name])
    )
    works = []
    for engine_ in (CompiledEngine(catalog()), few):
        work_of(engine_, text)
        works.append(work_of(engine_, text))
    many, tenth = (len(text) + work.searched + work.occurrences + work.steps for work in works)
    assert many <= MORE * tenth, works


def calls_of(text: bytes) -> int:
    """How many functions Python calls for a batch of one log."""
    calls = 0

    def count(_frame: FrameType, event: str, _what: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        engine().match([text], at_end=True)
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize("kind", ["paddle", "ngc", "bar", "trainer"])
def test_python_calls_are_a_logs_and_not_its_lines(kind: str) -> None:
    text, _ = four_logs()[kind]
    engine().match([text], at_end=True)
    one, four = calls_of(text), calls_of(4 * text)
    assert four <= one + CALLS, (one, four)


def slow_format(folder: Path) -> Parser:
    """A format whose regex asks of two numbers which digits they begin with: 400 decisions for one shape."""
    twins = "(?:00|11|22|33|44|55|66|77|88|99)?"
    return parser_from(
        {
            "title": "x", "source": "x", "priority": 999,
            "pattern": [{
                "name": "step", "role": "step", "literal": "loss: ",
                "regex": rf"loss: +[0-9][.]{twins}[0-9]* top1: +[0-9][.]{twins}[0-9]* top5: +(?P<took>{{N}})s",
                "value": [{"group": "took", "quantity": "step_time", "unit": "s"}],
            }],
        },
        folder / "slow.toml",
    )  # fmt: skip


def test_a_format_that_makes_all_logs_slower_is_seen(tmp_path: Path) -> None:
    text, _ = four_logs()["paddle"]
    slow = CompiledEngine(Catalog((*catalog().parsers, slow_format(tmp_path)), catalog().path_patterns))
    assert is_bounded(work_of(engine(), text), len(text))
    assert not is_bounded(work_of(slow, text), len(text))
