"""Accusations, with known truth: no cell that a rule gives is accused, and one that no window of its log gives is."""

from __future__ import annotations

import math
import os
import shutil
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from perflog.audit import Judgement, audit, documents
from perflog.audit.claims import printed
from perflog.audit.judgement import LEAST, rounds_to
from perflog.logs.find import find_logs
from tests.support import catalog, examples, options
from tests.tools.audit_states import audited, git, states

#: How many records published rules leave out, by docs/audit.md.
LEFT_OUT = (0, 1, 2, 3, 5, 10, 20, 50, 100)
PAGE = "# NGC MXNet ResNet50\n单位： images/sec\n| gpu_num | FP32(BS=96) |\n|--|--|\n| {} | {} |\n"


def speedometer(runs: Sequence[Sequence[float]], table: Sequence[tuple[int, str]] = ()) -> str:
    """A log of MXNet's Speedometer: its runs one behind the other, each a record for 20 steps, and NVIDIA's table."""
    lines = []
    for rates in runs:
        lines.append("INFO: Start with arguments Namespace(amp=False, arch='resnetv15', benchmark_iters=None)")
        lines += [
            f"INFO: Epoch[0] Batch [{20 * n}-{20 * n + 19}]\tSpeed: {rate:.6f} samples/sec\tLR: 0.001"
            for n, rate in enumerate(rates)
        ]
    if table:
        lines += ["train.total_ips", "           |     96    |", "------------------------"]
        lines += [f"     {devices}     |  {text:^7}  |" for devices, text in table]
    return "\n".join(lines) + "\n"


def judged(log: str, *cells: str, devices: int = 8, name: str = "mxnet_gpu8_fp32_bs96.txt") -> list[Judgement]:
    """The verdicts on a table's cells, a row each, by one log."""
    page, row = PAGE.split("| {} | {} |\n")[0], "| {} | {} |\n"
    # of one name: those that tempfile draws hold "o1" and "1n3" now and then, which tell facts of the logs below them
    folder = Path(tempfile.gettempdir(), "perflog-accusations", f"process-{os.getpid()}")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        (folder / name).write_text(log, encoding="utf-8")
        rows = "".join(row.format(devices, cell) for cell in cells)
        (folder / "README.md").write_text(f"{page}{rows}\n- [1卡、8卡 FP32 BS=96 日志](./{name})\n", encoding="utf-8")
        return audit(documents([folder]), find_logs([folder]), catalog(), options())
    finally:
        shutil.rmtree(folder)


def windows(rates: Sequence[float], first: Sequence[int], last: Sequence[int]) -> Iterator[float]:
    """What the estimators of published rules make of the records from one to another."""
    for low in first:
        for high in last:
            kept = sorted(rates[low:high])
            if kept:
                yield statistics.fmean(kept)
                yield len(kept) / math.fsum(1 / rate for rate in kept)  # equal work: work over time
                yield statistics.median(kept)
            drop = max(5, int(len(kept) * 0.05))
            if len(kept) > 2 * drop:
                yield statistics.fmean(kept[drop:-drop])


#: Rates as they scatter in a training, the first of them slow.
rates_of_a_run = st.lists(st.floats(-1, 1), min_size=12, max_size=30).map(
    lambda noise: [2000.0 * (0.4 if n == 0 else 1 + 0.02 * share) for n, share in enumerate(noise)]
)


@settings(max_examples=examples(6), deadline=None)
@given(st.lists(rates_of_a_run, min_size=1, max_size=2), st.data())
def test_what_a_rule_gives_is_never_accused(runs: list[list[float]], data: st.DataObject) -> None:
    """By any of the rules, of either run or of the file as its script reads it, and to any number of digits."""
    assume(len(runs) == 1 or not set(runs[0][1:]) & set(runs[1][1:]))  # the same lines again are one run, printed twice
    rates = data.draw(st.sampled_from([*runs, [rate for run in runs for rate in run]]))
    values = list(windows(rates, LEFT_OUT, [len(rates)]))
    chosen = data.draw(st.lists(st.sampled_from(values), min_size=1, max_size=6))
    cells = [f"{value:.{data.draw(st.integers(0, 4))}f}" for value in chosen]
    for one in judged(speedometer(runs), *cells):
        assert one.verdict in ("reproduced", "within rounding", "within tolerance"), (one.claim.text, one.detail)


