"""A runner's folder, as data."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflog.campaign.runner import Cannot, load_runner, load_runners
from perflog.errors import UsageError

TEXT = """
title = "Mine"
framework = "F"
models = ["cnn"]
precisions = ["fp32"]
arguments = ["--steps={steps}"]

[commands]
one = ["{python}", "{here}/train.py"]

[environment]
OMP_NUM_THREADS = 1

[[cannot]]
when = { precision = "amp", nodes = 2 }
why = "because"
"""


def written(folder: Path, text: str) -> Path:
    (folder / "runner.toml").write_text(text, encoding="utf-8")
    return folder


def test_a_runner(tmp_path: Path) -> None:
    runner = load_runner(written(tmp_path, TEXT))
    assert (runner.name, runner.title, runner.models, runner.precisions) == (tmp_path.name, "Mine", ("cnn",), ("fp32",))
    assert dict(runner.commands) == {"one": ("{python}", "{here}/train.py")}
    assert dict(runner.environment) == {"OMP_NUM_THREADS": "1"}
    assert runner.cannot == (Cannot({"precision": "amp", "nodes": "2"}, "because"),)
    assert not runner.needs_environment
    assert load_runners([tmp_path])[tmp_path.name] == runner


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "Mine"', "", "'title' is missing: expected a text in quotes that is not empty"),
        (
            'title = "Mine"',
            'titel = "Mine"',
            "unknown key 'titel'; did you mean 'title'? (known: arguments, cannot, commands,",
        ),
        ('models = ["cnn"]', "models = []", 'models = []: expected a list of names, such as ["fp32", "amp"]'),
        (
            "one =",
            "on =",
            "commands: unknown key 'on'; did you mean 'one'? (known: each_node, first_node, mpirun, one, several)",
        ),
        (
            'one = ["{python}", "{here}/train.py"]',
            'one = "train"',
            "commands.one = 'train': expected a list of texts, such as",
        ),
        ('why = "because"', "", "cannot 1: 'why' is missing: expected a text in quotes that is not empty"),
        (
            "[environment]",
            "[environment]\nA = [1]",
            "environment.A = …: expected a text in quotes or a whole number or a number",
        ),
    ],
)
def test_a_file_that_is_wrong(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in TEXT
    with pytest.raises(UsageError) as error:
        load_runner(written(tmp_path, TEXT.replace(old, new)))
    assert str(error.value).startswith(f"{tmp_path / 'runner.toml'}: {message}")
