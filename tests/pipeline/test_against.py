"""The tool that compares two programs: what differs is named, and the log is kept."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import forks
from tests.support import FIXTURES, ROOT
from tests.tools import against

OLD = ROOT / "tests" / ".."


def test_what_differs_between_two_documents_is_named() -> None:
    old = {"a": [1.0, {"value": 1.0, "facts": [8]}]}
    new = {"a": [1.0, {"value": None, "reason": "why", "facts": [8, 9]}]}
    assert list(against.changes(old, old)) == []
    assert list(against.changes(old, new)) == [
        "a[1].value: 1.0 → null",
        "a[1].facts: [8] → [8, 9]",
        'a[1].reason: "lacking" → "why"',
    ]
    nearly = {"value": 1.0}, {"value": 1.0 + 1e-12}
    assert list(against.changes(*nearly, within=1e-9)) == []
    assert list(against.changes(*nearly)) == ["value: 1.0 → 1.000000000001"]


@pytest.fixture(autouse=True)
def one_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool takes one log, and mutates it."""
    log = FIXTURES / "parsers/averagemeter/apex.log"
    monkeypatch.setattr(against, "logs", lambda: {log.name: log.read_bytes()})
    monkeypatch.setattr(against, "UNHARMED", 1.0)


@pytest.mark.long
def test_one_program_twice_is_equal(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    assert list(against.try_mutated(against.Programs(OLD, tmp_path / "work", 0.0), tmp_path / "kept", 0, 2)) == [[]]
    assert not (tmp_path / "kept").exists()


def test_a_change_keeps_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all that two programs say, what one of them says otherwise is named alone."""
    run, kept = forks.perflog, tmp_path / "kept"
    (tmp_path / "work").mkdir()

    def changed(*arguments: str, checkout: Path, **given: Any) -> subprocess.CompletedProcess[str]:
        done = run(*arguments, checkout=ROOT, **given)
        if checkout == OLD and arguments[0] == "explain":
            done.stdout = done.stdout.replace('"averagemeter"', '"another"', 1)
        return done

    monkeypatch.setattr(forks, "perflog", changed)
    ((difference,),) = against.try_mutated(against.Programs(OLD, tmp_path / "work", 0.0), kept, 0, 1)
    (log,) = (file for file in kept.rglob("*") if file.is_file())
    assert difference.startswith(f"{log} explain together") and difference.endswith('"another" → "averagemeter"')
