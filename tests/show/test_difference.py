"""What differs between two texts: short ones line by line, long ones in a time that their length tells."""

from __future__ import annotations

import difflib

from perflog.show.regenerate import MOST_MATCHED, differences
from perflog.show.regions import merged


def test_a_short_text_is_shown_as_diff_shows_it() -> None:
    old, new = "a\nb\nc\n", "a\nx\nc\n"
    expected = list(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "R.md", "R.md (from the logs)"))
    assert list(differences(old, new, "R.md", "R.md (from the logs)")) == expected


def test_a_long_text_of_repeated_lines_takes_no_time() -> None:
    """200,000 lines of 150 kinds: matching them with each other takes hours."""
    lines = [f"{number % 150}\n" for number in range(200_000)]
    new = [*lines[:10], "new\n", *lines[11:150_000], "also new\n", *lines[150_000:]]
    shown = list(differences("".join(lines), "".join(new), "R.md", "R.md"))
    assert shown[2] == f"@@ -11,{150_000 - 10} +11,{150_000 - 9} @@\n"
    assert shown[3] == "-10\n" and shown[-1] == "+also new\n"
    assert sum(line.startswith("-") for line in shown[3:]) == 150_000 - 10


def test_a_line_added_to_a_long_text_is_shown_alone() -> None:
    lines = ["same\n"] * MOST_MATCHED
    assert list(differences("".join(lines), "".join([*lines, "more\n"]), "a", "b"))[3:] == ["+more\n"]
    assert list(differences("".join(lines), "".join(lines[1:]), "a", "b"))[3:] == ["-same\n"]


def test_many_new_rows_in_a_long_table_take_no_time() -> None:
    """Each new row was looked for in the whole table: 2,000 rows in one of 100,000 took half an hour."""
    old = ["| n | v |", "|--|--|", *(f"| old{number} | 1 |" for number in range(100_000))]
    new = ["| n | v |", "|--|--|", *(f"| new{number} | 2 |" for number in range(2_000))]
    lines, kept = merged(old, new, 1)
    assert lines[2:2002] == new[2:] and lines[2002:] == old[2:] and len(kept) == 100_000


def test_new_rows_stand_behind_those_they_follow() -> None:
    old = ["| n | v |", "|--|--|", "| 4 | 1 |", "| by hand | 0 |", "| 2 | 1 |"]
    new = ["| n | v |", "|--|--|", "| 1 | 9 |", "| 2 | 9 |", "| 3 | 9 |", "| 4 | 9 |", "| 5 | 9 |", "| 6 | 9 |"]
    lines, kept = merged(old, new, 1)
    assert [line.split("|")[1].strip() for line in lines[2:]] == ["1", "4", "5", "6", "by hand", "2", "3"]
    assert kept == ["by hand"]
