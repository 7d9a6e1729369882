"""The classes of logs that failed once: each is read and true, or its reason names the option that reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.inference.classes import CLASSES
from tests.tools.classes import PAGE, START, answer, classes_table


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_is_read_or_its_reason_names_the_option(name: str, tmp_path: Path) -> None:
    one = CLASSES[name]
    text, took = one.make()
    value, unit, reason = answer(text, tmp_path)
    if one.option:
        assert value is None
        assert one.option in reason
        return
    assert (unit, reason) == (one.unit, "")
    assert value == pytest.approx(one.work / took, rel=0.01)


def test_the_page_shows_what_each_class_gives(tmp_path: Path) -> None:
    assert classes_table(tmp_path) in PAGE.read_text(encoding="utf-8").partition(START)[2]
