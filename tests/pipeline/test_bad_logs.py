"""Ten thousand generated bad logs: never a traceback, and never a number that is not the log's own.

The truth of every case is known. Logs of constant speed (:mod:`tests.tools.known_logs`) say one throughput in any of
their parts; of a real log's text, what is done to it here must leave its own value. A run has one of those values,
or none, and then the reason is one that this kind of damage gives.
"""

from __future__ import annotations

import math
import os
import random
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perflog.notes import texts
from perflog.runs.run import Run
from tests.support import FIXTURES, arguments, extracted, parser_fixtures
from tests.tools.known_logs import FAST, SLOW, KnownLog, Speed, known_logs

#: How many logs each property tries: eleven properties times 1,250 are more than the 10,000 of `make fuzz`.
EXAMPLES = int(os.environ.get("PERFLOG_BAD_LOGS", "30"))
EACH = settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
rngs = st.integers(0, 2**32).map(random.Random)

# ---------------------------------------------------------------- logs of constant speed

#: Two programs, and the first with a rank that takes 3 % more time.
LOGS, OTHERS, RANKS = (
    known_logs(FAST),
    known_logs(SLOW),
    known_logs(Speed(FAST.seconds * 1.03, FAST.batch, FAST.devices)),
)
known = st.sampled_from(sorted(LOGS)).map(LOGS.__getitem__)
#: Those that tell all of their number themselves, so that nothing need be said of both of two.
whole = st.sampled_from(sorted(name for name, log in LOGS.items() if not log.options))

SHORT = r"the run ends after [0-9]+ steps, warm-up 20|no measurement lies wholly inside the window|no measurement in the log"
NO_BEGINNING = "the log prints running means and does not hold their beginning"
LAST_STEP = "each line tells of its last step only"
BACK = r"steps go back from (?:epoch [0-9]+ )?step [0-9.]+"
THOUSANDS = "line [0-9]+: steps are printed in whole thousands, and no interval between the lines fits"
DIFFERENT = r"(?:epoch [0-9]+ )?step [0-9.]+ has different records at lines"


def runs_of(data: bytes, options: Iterable[tuple[str, str]] = ()) -> list[Run]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "train.log"
        file.write_bytes(data)
        return extracted(file, set=dict(options)).runs


def check(runs: Sequence[Run], truths: Iterable[KnownLog], *reasons: str) -> None:
    """Every run has the value that one of the logs says in the run's unit, or none for one of the reasons."""
    for run in runs:
        metric = run.throughput
        if metric.value is None:
            assert re.match("|".join(reasons) or "nothing", metric.reason), metric.reason
        else:
            values = [log.truths.get(metric.unit) for log in truths]
            assert metric.value in [pytest.approx(value, rel=1e-6) for value in values if value], (
                metric,
                texts(run.notes),
            )


def test_the_logs_say_what_they_were_made_of() -> None:
    """Whole, each gives the truth itself: the rate of the job."""
    for logs, speed in ((LOGS, FAST), (OTHERS, SLOW)):
        for log in logs.values():
            (run,) = runs_of(b"".join(log.lines), log.options.items())
            first = next(unit for unit in log.truths if unit != "steps/s")
            assert (run.parser, run.throughput.unit) == (log.name, first)
            assert run.throughput.value == pytest.approx(log.truths[first], rel=1e-9)
            assert log.truths["steps/s"] == 1 / speed.seconds


@EACH
@given(log=known, share=st.floats(0, 1))
def test_cut_anywhere(log: KnownLog, share: float) -> None:
    """A half number in the last line is not taken for a number."""
    data = b"".join(log.lines)
    check(runs_of(data[: int(len(data) * share)], log.options.items()), [log], SHORT, NO_BEGINNING)


#: Bytes that no program prints and no terminal means, in the place of letters: numbers stay what they are.
GARBAGE = bytes([*range(1, 8), *range(0x80, 0x100), *b"#?"])
NUMBERS = frozenset(b"0123456789.:-+eE,/\n\t []()")


@EACH
@given(log=known, rng=rngs, count=st.integers(1, 200))
def test_bytes_flipped(log: KnownLog, rng: random.Random, count: int) -> None:
    """Words that cannot be read lose a line, or a fact, and change no number."""
    data = bytearray(b"".join(log.lines))
    letters = [place for place, byte in enumerate(data) if byte not in NUMBERS]
    for place in rng.choices(letters, k=count):
        data[place] = rng.choice(GARBAGE)
    check(runs_of(bytes(data), log.options.items()), [log], NO_BEGINNING, LAST_STEP)


@EACH
@given(log=known, rng=rngs)
def test_lines_shuffled(log: KnownLog, rng: random.Random) -> None:
    lines = list(log.lines)
    rng.shuffle(lines)
    check(runs_of(b"".join(lines), log.options.items()), [log], BACK, SHORT)


@EACH
@given(log=known, rng=rngs, share=st.floats(0.02, 0.6))
def test_lines_dropped(log: KnownLog, rng: random.Random, share: float) -> None:
    lines = [line for line in log.lines if rng.random() > share]
    check(runs_of(b"".join(lines), log.options.items()), [log], NO_BEGINNING, LAST_STEP, SHORT)


