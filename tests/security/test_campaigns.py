"""A campaign file of a pull request, shown and not run: its logs and its hosts lie in its repository."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import Result

from perflog.errors import UsageError
from tests.security.hostile import SECRET, pull_request, run


def shown(tree: Path, line: str, *words: str) -> Result:
    file = tree / "campaign.toml"
    file.write_text(
        'frameworks = ["pytorch"]\nmodels = ["cnn"]\nprecisions = ["fp32"]\nbatch_sizes = [8]\ndevices = ["2n1g"]\n'
        + line
    )
    return run("run", "--dry-run", str(file), *words)


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ('logs = "../outside/new"', "--logs"),
        ('logs = "/tmp/perflog-was-here"', "--logs"),
        ('hostfile = "../outside/secret.log"', "--hostfile"),
        ('hostfile = "/proc/self/environ"', "--hostfile"),
        ('hostfile = "link"', "--hostfile"),
        ('hostfile = ".git/config"', "--hostfile"),
    ],
)
def test_its_places_are_its_own(line: str, option: str, tmp_path: Path) -> None:
    made = pull_request(tmp_path)
    (made.tree / "link").symlink_to("../outside/secret.log")
    done = shown(made.tree, line + "\n")
    name = line.partition(" ")[0]
    assert f"campaign.toml: {name} '" in str(done.exception)
    assert f"name it with {option}" in str(done.exception) or "may hold credentials" in str(done.exception)
    assert SECRET not in done.output + str(done.exception)
    assert made.outside_now() == made.files


def test_places_that_the_user_names_are_free(tmp_path: Path) -> None:
    made = pull_request(tmp_path)
    (made.outside / "hosts").write_text("one\ntwo\n")
    words = ("--logs", str(made.outside / "new"), "--hostfile", str(made.outside / "hosts"))
    done = shown(made.tree, 'logs = "../outside/new"\nhostfile = "../outside/hosts"\n', *words)
    assert done.exception is None and "[one]" in done.output, done.output


@pytest.mark.parametrize("line", ["repeats = 999999999", "repeats = 100001"])
def test_a_campaign_of_very_many_trainings_is_refused_at_once(line: str, tmp_path: Path) -> None:
    """All were listed first, until the memory was full."""
    done = shown(pull_request(tmp_path).tree, line + "\n")
    count = f"{int(line.split()[-1]):,}"
    assert f"campaign.toml: the campaign has {count} trainings: expected at most 100,000" in str(done.exception)


def test_devices_of_many_digits_are_none(tmp_path: Path) -> None:
    tree = pull_request(tmp_path).tree
    shown(tree, "")
    file = tree / "campaign.toml"
    file.write_text(file.read_text().replace("2n1g", f"1n{'9' * 5000}g"))
    done = run("run", "--dry-run", str(file))
    assert isinstance(done.exception, UsageError) and "devices" in str(done.exception)
