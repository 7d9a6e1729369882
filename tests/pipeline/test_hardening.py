"""Numbers that no program means: of 400 digits, infinite, not a number, out of all bounds, or broken by a lost byte.

Each of these once ended the command, gave a number that was infinite, or a wrong one that looked right.
"""

from __future__ import annotations

import json
import math
import re
import warnings
from pathlib import Path

import pytest

from perflog.extraction import Extraction
from perflog.formats.catalog import load_catalog
from perflog.notes import texts
from perflog.runs.run import Run
from perflog.show.encoding import encoded
from tests.support import FIXTURES, extracted
from tests.tools.engines import Engines

PADDLE = FIXTURES / "seed001" / "GPUx32_time2train_ips-bs4.log"
ONEFLOW = FIXTURES / "parsers" / "oneflow_insightface" / "n1g8.log"
AVERAGE = FIXTURES / "campaign/releases/2.13.0/pytorch/cnn/bz16/1n1g/cnn_b16_fp32_5.log"
SEMSEG = FIXTURES / "parsers" / "csail_semseg" / "train.log"
SWIFT = FIXTURES / "parsers" / "ms_swift" / "v3_0.log"


def of_bytes(folder: Path, source: Path, data: bytes, **given: str) -> Extraction:
    """The extraction of changed bytes under a log's own name; a warning of numpy is a failure."""
    file = folder / "logs" / source.name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return extracted(file, set=given)


def only_run(extraction: Extraction) -> Run:
    (run,) = extraction.runs
    json.loads(encoded(extraction, "json"), parse_constant=pytest.fail)
    for metric in run.metrics.values():
        assert metric.value is None or math.isfinite(metric.value), metric
    return run


@pytest.mark.parametrize("digits", [20, 400, 5000])
def test_a_step_of_many_digits_is_no_step(digits: int, tmp_path: Path) -> None:
    lines = PADDLE.read_bytes().splitlines(keepends=True)
    lines[19] = re.sub(rb"iter: [0-9]+", b"iter: " + b"9" * digits, lines[19])
    run = only_run(of_bytes(tmp_path, PADDLE, b"".join(lines)))
    (whole,) = extracted(PADDLE).runs
    if digits == 20:  # steps go back after it: no number, and a reason
        assert (run.throughput.value is None) == bool(run.throughput.reason)
        return
    assert run.throughput.value == pytest.approx(whole.throughput.value, rel=0.01)
    assert "1 record without a usable number" in " ".join(texts(run.notes))


def test_tags_of_twenty_digits_are_no_ranks(tmp_path: Path) -> None:
    tag = b"[1,99999999999999999999]<stdout>:"
    tagged = b"".join(tag + line for line in PADDLE.read_bytes().splitlines(keepends=True))
    assert only_run(of_bytes(tmp_path, PADDLE, tagged)).throughput.value is not None
    ray = tagged.replace(tag, b"(Trainer pid=99999999999999999999) ")
    ranked = tagged.replace(tag, b"[rank99999999999999999999]: ")
    assert Engines(load_catalog()).differences([tagged, ray, ranked]) == []


@pytest.mark.parametrize("rank", ["9223372036854775809", "9" * 25, "9" * 400])
def test_a_rank_of_many_digits_on_the_line_itself_is_none(rank: str, tmp_path: Path) -> None:
    """Such a number is cast to no rank; pytest makes numpy's warning of it an error."""
    log = FIXTURES / "parsers" / "oneflow_wide_deep" / "models.log"
    whole = only_run(of_bytes(tmp_path, log, log.read_bytes())).throughput.value
    text = log.read_bytes().replace(b"[rank:0] iter: 600/", f"[rank:{rank}] iter: 600/".encode())
    assert only_run(of_bytes(tmp_path, log, text)).throughput.value == whole


@pytest.mark.parametrize("number", ["1e308", "1e25", "nan", "inf", "-inf", "1e999", "1e-320", "9" * 400, "0", "-1"])
def test_rates_that_cannot_be_meant_give_no_number(number: str, tmp_path: Path) -> None:
    text = re.sub(rb"throughput: [0-9.]+", b"throughput: " + number.encode(), ONEFLOW.read_bytes())
    extraction = of_bytes(tmp_path, ONEFLOW, text)
    if extraction.runs:
        run = only_run(extraction)
        assert run.throughput.value is None
        assert run.throughput.reason
    assert not extraction.complete


@pytest.mark.parametrize("number", ["1e12", "1e-8"])
def test_a_speed_that_no_training_has_is_refused(number: str, tmp_path: Path) -> None:
    text = re.sub(rb"throughput: [0-9.]+", b"throughput: " + number.encode(), ONEFLOW.read_bytes())
    run = only_run(of_bytes(tmp_path, ONEFLOW, text))
    assert run.throughput.value is None
    assert run.throughput.reason.endswith("is no speed that a training can have: the numbers on the lines are damaged")


