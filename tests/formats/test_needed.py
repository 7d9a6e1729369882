"""What a regex needs: where none of it stands the regex matches nothing, and is rightly not tried."""

from __future__ import annotations

import os
import re

import pytest
from msgspec.structs import replace

from perflog.formats.catalog import path_patterns
from perflog.formats.paths import PathPattern, PathPatterns, may_match, needed_literals
from tests.support import FIXTURES


@pytest.mark.parametrize(
    ("regex", "needed"),
    [
        ("gpu[0-9]+", ("gpu",)),
        ("(?i)GPU=?(?P<devices>[1-9])x", ("gpu",)),
        ("(?:gpu|npus)[0-9]", ("gpu", "npus")),
        ("(?:bs|batch_size)[0-9]", ("b",)),  # Python's parser takes out what all branches begin with
        ("(?:bs|[0-9]+)x", ("x",)),
        ("(?:fp16|fp32)", ("fp",)),
        ("(?<=Node_)(?:GEO|Sync)", ("node_",)),
        ("(?<!rank)[0-9]+", ()),
        ("(?:gpu)?[0-9]+", ()),
        ("(?:gpu)*x{2,}", ("x",)),
        ("(?:gpu){0,2}", ()),
        ("8卡", ("8",)),
        ("卡", ()),
        ("(?i)ſ", ()),
        ("", ()),
    ],
)
def test_what_is_needed(regex: str, needed: tuple[str, ...]) -> None:
    assert needed_literals(regex) == needed


def test_a_text_beyond_ascii_may_always_match() -> None:
    needed = needed_literals("(?i)nodes[0-9]")
    assert re.search("(?i)nodes[0-9]", "nodeſ4")
    assert may_match(needed, "nodeſ4") and may_match(needed, "NODES4") and not may_match(needed, "node4")
    assert may_match((), "anything")


def names() -> list[str]:
    """Names of files and folders in the fixtures, of all samples, and what two samples make together."""
    found = {part for folder, folders, files in os.walk(FIXTURES) for part in (*folders, *files)}
    samples = sorted({name for pattern in path_patterns() for name in pattern.samples})
    shifted = [*samples[7:], *samples[:7]]
    joined = [f"{one}_{other}" for one, other in zip(samples, shifted, strict=True)]
    cut = [name[:-1] for name in samples] + [name[1:] for name in samples]
    varied = [*(name.upper() for name in samples), *(name.replace("s", "ſ").replace("k", "\u212a") for name in samples)]
    return sorted({*found, *samples, *joined, *cut, *varied})


def test_no_path_pattern_is_left_out_where_it_matches() -> None:
    all_names, skipped = names(), 0
    assert len(all_names) > 500
    for pattern in path_patterns():
        for name in all_names:
            if not may_match(pattern.needs, name):
                skipped += 1
                assert pattern.regex.search(name) is None, (pattern.source, name)
    assert skipped > len(all_names) * 15  # of 34 patterns: most names need less than half


def test_names_say_the_same_with_all_patterns_tried() -> None:
    quick = path_patterns()
    slow = PathPatterns(tuple(PathPattern(p.source, p.where, p.samples, p.given, p.own) for p in quick))
    for name in names():
        assert quick.facts_of_part(name, "file") == slow.facts_of_part(name, "file"), name
        assert quick.facts_of_part(name, "folder") == slow.facts_of_part(name, "folder"), name


def test_a_regex_is_compiled_when_a_name_may_match_it() -> None:
    patterns = PathPatterns(tuple(replace(pattern) for pattern in path_patterns()))  # others may have used those
    patterns.facts_of_part("mindspore", "folder")
    compiled = {pattern.source for pattern in patterns if "regex" in vars(pattern)}
    assert 0 < len(compiled) < len(patterns) // 2
    patterns.facts_of_part("8gpus", "folder")
    assert any("regex" in vars(pattern) and "gpus?" in pattern.source for pattern in patterns)