@settings(max_examples=examples(6), deadline=None)
@given(rates_of_a_run, st.floats(-0.06, 0.06))
def test_what_no_window_gives_is_found(rates: list[float], share: float) -> None:
    """A cell that is off by more than its rounding, and by 0.1 % from all that any window and estimator makes."""
    cell = f"{statistics.fmean(rates[1:]) * (1 + share):.2f}"
    places = range(len(rates) + 1)
    assume(all(abs(float(cell) / value - 1) > 1.02 * LEAST for value in windows(rates, places, places)))
    (one,) = judged(speedometer([rates]), cell)
    assert one.verdict.fails and one.value is not None
    # The note would convince its author: both numbers, the rule, and the log with its lines.
    assert cell in one.claim.text and f"{one.value.value:.10g}" in one.detail and " gives " in one.detail
    assert one.sources[0].split(":")[-1] == f"{one.value.lines[0]}-{one.value.lines[1]}" and one.value.lines[0] > 1


TWO_RUNS = [[150.0, 380.0, 382.0, 387.0], [900.0, 3000.0, 3010.0, 2990.5, 3005.0]]


@pytest.mark.parametrize(
    ("devices", "cells"),
    [
        (
            1,
            {
                "383.00": "the mean of all but the first record gives 383",
                "387.1": "the program's own report gives 387.07",  # of the row of one device
                "2970.0": "differs",  # near the other row, and no run gives it
            },
        ),
        (
            8,
            {
                "3001.38": "the mean of all but the first record gives 3001.375",
                "1578.28": "the mean of all records, of all runs of the log as one, gives 1578.277778",
                "2998.1": "the program's own report gives 2998.1",
                "2930.0": "differs",
            },
        ),
    ],
)
def test_two_runs_in_one_log(devices: int, cells: dict[str, str]) -> None:
    log = speedometer(TWO_RUNS, [(1, "387.07"), (8, "2998.1")])
    made = judged(log, *cells, devices=devices, name="mxnet_gpu1_gpu8_fp32_bs96.txt")
    for one, words in zip(made, cells.values(), strict=True):
        verdict, beginning = ("differs", "") if words == "differs" else ("reproduced", words)
        assert one.verdict == verdict and one.detail.startswith(beginning), (one.verdict, one.detail)


@pytest.mark.parametrize(
    ("cell", "value", "agrees"),
    [
        ("425.33", 425.335, True),
        ("425.33", 425.3251, True),
        ("425.33", 425.3249, False),  # more than half a unit below: neither rounded nor cut off
        ("425.33", 425.3399, True),  # cut off
        ("425.33", 425.3401, False),
        ("430", 429.51, True),
        ("430", 429.49, False),
        ("1.5e3", 1451.0, True),
        ("1.5e3", 1449.0, False),
    ],
)
def test_half_a_unit_of_the_last_digit_decides(cell: str, value: float, agrees: bool) -> None:
    number = printed(cell)
    assert number is not None and rounds_to(value, number) == agrees


def test_the_rounding_of_a_cell_decides_whether_it_is_reproduced() -> None:
    """Every rule gives 2001.25 but the last record, 2001.251."""
    verdicts = {
        "2001.25": ("reproduced",),
        "2001.2": ("reproduced",),  # rounded or cut off
        "2001.3": ("reproduced",),
        "2001.4": ("within rounding", "within tolerance"),  # 1.5 units off, and 0.007 %
        "2001.26": ("within rounding",),
        "2001.2700": ("within tolerance",),  # 200 units of its own digits, and 0.001 %
        "2003.2": ("within tolerance",),
        "2003.9": ("differs",),  # 0.13 %
    }
    made = judged(speedometer([[2001.25] * 39 + [2001.251]]), *verdicts)
    for one, expected in zip(made, verdicts.values(), strict=True):
        assert one.verdict in expected, (one.claim.text, one.verdict, one.detail)