@EACH
@given(log=known, rng=rngs, every=st.booleans())
def test_lines_doubled(log: KnownLog, rng: random.Random, every: bool) -> None:
    """A line that is printed twice is one record: nothing is refused."""
    lines = (line * (2 if every or rng.random() < 0.3 else 1) for line in log.lines)
    check(runs_of(b"".join(lines), log.options.items()), [log])


@EACH
@given(name=whole, other=whole, share=st.floats(0, 1))
def test_two_programs_joined(name: str, other: str, share: float) -> None:
    """(A part of) another program's log behind the first: each run has its own number, or none."""
    log, second = LOGS[name], OTHERS[other]
    part = second.lines[: round(len(second.lines) * share)]
    check(runs_of(b"".join((*log.lines, *part))), [log, second], BACK, SHORT)


@EACH
@given(name=whole, other=whole, rng=rngs)
def test_two_programs_woven(name: str, other: str, rng: random.Random) -> None:
    """Two programs that write into one file at once: never one's batch size with the other's time."""
    log, second = LOGS[name], OTHERS[other]
    data = b"".join(interleaved(rng, log.lines, second.lines))
    check(runs_of(data), [log, second], BACK, DIFFERENT, SHORT, NO_BEGINNING, LAST_STEP)


@EACH
@given(log=known, rng=rngs)
def test_an_untagged_rank_between(log: KnownLog, rng: random.Random) -> None:
    """Lines of a second rank, with other times, and nothing that tells whose they are: no number."""
    pairs = zip(log.lines, RANKS[log.name].lines, strict=True)
    runs = runs_of(b"".join(line for pair in pairs for line in rng.sample(pair, 2)), log.options.items())
    assert runs
    check(runs, [], DIFFERENT)


@EACH
@given(log=known, rng=rngs)
def test_tagged_ranks_interleaved(log: KnownLog, rng: random.Random) -> None:
    """Two ranks' equal lines under mpirun's tags, in any interleaving that keeps each rank's order: the number."""
    tagged = ([b"[1,%d]<stdout>:%s" % (rank, line) for line in log.lines] for rank in (0, 1))
    check(runs_of(b"".join(interleaved(rng, *tagged)), log.options.items()), [log])


def interleaved(rng: random.Random, *sources: Sequence[bytes]) -> Iterator[bytes]:
    """The lines of all sources, each source's in its order."""
    turns = [source for source, lines in enumerate(sources) for _ in lines]
    rng.shuffle(turns)
    rest = [iter(lines) for lines in sources]
    for turn in turns:
        yield next(rest[turn])


# ---------------------------------------------------------------- the logs of all parsers

Log = tuple[str, bytes, tuple[tuple[str, str], ...]]
SEED_LOGS: dict[str, tuple[tuple[str, str], ...]] = {
    "seed000/pytorch_gpu1_amp_bs2.txt": (),
    "seed001/GPUx8_time2train_ips-bs8.log": (),
    "seed002/mxnet_gpu1_gpu8_fp32_bs128.txt": (),
    "seed004/logs_fp32/mindspore/resnet50/bz128/1n1g/rn50_b128_fp32_1.log": (("--set", "devices=1"),),
}


@lru_cache(maxsize=1)
def logs() -> list[Log]:
    """(name, bytes, options) of every fixture of lines of text that has a throughput."""
    found: list[Log] = [(name, (FIXTURES / name).read_bytes(), options) for name, options in SEED_LOGS.items()]
    for name, log, side in parser_fixtures():
        text = log.suffix not in (".gz", ".zip", ".zst") and b"\0" not in log.read_bytes()
        if "throughput" in side["expect"] and text:
            texts = side.get("options", [])
            found.append((f"{name}/{log.name}", log.read_bytes(), tuple(zip(texts[::2], texts[1::2], strict=True))))
    return found


@cache
def original(name: str) -> tuple[float, ...]:
    log = next(entry for entry in logs() if entry[0] == name)
    return tuple(run.throughput.value for run in read(log, log[1]) if run.throughput.value is not None)


