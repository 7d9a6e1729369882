"""What the page says first: true sentences of made cases whose order, ranges and marks are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from perflog.cases.case import Case
from perflog.cases.choosing import sections
from perflog.notes import Note
from perflog.show.headline import headline
from perflog.show.words import words
from tests.show.made import extraction, run


def said(cases: Sequence[Case], language: str = "en") -> str:
    """The headline of the only section of some cases, as text."""
    (section,) = sections(cases)

    def shown(case: Case, value: str) -> str:
        number = case.throughput.value if value == "throughput" else case.speedup
        return f"{number:g}"

    parts = headline(
        section, lambda case: f"<{case.key.get('devices')}>", shown, words("reports", language)["headline"]
    )
    return " ".join("".join(text for text, _, _ in sentence) for sentence in parts)


def cases_of(values: Mapping[int, Sequence[float]], **key: str) -> list[Case]:
    """A case for each number of devices, with the throughputs of its runs."""
    facts = {"framework": "PyTorch", "model": "m", **key}
    return extraction([run({**facts, "devices": d}, rate) for d, rates in values.items() for rate in rates]).cases


FAR = {1: [100, 101, 102, 103, 104, 105], 2: [180, 181, 182, 183, 184, 185]}
NEAR = {1: [100, 110, 120, 130, 140, 150], 2: [105, 115, 126, 135, 145, 155]}


def test_the_fastest_is_called_so_where_no_interval_reaches_it() -> None:
    assert said(cases_of(FAR)).startswith("Fastest of 2 cases: <2>, 182.5 samples/s. <2> scales to 1.78")
    near = said(cases_of(NEAR))
    assert near.startswith("Highest of 2 cases: <2>, 130.5 samples/s, but within the intervals of <1>.")
    assert "astest" not in near


def test_one_run_has_no_interval_and_the_order_is_not_sure() -> None:
    text = said(cases_of({1: [100], 2: [190]}))
    assert "2 of them have no interval, so the order is not sure." in text and "astest" not in text


def test_cases_of_an_unknown_model_are_not_ranked() -> None:
    cases = extraction([run({"framework": "PyTorch", "devices": d}, r) for d, rs in FAR.items() for r in rs]).cases
    text = said(cases)
    assert text.startswith("The logs do not name the model, so the cases are not ranked.") and "astest" not in text


@pytest.mark.parametrize("unit", ["steps/s", "samples/s/device"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_rates_that_do_not_count_the_whole_job_name_no_fastest(unit: str, language: str) -> None:
    """Two devices make fewer steps in a second than one, and more of the work."""
    facts = {"framework": "PyTorch", "model": "m"}
    rates = {1: [80.9, 81.0, 81.1], 2: [75.1, 75.2, 75.3]}
    cases = extraction([run({**facts, "devices": d}, r, unit) for d, rs in rates.items() for r in rs]).cases
    text = said(cases, language)
    assert text in (
        f"The cases are not ranked: {unit} does not count the work of the whole job.",
        f"各组配置不排先后：{unit} 不是整个任务的工作量。",
    )


def test_another_number_of_a_mark_may_be_the_higher_one() -> None:
    cases = cases_of(FAR)
    slow = next(case for case in cases if case.key["devices"] == 1)
    slow.mark = Note("line 7 is slow", "number", 0.9, 195.0, "without line 7")
    text = said(cases)
    assert "Highest of 2 cases: <2>" in text and "within the intervals of <1>" in text
    assert "2 of 2 cases are marked" in text  # the speedup of the other one is made of it


def test_a_single_case_is_no_winner_and_a_case_without_a_value_is_counted() -> None:
    assert said(cases_of({4: [100, 101]})) == "<4>: 100.5 samples/s."


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_form_can_be_filled_in_each_language(language: str) -> None:
    forms = words("reports", language)["headline"]
    assert forms.keys() == words("reports", "en")["headline"].keys()
    for values in (FAR, NEAR, {1: [100], 2: [190]}, {1: [100]}):
        assert "{" not in said(cases_of(values), language)
