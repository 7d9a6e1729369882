"""Many logs' evidence made together: the same, to the last bit, as of each log alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from perflog.formats.catalog import Catalog
from perflog.logs.find import find_logs
from perflog.notes import texts
from perflog.reading.reading import Reading
from perflog.reading.schedule import read_logs
from perflog.runs import corroborate_many
from perflog.runs.build import RunBuilder
from perflog.runs.corroborate import Evidence, Question, evidence_of
from perflog.runs.run import Outcome
from perflog.settings.options import Options
from tests.measurements.support import MEAN_TIME, RATE, STEP_TIME, table
from tests.reading.support import formats, read
from tests.runs.support import ALL
from tests.support import CORPUS, FIXTURES, arguments, catalog, examples, needs_corpus, parser_fixtures

TIMES = corroborate_many.LEAST_LOGS


@dataclass(slots=True)
class Alone:
    """The questions of which the log was looked at alone."""

    questions: list[Question] = field(default_factory=list)

    def evidence_of(self, question: Question) -> Evidence:
        self.questions.append(question)
        return evidence_of(question)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Alone:
    seen = Alone()
    monkeypatch.setattr(corroborate_many, "evidence_of", seen.evidence_of)
    return seen


def shown(outcome: Outcome) -> Any:
    """An outcome as text, with the evidence of its runs: floats to the last bit, and NaN equal to itself."""
    return repr(outcome if not isinstance(outcome, list) else [(run, run.evidence, run.notes) for run in outcome])


def same_in_both_ways(builder: RunBuilder, reading: Reading) -> None:
    """Check that a log's runs are the same among others of its kind."""
    by_itself = shown(builder.build(reading))
    assert [shown(outcome) for outcome in builder.build_all([reading] * TIMES)] == [by_itself] * TIMES


@pytest.mark.parametrize("step", [10, pytest.param(1, marks=pytest.mark.long)])
def test_fixtures(step: int, alone: Alone) -> None:
    asked = 0
    for _, log, side in parser_fixtures()[::step]:
        builder = RunBuilder(catalog(), Options(**arguments(side.get("arguments", []))))
        for reading in read_logs(find_logs([log]), catalog(), lambda finished: finished):
            same_in_both_ways(builder, reading)
            asked += 1
    by_itself = len(alone.questions)
    assert by_itself < 0.9 * (TIMES + 1) * asked  # else nothing was made together


@pytest.mark.long
@needs_corpus
def test_the_corpus() -> None:
    builder = RunBuilder(catalog(), Options(set={"devices": "8", "batch_size": "32"}))
    for reading in read_logs(find_logs([CORPUS]), catalog(), lambda finished: finished):
        same_in_both_ways(builder, reading)


