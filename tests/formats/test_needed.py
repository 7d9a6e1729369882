"""What a regex needs: where none of it stands the regex matches nothing, and is rightly not tried."""

from __future__ import annotations

import os
import re

import pytest
from msgspec.structs import replace

from perflog.formats.catalog import path_patterns
from perflog.formats.paths import PathPattern, PathPatterns, may_match, needed_texts
from tests.support import FIXTURES


@pytest.mark.parametrize(
    ("regex", "needed"),
    [
        ("gpu[0-9]+", (("gpu0",),)),
        ("(?i)GPU=?(?P<devices>[1-9])x", (("gpu0x", "gpu=0x"),)),
        ("(?:gpu|npus)[3-9]", (("gpu0", "npus0"),)),
        (r"(?:bs|batch_size)\d", (("batch_size0", "bs0"),)),
        ("(?:bs|[0-9]+)x", (("0", "bs"), ("x",))),
        ("(?:fp16|fp32|fp8)", (("fp0",),)),
        ("(?<=Node_)(?:GEO|Sync)", (("geo", "sync"), ("node_",))),
        ("(?<!rank)[0-9]+", (("0",),)),
        ("(?:gpu)?[0-9]+", (("0",),)),
        ("(?:gpu)*x{2,}", (("x",),)),
        ("(?:gpu){0,2}", ()),
        ("[0-9]+n([0-9]+)c", (("0c",), ("0n0",))),
        ("b([0-9])(?:_|-){1,2}\\1z", (("b0-", "b0_"), ("z",))),
        ("[^0-9]x", (("x",),)),
        ("8卡", (("0卡",),)),
        ("卡", (("卡",),)),
        ("(?i)ſ", ()),
        ("", ()),
    ],
)
def test_what_is_needed(regex: str, needed: tuple[tuple[str, ...], ...]) -> None:
    assert needed_texts(regex) == needed


def test_a_text_beyond_ascii_may_always_match() -> None:
    needed = needed_texts("(?i)nodes[0-9]")
    assert re.search("(?i)nodes[0-9]", "nodeſ4")
    assert may_match(needed, "nodeſ4") and may_match(needed, "NODES4") and not may_match(needed, "node4")
    assert may_match(needed, "nodes9") and not may_match(needed, "nodes_9")
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
            found = [match.span() for match in pattern.regex.finditer(name)]
            regex = pattern.regex_for(name)
            if regex is None:
                skipped += 1
                assert not found, (pattern.source, name)
            else:
                matches = list(regex.finditer(name))
                assert [match.span() for match in matches] == found, (pattern.source, name)
                whole = [pattern.facts_of(match) for match in pattern.regex.finditer(name)]
                assert [pattern.facts_of(match) for match in matches] == whole, (pattern.source, name)
    assert skipped > len(all_names) * len(path_patterns()) * 3 // 4  # most names need few
    assert sum(pattern.choices is not None for pattern in path_patterns()) > 4


def test_names_say_the_same_with_all_patterns_tried() -> None:
    quick = path_patterns()
    slow = PathPatterns(tuple(PathPattern(p.source, p.where, p.samples, p.given, p.own) for p in quick))
    for name in names():
        assert quick.facts_of_part(name, "file") == slow.facts_of_part(name, "file"), name
        assert quick.facts_of_part(name, "folder") == slow.facts_of_part(name, "folder"), name


def test_of_many_words_those_are_compiled_that_a_name_may_hold() -> None:
    for pattern in (replace(pattern) for pattern in path_patterns() if "resnext" in pattern.source):
        for name in ("rn50_b128_fp32_3.log", "rn101"):
            regex = pattern.regex_for(name)
            assert regex is not None and "|" not in regex.pattern and "rn50" in regex.pattern
        assert "regex" not in vars(pattern)


def test_a_regex_is_compiled_when_a_name_may_match_it() -> None:
    patterns = PathPatterns(tuple(replace(pattern) for pattern in path_patterns()))  # others may have used those
    patterns.facts_of_part("mindspore", "folder")
    compiled = {pattern.source for pattern in patterns if "regex" in vars(pattern)}
    assert len(compiled) < len(patterns) // 10
    patterns.facts_of_part("8gpus", "folder")
    assert any("regex" in vars(pattern) and "gpus?" in pattern.source for pattern in patterns)
