"""Near factors, and the verdict that follows from several witnesses."""

from __future__ import annotations

import pytest

from perflog.evidence.witness import About, Agreement, Verdict, Witness, judged, near_factor, sentence


def witness(agreement: Agreement, about: About = "time per step", name: str = "the clock", **more: str) -> Witness:
    return Witness(name, about, "s", 0.25, 0.5, agreement, (3, 9), **more)


def test_near_a_factor_or_its_inverse() -> None:
    assert near_factor(2.05, (2.0, 8.0)) == 2
    assert near_factor(1 / 7.8, (2.0, 8.0)) == 8
    assert near_factor(2.07, (2.0, 8.0)) == 0
    assert near_factor(1.0, (1.0, 0.0)) == 0  # one device, no interval
    assert near_factor(0.0, (2.0,)) == 0


def test_a_contradiction_refuses_with_both_numbers() -> None:
    verdict = judged([witness("contradicts")])
    assert verdict.reason == (
        "the log contradicts itself: time per step is 0.25 s by the measurements and 0.5 s by the clock (lines 3 to 9)"
    )
    assert (verdict.doubts, verdict.corroborated) == ((), False)


def test_another_witness_of_the_same_quantity_settles_a_contradiction() -> None:
    """It is still said."""
    verdict = judged([witness("contradicts"), witness("agrees", name="elapsed")])
    assert (verdict.reason, verdict.corroborated) == ("", True)
    assert verdict.doubts == (sentence(witness("contradicts")),)
    assert judged([witness("contradicts"), witness("agrees", about="throughput")]).reason == ""


@pytest.mark.parametrize("other", ["slower", "silent", "doubts"])
def test_what_does_not_agree_settles_nothing(other: Agreement) -> None:
    assert judged([witness("contradicts"), witness(other, name="elapsed")]).reason != ""


def test_a_witness_of_another_quantity_settles_nothing() -> None:
    """That rate times time is a whole number says nothing of a clock that is at odds with both."""
    assert judged([witness("contradicts"), witness("agrees", about="work per step")]).reason != ""


def test_at_most_two_contradictions_are_told() -> None:
    verdict = judged([witness("contradicts", name=name) for name in ("a", "b", "c")])
    assert verdict.reason.count("the log contradicts itself") == 2


def test_doubts_and_remarks_are_told_once() -> None:
    verdict = judged([witness("doubts"), witness("doubts"), witness("slower", remark="half of the time")])
    assert (verdict.doubts, verdict.remarks) == ((sentence(witness("doubts")),), ("half of the time",))
    assert not verdict.corroborated


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (100.5, "two numbers of the log are slightly apart (0.5%): "),
        (1 / 1.005 * 100, "two numbers of the log are slightly apart (0.5%): "),
        (112, "two numbers of the log are apart (12%): "),
        (170, "two numbers of the log are far apart (70%): "),
        (100 / 3.4, "two numbers of the log are far apart (3.4 times): "),
    ],
)
def test_a_doubts_words_grade_with_its_size(told: float, said: str) -> None:
    doubt = Witness("the clock", "throughput", "samples/s", 100, told, "doubts", (3, 9))
    assert sentence(doubt).startswith(f"{said}throughput is 100 samples/s by the measurements and ")


def test_without_witnesses_nothing_is_corroborated() -> None:
    assert judged([]) == Verdict()
    assert not Verdict().corroborated


def test_one_line_is_named_alone() -> None:
    told = Witness("the program's own summary", "throughput", "samples/s", 4, 40, "contradicts", (7, 7))
    assert sentence(told).endswith("and 40 samples/s by the program's own summary (line 7)")
