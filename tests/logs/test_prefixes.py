"""What stands before a log's lines changes no number: every shape before every line of every parser's logs."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from perflog.inference.formats import INFERRED
from perflog.logs.clean import clean_block, rank_of
from perflog.logs.streams import Stream, UnreadableError
from perflog.logs.unwrap import unwrapped, wrapping_of
from perflog.notes import texts
from perflog.runs.build import NO_MEASUREMENT, NO_STEPS
from perflog.runs.run import Run, Skipped
from tests.logs.prefixes import SHAPES, cri, docker_json_in_halves
from tests.support import CAMPAIGN, FIXTURES, arguments, catalog, extracted, parser_fixtures

LOGS = FIXTURES / "parsers"
#: Shapes that add lines, or part them: line numbers are others.
OTHER_LINES = {"GitLab sections", "script", "nohup", "CRI", "docker json-file in halves"}
#: Shapes that stay before the lines: a program may have printed them itself, and the engines read these ranks.
STAY = {
    "torchrun", "torchrun with a blank", "torch elastic", "two tags",
    "Open MPI", "Open MPI stderr", "Open MPI stamped", "Open MPI 5", "Open MPI 5 with a blank", "MPICH 3", "horovodrun",
    "SageMaker", "SageMaker algo-2", "Ray", "Ray with ip", "Ray coloured", "SkyPilot", "SkyPilot worker",
    "TeamCity", "TeamCity with a blank", "ts", "ts with %F", "logging", "logging stamped", "loguru", "Hydra", "abseil",
    "cat -n", "line number", "grep -n", "grep -Hn",
}  # fmt: skip
#: Of these, those with stamps, which are invented here: the program's own clock, for all that a log can tell. What they
#: say of a log's time is told in notes, or refutes its numbers; `grep` hides such a stamp behind a number.
CLOCKS = {
    "TeamCity", "TeamCity with a blank", "ts", "ts with %F", "logging stamped", "loguru", "Hydra", "abseil", "grep -n",
    "grep -Hn",
}  # fmt: skip
#: What is no text of a program, line by line: nothing stands before its lines.
STRUCTURED = {"tensorboard", "tensorboard_loss", "metrics_csv", "mlflow"}

#: One log of each so-manieth parser is read behind each shape (`make fuzz`: of each); where there are few, of so many
#: choices of parsers, as each log is read without the shape too.
FEW, CHOICES = 54, 9
_PARTS = [pytest.param(FEW, id="few"), pytest.param(3, id="third", marks=pytest.mark.long)]
PARTS = pytest.mark.parametrize("part", [pytest.param(1, id="all")] if CAMPAIGN else _PARTS)

Results = Mapping[str, list[tuple[Any, ...]]]


@lru_cache(maxsize=1)
def by_parser() -> Mapping[str, list[tuple[str, tuple[str, ...]]]]:
    """Each parser's logs, with the options that they are read with."""
    logs: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for name, log, side in parser_fixtures():
        if name not in STRUCTURED:
            logs.setdefault(name, []).append((f"{name}/{log.name}", tuple(side.get("options", ()))))
    return logs


