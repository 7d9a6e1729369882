"""The table of peak FLOP/s: each figure with its source, and devices by the names that programs print."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflog.errors import ParserError
from perflog.formats.accelerators import load_accelerators, own_accelerators, peak_of
from perflog.formats.catalog import load_catalog

TABLE = own_accelerators()


@pytest.mark.parametrize(
    ("printed", "precision", "tflops"),
    [
        ("NVIDIA A100-SXM4-80GB", "bf16", 312),
        ("A100 80GB PCIe", "tf32", 156),
        ("NVIDIA H100 80GB HBM3", "bf16", 989),
        ("NVIDIA H100 PCIe", "amp", 756),
        ("NVIDIA H100 NVL", "bf16", 835),
        ("NVIDIA H200", "bf16", 989),
        ("Tesla V100-SXM2-32GB", "amp", 125),  # has no bf16, so that mixed precision is fp16
        ("Tesla V100-PCIE-16GB", "fp32", 14),
        ("NVIDIA GeForce RTX 4090", "fp16", 165.2),
        ("NVIDIA L40S", "bf16", 362),
        ("NVIDIA L40", "bf16", 181),
        ("NVIDIA L4", "bf16", 121),
        ("NVIDIA RTX A6000", "bf16", 154.85),
        ("NVIDIA B200", "bf16", 2250),
        ("NVIDIA GB200", "bf16", 2500),
        ("AMD Instinct MI300X OAM", "bf16", 1307),
        ("TPU v5 lite", "bf16", 197),
    ],
)
def test_the_peak_of_a_device(printed: str, precision: str, tflops: float) -> None:
    peak = peak_of(TABLE, printed, precision)
    assert peak is not None
    assert peak.tflops == tflops
    assert peak.source


@pytest.mark.parametrize(
    ("printed", "precision"),
    [
        ("NVIDIA H100", "bf16"),  # SXM, PCIe or NVL
        ("V100", "fp16"),
        ("NVIDIA H200 NVL", "bf16"),
        ("NVIDIA H800", "bf16"),  # sources disagree
        ("NVIDIA A10G", "bf16"),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "bf16"),  # a part of one
        ("NVIDIA GeForce RTX 4090 Laptop GPU", "bf16"),
        ("NVIDIA GeForce RTX 4090 D", "bf16"),
        ("NVIDIA GeForce RTX 3090 Ti", "bf16"),
        ("Tesla V100-SXM2-32GB", "bf16"),  # which it has not
        ("NVIDIA A100-SXM4-80GB", "fp32"),  # may run as TF32
        ("NVIDIA A100-SXM4-80GB", "fp8"),
        ("a machine of A100 and H100 PCIe", "bf16"),
        ("TPU v3", "bf16"),  # a JAX device is half a chip
        ("", "bf16"),
    ],
)
def test_what_is_not_certain_has_no_peak(printed: str, precision: str) -> None:
    assert peak_of(TABLE, printed, precision) is None


def test_tensor_cores_are_no_slower_than_the_others() -> None:
    for accelerator in TABLE:
        peaks = [p for p in (accelerator.fp32, accelerator.tf32, accelerator.fp16) if p is not None]
        assert peaks == sorted(peaks), accelerator.name
        assert accelerator.bf16 in (None, accelerator.fp16) or accelerator.fp16 is None, accelerator.name


def test_the_table_is_no_parser() -> None:
    assert "accelerators" not in load_catalog().by_name


def test_a_figure_without_its_source_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "accelerators.toml"
    file.write_text('[[accelerator]]\nname = "X"\nnames = ["x"]\nbf16 = 1.0\n', encoding="utf-8")
    with pytest.raises(ParserError, match="source"):
        load_accelerators(file)


def test_a_source_may_be_of_one_figure(tmp_path: Path) -> None:
    file = tmp_path / "accelerators.toml"
    text = '[[accelerator]]\nname = "X"\nnames = ["x"]\nfp16 = 3\nbf16 = 1.5\nsource = "a"\nsources = { bf16 = "b" }\n'
    file.write_text(text, encoding="utf-8")
    table = load_accelerators(file)
    peaks = [peak_of(table, "X", precision) for precision in ("bf16", "fp16", "amp")]
    assert [peak and (peak.tflops, peak.source) for peak in peaks] == [(1.5, "b"), (3.0, "a"), None]
