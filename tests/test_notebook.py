"""The example notebook runs, and shows what its file holds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.tools.notebook import NOTEBOOK, executed


def shown(document: dict[str, Any]) -> list[tuple[str, str]]:
    """Every cell's source with what it prints and shows as text; pictures depend on the version of matplotlib."""
    cells = []
    for cell in document["cells"]:
        texts = [output.get("text") or output["data"]["text/plain"] for output in cell.get("outputs", [])]
        cells.append(("".join(cell["source"]), "".join(line for text in texts for line in text)))
    return cells


@pytest.mark.long
def test_the_notebook_shows_what_it_holds() -> None:
    """After a change that is meant, ``python -m tests.tools.notebook`` writes it anew."""
    held = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert shown(executed(NOTEBOOK)) == shown(held)
    code = [cell for cell in held["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] for cell in code)
    assert not [output for cell in code for output in cell["outputs"] if output["output_type"] == "error"]


def test_the_notebook_is_of_the_format_that_github_shows() -> None:
    held = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert (held["nbformat"], held["nbformat_minor"]) == (4, 4)
    for cell in held["cells"]:
        assert cell.keys() == {"cell_type", "metadata", "source"} | (
            {"execution_count", "outputs"} if cell["cell_type"] == "code" else set()
        )
