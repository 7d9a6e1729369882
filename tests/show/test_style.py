"""Styles of tables: their files, what they extend, and numbers as text."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflog.errors import UsageError
from perflog.show.table import load_style


def written(folder: Path, text: str, name: str = "mine") -> Path:
    file = folder / f"{name}.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_style_stands_over_the_one_it_extends(tmp_path: Path) -> None:
    written(
        tmp_path, 'missing = "?"\n[titles.en]\nspeedup = "base"\nnodes = "nodes"\n[digits]\nmemory = "%.1f"\n', "base"
    )
    written(
        tmp_path, 'title = "T"\nextends = "base"\nrow_end = "|"\n[titles.en]\nspeedup = "mine"\n[digits]\nx = "%.2f"\n'
    )
    style = load_style("mine", [str(tmp_path)])
    assert (style.name, style.missing, style.row_end, style.layout) == ("mine", "?", "|", "tabulate")
    assert style.titles == {"en": {"speedup": "mine", "nodes": "nodes"}}
    assert style.digits == {"memory": "%.1f", "x": "%.2f"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('colum = "x"', "unknown key 'colum'; did you mean 'column'? (known: cell, column, digits, extends,"),
        ("missing = 0", "missing = 0: expected a text in quotes"),
        ("[digits]\nthroughput = 2", "digits.throughput = 2: expected a text in quotes"),
        ('[titles]\nen = "x"', "titles.en = 'x': expected a table of texts, such as { throughput = \"samples/s\" }"),
        ("extends = 5", "extends = 5: expected the name of a style"),
        ('extends = "mine"', "extends = 'mine': a style cannot extend itself (mine → mine)"),
        ("title = ", "not a readable TOML file: "),
    ],
)
def test_a_file_that_is_wrong(text: str, message: str, tmp_path: Path) -> None:
    file = written(tmp_path, text)
    with pytest.raises(UsageError) as error:
        load_style("mine", [str(tmp_path)])
    assert str(error.value).startswith(f"{file}: {message}")


def test_a_form_that_is_none(tmp_path: Path) -> None:
    written(tmp_path, '[digits]\nthroughput = "2"\n')
    with pytest.raises(UsageError, match=r"style mine: digits '2': expected a form such as %\.2f"):
        load_style("mine", [str(tmp_path)])
