"""Tokens per second, TFLOP/s and MFU: as printed, computed where the log says all that it takes, else none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from perflog.formats.accelerators import Accelerator
from perflog.runs.metadata import Metadata
from perflog.runs.metrics import Peaks, computed_metrics, flops_per_token, further_metrics, possible, tokens_metrics
from perflog.runs.run import Metric
from perflog.settings.options import Amount, Window
from perflog.show.document import reason_code
from tests.measurements.support import table
from tests.reading.support import fact, formats, summary
from tests.runs.support import known, run

TOKENS = {"group": "tps", "quantity": "rate", "unit": "tokens/s"}
TFLOPS = {"group": "tf", "quantity": "metric", "metric": "tflops_per_device", "unit": "TFLOP/s"}
MFU = {"group": "mfu", "quantity": "metric", "metric": "mfu", "unit": "%", "definition": "6N, of an A100"}
LINES = table("step tps tf mfu", TOKENS, TFLOPS, MFU, sample=[{"line": "row step=1 tps=5 tf=5 mfu=5"}])
CATALOG = formats(LINES, fact("devices"), fact("accelerator"), fact("precision"), summary(MFU))
#: 8 billion parameters, 32 layers of 4096, 8192 tokens: 48e9 + 12 × 32 × 4096 × 8192 FLOP per token.
SIZES = {"parameters": "8B", "layers": "32", "hidden_size": "4096", "sequence_length": "8192"}
PALM = 48e9 + 12884901888
BOARDS = (Accelerator(name="Board", names=("board",), source="its sheet", bf16=500.0, fp16=500.0, tf32=250.0),)
BOARD = {"accelerator": "The BOARD-80GB", "precision": "bf16"}


def rate(value: float | None, unit: str, **more: Any) -> Metric:
    return Metric("throughput", value, unit, "total", 7, first_line=3, last_line=9, **more)


def further(throughput: Metric, **values: Any) -> dict[str, Metric]:
    return further_metrics(throughput, None, known(**values), "T", {}, Peaks(BOARDS))


def values_of(metrics: dict[str, Metric]) -> dict[str, float | None]:
    return {name: metric.value for name, metric in metrics.items()}


def test_printed_metrics_are_means_over_the_window_of_the_throughput() -> None:
    # 100 tokens a step at 50, 100 and 25 tokens/s: 2, 1 and 4 s; the first step is warm-up
    text = "row step=1 tps=50.00 tf=90 mfu=90\nrow step=2 tps=100.00 tf=30.00 mfu=12.00\n"
    made = run(CATALOG, text, "row step=3 tps=25.00 tf=10.00 mfu=nan\n", window=Window(Amount(1)))
    tflops, mfu = made.metrics["tflops_per_device"], made.metrics["mfu"]
    assert made.throughput.value == pytest.approx(40)
    assert (tflops.value, mfu.value) == pytest.approx((14, 12))  # the NaN left out
    assert (tflops.unit, tflops.estimator, tflops.used) == ("TFLOP/s", "printed", 2)
    assert (tflops.first_line, tflops.last_line, tflops.first_step, tflops.excluded) == (2, 3, 1, {})
    assert (mfu.used, mfu.excluded) == (1, {"no usable number": 1})
    assert (tflops.definition, mfu.definition) == ("as printed by T", "as printed by T: 6N, of an A100")
    assert (tflops.parser, "tokens_per_second_per_device" in made.metrics) == ("made", False)


def test_one_block_and_many_give_the_same_metrics() -> None:
    lines = [f"row step={n} tps={50 + n}.25 tf={3 * n}.5 mfu={n}.125\n" for n in range(1, 9)]
    one, many = run(CATALOG, "".join(lines)), run(CATALOG, *lines)
    assert one.metrics["tflops_per_device"].value == pytest.approx(many.metrics["tflops_per_device"].value, rel=1e-12)
    assert [m.used for m in one.metrics.values()] == [m.used for m in many.metrics.values()]


def test_a_number_that_is_never_known_gives_no_metric() -> None:
    made = run(CATALOG, "row step=1 tps=50.00 tf=90 mfu=-100\nrow step=2 tps=50.00 tf=90 mfu=-100\n")
    assert ("mfu" in made.metrics, made.metrics["tflops_per_device"].value) == (False, 90)


def test_a_metric_of_single_steps_counts_where_each_is_printed() -> None:
    last = formats(table("step tps tf", TOKENS, {**TFLOPS, "span": "last"}, sample=[{"line": "row step=1 tps=5 tf=5"}]))
    lines = "row step={} tps=50.00 tf=90\nrow step={} tps=50.00 tf=90\n"
    assert run(last, lines.format(1, 2)).metrics["tflops_per_device"].value == 90
    assert "tflops_per_device" not in run(last, lines.format(10, 20)).metrics


def test_a_summary_of_the_same_name_comes_first() -> None:
    made = run(CATALOG, "row step=1 tps=50.00 tf=90 mfu=12\nrow step=2 tps=50.00 tf=90 mfu=12\nsum mfu=33\n")
    assert (made.metrics["mfu"].value, made.metrics["mfu"].definition) == (33, "6N, of an A100")


def test_a_run_without_a_throughput_has_no_metric_beside_it() -> None:
    made = run(CATALOG, "row step=1 tps=50.00 tf=90 mfu=12\n", window=Window(Amount(5)))
    assert list(made.metrics) == ["throughput"]
    assert further(rate(None, "tokens/s"), devices=4, **SIZES) == {}


def test_tokens_of_the_job_are_shared_by_all_devices() -> None:
    metrics = tokens_metrics(rate(4000.0, "tokens/s", rounding=(3900.0, 4100.0)), known(devices=8, tensor_parallel="4"))
    assert values_of(metrics) == {"tokens_per_second": 4000, "tokens_per_second_per_device": 500}
    device = metrics["tokens_per_second_per_device"]
    assert (device.unit, device.rounding, device.used, device.first_line) == ("tokens/s/device", (487.5, 512.5), 7, 3)
    assert device.definition == "tokens/s of the job, / 8 devices"


def test_a_devices_tokens_do_not_tell_the_jobs() -> None:
    assert values_of(tokens_metrics(rate(500.0, "tokens/s/device"), known())) == {"tokens_per_second_per_device": 500}


def test_samples_of_a_known_length_are_tokens() -> None:
    metrics = tokens_metrics(rate(2.5, "samples/s"), known(sequence_length="4096", devices=2))
    assert values_of(metrics) == {"tokens_per_second": 10240, "tokens_per_second_per_device": 5120}
    definition = "samples/s × the sequence length, 4096 tokens"
    assert metrics["tokens_per_second"].definition == definition
    assert metrics["tokens_per_second_per_device"].definition == f"{definition}, / 2 devices"


def test_the_longest_sequence_gives_an_upper_bound_by_that_name() -> None:
    metrics = tokens_metrics(rate(2.0, "sequences/s"), known(max_sequence_length="512", devices=2))
    assert values_of(metrics) == {"tokens_per_second_upper_bound": 1024}
    assert "an upper bound" in metrics["tokens_per_second_upper_bound"].definition
    packed = tokens_metrics(rate(2.0, "sequences/s"), known(max_sequence_length="512", packing="True"))
    assert values_of(packed) == {"tokens_per_second": 1024}


@pytest.mark.parametrize(
    ("unit", "facts"),
    [
        ("images/s", {"sequence_length": "4096"}),  # no sequences
        ("steps/s", {"sequence_length": "4096"}),
        ("samples/s", {}),
        ("samples/s", {"sequence_length": "long"}),
        ("words/s", {"sequence_length": "4096"}),
    ],
)
def test_other_work_is_no_tokens(unit: str, facts: dict[str, Any]) -> None:
    assert tokens_metrics(rate(2.0, unit), known(devices=2, **facts)) == {}


def test_a_length_in_a_path_or_in_doubt_is_no_fact() -> None:
    named = Metadata({"sequence_length": "4096"}, {"sequence_length": "path"})
    doubted = known(sequence_length="4096")
    doubted.contradictions["sequence_length"] = "two values"
    above = known(sequence_length="4096", devices=2)
    above.above["devices"] = "8gpus"
    assert tokens_metrics(rate(2.0, "samples/s"), named) == tokens_metrics(rate(2.0, "samples/s"), doubted) == {}
    assert list(tokens_metrics(rate(2.0, "samples/s"), above)) == ["tokens_per_second"]


@pytest.mark.parametrize(
    ("facts", "name", "flops"),
    [
        (SIZES, "palm", PALM),
        ({"parameters": "124.34M"}, "6n", 6 * 124.34e6),
        ({"parameters": "8,030,261,248"}, "6n", 6 * 8030261248),
        ({"parameters": "8.03 billion", "layers": "32", "hidden_size": "4096"}, "6n", 6 * 8.03e9),  # T is unknown
        # 72 × 2 × 16 + 12 × 2 × 4 × 8 + 6 × 10 × 4
        ({"layers": "2", "hidden_size": "4", "sequence_length": "8", "vocabulary_size": "10"}, "gpt", 2304 + 768 + 240),
    ],
)
def test_flops_of_a_token(facts: dict[str, str], name: str, flops: float) -> None:
    found = flops_per_token(known(**facts))
    assert found is not None
    assert found.name == name
    assert found.flops == pytest.approx(flops, rel=1e-12)


#: Sizes of blocks as GPT has them, without the number of parameters.
GPT = {"layers": "2", "hidden_size": "4", "sequence_length": "8", "vocabulary_size": "10"}


@pytest.mark.parametrize(
    "facts",
    [
        {"layers": "32", "hidden_size": "4096", "sequence_length": "8192"},  # nor parameters nor vocabulary
        {**SIZES, "experts": "8"},  # which parameters a token meets is unknown
        {"layers": "2", "hidden_size": "4", "sequence_length": "8", "vocabulary_size": "10", "ffn_hidden_size": "11"},
        {**GPT, "blocks": "gated"},
        {**GPT, "attention": "grouped"},
        {"parameters": "many"},
    ],
)
def test_unknown_sizes_give_no_flops(facts: dict[str, str]) -> None:
    assert flops_per_token(known(**facts)) is None


def test_tflops_and_mfu_are_computed_under_the_name_of_their_definition() -> None:
    metrics = further(rate(8000.0, "tokens/s"), devices=2, **SIZES, **BOARD)
    assert metrics["tflops_per_device_palm"].value == pytest.approx(4000 * PALM / 1e12, rel=1e-12)
    assert metrics["mfu_palm"].value == pytest.approx(100 * 4000 * PALM / 500e12, rel=1e-12)
    assert (metrics["mfu_palm"].unit, metrics["tflops_per_device_palm"].unit) == ("%", "TFLOP/s")
    assert "500 TFLOP/s, the dense bf16 peak of Board (its sheet)" in metrics["mfu_palm"].definition
    assert "N = 8000000000 parameters, L = 32 layers" in metrics["mfu_palm"].definition
    assert "mfu" not in metrics


@pytest.mark.parametrize(
    "lacking",
    [
        {"accelerator": "another"},  # not in the table
        {"accelerator": "BOARD laptop"},
        {"precision": "fp8"},
        {"precision": "fp32"},  # which may run as TF32
        {"accelerator": None},
        {"precision": None},
    ],
)
def test_without_a_certain_peak_there_is_no_mfu(lacking: dict[str, Any]) -> None:
    facts = {key: value for key, value in {**BOARD, **lacking}.items() if value is not None}
    metrics = further(rate(8000.0, "tokens/s"), devices=2, **SIZES, **facts)
    assert [name for name in metrics if name.startswith(("mfu", "tflops"))] == ["tflops_per_device_palm"]


def test_without_the_devices_nothing_is_computed_of_one() -> None:
    assert list(further(rate(8000.0, "tokens/s"), **SIZES, **BOARD)) == ["tokens_per_second"]


def test_more_than_the_peak_cannot_be() -> None:
    metric = further(rate(80000.0, "tokens/s"), devices=1, **SIZES, **BOARD)["mfu_palm"]
    assert metric.value is None
    assert metric.reason.startswith("974.2 % of the peak cannot be")


def test_what_is_printed_is_not_computed() -> None:
    printed = {"tflops_per_device": Metric("tflops_per_device", 200.0, "TFLOP/s", "printed", definition="as printed")}
    tokens = rate(4000.0, "tokens/s/device")
    metrics = computed_metrics(tokens, printed, known(**SIZES, **BOARD), Peaks(BOARDS))
    assert values_of(metrics) == {"mfu_of_printed_tflops": 40}
    assert metrics["mfu_of_printed_tflops"].definition.startswith("as printed; / 500 TFLOP/s")
    printed["mfu"] = Metric("mfu", 41.0, "%", "printed")
    assert computed_metrics(tokens, printed, known(**SIZES, **BOARD), Peaks(BOARDS)) == {}


def test_flops_with_recomputation_are_no_model_flops() -> None:
    printed = {"tflops_per_device_with_recomputation": Metric("x", 200.0, "TFLOP/s", "printed")}
    assert computed_metrics(rate(4000.0, "tokens/s/device"), printed, known(**SIZES, **BOARD), Peaks(BOARDS)) == {}


def test_the_facts_of_a_log_reach_the_table_of_peaks() -> None:
    text = "set devices=2\nset accelerator=A100-SXM4-80GB\nset precision=bf16\n"
    made = run(formats(table("step tps tf", TOKENS, TFLOPS, sample=[{"line": "row step=1 tps=5 tf=5"}]),
                       fact("devices"), fact("accelerator"), fact("precision")),
               text + "row step=1 tps=50.00 tf=78\nrow step=2 tps=50.00 tf=78\n")  # fmt: skip
    assert made.metrics["mfu_of_printed_tflops"].value == pytest.approx(25)
    assert made.metrics["tokens_per_second_per_device"].value == 25


@pytest.mark.parametrize(
    ("facts", "printed", "limit"),
    [
        (BOARD, 500.5, "500 is the dense bf16 peak of Board (its sheet)"),
        ({**BOARD, "precision": "tf32"}, 251.0, "250 is the dense tf32 peak of Board (its sheet)"),
        # where the precision is not known, or may run as another, the most that the device can do
        ({"accelerator": "Board"}, 501.0, "500 is the dense fp16 peak of Board (its sheet)"),
        ({**BOARD, "precision": "fp32"}, 501.0, "500 is the dense fp16 peak of Board (its sheet)"),
        # where the device is not known, the most that any can do
        ({}, 801.0, "800 is the most of any device that is known, the dense bf16 peak of Card (a sheet)"),
        ({"accelerator": "Tesla V9"}, 801.0, "800 is the dense bf16 peak of Card (a sheet)"),
    ],
)
def test_flops_beyond_the_peak_are_refused_with_both_numbers(facts: dict[str, Any], printed: float, limit: str) -> None:
    peaks = Peaks((*BOARDS, Accelerator(name="Card", names=("card",), source="a sheet", bf16=800.0)))
    for name in ("tflops_per_device", "tflops_per_device_with_recomputation"):
        metric = Metric(name, printed, "TFLOP/s", "printed")
        refused = possible({name: metric}, known(**facts), peaks)[name]
        assert refused.value is None and refused.reason.startswith(f"{printed:.4g} TFLOP/s of a device cannot be: ")
        assert refused.reason.endswith(limit) and reason_code(refused.reason) == "impossible-value"
        below = replace(metric, value=printed - 2)
        assert possible({name: below}, known(**facts), peaks) == {name: below}


def test_a_precision_without_figures_has_no_limit() -> None:
    metric = {"tflops_per_device": Metric("tflops_per_device", 900.0, "TFLOP/s", "printed")}
    assert possible(metric, known(accelerator="Board", precision="fp8"), Peaks(BOARDS)) == metric


@pytest.mark.parametrize(("unit", "value", "kept"), [("%", 101.0, False), ("%", 41.0, True), ("fraction", 1.02, False),
                                                     ("fraction", 0.41, True)])  # fmt: skip
def test_more_than_the_whole_of_the_peak_is_refused(unit: str, value: float, kept: bool) -> None:
    metric = Metric("mfu_actor", value, unit, "printed")
    found = possible({"mfu_actor": metric}, known(), Peaks(BOARDS))["mfu_actor"]
    assert (found.value is not None, "of the peak cannot be" in found.reason) == (kept, not kept)


def test_a_log_whose_flops_cannot_be() -> None:
    """4202 TFLOP/s of an A100, whose peak is 312: the program counts all devices, or other FLOP."""
    facts = "set accelerator=NVIDIA-A100-SXM4-80GB\nset precision=bf16\n"
    lines = "row step=1 tps=50.00 tf=4202 mfu=41\nrow step=2 tps=50.00 tf=4202 mfu=41\n"
    made = run(CATALOG, facts + lines)
    tflops = made.metrics["tflops_per_device"]
    assert (tflops.value, made.metrics["mfu"].value, made.throughput.value) == (None, 41, 50)
    assert "4202 TFLOP/s of a device cannot be: 312 is the dense bf16 peak of NVIDIA A100" in tflops.reason
    (alone,) = (run(CATALOG, lines).metrics["tflops_per_device"],)
    assert alone.value is None and "2500 is the most of any device that is known" in alone.reason


#: A program's own summary of tokens per second, beside measured steps of 50 tokens/s.
OWN = {"group": "own", "quantity": "metric", "metric": "average_throughput", "unit": "tokens/s"}
OWNS = formats(LINES, fact("devices"), fact("nodes"), fact("gradient_accumulation_steps"), summary(OWN))
STEPS_OF_50 = (
    "row step=1 tps=50.00 tf=90 mfu=12\nrow step=2 tps=50.00 tf=90 mfu=12\nrow step=3 tps=50.00 tf=90 mfu=12\n"
)


@pytest.mark.parametrize(
    ("facts", "own", "reason"),
    [
        ("set devices=8\n", 400.0, "400 tokens/s is 8 times the 50 of the measured steps: each device may count the work of all"),
        ("set devices=8\n", 6.25, "6.25 tokens/s is 1/8 of the 50 of the measured steps: each device may"),
        ("set devices=6\n", 300.0, "300 tokens/s is 6 times the 50 of the measured steps: each device may"),
        ("set devices=6\n", 297.0, "297 tokens/s is 6 times the 50 of the measured steps"),  # within 3 %
        ("set devices=64\nset nodes=5\n", 250.0, "250 tokens/s is 5 times the 50 of the measured steps: each node may"),
        ("set gradient_accumulation_steps=16\n", 800.0, "800 tokens/s is 16 times the 50 of the measured steps: one of the two"),
        ("", 100.0, "100 tokens/s is 2 times the 50 of the measured steps: the two do not count the same"),
        ("", 400.0, "400 tokens/s is 8 times the 50 of the measured steps: the two do not count the same"),
        ("", 25.0, ""),  # a mean over the whole run may hold pauses as long as its steps
        ("set devices=6\n", 50.0, ""),
        ("set devices=6\n", 44.0, ""),
        ("set devices=6\n", 270.0, ""),
        ("", 300.0, ""),
    ],
)  # fmt: skip
def test_a_summary_a_whole_factor_from_the_measured_steps_is_refused_with_both_numbers(
    facts: str, own: float, reason: str
) -> None:
    made = run(OWNS, facts + STEPS_OF_50 + f"sum own={own}\n")
    metric = made.metrics["average_throughput"]
    assert (metric.value, metric.reason[: len(reason)]) == ((None, reason) if reason else (own, ""))
    assert made.throughput.value == 50
    assert reason_code(metric.reason) == ("contradiction" if reason else None)


@pytest.mark.parametrize("more", [{"pick": "max"}, {"metric": "tokens_per_second_of_a_worker"},
                                  {"metric": "tokens_per_second_per_gpu"}, {"unit": "images/s"}])  # fmt: skip
def test_what_counts_something_else_contradicts_nothing(more: dict[str, Any]) -> None:
    own = {**OWN, **more}
    made = run(formats(LINES, fact("devices"), summary(own)), "set devices=8\n" + STEPS_OF_50 + "sum own=400\n")
    assert made.metrics[own["metric"]].value == 400


def test_printed_tokens_of_a_device_are_held_against_the_measured_steps() -> None:
    device = {**OWN, "metric": "tokens_per_second_per_device"}
    made = formats(LINES, fact("devices"), summary(device))
    for printed, kept in (("50", False), ("6.3", True)):  # of the job, of one of eight devices
        found = run(made, "set devices=8\n" + STEPS_OF_50 + f"sum own={printed}\n").metrics[
            "tokens_per_second_per_device"
        ]
        assert (found.value is not None) == kept, found


def test_printed_flops_are_held_against_the_tokens() -> None:
    """8 billion parameters at 1000 tokens/s of a device: 61 TFLOP/s by PaLM's formula."""
    facts = known(devices=8, **SIZES)
    throughput, computed = rate(8000.0, "tokens/s"), 1000 * PALM / 1e12
    for times, kept in ((1, True), (1.33, True), (0.7, True), (2, True), (8, False), (7, False), (1 / 8, True)):
        printed = {"tflops_per_device": Metric("tflops_per_device", computed * times, "TFLOP/s", "last")}
        found = further_metrics(throughput, None, facts, "T", printed, Peaks(BOARDS))["tflops_per_device"]
        assert (found.value is not None) == kept, (times, found.reason)
    assert f"is 8 times the {computed:.6g} of the measured steps" in further_metrics(
        throughput, None, facts, "T", {"tflops_per_device": Metric("tflops_per_device", 8 * computed, "TFLOP/s", "last")},
        Peaks(BOARDS),
    )["tflops_per_device"].reason  # fmt: skip
