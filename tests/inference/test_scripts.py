"""Print statements of public training scripts that no format describes: the true number, or none."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from tests.tools.scripts.judging import Judged, Verdict, judged
from tests.tools.scripts.loop import Holds, Script, all_scripts

#: The share that is read of the scripts whose log holds a number; to be raised with what is read.
LEAST_READ = 0.7

EVERY = list(all_scripts())

Reader = Callable[[Script], Judged]


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """Has a script's log read, once."""
    folder = tmp_path_factory.mktemp("scripts")
    return cache(lambda script: judged(script, folder))


@pytest.mark.parametrize("script", EVERY, ids=lambda script: script.name)
def test_the_number_is_true_or_none_is_given(script: Script, read: Reader) -> None:
    found = read(script)
    assert not found.verdict.is_fault, f"{script.source}, {script.prints}: {found.said}, read by {found.by}"


def test_how_many_are_read(read: Reader) -> None:
    holding = [script for script in EVERY if script.holds in (Holds.TWO, Holds.ONE)]
    right = [script.name for script in holding if read(script).verdict is Verdict.RIGHT]
    print(f"{len(right)} of {len(holding)} logs that hold a number are read: {', '.join(right)}")
    assert len(right) >= LEAST_READ * len(holding)


@pytest.mark.parametrize("script", EVERY[::10], ids=lambda script: script.name)
def test_a_seed_is_another_machine(script: Script) -> None:
    one, same, other = script.trained(1), script.trained(1), script.trained(2)
    assert one.text == same.text
    assert one.speeds() != other.speeds()


def test_each_script_has_its_own_lines() -> None:
    assert len({(script.source, script.prints) for script in EVERY}) == len(EVERY)
    assert all(script.because for script in EVERY if script.holds is not Holds.NONE)