def read(log: Log, data: bytes) -> list[Run]:
    """Extract from ``data`` as if it were the fixture; what the log's own values need is given as options."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / Path(log[0]).name
        file.write_bytes(data)
        extraction = extracted(file, **arguments([text for pair in log[2] for text in pair]))
    for run in extraction.runs:
        metric = run.throughput
        assert (metric.value is None) == bool(metric.reason), metric
        assert metric.value is None or (math.isfinite(metric.value) and metric.value > 0)
    return extraction.runs


def same_or_refused(log: Log, runs: list[Run], *reasons: str) -> None:
    """Every run has a value of the log itself, or none for one of the reasons."""
    for run in runs:
        value = run.throughput.value
        if value is None:
            assert re.match("|".join((*reasons, *reasons_of(log[0]))) or "nothing", run.throughput.reason), (
                log[0],
                run.throughput.reason,
            )
        else:
            own = [pytest.approx(wanted, rel=1e-9) for wanted in original(log[0])]
            assert value in own, (log[0], value, original(log[0]), texts(run.notes))


@cache
def reasons_of(name: str) -> tuple[str, ...]:
    """Why runs of a whole log have no value, as patterns."""
    log = next(entry for entry in logs() if entry[0] == name)
    return tuple(re.escape(run.throughput.reason) for run in read(log, log[1]) if run.throughput.value is None)


class Case(tuple[str, bytes, tuple[tuple[str, str], ...]]):
    """A log that a failing test shows by its name alone."""

    def __repr__(self) -> str:
        return str(self[0])


picked = st.deferred(lambda: st.sampled_from([Case(log) for log in logs()]))


#: Bars without a name that begin anew with each epoch: a second run behind the first looks as its further epochs do. Of
#: the JSON lines of a run that was resumed the clock goes on where it began: one training is counted, and a note says so.
BARS_TWICE = frozenset({"tqdm_loss/loop.log", "ms_swift/resumed.jsonl"})


@EACH
@given(log=picked, share=st.floats(0, 1))
def test_a_real_log_cut_anywhere(log: Log, share: float) -> None:
    """A cut log has the numbers of whole lines and refreshes of bars: of those before the cut, or with the one cut."""
    place = int(len(log[1]) * share)
    ends = [found.end() for found in re.finditer(rb"\r\n?|\n", log[1])]
    before = max((end for end in ends if end <= place), default=0)
    behind = min((end for end in ends if end > place), default=len(log[1]))
    wholes = [log[1][:before], log[1][:behind]]
    own = [run.throughput.value for data in wholes for run in read(log, data)]
    for run in read(log, log[1][:place]):
        value = run.throughput.value
        assert value is None or value in [pytest.approx(wanted, rel=1e-9) for wanted in own if wanted], (
            log[0],
            value,
            own,
        )


@EACH
@given(log=picked, rng=rngs, every=st.booleans())
def test_doubled_events_change_no_number(log: Log, rng: random.Random, every: bool) -> None:
    lines = log[1].splitlines(keepends=True)
    doubled = b"".join(line * (2 if every or rng.random() < 0.3 else 1) for line in lines)
    same_or_refused(log, read(log, doubled), THOUSANDS)


@EACH
@given(log=picked)
def test_a_real_log_given_twice_in_one_file(log: Log) -> None:
    """A log with itself behind it: each run's own number, or none."""
    if log[0] in BARS_TWICE:
        return
    runs = read(log, log[1] + log[1])
    if not any("no step numbers" in note for run in runs for note in texts(run.notes)):
        same_or_refused(log, runs, BACK)


@EACH
@given(log=picked, rng=rngs)
def test_tagged_ranks_interleaved_change_no_number(log: Log, rng: random.Random) -> None:
    """Two ranks' equal lines under mpirun's tags, in any interleaving that keeps each rank's order."""
    if b"]<std" in log[1] or b"]:" in log[1]:
        return
    lines = log[1].splitlines(keepends=True)
    tagged = ([b"[1,%d]<stdout>:%s" % (rank, line) for line in lines] for rank in (0, 1))
    same_or_refused(log, read(log, b"".join(interleaved(rng, *tagged))), BACK)


@pytest.mark.parametrize(
    "name",
    ["seed001/GPUx8_time2train_ips-bs8.log", "seed004/logs_fp32/mindspore/resnet50/bz128/1n1g/rn50_b128_fp32_1.log"],
)
def test_missing_lines_leave_a_note(name: str) -> None:
    log = next(entry for entry in logs() if entry[0] == name)
    lines = log[1].splitlines(keepends=True)
    (run,) = read(log, b"".join(lines[:24] + lines[30:]))
    assert any("missing" in note for note in texts(run.notes))


def test_two_runs_appended_are_refused_with_the_reason() -> None:
    folder = "seed004/logs_fp32/mindspore/resnet50/bz128/1n1g"
    first, second = f"{folder}/rn50_b128_fp32_1.log", f"{folder}/rn50_b128_fp32_2.log"
    data = (FIXTURES / first).read_bytes() + (FIXTURES / second).read_bytes()
    (run,) = read((first, data, SEED_LOGS.get(first, ())), data)
    assert run.throughput.value is None
    assert "two runs appended" in run.throughput.reason


def test_runs_of_two_shapes_appended_have_their_own_numbers(tmp_path: Path) -> None:
    """Steps of the first log print 12 samples/s of one device, those of the second 17: programs of their own."""
    first, second = "seed001/GPUx8_time2train_ips-bs8.log", "seed001/GPUx1-bs8.log"
    (tmp_path / "both.log").write_bytes((FIXTURES / first).read_bytes() + (FIXTURES / second).read_bytes())
    runs = extracted(tmp_path / "both.log").runs
    assert [(round(run.throughput.value or 0, 4), run.throughput.unit) for run in runs] == [
        (12.0, "samples/s/rank"),
        (17.0, "samples/s/rank"),
    ]
