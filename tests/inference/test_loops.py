"""Loops that people write themselves: the number is the truth, or there is none; and the judge that says so is honest."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.tools.loops.judge import Given, Tally, judged, made, verdict
from tests.tools.loops.kinds import CLASSES
from tests.tools.loops.truth import quantity

SEED = 60


def _tally(seed: int, count: int) -> Tally:
    tally = Tally()
    for one in judged(seed, range(count)):
        tally.add(one)
    return tally


def _words(tally: Tally, seed: int) -> str:
    return "\n".join(
        f"python -m tests.tools.loops --seed {seed} --show {one.index}: {one.verdict}: {one.given}; {one.log.truth}"
        for one in tally.bad
    )


def test_no_number_is_wrong_or_invented() -> None:
    tally = _tally(SEED, 60)
    assert tally.logs == 60
    assert not tally.bad, _words(tally, SEED)


@pytest.mark.long
def test_hardly_a_number_of_many_is_wrong_or_invented() -> None:
    tally = _tally(2000, 2000)
    assert len(tally.bad) <= 2, _words(tally, 2000)


@pytest.mark.parametrize("kind", CLASSES)
def test_a_seed_makes_the_same_log_again(kind: str) -> None:
    first, again, other = made(SEED, 1, kind), made(SEED, 1, kind), made(SEED, 2, kind)
    assert first == again
    assert first.text != other.text


def test_logs_differ_in_many_dimensions() -> None:
    logs = [made(SEED, index) for index in range(300)]
    values: dict[str, set[str]] = {}
    for log in logs:
        for name, value in log.chosen.items():
            values.setdefault(name, set()).add(value)
    assert len(CLASSES) >= 12
    assert len([name for name, chosen in values.items() if len(chosen) > 1]) >= 40
    lines = sorted(len(log.text.replace("\r", "\n").splitlines()) for log in logs)
    assert lines[len(lines) // 10] >= 30 and lines[-len(lines) // 10] <= 450, lines


def test_the_judge_tells_truth_from_factors() -> None:
    """Of a log's true steps per second each usual misreading is wrong, and a truth beside a wrong number is a mark."""
    told = 0
    for index in range(200):
        log = made(SEED, index)
        for (work, scope), stretches in log.truth.rates.items() if log.truth.holds == "yes" else ():
            unit, value = f"{work}/s{'/' + scope if scope else ''}", sum(stretches[0]) / 2
            assert verdict(log, [Given(value, unit)]) == "right", (index, unit)
            for factor in (2, 0.5, 10, 1000, 60, 1.2):
                if not any(least * 0.8 <= value * factor <= most * 1.25 for least, most in stretches):
                    assert verdict(log, [Given(value * factor, unit)]) == "wrong", (index, unit, factor)
                    assert verdict(log, [Given(value * factor, unit, value)]) == "marked"
                    told += 1
    assert told > 1000


def test_a_number_for_a_log_without_one_is_invented() -> None:
    log = made(SEED, 0, "none: losses alone")
    assert verdict(log, [Given(1.0, "steps/s")]) == "invented"
    assert verdict(log, []) == "silent"
    held = replace(log, truth=replace(log.truth, holds="may"))
    assert verdict(held, []) == "refused"


@pytest.mark.parametrize(
    ("unit", "what"),
    [
        ("images/s", ("samples", "")),
        ("images/s/rank", ("samples", "rank")),
        ("tokens/s/device", ("tokens", "rank")),
        ("env_steps/s", ("frames", "")),
        ("steps/s", ("steps", "")),
        ("epochs/s", ("epochs", "")),
    ],
)
def test_units_are_compared_by_what_they_count(unit: str, what: tuple[str, str]) -> None:
    assert quantity(unit) == what
