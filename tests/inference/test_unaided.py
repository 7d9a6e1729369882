"""The fixtures of formats, each read without its own format: as logs of programs that nobody described."""

from __future__ import annotations

import pytest

from tests.support import mostly_long, parser_fixtures
from tests.tools.unaided import EXPLAINED, PERFLOGS, Judged, judged

NAMES = list(dict.fromkeys(name for name, *_ in parser_fixtures() if name != PERFLOGS))


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
