"""``--as``: what a user says of a log's lines. The number is the truth, or there is none with a reason that says what
to correct."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

import perflog.api
from perflog import cli
from perflog.errors import UsageError
from perflog.extraction import Extraction, extract_paths
from perflog.formats.catalog import load_catalog
from perflog.formats.line import Token, said_of
from perflog.inference.new import write_parser
from perflog.inference.said import said_tables, to_paste
from perflog.matching.tables import tables_of
from perflog.notes import texts
from perflog.settings.options import Amount, Options, Window
from tests.inference.test_infer import WORK, written
from tests.support import FIXTURES


def run_perflog(*words: str | Path) -> Result:
    return CliRunner().invoke(cli.app, [str(word) for word in words])


def extracted(log: Path, *said: str) -> Extraction:
    return extract_paths([log], Options(window=Window(Amount(0)), said=said), load_catalog())


#: Lines of which the log alone does not say enough, what is said of them, and how many steps lie between two.
TRUE: dict[str, tuple[str, tuple[str, ...], bool, int]] = {
    "a time, a mean of ten": (
        "train | step {n}/400 | loss 0.5123 | time {mean:.4f}s",
        ("train | step {step}/400 | loss 0.5 | time {step_time:s:interval}s",), False, 10),
    "a time of all ten": ("step {n} took {interval:.3f}", ("step {step} took {interval_time:s}",), False, 10),
    "milliseconds that no line names": ("step {n} dt {mean_ms:.2f}", ("step {step} dt {step_time:ms:interval}",), False, 10),
    "a time since the beginning": ("step {n} at {total:.2f}", ("step {step} at {elapsed:s}",), False, 10),
    "a rate of words unknown": (
        "step {n} loss 0.5 v {mean_rate:.3f}", ("step {step} … v {rate:samples/s:interval}",), False, 10),
    "a key of JSON": (
        '{{"iter": {n}, "loss": 0.5, "thr": {mean_rate:.3f}}}', ("step=iter", "rate:samples/s:interval=thr"), False, 10),
    "a whole line of JSON": (
        '{{"iter": {n}, "loss": 0.5, "thr": {mean_rate:.3f}}}',
        ('{"iter": {step}, "loss": 0.5, "thr": {rate:samples/s:interval}}',), False, 10),
    "a counter that the log leaves open": ("{n}/400 loss 0.512 cost {mean:.4f}", ("{step}/400 loss 1",), True, 10),
    "a span that the clock shows": ("step {n} loss 0.5 v {mean_rate:.3f}", ("step {step} … v {rate:samples/s}",), True, 10),
}  # fmt: skip


@pytest.mark.parametrize("name", TRUE)
def test_what_is_said_gives_the_number(name: str, tmp_path: Path) -> None:
    line, said, stamps, every = TRUE[name]
    log, per_step = written(tmp_path, line, stamps=stamps, every=every)
    (run,) = extracted(log, *said).runs
    assert run.throughput.value == pytest.approx(WORK[run.throughput.unit] / per_step, rel=0.01)
    assert any("no parser declares the format" in note for note in texts(run.notes))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("step {n} time {mean:.4f}", "step {step} time {step_time:ms:interval}"),
        ("step {n} time {interval:.4f}", "step {step} time {step_time:s:interval}"),
        ("step {n} v {mean_rate:.3f}", "step {step} v {rate:steps/s:interval}"),
    ],
)
def test_what_the_clock_of_the_lines_contradicts_gives_no_number(line: str, said: str, tmp_path: Path) -> None:
    log, _ = written(tmp_path, line, stamps=True, every=10)
    extraction = extracted(log, said)
    values = [run.throughput for run in extraction.runs]
    assert all(value.value is None and value.reason for value in values) and (values or extraction.skipped)


def test_a_refusal_prints_the_line_that_gives_the_number(tmp_path: Path) -> None:
    for line in (
        "train | it's step {n}/400 | loss 0.5123 | time {mean:.4f}s | lr 1e-4",
        '{{"step": {n}, "loss": 0.5, "throughput": {mean_rate:.3f}}}',
        "step {n} loss 0.5 | {mean:.4f} sec",
        "step {n} loss 0.5 | it's {mean:.4f} s",
    ):
        log, per_step = written(tmp_path, line, stamps=False, every=10)
        (skipped,) = extracted(log).skipped
        found = re.search(r"give (--as .+?)(?:, if|; the|, or|$)", skipped.reason)
        assert found, skipped.reason
        said = [text for text in shlex.split(found[1]) if text != "--as"]
        (run,) = extracted(log, *said).runs
        assert run.throughput.value == pytest.approx(WORK[run.throughput.unit] / per_step, rel=0.01)


def test_a_wrong_line_is_answered_with_the_place_where_it_stops_fitting(tmp_path: Path) -> None:
    log, _ = written(tmp_path, "step {n} loss 0.5 dt {mean_ms:.2f}", stamps=False, every=10)
    (skipped,) = extracted(log, "step {step} los 0.5 dt {step_time:ms:interval}").skipped
    assert skipped.reason == (
        "no line fits what --as says: line 1 does up to column 11, where '0.5' is expected and 's 0.5 dt 510.31' found"
        .replace("510.31", log.read_text().split()[5])
    )  # fmt: skip
    (skipped,) = extracted(log, "rate:samples/s=tps").skipped
    assert skipped.reason == "no number stands behind 'tps', which --as says; there are step, loss, dt, time, accuracy"
    (skipped,) = extracted(log, "step {step} loss 0.5 dt {step_time}").skipped
    assert skipped.reason == "no line says the unit of step_time: say it in --as, such as {step_time:ms}"


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("step", "expected a line such as"),
        ("{stp} of 400", "nothing is called 'stp'; did you mean step?"),
        ("step {step:s}", "step counts, and has no unit"),
        ("step {step} {rate:apples}", "'apples' is no unit of a rate"),
        ("step {step} {step_time:apples}", "'apples' is no unit of time"),
        ("step {step} {step_time:s:mean}", "'mean' does not say of which steps"),
        ("step {step} {step}", "step is said twice"),
        ("{elapsed:s:last}", "elapsed is counted from the beginning"),
    ],
)
def test_what_is_said_wrongly_is_refused_with_what_is_right(said: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        said_of((said,))


def test_the_command_the_file_and_python_say_the_same(tmp_path: Path) -> None:
    log, per_step = written(tmp_path, "step {n} dt {mean_ms:.2f}", stamps=False, every=10)
    said = "step {step} dt {step_time:ms:interval}"
    by_command = json.loads(run_perflog("extract", log, "--as", said, "-w", "0", "-f", "json").stdout)
    assert by_command["options"]["as"] == [said]
    (tmp_path / "perflog.toml").write_text(f"as = '{said}'\n")
    by_file = json.loads(run_perflog("extract", log, "-w", "0", "-f", "json").stdout)
    assert by_file["cases"] == by_command["cases"]
    (tmp_path / "perflog.toml").unlink()
    by_python = perflog.api.extract(log, as_=said, warmup=0)
    assert (
        by_python.frame["throughput"][0]
        == by_command["cases"][0]["metrics"]["throughput"]["value"]
        == pytest.approx(1 / per_step, rel=0.01)
    )
    (tmp_path / "perflog.toml").write_text("as = 'step'\n")
    assert f"{tmp_path / 'perflog.toml'}:1: as 'step': expected a line" in str(run_perflog("extract", log).exception)
    both = run_perflog("extract", log, "--as", said, "--values", "printed")
    assert isinstance(both.exception, UsageError) and "--as and --values exclude each other" in str(both.exception)


def test_a_log_that_does_not_fit_is_read_by_its_format_and_says_so() -> None:
    log = FIXTURES / "parsers" / "paddleclas" / "static.log"
    (plain,), (run,) = extracted(log).runs, extracted(log, "apples {step}").runs
    assert run.throughput.value == plain.throughput.value is not None
    assert any(note.startswith("read by its format: no line fits what --as says") for note in texts(run.notes))


_WORDS = st.sampled_from(["step", "loss:", "| lr", "time=", "[x]", "it's", "a {b}", "speed ->", "数据", "$(v)", "100%"])


@settings(max_examples=80, deadline=None)
@given(words=st.lists(_WORDS, min_size=2, max_size=6), chosen=st.data())
def test_the_line_to_paste_fits_its_own_table(words: list[str], chosen: st.DataObject) -> None:
    """For any words around the numbers, and any of the numbers as the step and the time."""
    rows = (" ".join(f"{word} {7 + row * (place + 1)}" for place, word in enumerate(words)) for row in range(9))
    (table, *_) = tables_of("\n".join(rows).encode())
    places = chosen.draw(st.permutations(range(len(table.kinds)))) if len(table.kinds) > 1 else [0]
    tokens = dict(zip(sorted(places[:2]), (Token("step"), Token("step_time", "ms", "last")), strict=False))
    said = said_of(tuple(text for text in shlex.split(to_paste(table, tokens)) if text != "--as"))
    (found, *_) = said_tables([table], said)
    assert found.columns.step is not None and found.columns.step.place == min(tokens)
    assert [value.meaning.place for value in found.values if value.quantity == "step_time"] == sorted(tokens)[1:]


def test_numbers_and_gaps_are_tried_one_way_alone() -> None:
    """A config file may be another's: a line of many numbers and gaps is answered, and does not go on for ever."""
    said = said_of(("0 " * 40 + "… 0 x " * 40 + "{step} end",))
    assert said.fit("1 " * 4_000 + "1" * 4_000).parts < len(said.line)


def test_a_parser_is_written_from_what_is_said(tmp_path: Path) -> None:
    log, per_step = written(tmp_path, "step {n} dt {mean_ms:.2f}", stamps=False, every=10)
    said = "step {step} dt {step_time:ms:interval}"
    done = run_perflog("parsers", "new", "mine", "--from", log, "-o", tmp_path, "--as", said)
    assert "Its numbers are what --as says." in done.stdout
    (run,) = extract_paths([log], Options(window=Window(Amount(0))), load_catalog([tmp_path])).runs
    assert run.parser == "mine"
    assert run.throughput.value == pytest.approx(1 / per_step, rel=0.01)
    with pytest.raises(UsageError, match="no line fits what --as says: line 1 does up to column 7"):
        write_parser("other", log, tmp_path, ("step {step:}x",))
