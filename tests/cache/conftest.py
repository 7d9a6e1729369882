"""The cache in tests: perflog's own files may be edited while they run, which would end its use."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflog.cache import program
from tests.cache.support import Place, logs_in


@pytest.fixture(autouse=True)
def one_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program as it was when the test began: its hash is computed once, whenever its files were changed."""
    monkeypatch.setattr(program, "LOADED_AT", 1 << 62)
    kept = program.files_hash()
    monkeypatch.setattr(program, "files_hash", lambda: kept)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Three logs, whose outcomes are kept."""
    made = Place(tmp_path)
    logs_in(made.logs)
    assert len(made.require_equal()) == 3
    assert made.require_equal() == []
    return made
