"""What perflog's own grammar takes for facts in names, and what it must not: names of runs, versions, settings."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perflog.formats.catalog import path_patterns
from perflog.formats.paths import (
    PathPatterns,
    _path_pattern,
    _PatternTable,
    facts_of_path,
    numbered_label,
)
from tests.support import examples

FACTORS = {"devices", "nodes", "devices_per_node", "batch_size", "global_batch_size"}


@lru_cache(maxsize=1)
def own() -> PathPatterns:
    return path_patterns()


def said(path: str) -> dict[str, object]:
    return {fact.key: fact.value for fact in facts_of_path(path, own())[0]}


def label(path: str) -> str:
    return facts_of_path(path, own())[1]


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("8xH100", {"devices": "8", "accelerator": "H100"}),
        ("2x8xH100", {"nodes": "2", "devices_per_node": "8", "accelerator": "H100"}),
        ("N1C8", {"nodes": "1", "devices_per_node": "8"}), ("2n8g", {"nodes": "2", "devices_per_node": "8"}),
        ("N4C32", {"nodes": "4", "devices": "32"}), ("4n32c", {"nodes": "4", "devices": "32"}), ("N4C8", {"nodes": "4"}),
        ("4n8g", {"nodes": "4", "devices_per_node": "8"}), ("4n32g", {"nodes": "4", "devices": "32"}),
        ("4nodes_8gpus", {"nodes": "4"}), ("8gpus_4nodes", {"nodes": "4"}), ("4node_32gpu", {"nodes": "4", "devices": "32"}),
        ("4机8卡", {"nodes": "4"}), ("4机32卡", {"nodes": "4", "devices": "32"}), ("1机8卡", {"nodes": "1", "devices": "8"}),
        ("4Node", {"nodes": "4"}), ("nodes2", {"nodes": "2"}), ("ngpu8", {"devices": "8"}), ("8gpus", {"devices": "8"}),
        ("GPUx8", {"devices": "8"}), ("8卡", {"devices": "8"}), ("单卡", {"devices": "1"}), ("bs256", {"batch_size": "256"}),
        ("batch256", {"batch_size": "256"}), ("b128", {"batch_size": "128"}), ("gbs1024", {"global_batch_size": "1024"}),
        ("mbs4", {"micro_batch_size": "4"}), ("llama_7b", {"model": "llama_7b"}), ("vit_b_16", {"model": "vit_b_16"}),
        ("resnet-18", {"model": "resnet-18"}), ("torch2.4", {"framework_version": "2.4"}), ("gpu1_gpu8", {}),
        ("n2g8", {"nodes": "2", "devices_per_node": "8"}), ("n4g32", {}), ("try2", {"repeat": "2"}), ("retry2", {}),
    ],
)  # fmt: skip
def test_what_names_say(name: str, facts: dict[str, str]) -> None:
    assert said(f"{name}/train.log") == facts
    assert said(f"{name}.log") == facts


@pytest.mark.parametrize(
    "name",
    [
        "0f1e2d3c-c128-4b5a-b064-a1b2c3d4e5f6", "1a2b3c4d", "run-20260504_101112-x1y2z3a4", "2026-05-04_10-11-12",
        "20260504-101112", "05-04-2026_10-11-12", "0504_1011", "1777889472", "slurm-123456", "seed42", "cuda12.4", "cu118",
        "py310", "lr1e-4", "lr_0.001", "1e-5", "wd0.1", "beta2", "adam_b1", "epoch100", "step5000", "checkpoint-500",
        "seq2048", "ctx8k", "224x224", "dp8_tp2_pp4", "tp2pp4", "zero_3", "O2", "n2", "v1.5", "exp3", "r2", "-b064-", "gpu0",
    ],
)  # fmt: skip
def test_what_names_do_not_say(name: str) -> None:
    assert said(f"x_{name}/{name}.log") == {}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("train_2026-05-04_10-11-12.log", "train_2026-05-05_09-00-01.log"), ("x/20260504-101112/log.txt", "x/20260505-000000/log.txt"),
        ("wandb/run-20260504_101112-x1y2z3a4/output.log", "wandb/run-20260504_111112-q1y2z3b4/output.log"),
        ("a_seed1.log", "a_seed2.log"), ("slurm-123456.out", "slurm-123457.out"), ("version_0/log.txt", "version_7/log.txt"),
        ("bert (1).log", "bert (2).log"), ("0f1e2d3c-c128-4b5a-b064-a1b2c3d4e5f6.log", "1f1e2d3c-c128-4b5a-b064-a1b2c3d4e5f6.log"),
        ("m_1a2b3c4d.log", "m_99aa00bb.log"), ("12345_0.log", "67890_0.log"),
    ],
)  # fmt: skip
def test_what_names_one_run_is_no_label(one: str, other: str) -> None:
    assert label(one) == label(other)
    assert said(one) == said(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("lr1e-4.log", "lr1e-5.log"), ("zero_2.log", "zero_3.log"), ("v1.log", "v2.log"), ("cuda11.8/x", "cuda12.4/x"),
     ("seq2048.log", "seq4096.log"), ("dp8_tp2.log", "dp4_tp4.log"), ("x_fold1.log", "x_fold2.log")],
)  # fmt: skip
def test_what_is_known_to_be_no_fact_is_a_label(one: str, other: str) -> None:
    assert label(one) != label(other)
    assert said(one) == said(other) == {}


@pytest.mark.parametrize(
    ("name", "repeat", "without", "with_number"),
    [
        ("rn50_b128_fp32_3.log", "3", "", "3"), ("result_0.txt", "0", "result", "result_0"), ("2.log", "2", "", "2"),
        ("llama_7b_2.log", "2", "", "2"), ("run_2.log", "2", "", ""), ("trial3_4.log", "3", "4", "4"),
        ("zero_3.log", None, "zero_3", "zero_3"), ("resnet-18.log", None, "", ""), ("sweep_1e-5.log", None, "sweep_1e-5", "sweep_1e-5"),
        ("iter_100.log", None, "iter_100", "iter_100"), ("rank_3.log", None, "", ""), ("log_2026-05-04.log", None, "log", "log"),
        ("12345_0.log", "0", "", "0"), ("5000.log", None, "5000", "5000"),
    ],
)  # fmt: skip
def test_numbers_at_the_end_of_names(name: str, repeat: str | None, without: str, with_number: str) -> None:
    assert said(name).get("repeat") == repeat
    assert (label(name), numbered_label(name, own())) == (without, with_number)


@pytest.mark.parametrize("stem", ["rn50_b128_fp32", "x_amp", "bert_fp16_gpu8_bf16", "2026-05-04_fp32", "vit_b_16_fp32"])
@pytest.mark.parametrize("number", ["0", "1", "2", "17", "100", "007"])
def test_names_of_a_series_say_what_each_says_alone(stem: str, number: str) -> None:
    name = f"{stem}_{number}.log"
    fresh = PathPatterns(own().patterns)
    assert fresh.facts_of_part(name, "file") == own().found_in(name, "file")
    third = f"{stem}_3.log"
    assert fresh.facts_of_part(third, "file") == own().found_in(third, "file")


def test_a_pattern_that_makes_more_of_the_number_is_heard() -> None:
    seed = PathPatterns((_path_pattern(_PatternTable(regex=r"_(?P<seed>\d)\.log"), "t"), *own().patterns))
    assert [seed.facts_of_part(f"x_fp32_{number}.log", "file").values["seed"] for number in (1, 2, 3)] == [
        "1",
        "2",
        "3",
    ]


_HEX = "0123456789abcdef"
_digits = st.integers(0, 99)
_uuid = st.uuids(version=4).map(str)
_hash = st.text(_HEX, min_size=8, max_size=40).filter(lambda t: any(c.isdigit() for c in t) and any(c > "9" for c in t))
_moment = st.datetimes(min_value=datetime(2015, 1, 1), max_value=datetime(2035, 1, 1))
_date = st.tuples(_moment, st.sampled_from(["%Y-%m-%d_%H-%M-%S", "%Y%m%d-%H%M%S", "%m-%d-%Y_%H-%M-%S", "%Y%m%d", "%Y-%m-%d",
                                            "%H-%M-%S", "%m%d_%H%M", "%y%m%d_%H%M%S", "%b%d_%H-%M-%S", "%Y%m%dT%H%M%SZ"])).map(
    lambda pair: pair[0].strftime(pair[1])
)  # fmt: skip
_setting = st.one_of(
    st.tuples(st.sampled_from(["lr", "wd", "drop", "eps", "seed", "epoch", "step", "ep", "beta", "warmup", "alpha", "clip"]),
              st.sampled_from(["", "_", "-"]), st.one_of(_digits.map(str), st.sampled_from(["1e-4", "3e-5", "0.1", "0.001"]))).map("".join),
    st.sampled_from(["adam_b1", "adam_b2", "beta1", "1e-4", "5e-05", "0.9", "O1", "zero3", "stage_2", "fold4", "dp8", "tp2pp4"]),
)  # fmt: skip
_size = st.tuples(st.integers(1, 999).map(str), st.sampled_from(["b", "B", "m", "M"])).map("".join)
_model = st.sampled_from(["resnet-18", "resnet50", "llama_7b", "Qwen2.5-7B", "vit_b_16", "bert-large", "yolov8n", "efficientnet_b4",
                          "segformer_b2", "gpt2", "opt-350m"])  # fmt: skip
_version = st.tuples(st.sampled_from(["v", "torch", "cuda", "py", "cudnn", "nccl", "r", "tf"]), st.integers(0, 13).map(str),
                     st.sampled_from(["", ".1", ".12.3"])).map("".join)  # fmt: skip
_pieces = st.one_of(_uuid, _hash, _date, _setting, _size, _model, _version)


@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(_pieces, min_size=1, max_size=4), st.sampled_from(["_", "-", "/"]), st.sampled_from(["", ".log", ".txt"])
)
@pytest.mark.long
def test_no_name_of_a_run_a_version_or_a_setting_is_a_factor(pieces: list[str], between: str, ending: str) -> None:
    name = between.join(pieces) + ending
    assert FACTORS.isdisjoint(said(name)), name