def test_times_that_cannot_be_meant(tmp_path: Path) -> None:
    text = re.sub(rb"Time ( *[0-9.]+) \( *[0-9.]+\)", rb"Time \1 ( 1e-320)", AVERAGE.read_bytes())
    given = {"devices": "1", "batch_size": "16"}
    assert only_run(of_bytes(tmp_path, AVERAGE, text, **given)).throughput.value is None
    text = re.sub(rb"'train_speed\(iter/s\)': [0-9.e-]+", b"'train_speed(iter/s)': 1e308", SWIFT.read_bytes())
    only_run(of_bytes(tmp_path, SWIFT, text, devices="1", batch_size="32"))


@pytest.mark.parametrize("digits", [10, 19, 400, 5000])
def test_a_batch_size_of_many_digits_is_none(digits: int, tmp_path: Path) -> None:
    """The product of two counts fits a column of a frame."""
    source = FIXTURES / "parsers" / "deepspeed" / "pipeline.log"
    text = re.sub(rb"(train_batch_size \.* )[0-9]+", rb"\g<1>" + b"9" * digits, source.read_bytes())
    extraction = of_bytes(tmp_path, source, text, devices="999999999")
    assert "global_batch_size" not in only_run(extraction).values
    for form in ("csv", "markdown", "table"):
        assert encoded(extraction, form, 100)


# ---------------------------------------------------------------- numbers with a lost byte in them


@pytest.mark.parametrize("lost", [b"\xff", b"\xc3", b"\xed\xa0\x80", "\ufffd".encode()])
def test_a_number_with_a_lost_character_in_it_is_none(lost: bytes, tmp_path: Path) -> None:
    """1921.87 whose second digit is lost is not 1: it once gave 2.498 samples/s without a word."""
    lines = ONEFLOW.read_bytes().splitlines(keepends=True)
    broken = [re.sub(rb"throughput: ([0-9])", rb"throughput: \g<1>" + lost, line) for line in lines[4:64]]
    run = only_run(of_bytes(tmp_path, ONEFLOW, b"".join([*lines[:4], *broken, *lines[64:]])))
    (whole,) = extracted(ONEFLOW).runs
    assert run.throughput.value == pytest.approx(whole.throughput.value, rel=0.005)
    assert run.throughput.used == 40
    assert "60 lines hold 'train: iter' and could not be read, 60 could: see `perflog explain`" in texts(run.notes)


@pytest.mark.parametrize(
    "line",
    [
        b"train: iter 7, loss 43.9, throughput: 19\xff", b"train: iter 7, loss 43.9, throughput: \xff19",
        b"train: iter 7, loss 43.9, throughput: 1\xff9", b"train: iter 7, loss 43.9, throughput: 19.\xff5",
        b"train: iter 7\xff, loss 43.9, throughput: 19", b"train: iter 7, loss 43\xff.9, throughput: 19",
        "train: iter 7, loss 43.9, throughput: 19\ufffd".encode(), "train: iter 7, loss 43.9, throughput: 1\ufffd9".encode(),
        "train: iter 7, loss 43.9, throughput: 19\ufffd\ufffd.5".encode(),
    ],
)  # fmt: skip
def test_both_engines_read_no_part_of_a_number(line: bytes) -> None:
    both = Engines(load_catalog())
    whole = b"train: iter 6, loss 43.9, throughput: 577.5\n"
    text = whole + line + b"\n" + whole.replace(b"iter 6", b"iter 8")
    assert both.differences([text]) == []
    for engine in (both.compiled, both.polars):
        (matches,) = [
            m for m in engine.match([text], at_end=True).matches if m.pattern.key == "oneflow_insightface.step"
        ]
        assert matches.line.tolist() == [0, 2]
        assert matches.candidates[0] == 3


def test_a_lost_character_elsewhere_changes_nothing() -> None:
    both = Engines(load_catalog())
    line = b"\xff \xef\xbf\xbd train: iter 6, loss 43.9, throughput: 577.5 \xef\xbf\xbd\n"
    assert both.differences([line]) == []
    for engine in (both.compiled, both.polars):
        (matches,) = [
            m for m in engine.match([line], at_end=True).matches if m.pattern.key == "oneflow_insightface.step"
        ]
        assert [column.tolist() for column in matches.columns.values() if not isinstance(column, list)][:1] == [[6.0]]


def test_a_few_lines_that_could_not_be_read_are_not_worth_a_note(tmp_path: Path) -> None:
    lines = ONEFLOW.read_bytes().splitlines(keepends=True)
    lines[30] = lines[30].replace(b"loss", b"lo\xffs")
    notes = texts(only_run(of_bytes(tmp_path, ONEFLOW, b"".join(lines))).notes)
    assert not [note for note in notes if "could not be read" in note]


def test_digits_that_allow_any_speed_give_none(tmp_path: Path) -> None:
    """A running mean of 0.1 s, with one digit, at steps 120 and 200: the time between is 8 s, or anything up to 24 s."""
    lines = [line for line in SEMSEG.read_bytes().splitlines(keepends=True) if b"Epoch: [1]" in line]
    file = tmp_path / "train.log"
    file.write_bytes(re.sub(rb"Time: [0-9.]+", b"Time: 0.1", b"".join(lines)))
    run = only_run(extracted(file, warmup="100"))
    assert run.throughput.value is None
    assert run.throughput.reason.startswith("the digits that the log prints allow any throughput above ")