def chosen(turn: int | None, part: int) -> Mapping[tuple[str, ...], list[str]]:
    """Logs by their options: one of each ``part``-th parser, of others at each turn, or all (None)."""
    by_options: dict[tuple[str, ...], list[str]] = {}
    if turn is not None and part == FEW:
        turn %= CHOICES
    for number, logs in enumerate(by_parser().values()):
        if turn is None or number % part == turn % part:
            for name, options in logs if turn is None else [logs[turn // 3 % len(logs)]]:
                by_options.setdefault(options, []).append(name)
    return by_options


@lru_cache(maxsize=1)
def anchored() -> frozenset[str]:
    """The parsers with a regex that asks for the beginning of the line: behind what stays there, it does not match."""
    return frozenset(
        p.parser for parser in catalog().parsers for p in parser.patterns if re.search(r"(?<![\\\[])\^", p.regex)
    )


@lru_cache(maxsize=1)
def dated() -> frozenset[str]:
    """The parsers that read the stamps of lines."""
    return frozenset(p.parser for parser in catalog().parsers for p in parser.patterns if "timestamp" in p.groups)


def results(
    folder: Path, monkeypatch: pytest.MonkeyPatch, turn: int | None, part: int, line_numbers: bool = True
) -> Results:
    """What is told of the chosen logs in a folder, by their paths there."""
    return _worded(_outcomes(folder, monkeypatch, turn, part), line_numbers)


def _outcomes(folder: Path, monkeypatch: pytest.MonkeyPatch, turn: int | None, part: int) -> list[Run | Skipped]:
    monkeypatch.chdir(folder)
    outcomes: list[Run | Skipped] = []
    for options, names in chosen(turn, part).items():
        accounts = [name for name in names if name.endswith((".json", ".jsonl"))]  # apart, that none is a second one
        for together in (accounts, [name for name in names if name not in accounts]):
            if together:
                extraction = extracted(*together, **arguments(list(options)))
                outcomes += [*extraction.runs, *extraction.skipped]
    return outcomes


def _worded(outcomes: list[Run | Skipped], line_numbers: bool) -> Results:
    told: dict[str, list[tuple[Any, ...]]] = {}
    for outcome in outcomes:
        told.setdefault(outcome.log.path, []).append(_told(outcome, line_numbers))
    return told


#: What the general reader says of lines that a format knows may be another fault of theirs behind a prefix.
_GENERAL = re.compile(f"({re.escape(NO_MEASUREMENT)}|{re.escape(NO_STEPS)}): .*")


def _told(outcome: Run | Skipped, line_numbers: bool) -> tuple[Any, ...]:
    def worded(text: str) -> str:
        text = _GENERAL.sub(r"\1", text)
        return text if line_numbers else re.sub(r"\blines? [0-9]+(?: (?:to|and) [0-9]+)?", "line N", text)

    if isinstance(outcome, Skipped):
        return ("skipped", worded(outcome.reason))
    value = outcome.throughput
    lines = (value.first_line, value.last_line) if line_numbers else ()
    metrics = sorted((metric.name, metric.value) for metric in outcome.metrics.values())
    facts = sorted((name, str(fact)) for name, fact in outcome.values.items())
    notes = [worded(note) for note in texts(outcome.notes)]
    return outcome.parser, value.value, value.unit, worded(value.reason), value.used, lines, metrics, facts, notes


@lru_cache(maxsize=4)
def bare(line_numbers: bool, part: int) -> Results:
    """What is told of the logs themselves, of all that may be chosen."""
    return _worded(_bare_outcomes(part), line_numbers)


@lru_cache(maxsize=2)
def _bare_outcomes(part: int) -> list[Run | Skipped]:
    outcomes: list[Run | Skipped] = []
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        for turn in range(CHOICES) if part == FEW else (None,):
            rewritten(Path(folder), bytes, turn, part)
            outcomes += _outcomes(Path(folder), patch, turn, part)
    return outcomes


def rewritten(folder: Path, wrap: Callable[[bytes], bytes], turn: int | None, part: int) -> None:
    """The chosen logs as a launcher would have stored them; each begins with its name: no two are the same text."""
    for names in chosen(turn, part).values():
        for name in names:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(wrap(f"log {name}\n".encode() + (LOGS / name).read_bytes()))


def values(told: list[tuple[Any, ...]]) -> dict[str, set[float]]:
    """The throughputs that are told, by their units."""
    by_unit: dict[str, set[float]] = {}
    for run in told:
        if run[0] != "skipped" and run[1] is not None:
            by_unit.setdefault(run[2], set()).add(run[1])
    return by_unit


@PARTS
@pytest.mark.parametrize("shape", SHAPES)
def test_a_prefix_changes_nothing(shape: str, part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    turn = list(SHAPES).index(shape)
    rewritten(tmp_path, SHAPES[shape][0], turn, part)
    line_numbers = shape not in OTHER_LINES
    told = results(tmp_path, monkeypatch, turn, part, line_numbers)
    expected = bare(line_numbers, part)
    for log, found in told.items():
        if shape in CLOCKS and log.split("/")[0] in dated():
            continue  # the times of these formats are the stamps
        if shape in CLOCKS or (shape in STAY and log.split("/")[0] in anchored()):
            if any(INFERRED in one for one in found):
                continue  # what no format reads behind a stamp is read by that stamp
            true = values(expected[log])
            assert all(numbers <= true.get(unit, numbers) for unit, numbers in values(found).items()), log
        else:
            assert found == expected[log], log


# ---------------------------------------------------------------- ranks

#: How each launcher marks the lines of two ranks.
TWO_RANKS = {
    "Open MPI 5": "[prterun-h-1@1,{}]<stdout>:", "SageMaker": "[1,mpirank:{},algo-1]<stdout>:", "MPICH": "[{}] ",
    "SkyPilot": "(worker, rank={}, pid=31{}, ip=10.0.0.2) ", "Determined": "[2026-05-04T10:11:12.3Z] 1a2b3c4d || INFO: [rank={}] ",
    "torchrun": "[rank{}]: ", "torchrun under kubectl": "2026-05-04T10:11:12.3Z [rank{}]: ", "srun -l": "{}: ",
    "pods": "[pod/trainer-{}/pytorch] ", "compose": "trainer-{}  | ", "pdsh": "worker-{}: ", "addresses": "10.0.0.{}: ",
    "stern": "trainer-{} pytorch ", "kail": "ns/trainer-{}[pytorch]: ", "syslog": "May 04 10:11:12 gpu{} python[77]: ",
}  # fmt: skip
STEPS = [(step, rank) for step in range(1, 61) for rank in (0, 1)]


@pytest.mark.parametrize("launcher", TWO_RANKS)
def test_ranks_are_told_apart(launcher: str) -> None:
    lines = [f"{TWO_RANKS[launcher].format(rank, rank)}step {step} of {rank}\r..{step}%\n" for step, rank in STEPS]
    text = "".join(lines).encode()
    wrapping = wrapping_of(text)
    given = text if wrapping is None else whole_text(unwrapped(Stream(io.BytesIO(text).read), wrapping))
    clean = clean_block(given).split(b"\n")[:-1]
    assert [rank_of(line.split(b"\r")[0]) or 0 for line in clean] == [rank for _, rank in STEPS]
    if launcher != "torchrun":
        expected = [b"step %d of %d\r..%d%%" % (step, rank, step) for step, rank in STEPS]
        assert [re.sub(rb"\[1,[01]\]<stdout>:", b"", line) for line in clean] == expected
        assert all((rank_of(line.split(b"\r")[1]) or 0) == rank for line, (_, rank) in zip(clean, STEPS, strict=True))


def whole_text(stream: Stream) -> bytes:
    return b"".join(iter(lambda: stream.read(1 << 20), b""))


def taken_off(text: str) -> str:
    wrapping = wrapping_of(text.encode())
    if wrapping is None:
        return text
    return whole_text(unwrapped(Stream(io.BytesIO(text.encode()).read), wrapping)).decode()


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"{n}: {900 / n:.1f}, 812.1 avg\n" for n in range(1, 50)),  # darknet: no ranks
        "layer filters\n" * 90 + "1: 812.1, 812.1 avg\nLoaded\n2: 811.0, 812.0 avg\n",  # few of them
    ],
)
def test_numbers_that_are_no_ranks_stay(text: str) -> None:
    assert taken_off(text) == text
    assert {rank_of(line) for line in text.encode().splitlines()} == {None}


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"[{n}] loss {n}.5\n" for n in range(30)),  # a counter
        "".join(f"epoch{n}: loss {n}.5\n" for n in range(30)),
        "".join(f"Epoch_{n // 10}: step {n}\n" for n in range(30)),
        "".join(f"step-{n} | loss {n}.5\n" for n in range(30)),
        "".join(f"epoch1 train step {n}\n" for n in range(30)),
        "".join(f"May 04 10:11:{n:02} Epoch batch[{n}]: 5\n" for n in range(30)),
        '{"step": 1, "loss": 0.5, "message": "step 1"}\n' * 30,  # a program's own records
        '{"log": "loss 1"}\n' * 30,
        "2023-08-02 20:45:46,123 - INFO - step 1\n" * 30,
        "step 1\n" * 30 + "    indented\n" * 5,
        "2026-05-04T10:11:12Z step 1\n" + "step 1\n" * 30,
        "", "\n\n", "x",
    ],
)  # fmt: skip
def test_what_a_program_prints_stays(text: str) -> None:
    assert taken_off(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # parts of a line: its text stands at the line of its first record, and line numbers go on
        ("2026-05-04T10:11:12.3Z stdout P step 1\n2026-05-04T10:11:12.3Z stdout F 2 x\n2026-05-04T10:11:12.3Z stdout F y\n", "step 12 x\n\ny\n"),
        ("2026-05-04T10:11:12.3Z stdout F a\n2026-05-04T10:11:12.3Z stdout P b\n", "a\n\nb"),
        ('{"log":"a\\u001b[0m \\"b\\"\\t\\u2588\\n","stream":"stdout","time":"t"}\n', 'a "b"\t█\n'),
        ('{"log":"a","stream":"stdout","time":"t"}\n{"log":"b\\n","stream":"stdout","time":"t"}\n{"log":"x\\n","stream":"stdout"}\nno record\n{"log":"c', 'ab\n\nx\nno record\n{"log":"c'),
        ('{"log":"a\\n","stream":"stdout","time":"t"}\n{"log":"c","stream":"stderr","time":"t"}', "a\nc"),
        ('{"MESSAGE":[97,13,98],"_PID":"1"}\n' * 2, "a\rb\n" * 2),
        ('{"message":"a\\nb","timestamp":17}\n' * 2, "a\rb\n" * 2),
        ("2026-05-04T10:11:12.3456789Z a\n2026-05-04T10:11:13.3456789Z\n2026-05-04T10:11:13.3456789Z  b\n", "a\n\n b\n"),
        ("job\tstep one\t2026-05-04T10:11:12.3456789Z a\njob\tstep one\t2026-05-04T10:11:12.3456789Z b\n", "a\nb\n"),
    ],
)  # fmt: skip
def test_records_and_stamps_are_taken_off(text: str, expected: str) -> None:
    assert taken_off(text) == expected


@pytest.mark.parametrize("pieces", [1, 7, 1000])
def test_it_does_not_matter_how_a_wrapped_log_is_read(pieces: int) -> None:
    text = docker_json_in_halves(b"".join(b"step %d loss %d.5\n" % (n, n % 7) for n in range(2_000)))
    wrapping = wrapping_of(text)
    assert wrapping is not None
    source = io.BytesIO(text)
    stream = unwrapped(Stream(lambda size: source.read(min(size, pieces))), wrapping)
    given = b"".join(iter(lambda: stream.read(pieces), b""))
    assert given == b"".join(b"step %d loss %d.5\n\n" % (n, n % 7) for n in range(2_000))


def test_damage_comes_after_what_could_be_read() -> None:
    text = cri(b"a b c d e f g h i j k l m n\n" * 10)

    parts = [text]

    def read(_size: int) -> bytes:
        if not parts:
            raise UnreadableError("cut")
        return parts.pop()

    wrapping = wrapping_of(text)
    assert wrapping is not None
    stream = unwrapped(Stream(read), wrapping)
    given = b""
    with pytest.raises(UnreadableError, match="cut"):
        while True:
            given += stream.read(50)
    assert given == b"a b c d e f g h i j k l m n\n\n" * 10