@pytest.mark.parametrize(
    ("said", "folder", "verdict"),
    [
        ("GPU：Tesla V100-SXM2-16GB * 8", "A100_LOG", "no log"),
        ("GPU：Tesla V100-SXM2-16GB * 8", "V100_LOG", "differs"),
        ("GPU：A100, and V100 for comparison", "A100_LOG", "differs"),
        ("nothing of it", "A100_LOG", "differs"),
    ],
)
def test_a_table_is_held_against_logs_of_its_accelerator(said: str, folder: str, verdict: str, tmp_path: Path) -> None:
    """The environment's section says once, far above, which accelerator a README is of."""
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "mxnet_gpu8_fp32_bs96.txt").write_text(speedometer([[2001.25] * 40]), encoding="utf-8")
    page = PAGE.format(8, "2500.1").replace("单位", f"## Environment\n- {said}\n## Results\n单位")
    (tmp_path / "README.md").write_text(page, encoding="utf-8")
    (one,) = audit(documents([tmp_path]), find_logs([tmp_path]), catalog(), options())
    assert one.verdict == verdict, one.detail


@pytest.mark.parametrize(("heading", "verdict"), [("MXNet 1.5", "no log"), ("MXNet 1.6", "differs")])
def test_a_table_is_held_against_logs_of_its_version(heading: str, verdict: str, tmp_path: Path) -> None:
    (tmp_path / "mxnet_gpu8_fp32_bs96.txt").write_text(speedometer([[2001.25] * 40]), encoding="utf-8")
    page = PAGE.format(8, "2500.1").replace("FP32(BS=96)", f"{heading} FP32(BS=96)")
    (tmp_path / "README.md").write_text(page, encoding="utf-8")
    given = options(set={"framework_version": "1.6.0"})
    (one,) = audit(documents([tmp_path]), find_logs([tmp_path]), catalog(), given)
    assert one.verdict == verdict, one.detail


def test_o2_is_pure_fp16(tmp_path: Path) -> None:
    """In a cell, a heading and a link as in a log: its number is not held against the log of AMP beside it."""
    for precision, rate in (("amp", 1000.5), ("pure_fp16", 1300.5)):
        log = speedometer([[rate] * 40])
        (tmp_path / f"mxnet_gpu8_{precision}_bs96.txt").write_text(log, encoding="utf-8")
    head = "# NGC MXNet ResNet50\n单位： images/sec\n"
    tables = [
        "| gpu_num | AMP(BS=96) |\n|--|--|\n| 8 | 1300.5(O2) |\n",
        "\n| gpu_num | AMP-O2(BS=96) |\n|--|--|\n| 8 | 1300.5 |\n",
        "\n| gpu_num | AMP-O1(BS=96) |\n|--|--|\n| 8 | 1000.5 |\n",
    ]
    (tmp_path / "README.md").write_text(head + "".join(tables), encoding="utf-8")
    made = audit(documents([tmp_path]), find_logs([tmp_path]), catalog(), options())
    assert [one.verdict for one in made] == ["reproduced"] * 3
    assert [one.claim.facts["precision"] for one in made] == ["pure_fp16", "pure_fp16", "amp"]
    assert [len(one.candidates) for one in made] == [1, 1, 1]


def test_a_number_that_another_log_of_its_configuration_gives_is_not_accused(tmp_path: Path) -> None:
    """Nor one that the only log of its kind gives, of another batch size: the note says whose it is."""
    for name, rate in (("a_gpu8_fp32_bs96.txt", 2001.25), ("b_gpu8_fp32_bs96.txt", 2100.75)):
        (tmp_path / "resnet50").mkdir(exist_ok=True)
        (tmp_path / "resnet50" / name).write_text(speedometer([[rate] * 40]), encoding="utf-8")
    page = PAGE.format(8, "2100.75") + "\n- [8卡 FP32 BS=96](./resnet50/a_gpu8_fp32_bs96.txt)\n"
    (tmp_path / "README.md").write_text(page, encoding="utf-8")
    (one,) = audit(documents([tmp_path]), find_logs([tmp_path]), catalog(), options())
    assert one.verdict == "reproduced" and "b_gpu8" in one.sources[0]
    assert one.notes[0].startswith("the nearest log does not give it: ") and "a_gpu8" in one.notes[0]


