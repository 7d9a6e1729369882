"""Damage of every line alike in a few formats' logs, and that the tool sees what it is for; ``make fuzz`` takes all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support import FIXTURES, catalog
from tests.tools.laboratory import Faulty, Laboratory, Result, Subject, copied, subjects
from tests.tools.systematic import WIDTHS, ZONES, became, damages, sample, tried

#: Formats whose numbers had thousands' marks read in part, beside those that chance takes.
FORMATS = ("deepspeed", "oneflow_cnn", "open_instruct")
#: Damages that put something before each line alone: the number is the log's own, or there is none.
HARMLESS = ("cat -n", "grep -n", "mail quote")


@pytest.fixture(scope="module")
def outcomes() -> Mapping[str, Mapping[str, Sequence[str]]]:
    return dict(tried([*(FIXTURES / "parsers" / name for name in FORMATS), *sample(25, 8)]))


def test_no_damage_makes_another_number_without_a_word(
    outcomes: Mapping[str, Mapping[str, Sequence[str]]],
) -> None:
    assert {name: logs for name, found in outcomes.items() if (logs := found.get("wrong"))} == {}
    assert sum(len(logs) for found in outcomes.values() for logs in found.values()) > 60
    assert len(outcomes) == 2 * len(WIDTHS) + 7 + len(ZONES)


def test_what_stands_before_each_line_changes_no_number(outcomes: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
    for name in HARMLESS:
        found = outcomes[name]
        assert not found.get("off"), name
        assert len(found["same"]) > 0.6 * sum(map(len, found.values())), name


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Laboratory, Subject]]:
    folder = tmp_path_factory.mktemp("clean")
    lab = Laboratory(copied(folder, [FIXTURES / "parsers" / "megatron"]), ("total",))
    found = {one.name: one for one in subjects(folder, lab.given, lab.results(folder, catalog()))}
    yield lab, found["megatron/newest.log"]


def test_a_number_that_is_wrong_is_told_from_one_of_which_something_is_said(
    subject: tuple[Laboratory, Subject], tmp_path: Path
) -> None:
    lab, one = subject
    result = Result("", {"total": [one.clean["total"]]}, [])
    for times, expected in ((1.0, "same"), (1.3, "off"), (2.0, "wrong"), (0.4, "wrong")):
        assert became(replace(one, value=times * one.value), Faulty(""), result) == expected
    assert became(replace(one, unit="steps/s"), Faulty(""), result) == "said"
    assert became(one, Faulty(""), None) == "none"
    moved = damages([one])["zone +8 h"](one)
    assert isinstance(moved, str) and moved != "\n".join(one.lines)
    (tmp_path / "megatron").mkdir()
    (tmp_path / one.name).write_bytes(moved.encode("latin-1"))
    assert became(one, Faulty(moved), lab.results(tmp_path, catalog())[one.name]) in ("same", "said", "none")
