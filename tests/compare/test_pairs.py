"""Which cases of two sides are paired, and what is said of those that are taken for equal."""

from __future__ import annotations

from typing import Any

import pytest

from perflog.cases.build import build_cases
from perflog.cases.case import Case
from perflog.cases.pairs import paired, way_to_pair
from perflog.compare.rule import names_of
from perflog.settings.options import Options
from tests.cases.test_cases import made


def case(*repeats: int, **facts: Any) -> Case:
    (built,) = build_cases([made(repeat=repeat or None, **facts) for repeat in repeats or (0,)], Options())
    return built


def pairs(old: Case, new: Case, *across: str) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """(across, alike) of each pair; empty where the two cases have no partner."""
    found, alone = paired([(old, old.label)], [(new, new.label)], across)
    assert (len(found), len(alone)) in ((1, 0), (0, 2))
    return [(pair.across, pair.alike) for pair in found]


@pytest.mark.parametrize(("old", "new"), [("ResNet-50", "resnet50"), ("resnet_50", "ResNet50"), ("GPT 2", "gpt-2")])
def test_spellings_of_a_model_are_one(old: str, new: str) -> None:
    alike = () if old.lower() == new.lower() else (f"model is {old} and {new}, taken for equal",)
    assert pairs(case(model=old), case(model=new)) == [((), alike)]


@pytest.mark.parametrize(
    ("old", "new"),
    [("resnet50", "resnet101"), ("llama-2-7b", "llama-27b"), ("bert", "bert-large"), ("rn50", "resnet50")],
)
def test_other_models_are_others(old: str, new: str) -> None:
    assert pairs(case(model=old), case(model=new)) == []


def test_what_pairs_most_cases_is_one_command() -> None:
    """Two frameworks whose reports name the model's version, the label and the kind of card on one side alone."""
    ours = [case(model="resnet50", devices=n, framework="pytorch", label="run") for n in (1, 8)]
    theirs = [case(model="resnet50v1.5", devices=n, framework="tensorflow", accelerator="V100") for n in (1, 8)]
    sides = [(one, one.label) for one in ours], [(one, one.label) for one in theirs]
    way = way_to_pair(*sides)
    assert way is not None and way.count == 2
    assert way.options == "--across framework,accelerator,label --alias resnet50v1.5=resnet50"
    assert len(paired(*sides, way.across, dict(way.aliases))[0]) == 2


def test_what_is_offered_to_paste_runs_nothing_of_a_log() -> None:
    one, other = case(model="$(made)"), case(model="$(made)v2")
    way = way_to_pair([(one, "")], [(other, "")])
    assert way is not None and way.options == "--alias '$(made)v2=$(made)'"


@pytest.mark.parametrize(
    ("old", "new"), [({"model": "bert"}, {"model": "bert-large"}), ({"batch_size": 32}, {"batch_size": 64})]
)
def test_other_work_is_never_offered(old: dict[str, Any], new: dict[str, Any]) -> None:
    one, other = case(**old), case(**new)
    assert way_to_pair([(one, "")], [(other, "")]) is None


def test_one_node_that_a_side_does_not_name() -> None:
    known, unknown = case(devices=8, nodes=1), case(devices=8, nodes=None)
    assert pairs(unknown, known) == [((), ("nodes is unknown and 1, taken for equal",))]
    assert pairs(known, unknown, "nodes") == [((), ())]
    assert pairs(case(devices=16, nodes=1), case(devices=16, nodes=None)) == []
    assert pairs(case(devices=8, nodes=2), unknown) == []


def test_a_lone_log_is_one_of_the_other_sides_repeats() -> None:
    series, lone = case(1, 2, 3, label="x"), case(label="x_2")
    said = "label is {} and {}, taken for repeats of one case"
    assert pairs(series, lone) == [((), (said.format("x", "x_2"),))]
    assert pairs(lone, series) == [((), (said.format("x_2", "x"),))]
    assert pairs(case(1, 2, label=""), case(label="2")) == [((), (said.format("unknown", "2"),))]
    assert pairs(series, case(label="x_7")) == []
    assert pairs(case(label="x_1"), case(label="x_2")) == []


@pytest.mark.parametrize(
    ("old", "new", "aliases", "what"),
    [
        # two logs with numbers of the other side's series, but no series themselves
        ([case(1, 2, 3, 4, label="x")], [case(label="x_2"), case(label="x_4")], {}, "label"),
        ([case(model="rn50"), case(model="resnet50")], [case(model="rn50")], {"resnet50": "rn50"}, "model"),
        ([case(precision="fp16"), case(precision="FP16")], [case(precision="fp16")], {}, "precision"),
        ([case(framework_version="2.0"), case(framework_version="2.1")], [case()], {}, "framework_version"),
        ([case(parser="a"), case(parser="b")], [case()], {}, "the format of their logs"),
    ],
)
def test_what_tells_apart_cases_of_which_none_can_be_chosen(
    old: list[Case], new: list[Case], aliases: dict[str, str], what: str
) -> None:
    found, alone = paired([(c, c.label) for c in old], [(c, c.label) for c in new], (), aliases)
    side, many = ("old", old) if len(old) > 1 else ("new", new)
    how = {
        "label": "give the logs of one of them alone, or --repeats-over label takes each for one repeat, where each is a machine",
        "the format of their logs": "give the logs of one of them alone",
    }.get(what, "choose with --where")
    assert not found and {one.reason for one in alone} == {
        f"{len(many)} cases on the {side} side are alike but for {what}: {how}"
    }


def test_names_by_labels_leave_out_the_folders_that_all_share() -> None:
    assert names_of([case(label="logs/night/xla"), case(label="logs/night/eager/2")]) == ["xla", "eager/2"]
    assert names_of([case(label="logs/xla"), case(label="logs/xla", devices=8)]) == ["1 device", "8 devices"]


def test_what_is_asked_for_may_differ() -> None:
    assert pairs(case(batch_size=32), case(batch_size=64)) == []
    assert pairs(case(batch_size=32), case(batch_size=64), "batch_size") == [(("batch_size is 32 and 64",), ())]
