"""Whose ``perflog.toml`` counts: ownership as git has it for repositories (G7)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from perflog.errors import ForeignConfigWarning
from perflog.settings.config import find_config, look_for_config, settings
from tests.support import FIXTURES, ROOT

STRANGER = 54321
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of everybody's with logs of this user's, and a config file above them."""
    (tmp_path / "mine/logs").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    log = FIXTURES / "seed004/logs_fp32/mindspore/resnet50/bz128/1n1g/rn50_b128_fp32_1.log"
    shutil.copy(log, tmp_path / "mine/logs/a.log")
    (tmp_path / "perflog.toml").write_text("warmup = 7\n[set]\ndevices = 16\n")
    return tmp_path


def give(*paths: Path) -> None:
    for path in paths:
        os.chown(path, STRANGER, STRANGER, follow_symlinks=False)


def test_ones_own_file_above_counts(shared: Path) -> None:
    assert find_config([shared / "mine/logs"]) == shared / "perflog.toml"


@needs_root
def test_a_strangers_file_above_is_passed_over_and_said(shared: Path) -> None:
    give(shared / "perflog.toml")
    found, ignored = look_for_config([shared / "mine/logs"])
    assert found is None and len(ignored) == 1
    assert f"{shared}/perflog.toml is not used: it lies above the logs" in ignored[0] and str(STRANGER) in ignored[0]
    with pytest.warns(ForeignConfigWarning, match="is not used"):
        assert settings({}, [str(shared / "mine/logs")]).values["warmup"] == "20"


@needs_root
def test_the_command_says_it_in_one_line(shared: Path) -> None:
    give(shared / "perflog.toml")
    done = subprocess.run(
        [sys.executable, "-m", "perflog", "extract", f"{shared}/mine/logs", "--quiet"],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and "warm-up 20 steps" in done.stdout and "16" not in done.stdout
    said = [line for line in done.stderr.splitlines() if "perflog.toml" in line]
    assert len(said) == 1 and said[0].startswith(f"perflog: {shared}/perflog.toml is not used")


@needs_root
def test_a_file_above_a_strangers_counts(shared: Path) -> None:
    (shared / "mine/perflog.toml").write_text("warmup = 9\n")
    give(shared / "mine/perflog.toml")
    assert find_config([shared / "mine/logs"]) == shared / "perflog.toml"


@needs_root
def test_a_link_of_a_strangers_to_ones_own_file_is_his(shared: Path) -> None:
    (shared / "perflog.toml").rename(shared / "own.toml")
    (shared / "perflog.toml").symlink_to("own.toml")
    give(shared / "perflog.toml")
    assert find_config([shared / "mine/logs"]) is None


@needs_root
def test_the_named_folder_is_taken_whole_and_what_stands_above_a_named_file_is_not(shared: Path) -> None:
    shutil.move(shared / "perflog.toml", shared / "mine/logs/perflog.toml")
    give(shared / "mine/logs/perflog.toml")
    assert find_config([shared / "mine/logs"]) == shared / "mine/logs/perflog.toml"
    assert find_config([shared / "mine/logs/a.log"]) is None


@needs_root
def test_a_repository_is_taken_whole_unless_a_stranger_put_it_there(shared: Path) -> None:
    """A checkout may be another user's, as in a container of root's; but not one that stands above others' logs."""
    give(shared / "perflog.toml")
    (shared / ".git").mkdir()
    assert find_config([shared / "mine/logs"]) == shared / "perflog.toml"
    give(shared / ".git")
    assert find_config([shared / "mine/logs"]) is None
    give(shared / "mine/logs")
    assert find_config([shared / "mine/logs"]) == shared / "perflog.toml"


@needs_root
def test_the_working_folders_are_held_to_the_same(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shared / "mine")
    assert find_config(()) == shared / "perflog.toml"
    give(shared / "perflog.toml")
    assert find_config(()) is None


def test_in_a_confined_run_nothing_above_its_folder_counts(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERFLOG_CONFINED", str(shared / "mine"))
    monkeypatch.chdir(shared / "mine")
    assert find_config([shared / "mine/logs"]) is None
    monkeypatch.setenv("PERFLOG_CONFINED", str(shared))
    assert find_config([shared / "mine/logs"]) == shared / "perflog.toml"


def test_what_a_config_file_sets_stands_under_the_table(shared: Path) -> None:
    for words in (["extract"], ["table", "--rows", "devices"]):
        done = subprocess.run(
            [sys.executable, "-m", "perflog", *words, f"{shared}/mine/logs"],
            env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert "; perflog.toml sets devices=16;" in done.stdout
