"""The names that a wrong name may have meant, and the one sentence that says them."""

from __future__ import annotations

from perflog.spelling import did_you_mean, did_you_mean_or_list, near_names


def test_those_that_begin_with_it_come_before_those_that_are_spelt_alike() -> None:
    assert near_names("hf", ["keras", "hf_trainer", "hf_results"]) == ["hf_results", "hf_trainer"]
    assert near_names("medain", ["median", "last"]) == ["median"]
    assert near_names("step", ["stop", "steps"]) == ["steps", "stop"]
    assert near_names("a", ["a1", "a2", "a3", "a4"], most=3) == ["a1", "a2", "a3"]
    assert near_names("", ["a1"]) == [] and near_names("zzz", ["a1"]) == []


def test_the_sentence() -> None:
    assert did_you_mean("jsn", ["json", "csv"]) == "; did you mean json?"
    assert did_you_mean("step", ["steps", "stop"]) == "; did you mean steps or stop?"
    assert did_you_mean("titel", ["title"], quoted=True) == "; did you mean 'title'?"
    assert did_you_mean("zzz", ["json"]) == ""
    assert did_you_mean("zzz", ["json"], otherwise="there is json") == "; there is json"


def test_what_there_is_where_none_is_near() -> None:
    assert did_you_mean_or_list("zzz", ["fp16", "fp32", "fp16"]) == "; there are fp16, fp32"
    assert did_you_mean_or_list("zzz", ["fp16"]) == "; there is fp16"
    assert did_you_mean_or_list("zzz", []) == ""
    many = [f"model{number}" for number in range(13)]
    assert did_you_mean_or_list("zzz", many).endswith("model10, model11, …")
