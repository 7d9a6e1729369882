"""What a folder of logs shows: counts, medians, the growing run, and folders that no campaign made."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perflog import cli
from perflog.campaign import Progress, Watcher, watch
from perflog.campaign.progress import PLAN
from perflog.cli.run import has_ended, state_of
from perflog.errors import UsageError
from tests.support import FIXTURES

LOG = FIXTURES / "campaign/short/pytorch/cnn/bz16/1n1g/cnn_b16_fp32_1.log"
NAME = "pytorch/cnn/bz16/1n1g/cnn_b16_fp32"


def folder(tmp_path: Path, *endings: str) -> Path:
    for number, ending in enumerate(endings, 1):
        log = tmp_path / f"{NAME}_{number}.log{ending}"
        log.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(LOG, log)
    return tmp_path


def plan(tmp_path: Path, text: str) -> None:
    (tmp_path / ".perflog").mkdir(exist_ok=True)
    (tmp_path / ".perflog" / PLAN).write_text(text)


def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        watch(tmp_path / "none")


def test_a_folder_without_a_plan(tmp_path: Path) -> None:
    (tmp_path / "machine.json").write_text("{}")  # a campaign's folder
    (entry,) = watch(folder(tmp_path, "", ""))
    assert (entry.name, entry.wanted, entry.finished, entry.failed, entry.ended) == (NAME, 0, 2, 0, False)
    assert entry.unit == "samples/s"
    assert entry.throughput is not None


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"steps": "x", "warmup": 1, "logs": []}'])
def test_a_plan_that_is_none_is_as_good_as_none(tmp_path: Path, text: str) -> None:
    plan(tmp_path, text)
    assert watch(folder(tmp_path, ""))[0].wanted == 0


def test_a_log_that_cannot_be_read_is_counted_as_nothing_else(tmp_path: Path) -> None:
    """In a folder that a campaign made it would be one of the finished runs."""
    plan(tmp_path, "{}")
    (tmp_path / "a_1.log.gz").write_bytes(b"\x1f\x8b\x08\x00" + b"\x07" * 200)
    (entry,) = watch(tmp_path)
    assert (entry.finished, entry.unread, entry.throughput) == (0, 1, None)
    assert entry.reason.startswith("a_1.log.gz: the gzip data are damaged")
    done = CliRunner().invoke(cli.app, ["watch", str(tmp_path), "--once"])
    assert done.exit_code == 3 and "a_1.log.gz: the gzip data" in done.stdout


def test_of_logs_that_no_campaign_made_only_those_are_finished_that_say_so(tmp_path: Path) -> None:
    """A log may grow at any moment; one that holds the program's last words, and has been silent, has ended."""
    ended = FIXTURES / "seed001/GPUx8_time2train_ips-bs8.log"
    long_ago = time.time() - 3 * 3600 - 60
    for name, source in (("a_1.out", ended), ("a_2.err", LOG), ("b.txt", LOG)):
        shutil.copy(source, tmp_path / name)
        os.utime(tmp_path / name, (long_ago, long_ago))
    (tmp_path / "c.log").write_text("nothing known yet\n")
    (tmp_path / "notes.md").write_text("no log at all\n")
    first, second, third = watch(tmp_path)
    assert (first.name, first.finished, first.unit) == ("a", 1, "samples/s/rank")
    assert first.now.startswith("step 100, ") and first.now.endswith(", silent for 3 h")
    assert (second.name, second.finished, second.throughput) == ("b", 0, None)
    assert (third.name, third.finished, third.now) == ("c", 0, "no line of a known format")
    (tmp_path / "a_1.out").touch()
    assert watch(tmp_path)[0].finished == 0, "it grows"


