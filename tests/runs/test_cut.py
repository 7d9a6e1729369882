"""Lines that hold a part of a number alone, and clocks that are set: a reason, and never the part's number."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from perflog.notes import texts as texts_of
from perflog.runs.run import Run
from tests.support import FIXTURES, arguments, extracted, parser_fixtures

LOGS = FIXTURES / "parsers"
_STAMP = re.compile(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}[ T][0-9:]{8}")


def runs_of(tmp_path: Path, text: str) -> list[Run]:
    (tmp_path / "train.log").write_text(text)
    return extracted(tmp_path).runs


def reasons(tmp_path: Path, text: str) -> set[str]:
    made = runs_of(tmp_path, text)
    assert all(run.throughput.value is None and "loss" not in run.metrics for run in made)
    return {run.throughput.reason for run in made}


@pytest.mark.parametrize("log", ["maxtext/llama2_7b.log", "internlm/comma.log", "nanochat/mid.log"])
def test_numbers_that_a_terminal_cut_at_its_last_column_are_none(tmp_path: Path, log: str) -> None:
    """14,727 tokens/s became 1,465, and 130,994 became 130, where the line was wrapped behind column 80."""
    lines = (LOGS / log).read_text().splitlines()
    wrapped = [line[at : at + 80] for line in lines for at in range(0, len(line) or 1, 80)]
    said = reasons(tmp_path, "\n".join(wrapped) + "\n")
    assert all(
        reason.endswith("ends inside a number or a word at column 80, as lines do that a terminal cut there")
        for reason in said
    )


#: Of lines that are cut, those that a format still reads may be other ones than it read before, and nothing in them shows
#: it: here the number is 1.4 to 18 % off, and of a bar of which the beginning alone is left 3 times as high. That
#: PaddleSeg's rate is a device's its format alone knows, which reads the lines no more.
READ_IN_PART = {
    ("stable_baselines3/progress.csv", 105), ("mindspore/mindyolo.log", 75), ("dora/denoiser.log", 80),
    ("ultralytics/twice.log", 200), ("keras/keras3_verbose1.log", 75),
    ("paddleseg/static_cost_2021.log", 105),
}  # fmt: skip
CUTS = [
    (f"{path.parent.name}/{path.name}", column, side)
    for _, path, side in parser_fixtures()
    for column in (60, 75, 80, 90, 105, 200)
    if "throughput" in side["expect"] and path.suffix in (".log", ".txt", ".csv", ".out")
]


#: Where a format's numbers were all cut off, what is left are the stamps, which a fixture invents apart from them.
ALONE = re.compile("inferred: counter [A-Za-z_ ]+, the clock of the lines; ")


@pytest.mark.parametrize(
    ("first", "every"), [(0, 40), *(pytest.param(column, 6, marks=pytest.mark.long) for column in range(6))]
)
def test_a_log_that_was_cut_at_one_column_gives_its_number_or_none(tmp_path: Path, first: int, every: int) -> None:
    """``cut -b1-90``: of 1049879 tokens/s a part was taken, 10498."""
    wrong = []
    for number, (log, column, side) in enumerate(CUTS[first::every]):
        data = (LOGS / log).read_bytes()
        for lines in (data.split(b"\n"), data.decode("utf-8", "surrogateescape").split("\n")):
            cut = [line[:column] for line in lines]
            texts = [line if isinstance(line, bytes) else line.encode("utf-8", "surrogateescape") for line in cut]
            (tmp_path / str(number)).mkdir(exist_ok=True)
            (tmp_path / str(number) / Path(log).name).write_bytes(b"\n".join(texts))
            true = side["expect"]
            wrong += [
                (log, column, run.throughput.value, true["throughput"])
                for run in extracted(tmp_path / str(number), **arguments(side.get("options", []))).runs
                if run.throughput.value is not None
                and run.throughput.unit == true["unit"]
                and run.throughput.value != pytest.approx(true["throughput"], rel=0.01)
                and (log, column) not in READ_IN_PART
                and not any(ALONE.search(text) for text in texts_of(run.notes))
            ]
    assert wrong == []


@pytest.mark.parametrize("column", [86, 88, 90])
@pytest.mark.parametrize("estimator", ["total", "median"])
def test_a_cut_log_says_where(tmp_path: Path, column: int, estimator: str) -> None:
    lines = (LOGS / "build_nanogpt/train_gpt2.log").read_text().splitlines()
    (tmp_path / "train.log").write_text("".join(line[:column] + "\n" for line in lines))
    (made,) = extracted(tmp_path, estimator=estimator).runs
    assert made.throughput.value is None
    assert (
        f"inside a number or a word at column {column}, as lines do that were all cut there" in made.throughput.reason
    )


def test_lines_of_one_length_that_end_with_a_number_are_whole(tmp_path: Path) -> None:
    lines = [f"step {step:5d} | loss: 6.{step:06d} | lr 7.3007e-05 | norm: 2.5185 | dt: 492.13ms | tok/sec: 1065312.25"
             for step in range(100)]  # fmt: skip
    (made,) = runs_of(tmp_path, "\n".join(lines) + "\n")
    assert made.throughput.value == pytest.approx(1065312.25, rel=0.001)


@pytest.mark.parametrize("log", ["build_nanogpt/train_gpt2.log", "dit/train.log", "clu/imagenet.log", "nemo/nemo2.log"])
def test_numbers_with_a_decimal_comma_are_none(tmp_path: Path, log: str) -> None:
    """1049879,99 tokens/s became 100 times as many, and 0,49 s became 0 s."""
    text = re.sub(r"(?<![\w.:/-])([0-9]+)\.([0-9]+)(?![\w.])", r"\1,\2", (LOGS / log).read_text())
    assert all("has a decimal comma" in reason for reason in reasons(tmp_path, text))


def test_thousands_behind_the_first_line_of_a_record_give_no_number(tmp_path: Path) -> None:
    """16,384.00 tokens/s became 16."""
    text = re.sub(r"(?<![0-9.])([0-9]{1,2})([0-9]{3})(?=\.[0-9])", r"\1,\2", (LOGS / "nemo_rl/grpo.log").read_text())
    assert all("has a comma that parts thousands (tokens_rate" in reason for reason in reasons(tmp_path, text))


@pytest.mark.parametrize("log", ["openpcdet/newer.log", "basicsr/msrresnet.log", "olmo/olmo.log"])
@pytest.mark.parametrize("hours", [1, -1])
def test_stamps_that_jump_by_an_hour_give_no_number(tmp_path: Path, log: str, hours: int) -> None:
    text = (LOGS / log).read_text()
    (value,) = (run.throughput.value for run in runs_of(tmp_path, text))
    assert value is not None
    half = len(text) // 2

    def later(match: re.Match[str]) -> str:
        moment = datetime.fromisoformat(match.group()) + timedelta(hours=hours)
        return moment.isoformat(match.group()[10])

    for run in runs_of(tmp_path, text[:half] + _STAMP.sub(later, text[half:])):
        if run.throughput.value is None:
            assert hours < 0 or "the stamps jump by an hour before line" in run.throughput.reason
        else:
            assert run.throughput.value == pytest.approx(value, rel=0.01)


def test_megabytes_of_a_million_bytes_are_no_mebibytes(tmp_path: Path) -> None:
    """OLMo divides by 1,000,000 (torch_util.py): 4.9 % more than MiB."""
    (made,) = runs_of(tmp_path, (LOGS / "olmo/olmo.log").read_text())
    assert (made.metrics["memory"].value, made.metrics["memory"].unit) == (61534, "MB")
