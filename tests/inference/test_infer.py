"""Logs of formats that nobody wrote: the number is the truth, or there is none."""

from __future__ import annotations

import os
import random
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from perflog.errors import UsageError
from perflog.extraction import Extraction, extract_paths
from perflog.formats.catalog import load_catalog
from perflog.inference.new import write_parser
from perflog.inference.words import PAUSES
from perflog.logs.containers import stamped_text
from perflog.logs.find import LogFile
from perflog.notes import texts
from perflog.settings.options import Amount, Options, Window

OPTIONS = Options(window=Window(Amount(0)))


def written(folder: Path, line: str, *, stamps: bool, every: int = 1, steps: int = 400) -> tuple[Path, float]:
    """(a log, the seconds per step behind its first line): steps of about half a second, an evaluation's line now and
    then."""
    rng = random.Random(7)
    now, total, since, printed = datetime(2026, 5, 4, 10, 0, 0), 0.0, 0.0, []
    lines = []
    for step in range(1, steps + 1):
        seconds = 0.5 + 0.02 * rng.random()
        now, total, since = now + timedelta(seconds=seconds), total + seconds, since + seconds
        if step % every == 0:
            stamp = f"{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03} INFO " if stamps else ""
            mean = since / every
            numbers = {
                "n": step,
                "t": seconds,
                "ms": seconds * 1e3,
                "mean": mean,
                "mean_ms": mean * 1e3,
                "total": total,
            }
            rates = {"rate": 64 / seconds, "per_second": 1 / mean, "eighth": seconds / 8, "left": (400 - step) * 0.51}
            rates |= {"mean_rate": 64 / mean, "tokens": 64_000 / mean, "interval": since, "samples": step * 64}
            lines.append(stamp + line.format(**numbers, **rates))
            printed.append((step, total))
            since = 0.0
        if step % 100 == 0:
            lines.append("eval step 5 time 0.125s accuracy 0.5")
    log = folder / "train.log"
    log.write_text("\n".join(lines) + "\n")
    (first, begin), (last, end) = printed[0], printed[-1]
    return log, (end - begin) / (last - first)


def extracted(log: Path) -> Extraction:
    return extract_paths([log], OPTIONS, load_catalog())


#: Lines, whether a stamp stands before them, and how many steps lie between two.
TRUE: dict[str, tuple[str, bool, int]] = {
    "time beside stamps": ("train | step {n}/400 | loss 0.5123 | time {t:.3f}s | lr 1e-4", True, 1),
    "milliseconds beside stamps": ("[trainer] iteration={n} loss=0.51 step_time={ms:.1f}ms", True, 1),
    "a mean beside stamps": ("Iter: {n} Loss: 0.512 {mean:.3f} s/it", True, 10),
    "a bare time in seconds": ("update step={n} loss=0.512 dt={t:.4f}", True, 1),
    "time and rate": ("[train] iter: {n} loss=0.51 sec/iter: {t:.4f} {rate:.2f} samples/s", False, 1),
    "time and elapsed": ("Iteration {n}: loss 0.5, {mean_ms:.1f} ms/step, elapsed: {total:.2f}", False, 5),
    "steps per second": ("train: batch {n} loss 0.512 ({per_second:.3f} it/s)", True, 10),
    "two rates": ("step {n}, loss 0.49, {per_second:.3f} steps/sec, {mean_rate:.1f} examples/sec", True, 10),
    "the literal again in a name": ("iter={n} loss=0.5 time_per_iter={mean_ms:.1f}ms mem=12.1GB", True, 10),
    "JSON": ('{{"step": {n}, "loss": 0.5, "samples_per_second": {rate:.2f}, "dt": {t:.4f}}}', False, 1),
    "a dictionary": ("{{'iter': {n}, 'loss': 0.5, 'step_time': {mean:.4f}, 'lr': 1e-05}}", True, 10),
    "a place in an epoch": (
        "Epoch: [0][{n:5d}/400]\tloss 0.5 (0.6)\ttime {mean:.3f} (0.511)\tdata 0.011 (0.01)",
        True,
        10,
    ),
    "a place alone": ("[{n}/400] loss: 0.5 ({mean:.4f} sec/batch)", True, 10),
    "a part of the time beside it": ("Step {n} data_time: 0.0123 batch_time: {mean:.4f} eta: 0:12:11", True, 10),
    "tokens with commas": ("train_step: {n} | lr: 1e-4 | sec/step: {mean:.4f} | tokens/sec: {tokens:,.0f}", True, 10),
    "a time that was taken": ("Iteration {n}/400 took {mean:.4f} seconds, loss 0.5", True, 10),
    "the time of all steps since": ("global_step = {n}, loss = 0.512 ({interval:.3f} sec)", True, 10),
    "a time alone, each step's": ("train | step {n}/400 | loss 0.5123 | time {t:.3f}s", False, 1),
    "a rate alone": ("train step {n} loss 0.512 {rate:.2f} samples/s", False, 1),
    "stamps alone": ("train step {n} loss 0.512 lr 0.001", True, 1),
    "one number in two units, one in ten": (
        "step {n}: loss 0.5, {mean_ms:.1f} ms/step, {per_second:.3f} it/s",
        False,
        10,
    ),
    "two clocks": ("iter {n} loss 0.5 elapsed {total:.1f}s", True, 10),
    "units in brackets": ("step:{n} loss:0.5 step_time(ms):{mean_ms:.1f} tput(tok/s):{tokens:.0f}", True, 10),
    "frames": ("it: {n}, loss: 0.5, fps: {mean_rate:.1f}, time: {mean:.4f}", True, 10),
}