def test_cells_of_one_table_do_not_contradict_each_other(tmp_path: Path) -> None:
    """`ASYNC` and `GEO-ASYNC` of one row: what is not understood tells them apart all the same."""
    table = "| 节点数 | ASYNC吞吐 | GEO-ASYNC吞吐 |\n|--|--|--|\n| 32 | 534432 | 1600800 |\n"
    (tmp_path / "README.md").write_text(f"# Paddle Word2Vec\n单位：words/sec\n{table}", encoding="utf-8")
    made = audit(documents([tmp_path]), [], catalog(), options())
    assert [(one.verdict, one.contradicts) for one in made] == [("no log", ())] * 2


def test_every_state_of_a_repository_is_audited(tmp_path: Path) -> None:
    """Those with the same tables and logs once; each against the logs of its own commit."""
    repository = tmp_path / "repository"
    repository.mkdir()

    def commit(page: str, rate: float) -> None:
        (repository / "README.md").write_text(page, encoding="utf-8")
        (repository / "mxnet_gpu8_fp32_bs96.txt").write_text(speedometer([[rate] * 40]), encoding="utf-8")
        for words in (["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a state"]):
            assert git(repository, *words) is not None

    assert git(repository, "init", "-q") is not None
    commit(PAGE.format(8, "2001.25"), 2001.25)
    commit(PAGE.format(8, "2001.25") + "A word more.\n", 2001.25)
    commit(PAGE.format(8, "2201.77"), 2001.25)
    commit(PAGE.format(8, "2201.77") + "Once more.\n", 2201.77)
    made = [audited(tmp_path / name, files)["counts"] for name, files in states(repository)]
    assert [(one["reproduced"], one["differs"]) for one in made] == [(1, 0), (0, 1), (1, 0)]


@pytest.mark.parametrize(("title", "verdict"), [("DeepLabV3P", "no log"), ("HRNetW18", "differs"), ("Mine", "differs")])
def test_a_table_is_held_against_logs_of_its_model(title: str, verdict: str, tmp_path: Path) -> None:
    folder = tmp_path / "HRNetW18/logs"
    folder.mkdir(parents=True)
    (folder / "mxnet_gpu8_fp32_bs96.txt").write_text(speedometer([[2001.25] * 40]), encoding="utf-8")
    page = PAGE.format(8, "2500.1").replace("ResNet50", title)
    (tmp_path / "README.md").write_text(page, encoding="utf-8")
    (one,) = audit(documents([tmp_path]), find_logs([tmp_path]), catalog(), options())
    assert one.verdict == verdict, one.detail


@pytest.mark.parametrize(
    "other",
    [
        "## All results\n| gpu_num | images/s |\n|--|--|\n| 8 | 2950.1 |\n| 8 | 2870.5 |\n",  # repeats
        "附：[NVIDIA DGX-1 官方测试结果](https://example.org)\n\n| gpu_num | images/s |\n|--|--|\n| 8 | 2778.5 |\n",
    ],
)
def test_repeats_and_quoted_tables_contradict_nothing(other: str, tmp_path: Path) -> None:
    head = "# PyTorch ResNet50, FP32, batch size = 128\n"
    own = "## Median\n| gpu_num | images/s |\n|--|--|\n| 8 | 2910.3 |\n\n"
    (tmp_path / "README.md").write_text(head + own + other, encoding="utf-8")
    made = audit(documents([tmp_path]), [], catalog(), options())
    assert len(made) >= 2 and {(one.verdict, one.contradicts) for one in made} == {("no log", ())}
    plain = other.replace("| 8 | 2870.5 |\n", "").replace("官方测试结果", "again")
    (tmp_path / "README.md").write_text(head + own + plain, encoding="utf-8")
    assert {one.verdict for one in audit(documents([tmp_path]), [], catalog(), options())} == {"contradicts"}
