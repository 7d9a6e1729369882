"""Which fact counts, what follows from facts, and what is said where they disagree."""

from __future__ import annotations

from typing import Any

import pytest

from perflog.formats.vocabulary import SOURCES, Fact
from perflog.runs.metadata import Metadata, merge


def merged(*facts: tuple[str, Any, str]) -> Metadata:
    return merge(Fact(key, value, source, f"at {number}") for number, (key, value, source) in enumerate(facts))


def test_sources_by_their_precedence() -> None:
    assert SOURCES == ("command line", "config", "log", "path", "machine", "parser")
    for number, source in enumerate(SOURCES):
        facts = [("model", f"of {other}", other) for other in reversed(SOURCES[number:])]
        found = merged(*facts)
        assert (found.values["model"], found.sources["model"]) == (f"of {source}", source)


def test_values_are_brought_into_one_form() -> None:
    found = merged(
        ("batch_size", "1,024", "log"), ("precision", "Float16", "log"), ("model", "'bert'", "log"), ("seed", 7, "log")
    )
    assert found.values == {"batch_size": 1024, "precision": "fp16", "model": "bert", "seed": "7"}


@pytest.mark.parametrize("value", ["none", "", "NULL", "nan"])
def test_what_is_no_value_leaves_the_next_source(value: str) -> None:
    assert merged(("model", value, "command line"), ("model", "bert", "path")).sources == {"model": "path"}


@pytest.mark.parametrize(
    ("facts", "doubts"),
    [
        ([("model", "a", "log"), ("model", "b", "log")], ["the log gives two values for model: a and b (at 1)"]),
        ([("model", "a", "path"), ("model", "b", "path")], []),  # the nearest folder counts
        ([("devices", 8, "log"), ("devices", 4, "path")], ["devices is 8 by the log, 4 by the path"]),
        (
            [("precision", "fp16", "command line"), ("precision", "fp32", "log")],
            ["precision is fp16 by the command line, fp32 by the log"],
        ),
        ([("precision", "fp16", "log"), ("precision", "float16", "path")], []),
        ([("model", "Bert", "log"), ("model", "bert", "path")], []),
        ([("model", "bert-base-uncased", "log"), ("model", "bert", "path")], []),
        ([("accelerator", "NVIDIA V100", "log"), ("accelerator", "v100", "path")], []),
        ([("model", "a", "command line"), ("model", "b", "path")], ["model is a by the command line, b by the path"]),
        ([("framework", "a", "path"), ("framework", "b", "parser")], []),  # a parser's default says nothing of the log
        ([("repeat", 1, "log"), ("repeat", 2, "path")], []),
    ],
)
def test_disagreements(facts: list[tuple[str, Any, str]], doubts: list[str]) -> None:
    assert merged(*facts).doubts == doubts


@pytest.mark.parametrize(
    ("facts", "values", "doubts"),
    [
        ({"nodes": (2, "log"), "devices_per_node": (8, "path")}, {"nodes": 2, "devices": 16}, []),
        ({"devices": (16, "log"), "devices_per_node": (8, "log")}, {"devices": 16, "nodes": 2}, []),
        ({"devices": (12, "log"), "devices_per_node": (8, "log")}, {"devices": 12}, []),
        ({"devices": (1, "log")}, {"devices": 1, "nodes": 1}, []),
        ({"devices": (8, "log")}, {"devices": 8}, []),
        (
            {"nodes": (2, "log"), "devices_per_node": (8, "log"), "devices": (8, "command line")},
            {"nodes": 2, "devices": 8},
            ["devices is 8 by the command line, 2 × 8 by the log"],
        ),
        (
            {"nodes": (2, "log"), "devices_per_node": (8, "log"), "devices": (8, "path")},
            {"nodes": 2, "devices": 16},
            ["devices is 16 by the log, 8 by the path"],
        ),
        (
            {"nodes": (2, "log"), "devices_per_node": (8, "path"), "devices": (8, "path")},
            {"nodes": 2, "devices": 8},
            ["devices is 8 by the path, 2 × 8 by the path"],
        ),
        ({"devices": (8, "log"), "global_batch_size": (256, "log")}, {"devices": 8, "batch_size": 32, "global_batch_size": 256}, []),
        ({"devices": (8, "log"), "global_batch_size": (250, "log")}, {"devices": 8, "global_batch_size": 250}, []),
        (
            {"devices": (8, "log"), "global_batch_size": (256, "log"), "batch_size": (16, "path")},
            {"devices": 8, "global_batch_size": 256, "batch_size": 16},
            ["batch size 16 × 8 devices is not the log's global batch size 256"],
        ),
        (
            {"devices": (8, "log"), "global_batch_size": (256, "log"), "batch_size": (16, "log")},
            {"devices": 8, "global_batch_size": 256, "batch_size": 16},
            [],  # gradients may be accumulated
        ),
        ({"devices": (8, "log"), "global_batch_size": (256, "log"), "batch_size": (32, "path")},
         {"devices": 8, "global_batch_size": 256, "batch_size": 32}, []),
    ],
)  # fmt: skip
def test_what_follows_from_facts(facts: dict[str, tuple[int, str]], values: dict[str, int], doubts: list[str]) -> None:
    found = merged(*((key, value, source) for key, (value, source) in facts.items()))
    assert (found.values, found.doubts) == (values, doubts)


