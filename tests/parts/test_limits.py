"""A part of a stranger's: sizes from the footer first, and read only where the command line names it (G5)."""

from __future__ import annotations

import struct
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from perflog.cli import app
from perflog.errors import PerflogError
from perflog.parts.footer import FREE, FooterError, TooLargeError, read_footer, texts_of
from perflog.parts.part import KEY, read_part
from perflog.parts.rows import SHARED, Row, _Left, packed
from tests.support import FIXTURES

LOGS = FIXTURES / "seed004/logs_fp32/mindspore/resnet50/bz128/1n1g"


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a part of logs, alone in its folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "parts").mkdir()
    assert run("extract", LOGS, "--shard", "1/1", "-o", "parts/a.parquet").exit_code == 0
    return tmp_path / "parts/a.parquet"


def repeated(part: Path, rows: int, **columns: pl.Expr) -> pl.DataFrame:
    """So many rows as the first of a part is, but for their positions and these columns."""
    first = pl.read_parquet(part)[:1]
    frame = pl.DataFrame({"position": pl.Series(range(rows), dtype=pl.UInt64)})
    frame = frame.with_columns(**{name: pl.lit(first[name][0], first.schema[name]) for name in first.columns[1:]})
    return frame.with_columns(**columns)


def written_anew(part: Path, rows: pl.DataFrame) -> None:
    """The part with other rows and its own head."""
    head = pl.read_parquet_metadata(part)[KEY]
    rows.write_parquet(part, metadata={KEY: head}, row_group_size=1000)


def test_the_footer_says_what_polars_reads(part: Path) -> None:
    footer, rows = read_footer(part), pl.read_parquet(part)
    assert footer.rows == rows.height == 5
    assert footer.columns == ((*Row._fields, *(f"new_{name}" for name in SHARED)),)
    assert texts_of(part) == pl.read_parquet_metadata(part)
    assert rows.estimated_size() / 4 < footer.unpacked < footer.allowed
    assert footer.allowed == FREE + 100 * part.stat().st_size


@pytest.mark.parametrize(
    ("rows", "column", "length"),
    [(200, "numbers", 1_000_000), (100_000, "numbers", 10), (200, "new_texts", 1_000_000)],
    ids=["one long text in all rows", "very many rows", "a long record that all rows share"],
)
def test_a_part_that_unpacks_to_more_than_its_size_allows_is_refused(
    rows: int, column: str, length: int, part: Path
) -> None:
    """A record that is shared counts for each row: it is written as often."""
    text = packed(_Left("x" * length, True))
    is_first = pl.int_range(pl.len()) == 0
    frame = repeated(part, rows, texts=pl.lit(0, pl.Int32))
    written_anew(part, frame.with_columns(**{column: pl.when(is_first | (column == "numbers")).then(pl.lit(text))}))
    assert part.stat().st_size < 1_000_000
    with pytest.raises(
        PerflogError, match=r"expected a part within limits: it unpacks to .* PERFLOG_UNPACK_RATIO=10000"
    ):
        read_part(part)


def test_a_page_that_unpacks_to_much_is_refused_before_it_is(part: Path) -> None:
    """The text itself is long, and packs well: the pages' headers say so."""
    texts = pl.Series([bytes([number]) * 1_000_000 for number in range(40)])
    written_anew(part, repeated(part, 40).with_columns(numbers=texts))
    with pytest.raises(TooLargeError, match="it unpacks to"):
        read_footer(part)


def test_a_footer_and_pages_that_disagree_are_refused(part: Path) -> None:
    """Every seventh byte of the footer in turn, with all its bits turned: no other error, and no more memory."""
    content = part.read_bytes()
    (length,) = struct.unpack_from("<I", content, len(content) - 8)
    refused = 0
    for at in range(len(content) - 8 - length, len(content), 7):
        part.write_bytes(content[:at] + bytes([content[at] ^ 255]) + content[at + 1 :])
        try:
            assert read_footer(part).unpacked <= FREE + 100 * len(content)
        except FooterError:
            refused += 1
    assert refused > length / 350
    for end in range(0, len(content), 997):
        part.write_bytes(content[:end])
        with pytest.raises(FooterError):
            read_footer(part)


def test_a_large_file_of_another_program_is_no_part(part: Path) -> None:
    pl.DataFrame({"x": pl.Series([1] * 3_000_000)}).write_parquet(part)
    assert texts_of(part).keys() <= {"ARROW:schema"}
    assert "no line of a known format" in run("extract", "parts").output or run("extract", "parts").exit_code == 3


@pytest.mark.usefixtures("part")
def test_a_recipe_reads_a_part_only_where_the_command_line_allows_it() -> None:
    for named in ("parts", "parts/a.parquet"):
        Path("README.md").write_text(f"<!-- perflog: table {named} --rows devices -->\n<!-- /perflog -->\n")
        refused = run("readme", "--check", "README.md")
        assert "parts/a.parquet is a part of logs that were read elsewhere" in str(refused.exception)
        assert "perflog readme --allow" in str(refused.exception)
        assert run("readme", "--allow", named, "README.md").exit_code == 0
        assert "from 1 part, whose logs were not read here" in Path("README.md").read_text()


@pytest.mark.usefixtures("part")
def test_an_audit_reads_no_part_of_a_recipe() -> None:
    Path("README.md").write_text(
        "<!-- perflog: table parts --rows devices -->\n| devices | throughput |\n|---|---|\n| 1 | 369.81 |\n<!-- /perflog -->\n"
    )
    assert run("audit", "README.md", "--all").exit_code == 1


@pytest.mark.usefixtures("part")
def test_a_report_of_parts_says_how_its_regions_are_made_again() -> None:
    assert run("report", "parts", "-o", "R.md").exit_code == 0
    text = Path("R.md").read_text()
    assert "--allow parts" in text and "from 1 part, whose logs were not read here" in text
    assert run("readme", "--check", "--allow", "parts", "R.md").exit_code == 0


def test_in_a_confined_run_a_folder_brings_no_part_in(part: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("extract", "parts").exit_code == 0
    monkeypatch.setenv("PERFLOG_CONFINED", str(part.parents[1]))
    for words in (["extract", "parts"], ["compare", "parts", "parts"]):
        refused = run(*words)
        assert "is a part of logs that were read elsewhere" in str(refused.exception), words
    assert run("extract", "parts/a.parquet").exit_code == 0
    assert run("merge", "parts").exit_code == 0
    compared = run("compare", "parts/a.parquet", LOGS)
    assert "a.parquet: from 1 part, whose logs were not read here" in compared.output
