"""A hostile pull request, in the folder of which commands are run."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflog.settings.config import DATABASE
from tests.security.hostile import LEAKED, PullRequest, pull_request


@pytest.fixture
def request_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PullRequest:
    made = pull_request(tmp_path)
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(made.tree)
    monkeypatch.delenv(DATABASE, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    for name, value in LEAKED.items():
        monkeypatch.setenv(name, value)
    return made