@pytest.mark.parametrize("name", TRUE)
def test_two_witnesses_that_agree_give_the_number(name: str, tmp_path: Path) -> None:
    line, stamps, every = TRUE[name]
    log, per_step = written(tmp_path, line, stamps=stamps, every=every)
    (run,) = extracted(log).runs
    assert run.parser == "inferred"
    assert any("no parser declares the format" in note for note in texts(run.notes))
    assert run.throughput.value == pytest.approx(WORK[run.throughput.unit] / per_step, rel=0.01)


#: The work of a step by the unit that is counted.
WORK = {"steps/s": 1, "samples/s": 64, "examples/s": 64, "images/s": 64, "frames/s": 64, "tokens/s": 64_000}

FALSE: dict[str, tuple[str, bool, int]] = {
    "a time alone, of one step in ten": ("train | step {n}/400 | loss 0.5123 | time {t:.3f}s", False, 10),
    "a time of another thing": ("train step {n} loss 0.512 time {eighth:.4f}s", True, 1),
    "the time that is left": ("train step {n} loss 0.512 time left {left:.1f}s", True, 1),
    "an evaluation": ("validation step {n} loss 0.512 time {t:.3f}s", True, 1),
    "the last step, one in ten": ("step {n} loss 0.5 time {t:.4f}s {rate:.2f} samples/s", False, 10),
    "a count of samples": ("Train Epoch: 1 [{samples}/25600 (3%)] Loss: 0.5 Time: {interval:.3f}", True, 10),
    "a rate beside the time of a part": ("step {n} loss 0.5 dt {eighth:.4f}s {rate:.2f} samples/s", True, 1),
    "the time of a part": ("step {n} loss 0.5 data_time {t:.4f}", True, 1),
    "a number without a unit": ("train step {n} loss 0.512 speed {per_second:.3f}", True, 1),
}


@pytest.mark.parametrize("name", FALSE)
def test_what_one_number_leaves_open_is_no_wrong_number(name: str, tmp_path: Path) -> None:
    """The clock of the lines may give the truth where the number beside it says something else."""
    line, stamps, every = FALSE[name]
    log, per_step = written(tmp_path, line, stamps=stamps, every=every)
    for run in extracted(log).runs:
        truth = pytest.approx(WORK[run.throughput.unit] / per_step, rel=0.01)
        assert run.throughput.value is None or run.throughput.value == truth


def test_an_inferred_format_is_written_as_a_parser_that_reads_the_log(tmp_path: Path) -> None:
    line, stamps, every = TRUE["time and rate"]
    log, per_step = written(tmp_path, line, stamps=stamps, every=every)
    assert write_parser("my_trainer", log, tmp_path).basis == "inferred"
    (run,) = extract_paths([log], OPTIONS, load_catalog([tmp_path])).runs
    assert run.parser == "my_trainer"
    assert run.throughput.value == pytest.approx(64 / per_step, rel=0.01)
    with pytest.raises(UsageError, match="is there already"):
        write_parser("my_trainer", log, tmp_path)
    (tmp_path / "prose.log").write_text("nothing is measured here\n" * 40)
    with pytest.raises(UsageError, match="no three lines are alike"):
        write_parser("other", tmp_path / "prose.log", tmp_path)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("eval step 5 accuracy 0.5", ["eval"]),
        ("run_validation took 3 s", ["run_validation"]),
        ("Saving checkpoint to /x", ["Saving", "checkpoint"]),
        ("val_loss 0.4", ["val"]),
        ("VALIDATION : Epoch 1", ["VALIDATION"]),
        ("dev loss 0.4", ["dev"]),
        ("device: 0, value 3, latest loss", []),
        ("samples seen 640, retrieval of fastest worker", []),
    ],
)
def test_words_of_a_pause_are_whole_words(line: str, said: list[str]) -> None:
    assert PAUSES.findall(line) == said


def test_a_collectors_stamps_are_read_of_regular_files_alone(tmp_path: Path) -> None:
    stamped, other, pipe = tmp_path / "stamped.log", tmp_path / "other.log", tmp_path / "pipe.log"
    text = b"2026-05-04T10:00:00Z step 1\n" * 400
    stamped.write_bytes(text)
    other.write_bytes(b"step 1\n" + text)
    os.mkfifo(pipe)
    assert stamped_text(LogFile(str(stamped), len(text)), 1 << 20) == text
    assert stamped_text(LogFile(str(stamped), len(text)), 10) is None
    assert stamped_text(LogFile(str(other), len(text) + 7), 1 << 20) is None
    assert stamped_text(LogFile(str(pipe), len(text)), 1 << 20) is None
    assert stamped_text(LogFile(str(tmp_path / "gone.log"), 10), 1 << 20) is None
