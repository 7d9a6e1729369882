"""Values in the form in which they are compared."""

from __future__ import annotations

import pytest

from perflog.formats.vocabulary import CASE_KEYS, FORMS, INTEGERS, fitting, misfit, normal, size


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("devices", "8", 8),
        ("batch_size", "1,024", 1024),
        ("devices", "0", None),
        ("devices", "²", None),
        ("devices", "٣", None),
        ("devices", "eight", None),
        ("devices", "1" * 5000, None),
        ("repeat", "0", 0),
        ("repeat", "3", 3),
        ("precision", "Float32", "fp32"),
        ("precision", "mixed", "amp"),
        ("precision", "FP8", "fp8"),
        ("model", "'rn50'", "rn50"),
        ("precision", "bf16-mixed", "bf16"),
        ("accelerator", r"Tesla V100-SXM2-32GB\nCUDA_HOME: /usr/local/cuda", "Tesla V100-SXM2-32GB"),
        ("accelerator", "NVIDIA A100-SXM4-80GB', 'count': 8}", "NVIDIA A100-SXM4-80GB"),
        ("accelerator", "cpu", "CPU"),
        ("accelerator", "Place(cpu)", "CPU"),
        ("accelerator", "CPUPlace", "CPU"),
        ("accelerator", "cpu(0)", "CPU"),
        ("accelerator", "CPU Accelerator 3", "CPU Accelerator 3"),
        ("gradient_accumulation_steps", "1,024", "1024"),
        ("model", " None ", None),
        ("model", "nan", None),
    ],
)
def test_a_value_in_its_normal_form(key: str, text: str, value: object) -> None:
    assert normal(key, text) == value


#: Of each fact with a form, texts that are values of it.
FITTING = {
    "accelerator": [
        "Tesla V100-SXM2-32GB", "NVIDIA GeForce RTX 3090", "NVIDIA A100-SXM4-40GB MIG 1g.5gb", "Quadro_RTX_8000", "cpu",
        "AMD Instinct MI250X / MI250", "Intel(R) Data Center GPU Max 1550", "Ascend910B", "TPU v5 lite", "V100",
        "12th Gen Intel(R) Core(TM) i7-12700H", "Intel(R) Xeon(R) CPU @ 2.20GHz",
    ],
    "model": [
        "resnet50", "ResNet-50", "resnet50_v1.5", "meta-llama/Llama-2-7b-hf", "ViT-B-32", "yolov8n", "gpt2", "bert (large)",
        "llama3.1-8b", "transformer_wmt_en_de_big_t2t", "EfficientNet-B0", "my model, big", "模型a",
    ],
    "precision": ["fp32", "TF32", "float16", "bfloat16", "amp", "pure_fp16", "fp8", "mixed"],
    "framework_version": ["2.5.1+cu124", "1.6.0a0+9907a3e", "1.15", "21.03-py3", "2.0.0.post1", "nightly"],
    "parameters": ["8,030,261,248", "124.34M", "1.2 billion", "12345678"],
    "micro_batch_size": ["8", "1,024"],
    "batch_size": ["8", "1,024"],
}  # fmt: skip
#: And texts that are none.
UNFIT = {
    "accelerator": [
        r"\nCUDA_HOME: /usr", "CUDA_HOME: /usr/local/cuda", "cuda", "cuda:0", "gpu", "{'name': 'V100'}", "8", "x" * 200,
        "GPU 0: V100", "True", "/dev/nvidia0",
    ],
    "model": [
        "runs/detect/train/weights/best.pt", "weights/best", "best.pt", "best", "last", "yolov8n.pt", "/data/models/bert",
        "./bert", "~/bert", r"C:\models\bert", "bert.yaml", "images/cat.jpg", "nvcr.io/nvidia/pytorch:21.03-py3",
        "{'name': 'bert'}", r"bert\nlayers: 12", "checkpoints/llama", "True", "42", "x" * 200, "resnet50.onnx",
    ],
    "precision": ["O1", "True", "high", "fp23", "level"],
    "framework_version": ["unknown", "2.5 (git abc)", "built from /src"],
    "parameters": ["many", "-1"],
    "micro_batch_size": ["auto", "0", "1.5"],
    "batch_size": ["auto", "0", "-1", "1.5"],
}  # fmt: skip


def test_what_fits_a_fact_and_what_does_not() -> None:
    for key, texts in FITTING.items():
        for text in texts:
            assert fitting(key, text) == normal(key, text) is not None, (key, text)
            assert misfit(key, text) == "", (key, text)
    for key, texts in UNFIT.items():
        for text in texts:
            assert fitting(key, text) is None, (key, text)
            assert misfit(key, text) == f"expected {FORMS[key].expected}", (key, text)


def test_what_says_nothing_is_no_misfit() -> None:
    for key in FORMS:
        assert [misfit(key, text) for text in ("", " ", "None", "null", "'nan'")] == [""] * 5


def test_a_label_and_a_name_of_the_users_own_fit_whatever_they_are() -> None:
    assert (fitting("recipe", "O1 {x}"), misfit("recipe", "O1 {x}")) == ("O1 {x}", "")
    assert fitting("precision", "fp16 (o2)", own={"fp16 (o2)"}) == "fp16 (o2)"
    assert fitting("precision", "fp16 (o3)", own={"fp16 (o2)"}) is None


def test_counts_and_what_tells_cases_apart_have_a_form() -> None:
    assert FORMS.keys() >= INTEGERS
    assert set(CASE_KEYS) - FORMS.keys() == {"framework"}  # the formats name it


def test_a_size_in_numbers() -> None:
    assert (size("8,030,261,248"), size("1.5B"), size("12 million"), size("12 GB")) == (8030261248, 1.5e9, 12e6, None)
