"""The fixtures of formats, each read without its own format: as logs of programs that nobody described."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import CORPUS, catalog, mostly_long, needs_corpus, parser_fixtures
from tests.tools.unaided import EXPLAINED, EXPLAINED_REAL, PERFLOGS, Judged, judged, judged_of_corpus

NAMES = [name for name in catalog().by_name if name != PERFLOGS]


def of_format(name: str) -> list[Judged]:
    return [judged(*one) for one in parser_fixtures() if one[0] == name]


@pytest.mark.parametrize("name", mostly_long(NAMES, 12))
def test_a_log_without_its_format_gives_the_truth_or_no_number(name: str) -> None:
    wrong = [one for one in of_format(name) if one.verdict in ("wrong", "invented") and one.log not in EXPLAINED]
    assert not wrong


@pytest.mark.long
def test_what_is_explained_is_still_so() -> None:
    """An explanation that is needed no more would hide the next fault."""
    names = {log.partition("/")[0] for log in EXPLAINED}
    bad = {one.log for name in sorted(names) for one in of_format(name) if one.verdict in ("wrong", "invented")}
    assert set(EXPLAINED) == bad


#: Of the logs of one folder so many are read, and none that is larger, in bytes.
MOST_OF_FOLDER, LARGEST = 2, 8 << 20


@needs_corpus
@pytest.mark.long
def test_a_real_log_without_its_format_gives_the_truth_or_no_number() -> None:
    """The logs of the corpus were printed by real programs, whose lines the general reader then has alone."""
    folders: dict[str, list[Path]] = {}
    for log in sorted(path for path in CORPUS.rglob("*") if path.is_file() and path.stat().st_size < LARGEST):
        folders.setdefault(str(log.parent), []).append(log)
    chosen = [log for logs in folders.values() for log in logs[:MOST_OF_FOLDER]]
    found = [one for log in chosen if (one := judged_of_corpus(log)) is not None]
    wrong = [one for one in found if one.verdict == "wrong" and not one.log.startswith(tuple(EXPLAINED_REAL))]
    assert not wrong
    assert len([one for one in found if one.verdict == "right"]) > len(found) / 2
