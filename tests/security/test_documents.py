"""Reports of strangers: Markdown and HTML that take a reader a time that grows with its square.

Each text here took minutes, ended the audit, or would have filled the memory.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from perflog.audit.claims import claims
from perflog.audit.document import MOST_PLACES, Document, HtmlTable, html_parts, read_document

#: Characters of a text, and the seconds of processor time that it may take: thirty times what it takes, and less than
#: where the time grows with the square of the length.
LENGTH, MOST_SECONDS = 50_000, 4.0
TABLE = "| gpus | ips |\n|---|---|\n"

MARKDOWN = {
    "opened brackets": "[" * LENGTH,
    "opened brackets with words": "[a" * (LENGTH // 2),
    "a target without an end": "[a](" + "x" * LENGTH,
    "targets without an end": "[a](" * (LENGTH // 4),
    "blanks in a heading": "# a" + " " * LENGTH + "b",
    "marks in a heading": "# a" + " #" * (LENGTH // 2) + "b",
    "blanks below a heading": "|a|\n|-" + " " * LENGTH + "x",
    "dashes below a heading": "|a|\n" + "|-" * (LENGTH // 2) + "x",
    "a word": "a" * LENGTH,
    "a number": "1" * LENGTH,
    "blanks in a cell": TABLE + "| 8 |" + " " * LENGTH + "x |",
    "brackets in a cell": TABLE + "|" + "[" * LENGTH + "|2|",
    "tables": ("some words\n\n" + TABLE + "| 1 | 2 |\n\n") * (LENGTH // 200),
}
HTML = {
    "tags without an end": "<a" * (LENGTH // 2),
    "tags with blanks": "<a " * (LENGTH // 3),
    "attributes without an end": "<a b=" * (LENGTH // 5),
    "quotes without an end": "<a b='" * (LENGTH // 6),
    "comments without an end": "<!--" * (LENGTH // 4),
    "sections without an end": "<![" * (LENGTH // 3),
    "cells in one row": "<table><tr>" + "<td>1" * (LENGTH // 5),
}


def judged(folder: Path, name: str, text: str) -> Document:
    """A document that was read with its claims, within the time that it may take."""
    file = folder / name
    file.write_text(text, encoding="utf-8")
    began = time.process_time()
    document = read_document(file)
    list(claims(document, folder))
    assert time.process_time() - began < MOST_SECONDS
    return document


@pytest.mark.parametrize("kind", MARKDOWN)
def test_hostile_markdown_takes_linear_time(kind: str, tmp_path: Path) -> None:
    judged(tmp_path, "report.md", MARKDOWN[kind])


@pytest.mark.long
@pytest.mark.parametrize("kind", HTML)
def test_hostile_html_takes_linear_time(kind: str, tmp_path: Path) -> None:
    judged(tmp_path, "report.html", HTML[kind])


@pytest.mark.long
def test_a_table_of_many_rows_is_read_whole(tmp_path: Path) -> None:
    rows = 100_000
    file = tmp_path / "report.md"
    file.write_text(TABLE + "| 8 | 2.5 |\n" * rows)
    document = read_document(file)
    assert len(document.tables[0].rows) == rows
    assert sum(claim.number is not None and claim.number.value == 2.5 for claim in claims(document, tmp_path)) == rows


def test_a_line_of_10_mb_is_read(tmp_path: Path) -> None:
    file = tmp_path / "report.md"
    file.write_text("x" * 10_000_000 + "\n" + TABLE + "| 8 | 2.5 |\n")
    document = read_document(file)
    assert [row.cells for row in document.tables[0].rows] == [("8", "2.5")]


@pytest.mark.parametrize("cell", ["1e999", "1e-999", "1e" + "9" * 5000, "9" * 5000, "0." + "1" * 5000])
def test_numbers_that_nobody_means_are_none(cell: str, tmp_path: Path) -> None:
    document = judged(tmp_path, "report.md", f"{TABLE}| 8 | {cell} |\n| {cell} | 3 |\n")
    found = [(claim.number.value if claim.number else None, claim.facts.get("devices")) for claim in
             claims(document, tmp_path)]  # fmt: skip
    assert found == [(None, 8), (3.0, None)]


def test_cells_that_span_fill_no_memory() -> None:
    cells = '<tr><td colspan="1000" rowspan="1000">x</td></tr>' * 5000
    (table,) = html_parts(f"<table>{cells}</table>")
    assert isinstance(table, HtmlTable)
    assert sum(len(texts) for _, texts in table.texts()) <= 3 * MOST_PLACES


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("a [log](x.log) b [(8)](y(1).log)", [("log", "x.log"), ("(8)", "y(1).log")]),
        ("[![badge](b.svg)](page.md)", [("badge", "page.md")]),
        ("[a [b](c)", [("b", "c")]),
        ("[a] (b) [c]( d ) [e]", []),
        ("[a](b)](c)", [("a", "b")]),
    ],
)  # fmt: skip
def test_links_are_read_as_written(text: str, links: list[tuple[str, str]], tmp_path: Path) -> None:
    document = judged(tmp_path, "report.md", text + "\n")
    assert [(link.text.lstrip("!"), link.target) for link in document.links] == links


def test_html_is_read_as_written() -> None:
    text = (
        '<!DOCTYPE html><h1 title="a > b">One</h1><!-- <p>no</p>\n --><p>1 < 2 & 3 > 2</p><script>if (a < b) {}</script>'
        "<p><a href='x.log'>log</a></p><br><![CDATA[ what ]]>"
    )
    parts = [
        (part.line, part.text, part.level, part.links) for part in html_parts(text) if not isinstance(part, HtmlTable)
    ]
    assert parts == [
        (1, "One", 1, ()),
        (2, "1 < 2 & 3 > 2", 0, ()),
        (2, "log", 0, (("log", "x.log"),)),
        (2, "<![CDATA[ what ]]>", 0, ()),
    ]
