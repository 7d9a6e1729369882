"""A text as tables: what each row holds is what stands on its line, whatever stands on the others."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perflog.matching.tables import Table, own_words, tables_of

NUMBERS = st.one_of(
    st.integers(0, 10**7).map(str),
    st.integers(-999, 999).map(lambda n: f"{n / 7:.3f}"),
    st.integers(1, 10**9).map(lambda n: f"{n:,}"),
    st.floats(1e-9, 1e9).map(lambda x: f"{x:.3e}"),
    st.sampled_from(["nan", "inf", "12.5K"]),
)
WORDS = st.text("abcdefgh", min_size=2, max_size=6)


@given(WORDS, WORDS, st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=20))
def test_each_row_holds_the_numbers_of_its_line(one: str, two: str, rows: list[tuple[str, str]]) -> None:
    if any(word in ("nan", "inf") for word in (one, two)):
        return
    text = "".join(f"line {n} {one}: {a} | {two} = {b} end\n" for n, (a, b) in enumerate(rows))
    (table,) = tables_of(text.encode())
    assert table.words == ("line ", f" {one}: ", f" | {two} = ", " end")
    assert [list(table.column(place).texts) for place in (1, 2)] == [[a for a, _ in rows], [b for _, b in rows]]
    assert table.lines.tolist() == list(range(1, len(rows) + 1))


@given(
    st.lists(
        st.sampled_from(["step 1/20 loss 0.5", "step 12/20 loss nan", "eval 3", "no number", "", "x 1,234"]),
        max_size=30,
    )
)
def test_a_row_depends_on_its_line_alone(lines: list[str]) -> None:
    """The tables of two texts are those of both, one behind the other."""
    half = len(lines) // 2
    whole = _rows("\n".join(lines))
    first, second = _rows("\n".join(lines[:half])), _rows("\n".join(lines[half:]))
    moved = {(outline, line + half, texts) for outline, line, texts in second}
    assert whole == first | moved


def _rows(text: str) -> set[tuple[str, int, tuple[str, ...]]]:
    found = set()
    for table in tables_of(text.encode()):
        columns = [table.column(place).texts for place in range(len(table.kinds))]
        found |= {
            (re.sub(" +", " ", table.outline), int(line), tuple(row))
            for line, *row in zip(table.lines, *columns, strict=True)
        }
    return found


def test_what_a_terminal_draws_over_itself_are_rows_of_one_line() -> None:
    text = "".join(
        f"\rTraining: {n:3d}%|{'#' * (n // 10):<10}| {n}/100 [00:{n // 2:02d}<00:50, 2.00it/s]" for n in range(10, 60)
    )
    (table,) = tables_of(f"header\n{text}\nend\n".encode())
    assert table.kinds == ("number", "bar", "number", "number", "clock", "clock", "number")
    assert set(table.lines.tolist()) == {2}
    assert table.column(2).values.tolist() == list(range(10, 60))
    assert table.column(4).values.tolist() == [n // 2 for n in range(10, 60)]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("2026-05-04 10:00:00,123 INFO step 5 loss 0.5", "step 0 loss 0.0"),
        ("I0504 10:00:00.123456 4127 train.py:96] step 5", "step 0"),
        ("[2026-05-04 10:00:00] [INFO] [train.py:214:main] step 5", "step 0"),
        ("2026-05-04 10:00:00.123 | INFO     | __main__:main:42 - step 5", "step 0"),
        ("[1,0]<stdout>:step 5", "step 0"), ("Mon May  4 10:00:00 2026 step 5", "step 0"), ("12 of 20", "0 of 0"),
    ],
)  # fmt: skip
def test_what_loggers_put_before_a_line_is_not_its_own(line: str, words: str) -> None:
    assert own_words(line) == words


def test_padding_and_signs_make_no_other_shape() -> None:
    text = "".join(f"[{n:4d}/200] lr: {1 / n:.1e} x {n - 30}\n" for n in range(5, 200))
    (table,) = tables_of(text.encode())
    assert table.column(0).values.tolist() == list(range(5, 200))
    assert table.column(3).values.tolist() == [n - 30 for n in range(5, 200)]


def test_commas_and_colons_are_told_by_the_digits_behind_them() -> None:
    tables = {table.outline: table for table in tables_of(b"a 1,234 b\na 1,23 b\nc 0:10 d\nc 0:1 d\n")}
    assert tables["a # b"].column(0).texts == ["1,234"]
    assert tables["a #,# b"].column(1).texts == ["23"]
    assert tables["c # d"].kinds == ("clock",)


def test_lines_of_other_shapes_between_rows_are_at_hand() -> None:
    first = _of("start\nstep 1 a\nstep 2 a\neval 0.5\nstep 3 a\n", "step # a")
    assert first.other_lines() == ["eval 0.5"]
    assert first.others(lambda line: "eval" in line) == [4]
    assert first.lines_within(0, 2) == ["start"]


def _of(text: str, outline: str) -> Table:
    return next(table for table in tables_of(text.encode()) if table.outline == outline)


def test_lines_of_one_shape_are_looked_at_once() -> None:
    text = b"".join(b"step %d loss %.4f time %.3fs\n" % (n, 5 / n, 0.2) for n in range(1, 16_000))
    (table,) = tables_of(text)
    assert len(table) == 15_999
    assert len(table._parts) < 10  # one for each number of signs around the digits