@pytest.mark.parametrize(
    ("fixture", "last", "is_whole"),
    [
        ("mindspore/mindyolo.log", "Epoch 2/2, Step 400/400", True),
        ("mindspore/mindyolo.log", "Epoch 1/2, Step 400/400", False),
        ("mindspore/mindyolo.log", "Epoch 2/2, Step 300/400", False),
        ("bisenet/bisenetv2.log", "iter: 3000/3000", True),
        ("bisenet/bisenetv2.log", "iter: 2950/3000", False),
        ("vits/styletts.log", "Epoch [1/2], Step [500/500]", False),
        ("mmf/vqa.log", "num_updates: 6000", True),
        ("tqdm/bars.log", "500/500", False),
    ],
)
def test_a_log_has_all_its_steps_where_it_names_the_last_one_of_the_training(
    tmp_path: Path, fixture: str, last: str, is_whole: bool
) -> None:
    """The end of an epoch, or of a bar that another one may follow, is no end."""
    source = FIXTURES / "parsers" / fixture
    bars = "".join(f"\r{step / 5:3.0f}%|#| {step}/500 [00:{step // 10:02}<00:01, 10.00it/s]" for step in range(501))
    text = source.read_text() if source.exists() else bars + "\n"
    lines = text.splitlines(keepends=True)
    end = max(place for place, line in enumerate(lines) if last in line)
    log = tmp_path / "a.log"
    log.write_text("".join(lines[: end + 1]))
    (growing,) = watch(tmp_path)
    assert growing.finished == 0 and growing.now.endswith(", has all its steps") == is_whole
    os.utime(log, (time.time() - 90, time.time() - 90))
    assert watch(tmp_path)[0].finished == is_whole


@pytest.mark.parametrize(("form", "is_whole"), [("Epoch {e}/3 step {s}/100 loss 0.5 ", True), ("step {s}/100 ", False)])
def test_a_log_that_no_format_describes_is_watched_too(tmp_path: Path, form: str, is_whole: bool) -> None:
    """A total that may be an epoch's is no end of the training."""
    lines = [form.format(e=e, s=s) + f"time/step 0.0{50 + s % 7} s\n" for e in (1, 2, 3) for s in range(1, 101)]
    (tmp_path / "a.log").write_text("".join(lines[:-1]))
    assert "samples/s" in watch(tmp_path)[0].now or "steps/s" in watch(tmp_path)[0].now
    assert "all its steps" not in watch(tmp_path)[0].now
    (tmp_path / "a.log").write_text("".join(lines))
    assert watch(tmp_path)[0].now.endswith(", has all its steps") == is_whole


def test_a_planned_folder_from_its_beginning_to_its_end(tmp_path: Path) -> None:
    plan(tmp_path, json.dumps({"steps": 100, "warmup": 20, "logs": [f"{NAME}_{n}.log" for n in (1, 2)]}))
    assert watch(tmp_path) == [Progress(NAME, wanted=2)]
    watcher = Watcher(folder(tmp_path, "", ".running"))
    (entry,) = watcher.look()
    assert (entry.finished, entry.ended) == (1, False)
    assert entry.now.startswith("step 100 of 100, ")
    assert "silent" not in entry.now
    growing = tmp_path / f"{NAME}_2.log.running"
    os.utime(growing, (time.time() - 90, time.time() - 90))
    assert ", silent for 9" in watcher.look()[0].now
    with growing.open("a") as log:
        log.write("perflog run: failed: hang: no end within 4 s; 10 of 20 steps logged [PyTorch]\n")
    growing.rename(tmp_path / f"{NAME}_2.log.failed")
    (entry,) = watcher.look()
    assert (entry.finished, entry.failed, entry.ended, entry.now) == (1, 1, True, "")
    assert entry.reason.startswith("failed: hang")


def test_a_growing_log_without_a_number(tmp_path: Path) -> None:
    log = tmp_path / f"{NAME}_1.log.running"
    log.parent.mkdir(parents=True)
    log.write_text("starting\n")
    assert watch(tmp_path) == [Progress(NAME, now="step 0")]


def test_watch_has_ended_when_all_runs_have_and_says_what_it_waits_for() -> None:
    planned = Progress("a", wanted=3, finished=2)
    assert not has_ended([planned]) and "waiting for 1 planned run" in state_of([planned], False)
    ended = Progress("a", wanted=3, finished=2, failed=1)
    assert has_ended([ended]) and state_of([ended], False) == (
        "finished: all runs have ended or have all their steps (2 finished, 1 failed)"
    )
    plain, growing = Progress("b", finished=1), Progress("c", finished=1, now="step 3")
    assert has_ended([ended, plain]) and not has_ended([plain, growing]) and not has_ended([])
    assert "1 log that does not say that it has ended" in state_of([growing], False)
    assert "the first log" in state_of([], False) and "--stay" in state_of([ended], True)
    assert not has_ended([Progress("d", finished=1, unread=1)]), "it may be a training that goes on"
