"""What the names of files and folders say, by patterns of the test's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflog.errors import ParserError
from perflog.formats.catalog import path_patterns
from perflog.formats.paths import PathPatterns, check_path_patterns, facts_of_path, load_path_patterns

TEXT = """
[[pattern]]
regex = 'gpu(?P<devices>[0-9]+)'
sample = { gpu8 = { devices = 8 } }

[[pattern]]
regex = '_b(?P<batch_size>[0-9]+)'
where = "file"
sample = { "x_b32" = { batch_size = "32" } }

[[pattern]]
regex = '^bz(?P<batch_size>[0-9]+)$|^batch(?P<batch_size_2>[0-9]+)$'
where = "folder"
sample = { bz64 = { batch_size = "64" }, batch16 = { batch_size = "16" } }

[[pattern]]
regex = '(?P<model>rn50|vgg)'
sample = { rn50 = { model = "rn50" } }
"""


def loaded(text: str, folder: Path) -> PathPatterns:
    file = folder / "paths.toml"
    file.write_text(text, encoding="utf-8")
    return PathPatterns(load_path_patterns(file))


@pytest.fixture
def patterns(tmp_path: Path) -> PathPatterns:
    return loaded(TEXT, tmp_path)


def read(path: str, patterns: PathPatterns) -> tuple[dict[str, tuple[object, str]], str]:
    """The facts of a path, each with the part that says it, and the label."""
    facts, label = facts_of_path(path, patterns)
    assert {fact.source for fact in facts} <= {"path"}
    return {fact.key: (fact.value, fact.where) for fact in facts}, label


def test_the_nearest_part_that_says_something_counts(patterns: PathPatterns) -> None:
    assert read("gpu4/bz64/gpu8/a_b32.log", patterns) == (
        {"batch_size": ("32", "a_b32.log"), "devices": ("8", "gpu8")}, "a"
    )  # fmt: skip


def test_what_no_pattern_understands_is_the_label(patterns: PathPatterns) -> None:
    assert read("new/gpu8-try/rn50_second.log", patterns) == (
        {"model": ("rn50", "rn50_second.log"), "devices": ("8", "gpu8-try")}, "new/try/second"
    )  # fmt: skip


def test_a_pattern_may_be_of_folders_or_of_files_alone(patterns: PathPatterns) -> None:
    assert read("x_b32/bz64", patterns) == ({}, "x_b32/bz64")
    assert read("batch16/bz64", patterns)[0] == {"batch_size": ("16", "batch16")}, (
        "batch_size_2 is another form of batch_size"
    )


def test_one_name_with_two_values_does_not_tell(patterns: PathPatterns) -> None:
    facts, label = read("gpu4/gpu1_gpu8.log", patterns)
    assert facts == {}, "the folder's value does not count either: the nearer name contradicts itself"
    assert label == ""


def test_one_name_with_two_models_has_the_first(patterns: PathPatterns) -> None:
    assert read("rn50-vgg.log", patterns)[0] == {"model": ("rn50", "rn50-vgg.log")}


def test_only_six_parts_are_looked_at(patterns: PathPatterns) -> None:
    assert read("gpu8/b/c/d/e/f.log", patterns)[0] == {"devices": ("8", "gpu8")}
    assert read("gpu8/a/b/c/d/e/f.log", patterns) == ({}, "a/b/c/d/e/f")


def test_a_path_of_another_system(patterns: PathPatterns) -> None:
    assert read("gpu8\\a.log", patterns) == ({"devices": ("8", "gpu8")}, "a")


def test_a_name_is_looked_at_once_per_set_of_patterns(tmp_path: Path) -> None:
    first = loaded(TEXT, tmp_path)
    assert first.facts_of_part("gpu8", "folder") is first.facts_of_part("gpu8", "folder")
    second = loaded(TEXT.replace("<devices>", "<nodes>").replace("devices =", "nodes ="), tmp_path)
    assert read("gpu8/x", first)[0] == {"devices": ("8", "gpu8")}
    assert read("gpu8/x", second)[0] == {"nodes": ("8", "gpu8")}, "a changed file is read anew"


def test_a_users_patterns_come_first(tmp_path: Path) -> None:
    loaded("[[pattern]]\nregex = '^gpu(?P<nodes>[0-9]+)$'\nsample = { gpu8 = { nodes = 8 } }\n", tmp_path)
    facts, _ = read("gpu8/x", path_patterns([tmp_path]))
    assert facts == {"nodes": ("8", "gpu8"), "devices": ("8", "gpu8")}
    assert next(iter(path_patterns([tmp_path]))).regex.pattern == "^gpu(?P<nodes>[0-9]+)$"


def test_samples_are_checked(tmp_path: Path) -> None:
    assert check_path_patterns(loaded(TEXT, tmp_path)) == []
    wrong = loaded(
        "[[pattern]]\nregex = 'gpu(?P<devices>.)'\nsample = { gpu16 = { devices = 16 } }\n[[pattern]]\nregex = 'x'\n",
        tmp_path,
    )
    assert check_path_patterns(wrong) == [
        "path pattern 'gpu(?P<devices>.)': 'gpu16' gives {'devices': '1'}, expected {'devices': '16'}",
        "path pattern 'x' has no sample",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'pattern' is missing: expected one [[pattern]] or more"),
        (
            "[[pattern]]\nregexp = 'x'",
            "pattern 1: unknown key 'regexp'; did you mean 'regex'? (known: regex, sample, set, where)",
        ),
        ("[[pattern]]\nregex = 5", "pattern 1: regex = 5: expected a text in quotes that is not empty"),
        (
            "[[pattern]]\nregex = 'x'\nwhere = 'files'",
            "pattern 1: where = 'files': expected one of any, file, folder; did you mean 'file'?",
        ),
        (
            "[[pattern]]\nregex = 'x'\n[[pattern]]\nregex = '('",
            "pattern 2: regex = '(': expected a regular expression of Python: missing )",
        ),
        ("[[pattern]]\nregex = 'x'\nsample = { a = 'b' }", "pattern 1: sample.a = 'b': expected a table"),
        ("[[pattern", "not a readable TOML file: "),
    ],
)
def test_a_file_that_is_wrong(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ParserError) as error:
        loaded(text, tmp_path)
    assert str(error.value).startswith(f"{tmp_path / 'paths.toml'}: {message}")