def test_what_follows_has_the_weaker_source() -> None:
    found = merged(("nodes", 2, "log"), ("devices_per_node", 8, "path"))
    assert found.sources["devices"] == "path"
    assert merged(("devices", 8, "log"), ("global_batch_size", 256, "path")).sources["batch_size"] == "path"


def test_whole_numbers_alone_are_integers() -> None:
    found = Metadata({"devices": 8, "model": "8"})
    assert (found.integer("devices"), found.integer("model"), found.integer("nodes")) == (8, None, None)


def test_what_does_not_fit_is_no_fact_and_is_said() -> None:
    """Where another source says the fact it counts; where none does, the case lacks it, which is a doubt."""
    alone = merged(("precision", "O1", "log"), ("precision", "O1", "log"), ("model", "bert", "log"))
    said = "precision 'O1' (at 0) does not count: expected one of fp64, fp32"
    assert (alone.values, alone.unfit[0].startswith(said)) == ({"model": "bert"}, True)
    assert alone.doubts == alone.unfit[:1]
    beside = merged(("model", "runs/train/weights/best.pt", "log"), ("model", "yolov8n", "path"))
    assert (beside.values, beside.sources, beside.doubts) == ({"model": "yolov8n"}, {"model": "path"}, [])
    assert beside.unfit[0].startswith("model 'runs/train/weights/best.pt' (at 0) does not count: expected the name")
    default = merged(("precision", "O1", "log"), ("precision", "fp32", "parser"))
    assert (default.values, len(default.doubts)) == ({}, 1)  # what a format declares is no answer to it
    assert merged(("batch_size", "auto", "log")).unfit[0].startswith("batch_size 'auto' (at 0) does not count")


def test_what_does_not_fit_is_shown_on_one_line() -> None:
    (said,) = merged(("model", "a" * 50 + "\n" + "b" * 50, "log")).unfit
    assert "\n" not in said and len(said) < 200


def test_a_name_of_the_users_own_fits() -> None:
    facts = [Fact("precision", "mixed by hand", "log", "line 1")]
    assert merge(facts).values == {}
    assert merge(facts, own={"mixed by hand"}).values == {"precision": "mixed by hand"}


CPU_BUILD = ("framework_version", "2.13.0+cpu", "machine")


def test_a_framework_for_cpus_trained_on_none_of_the_accelerators_that_others_name() -> None:
    for source in ("log", "path", "machine", "parser"):
        found = merged(CPU_BUILD, ("accelerator", "Tesla V100", source))
        assert ("accelerator" in found.values, found.device) == (False, "CPU")
        doubt = f"the framework, 2.13.0+cpu, is built for CPUs alone; accelerator is Tesla V100 by the {source}"
        assert found.doubts[0] == doubt
    for source in ("command line", "config"):  # the user's word counts, and is doubted
        found = merged(CPU_BUILD, ("accelerator", "Tesla V100", source))
        assert (found.device, len(found.doubts)) == ("Tesla V100", 1)
    assert merged(CPU_BUILD, ("accelerator", "cpu", "log")).doubts == []
    assert merged(("framework_version", "2.13.0+cu126", "log"), ("accelerator", "V100", "path")).device == "V100"
    assert merged(("framework_version", "2.13.0", "log")).device is None


def test_the_cpu_that_a_log_says_is_no_short_name_of_a_paths_accelerator() -> None:
    found = merged(("accelerator", "cpu", "log"), ("accelerator", "V100", "path"))
    assert (found.values["accelerator"], found.doubts) == ("CPU", ["accelerator is CPU by the log, V100 by the path"])
