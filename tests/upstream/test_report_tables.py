"""Logs of the five reports' models, trained by upstream code of today, come out as the tables of those reports.

The headings are copied by hand from the reports; the number in the one cell that is filled is the clock's within 1 %.
"""

from __future__ import annotations

import pytest

from tests.cli.test_cli import run
from tests.upstream.judge import LOGS, expectations, judge

EXPECTATIONS = expectations()
#: A program, the options of its report's table, the table's heading, and the row and column of the cell that is filled.
TABLES = {
    "torchvision_maskrcnn": (
        "--set precision=fp32 --rows devices=1:8:32 --columns precision,batch_size --style paddle --lang zh",
        "|卡数 | FP32(BS=2) |", 0, 1,
    ),
    "paddleseg_hrnet": (
        "--rows devices=1:8:16:32 --value time_to_train,throughput,accuracy,speedup --baseline devices=1 "
        "--style paddle --lang zh",
        "|卡数 | Time2Train(sec) | 吞吐(samples/sec) | 准确率(%) | 加速比 |", 0, 2,
    ),
    "gluoncv_resnet50": (
        "--set precision=fp32 --set batch_size=4 --rows devices=1:8:32 --columns precision,batch_size --style paddle "
        "--lang zh",
        "|卡数 | FP32(BS=4) |", 0, 1,
    ),
    "mindcv_resnet50": (
        "--set nodes=1 --rows nodes,devices --value throughput,speedup --baseline devices=1 --style dlperf --lang en",
        "| node_num | gpu_num | samples/s | speedup |", 0, 2,
    ),
    "mmaction_tsm": (
        "--set precision=fp32 --rows devices=1:8:32 --columns precision --style paddle --lang zh",
        "|卡数 | FP32 |", 0, 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_a_real_log_comes_out_as_its_reports_table(name: str) -> None:
    options, heading, row, column = TABLES[name]
    expected = EXPECTATIONS[name]
    given = [word for key, value in expected.set.items() for word in ("--set", f"{key}={value}")]
    done = run(
        "table", str(LOGS / f"{name}.log"), *given, *options.split(), "--digits", "throughput=%.4f", "--no-notes"
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == heading
    cells = [cell.strip() for cell in lines[2 + row].strip("|").split("|")]
    assert float(cells[column].split()[0]) == pytest.approx(judge(name, expected).clock_value, rel=0.01)
