"""The attacker names the path: each argument of each command as all that a path of a pull request may be (matrix.py)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.security.matrix import ARGUMENTS, DONE, KINDS, STRANGERS, Cell, cells, demanded, run_cell

#: A cell of each kind that the other tests of this folder do not have, and of each way in.
SAMPLE = (
    Cell("compare OLD NEW", "link to a folder", False),
    Cell("audit FILE", "link to a file", True),
    Cell("audit -o", "link to a file", True),
    Cell("save --database", "FIFO", True),
)


def check(cell: Cell, folder: Path) -> None:
    if cell.kind == "stranger's config above" and os.geteuid() != 0:
        pytest.skip("only root can give a file to somebody else")
    outcome = run_cell(cell, folder)
    assert outcome.verdict == demanded(cell), outcome
    assert STRANGERS not in outcome.stdout
    if cell.kind == "stranger's config above" and not cell.confined:
        assert "perflog.toml is not used" in outcome.stderr


@pytest.mark.parametrize("cell", SAMPLE, ids=str)
def test_a_path_of_a_pull_request_leads_nowhere_else(cell: Cell, tmp_path: Path) -> None:
    check(cell, tmp_path)


@pytest.mark.parametrize("cell", [cell for cell in cells() if cell not in SAMPLE], ids=str)
@pytest.mark.long
def test_no_path_of_a_pull_request_leads_anywhere_else(cell: Cell, tmp_path: Path) -> None:
    check(cell, tmp_path)


def test_the_matrix_has_every_kind_and_argument() -> None:
    """And no row in which everything is done: a kind that nothing refuses would show nothing."""
    asked = list(cells())
    assert {cell.argument for cell in asked} == set(ARGUMENTS) and {cell.kind for cell in asked} == set(KINDS)
    assert sum(demanded(cell) == DONE for cell in asked) < len(asked) / 3