def lines(times: list[float], batch: float, stamp: str = "iso", ms: float = 1.0, clock: float = 1.0, digits: int = 4,
          pause: float = 0.0, tag: str = "") -> str:  # fmt: skip
    """A log whose steps take so long, with a rate, a time in ms and a stamp on each line.

    Args:
        ms, clock: how many times as long the printed time, and the stamps, say that a step took.
        pause: seconds that pass before the middle step.
    """
    now, text = 10.0, ""
    for step, time in enumerate(times, 1):
        now += time * clock + (pause if step == len(times) // 2 else 0)
        minute, second = divmod(now, 60)
        hour, minute = divmod(int(minute), 60)
        whole = f"{hour % 24:02}:{minute:02}:{second:06.3f}"
        head = {
            "iso": f"2024-02-29 {whole} ", "seconds": f"[{whole[:8]}] ", "glog": f"I0229 {whole} 1 a.py:1] ",
            "none": "", "some": f"{whole} " if step % 3 else "", "mixed": f"{whole[: 8 if step % 2 else 12]} ",
        }[stamp]  # fmt: skip
        text += f"{head}{tag}row step={step} ips={batch / time:.{digits}f} ms={time * ms * 1000:.{digits}f}\n"
    return text


def two_numbers(*values: dict[str, Any]) -> Catalog:
    """A format that prints two numbers of each step."""
    return formats(table("step ips ms", *values, sample=[{"line": "row step=1 ips=5 ms=1"}]))


BOTH = two_numbers(RATE, STEP_TIME)
OF_DEVICE = two_numbers({**RATE, "scope": "device"}, STEP_TIME)
OF_MEAN = two_numbers(RATE, MEAN_TIME)
IN_SECONDS = two_numbers({**STEP_TIME, "group": "ips", "quantity": "interval_time"}, STEP_TIME)
OF_STEPS = two_numbers({**RATE, "unit": "steps/s"}, STEP_TIME)
LAST = two_numbers({**RATE, "span": "last"}, {**STEP_TIME, "span": "last"})
ALL_FORMATS = (BOTH, OF_DEVICE, OF_MEAN, IN_SECONDS, OF_STEPS, LAST)
LOGS = st.builds(
    lines,
    times=st.one_of(
        st.lists(st.floats(0.01, 4), min_size=2, max_size=40),
        st.builds(lambda time, count: [time] * count, st.floats(0.001, 30), st.integers(2, 40)),
    ),
    batch=st.sampled_from([0.3, 1, 8, 31.5, 32, 256, 1e6]),
    stamp=st.sampled_from(["iso", "iso", "iso", "seconds", "glog", "none", "some", "mixed"]),
    ms=st.sampled_from([1, 1, 1, 1, 1, 1.01, 1.1, 8]),
    clock=st.sampled_from([1, 1, 1, 1, 1, 1.03, 1.06, 2, 0.0, -1]),
    digits=st.sampled_from([5, 5, 5, 4, 3, 1, 0]),
    pause=st.sampled_from([0, 0, 0, 0, 0.1, 30, 90_000]),
    tag=st.sampled_from(["", "", "a\r", "b\b"]),
)


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(0, len(ALL_FORMATS) - 1), st.lists(LOGS, min_size=1, max_size=4), st.data())
@pytest.mark.long
def test_generated_logs(number: int, texts: list[str], data: st.DataObject) -> None:
    sets = [
        {},
        {"devices": "2"},
        {"batch_size": "32"},
        {"batch_size": "32", "devices": "1"},
        {"global_batch_size": "8"},
    ]
    given_sets: dict[str, str] = data.draw(st.sampled_from(sets))
    estimator = data.draw(st.sampled_from(["total", "median"]))
    made = ALL_FORMATS[number]
    builder = RunBuilder(made, Options(window=ALL, set=given_sets, estimator=estimator))
    readings = [read(made, text) for text in texts]
    expected = [shown(builder.build(reading)) for reading in readings]
    several = [reading for reading in readings for _ in range(TIMES)]
    assert [shown(outcome) for outcome in builder.build_all(several)][::TIMES] == expected
    event("witnesses agree" if all("'agrees'" in text for text in expected) else "something else")


def test_plain_logs_are_looked_at_together(alone: Alone) -> None:
    texts = [lines([0.25 + 0.001 * step + 0.01 * log for step in range(20)], 32) for log in range(TIMES)]
    outcomes = RunBuilder(BOTH, Options(window=ALL, set={"devices": "1"})).build_all([read(BOTH, t) for t in texts])
    assert alone.questions == []
    for outcome in outcomes:
        assert isinstance(outcome, list)
        (run,) = outcome
        assert run.evidence is not None
        assert [(w.name, w.about, w.agreement, w.lines) for w in run.evidence.witnesses] == [
            ("the clock of the lines", "time per step", "agrees", (1, 20)),
            ("ms times ips on the lines", "work per step", "agrees", (1, 20)),
        ]
        assert run.evidence.witnesses[1].told == 32


def test_a_log_that_contradicts_itself_is_looked_at_alone(alone: Alone) -> None:
    times = [0.25 + 0.001 * step for step in range(20)]
    good, bad = lines(times, 32), lines(times, 32, clock=8)
    builder = RunBuilder(BOTH, Options(window=ALL, set={"batch_size": "32", "devices": "1"}))
    outcomes = builder.build_all([read(BOTH, text) for text in (good, bad, good, good)])
    assert len(alone.questions) == 1
    runs = [outcome[0] for outcome in outcomes if isinstance(outcome, list)]
    doubted = [any("two numbers of the log are far apart" in note for note in texts(run.notes)) for run in runs]
    assert doubted == [False, True, False, False]


def test_the_runs_of_both_ways_are_told_apart() -> None:
    """The comparison of this file sees a difference in the last bit of a witness."""
    builder = RunBuilder(BOTH, Options(window=ALL, set={"devices": "1"}))
    near = [shown(builder.build(read(BOTH, lines([time] * 20, 32, digits=5)))) for time in (0.25, 0.25 + 1e-7)]
    assert near[0] != near[1]


def test_fixtures_are_at_hand() -> None:
    assert (FIXTURES / "parsers").is_dir()
