"""Tables: the seeds' own, byte for byte, by options alone; what may not stand in one cell; escaping."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perflog.cli import app
from perflog.escaping import markdown as escaped
from perflog.runs.run import Metric
from perflog.show.contents import contents
from perflog.show.grid import Number, Projection, fields, grid
from perflog.show.page import page
from perflog.show.provenance import ReadLogs
from perflog.show.table import formatted, load_style, report_table, styles
from tests.show import made
from tests.support import FIXTURES, SHARED, another_training

#: Seed, where its table begins, logs, and the options that make it.
SEED_TABLES = {
    "seed 000": ("000_", "|卡数 | FP32(BS=2)", "seed000 --rows devices=1:8:32 --columns precision,batch_size --style paddle-tight --digits throughput=%.1f"),
    "seed 001": ("001_", "|卡数 | Time2Train", "seed001 --baseline devices=1 --rows devices --value time_to_train,throughput,accuracy,speedup --style paddle "
                 "--digits 'speedup=%.2f trim nobase'"),
    "seed 002": ("002_", "|卡数 | FP32(BS=128)", "seed002 -e reported --rows devices --columns precision,batch_size --style paddle-tight --name fp16=AMP"),
    "seed 003": ("003_", "|卡数 | FP32 | AMP |\n|:-----:|:-----:|:-----:|\n|1", "seed003 -s devices=32 -s batch_size=16 --rows devices=1:8:32 "
                 "--columns precision=fp32:amp --style paddle --missing ''"),
    "seed 003, accuracy": ("003_", "|卡数 | FP32 | AMP |\n|:-----:|:-----:|:-----:|\n|8", "seed003 -s devices=32 -s batch_size=16 --rows devices=8:32 "
                           "--columns precision=fp32:amp --value accuracy --style paddle --missing ''"),
    "seed 004": ("004_", "| node_num | gpu_num | samples/s | speedup |\n| -------- | ------- | --------- | ------- |\n| 1        | 1       | 369",
                 "seed004/logs_fp32 -w 100 -n 100 --rows nodes,devices --value throughput,speedup --style dlperf --lang en"),
    "seed 004, FP16": ("004_", "| node_num | gpu_num | samples/s | speedup |\n| -------- | ------- | --------- | ------- |\n| 1        | 1       | 1116",
                       "seed004/logs_fp16 -w 100 -n 100 --rows nodes,devices --value throughput,speedup --style dlperf --lang en"),
    "seed 004, as its command prints it": ("004_", "| node_num | gpu_num | samples/s | speedup |\n| -------- | ------- | --------- | ------- |\n| 1        | 1       | 369",
                 "seed004_ranks/logs_fp32 -w 100 -n 100 --rows nodes,devices --value throughput,speedup --style dlperf --lang en"),
    "seed 004, FP16, as its command prints it": ("004_", "| node_num | gpu_num | samples/s | speedup |\n| -------- | ------- | --------- | ------- |\n| 1        | 1       | 1116",
                       "seed004_ranks/logs_fp16 -w 100 -n 100 --rows nodes,devices --value throughput,speedup --style dlperf --lang en"),
}  # fmt: skip
#: Tables whose hand-made blanks or uncovered rows only an existing README can tell.
BY_HAND = {"seed 001", "seed 002"}


def seed_table(name: str) -> tuple[str, str]:
    """(the table in the seed, perflog's recipe)."""
    if not (SHARED / "seeds").is_dir():
        pytest.skip("the seeds (../shared/seeds) are not here")
    seed, start, options = SEED_TABLES[name]
    text = next((SHARED / "seeds").glob(f"{seed}*")).read_text(encoding="utf-8")
    table = re.match(r"(?:\|[^\n]*\n)+", text[text.index(start) :])
    assert table
    return table[0], f"table {FIXTURES}/{options}" + ("" if "--lang" in options else " --lang zh") + " --no-notes"


def run(recipe: str) -> str:
    import shlex

    done = CliRunner().invoke(app, shlex.split(recipe))
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("name", [name for name in SEED_TABLES if name not in BY_HAND])
def test_a_seeds_table_from_logs_alone(name: str) -> None:
    table, recipe = seed_table(name)
    assert run(recipe) == table


@pytest.mark.parametrize("name", SEED_TABLES)
def test_a_seeds_table_in_its_readme_is_made_true_again(name: str, tmp_path: Path) -> None:
    table, recipe = seed_table(name)
    covered = {line.split("|")[1].strip() for line in run(recipe).splitlines()[2:]} if name in BY_HAND else None
    lines = table.splitlines(keepends=True)
    keys = 2 if "node_num" in table else 1
    for at, line in enumerate(lines[2:], 2):  # every number that the logs know is made stale, digit for digit
        cells = line.split("|")
        if covered is None or cells[1].strip() in covered:
            cells[1 + keys :] = [
                re.sub(r"[0-9]", lambda d: str((int(d[0]) + 1) % 10), cell) for cell in cells[1 + keys :]
            ]
        lines[at] = "|".join(cells)
    kept = " ".join(
        f"--keep {line.split('|')[1].strip()}"
        for line in lines[2:]
        if covered is not None and line.split("|")[1].strip() not in covered
    )
    marker = f"<!-- perflog: {recipe} {kept}".rstrip() + " -->\n"
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{marker}{''.join(lines)}<!-- /perflog -->\nafter", encoding="utf-8")
    done = CliRunner().invoke(app, ["readme", "--allow", str(FIXTURES), str(readme)])
    assert done.exit_code == 0, done.output
    assert readme.read_text(encoding="utf-8") == f"before\n{marker}{table}<!-- /perflog -->\nafter"


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        ("table {f}/seed004 -w 100 -n 100 --rows devices", "precision is fp16 and fp32"),
        ("table {f}/seed004 -w 100 -n 100 --rows devices", "choose one (--where precision=…)"),
        ("table {f}/seed004 --rows gpus", "no case has a field 'gpus'"),
        ("table {f}/seed004 --rows devices,precision -v speed", "no case has a value 'speed'"),
        ("table {f}/seed004 --rows devices=", "expected fields such as"),
        ("table {f}/seed004 --rows devices --style nice", "--style 'nice': there are changes, dlperf"),
        ("table {f}/seed004 --rows devices --where model=vgg", "model=vgg: no case has that value; there is rn50"),
        ("table {f}/seed004/logs_fp32 --rows devices --digits throughput=2", "--digits throughput=2: expected a form"),
        ("table {f}/seed004/logs_fp32 --rows devices --digits thrughput=%.1f", "'thrughput'; did you mean throughput?"),
        ("table {f}/seed004/logs_fp32 --rows devices --title devces=cards", "value 'devces'; did you mean devices?"),
    ],
)
def test_what_no_table_can_show_is_named(recipe: str, message: str) -> None:
    done = CliRunner().invoke(app, recipe.format(f=FIXTURES).split())
    assert message in str(done.exception)


def test_the_notes_say_how_and_what_varies() -> None:
    text = run(f"table {FIXTURES}/seed001 --rows devices --style plain")
    assert "median over n runs; estimator total; warm-up 20 steps; n = 1; samples/s." in text
    assert "batch\\_size is 4 for devices=32; 8 for devices=1 and devices=8" in text


def test_accuracy_in_per_cent_and_as_a_fraction_is_one_column_in_per_cent() -> None:
    runs = [made.run({"framework": "A", "model": "m", "devices": d}, 10.0) for d in (1, 2, 4)]
    for one, (value, unit) in zip(runs, [(71.2, "%"), (0.732, "fraction"), (9.5, "%")], strict=True):
        one.metrics["accuracy"] = Metric("accuracy", value, unit, "last")
    cases = made.extraction(runs)
    values = ("accuracy", "throughput")
    placed = grid(cases, Projection(fields("devices", "--rows"), (), values))
    for style in ("plain", "paddle"):
        table = report_table(placed, load_style(style), "en", cases, {})
        assert table.header[-2].replace(" ", "") == "accuracy(%)"
        assert [float(row[-2].rstrip("%")) for row in table.rows] == [71.2, 73.2, 9.5]
    shown = page(ReadLogs(cases, (), {}), contents(cases), [], Path(), "en").decode()
    assert [at for at in ("71.2", "0.732", "73.2", "9.5") if f'data-sort="{at}"' in shown] == ["71.2", "73.2", "9.5"]
    alone = made.extraction(runs[1:2])
    placed = grid(alone, Projection(fields("devices", "--rows"), (), values))
    assert "accuracy (fraction)" in report_table(placed, load_style("plain"), "en", alone, {}).header


def test_repeats_as_rows() -> None:
    text = run(
        f"table {FIXTURES}/seed004/logs_fp32 -w 100 -n 100 --rows nodes,devices_per_node,batch_size,repeat --where devices=1:2 --style dlperf --no-notes"
    )
    assert len(text.splitlines()) == 2 + 2 * 5
    assert "| 1        | 1                | 128                   | 1      | 371.01    |" in text


@pytest.mark.parametrize(
    ("low", "high", "value", "text"),
    [
        (99.0, 101.0, 100.123, "100.1"),
        (None, None, 3.14159, "3.142"),
        (10.0, 10.002, 10.001, "10.0010"),
        (1000.0, 3000.0, 2000.4, "2000"),
    ],
)
def test_digits_follow_the_interval(low: float | None, high: float | None, value: float, text: str) -> None:
    assert formatted(Number(value, "", 5, low, high), "", "") == text


def test_no_text_of_a_log_breaks_a_table() -> None:
    assert escaped("a|b\n<script>`*_[x](y)\\") == "a\\|b\\\\n&lt;script&gt;\\`\\*\\_\\[x\\](y)\\\\"


def test_every_style_can_be_read_and_a_template_cannot_reach_out(tmp_path: Path) -> None:
    for name in styles():
        assert load_style(name).layout
    (tmp_path / "evil.toml").write_text("title = 'x'\ncell = \"{{ ''.__class__.__mro__ }}\"\n")
    done = CliRunner().invoke(
        app,
        [
            "table",
            f"{FIXTURES}/seed004/logs_fp32",
            "--rows",
            "devices",
            "--style",
            "evil",
            "--templates",
            str(tmp_path),
        ],
    )
    assert "expected values, {% if %} and filters alone, found an attribute" in str(done.exception)


#: Shapes of published tables (reference/tables.md): the options that make each, and two of its lines.
SHAPES = {
    "DLPerf's own": ("--rows nodes,devices --value throughput,speedup --style dlperf --where framework=MXNet --where batch_size=128",
                     "| node_num | gpu_num | samples/s | speedup |", "| 4        | 32      | 4883.95   | 1       |"),
    "extract_util.py": ("--rows nodes,devices_per_node,batch_size --value throughput,speedup --style dlperf-util --where framework=PaddlePaddle",
                        "| num_nodes | gpu_num_per_node | batch_size_per_device | throughput | speedup |",
                        "| 1         | 8                | 256                   | 7311.52    | 8.00    |"),
    "samples/s(PyTorch)": ("--rows nodes,devices_per_node,batch_size --value throughput,speedup --style dlperf --where framework=MXNet --title throughput=samples/s(MXNet)",
                           "| node_num | gpu_num_per_node | batch_size_per_device | samples/s(MXNet) | speedup |",
                           "| 1        | 8                | 256                   | 4883.95          | 1       |"),
    "two frameworks": ("--rows nodes,devices_per_node,batch_size --columns framework --style dlperf-frameworks",
                       "| node_num | gpu_num_per_node | batch_size_per_device | MXNet samples/s | PaddlePaddle samples/s |",
                       "| 4        | 8                | 256                   | 4883.95         | 29246.07               |"),
    "links in the headings": ("--rows nodes,devices --columns framework --style plain --where batch_size=128 --name MXNet=[NGC<br>MXNet](./m)",
                              "| nodes   | devices   |   [NGC<br>MXNet](./m) |   PaddlePaddle |", "| 4       | 32        |               4883.95 |       29246.07 |"),
    "one row per framework": ("--rows framework --columns precision,batch_size --value throughput,speedup --style dlperf-summary --where case=4n8g",
                              "| Framework    | FP32 throughput<br>(samples/s)<br>bsz=128 | FP32 speedup<br>bsz=128 |", "| PaddlePaddle | 29246.07 "),
    "value and batch size": ("--rows framework --columns precision --style dlperf-bsz --where case=1n8g --where batch_size=256",
                             "| Framework    | FP32 throughput<br>bsz=max |", "| MXNet        | 4883.95<br>bsz=256         |"),
    "latency": ("--rows case,batch_size --value step_time --style latency --where framework=MXNet --where batch_size=256",
                "| gpu  | batch_size | latency(ms) |", "| 1n8g | 256        | 419.333     |"),
    "latency and memory": ("{mm} --rows case,batch_size --value step_time,memory --style latency -w 1",
                           "| gpu  | batch_size | latency(ms) | memory_usage(MB) |", "| 1n8g | 2          | 668.818     | 3,842            |"),
    "unit and change in the cells": ("{mm} --rows devices --value throughput,memory --style changes -w 1",
                                     "| gpu_num | throughput(samples/s) | memory             |", "| 16      | 47.85 (↑100.0%)       | 3842 (MiB) (↑0.0%) |"),
    "a source of each row": ("{mm} --rows framework,label --style dlperf-summary --title label=Source --name mmdet=[MMDet](./mmdet) --where devices=8 -w 1",
                             "| Framework | Source           | throughput<br>(samples/s) |", "| PyTorch   | [MMDet](./mmdet) | "),
    "parameter servers": ("{ps} --rows nodes,threads --columns reader --style paddle-ps --lang zh -w 0records -e reported",
                          "|节点数 | 线程数 | DataLoader吞吐 | DataSet吞吐 |", "|4 | 16 | "),
    "Paddle's own": ("--rows devices --columns precision,batch_size --style paddle --lang zh --where framework=PaddlePaddle",
                     "|卡数 | FP32(BS=128) | FP32(BS=256) |", "|8 | 7311.517 | 7311.517 |"),
    "Paddle's, a row with a remark": ("--rows devices --columns precision,batch_size --style paddle --lang zh --where framework=PaddlePaddle --name 32=32<sup>[W/O]</sup>",
                                      "|卡数 | FP32(BS=128) | FP32(BS=256) |", "|32<sup>[W/O]</sup> | 29246.069 | 29246.069 |"),
    "Paddle's frameworks": ("--rows devices,batch_size --columns framework=PaddlePaddle:MXNet:PyTorch --style paddle-frameworks --name PaddlePaddle=[PaddlePaddle](./P)",
                            "|参数 | [PaddlePaddle](./P) | MXNet | PyTorch |", "|GPU=8,BS=256 | 7311.517 | 4883.945 | —— |"),
}  # fmt: skip


@pytest.fixture(scope="module")
def two_frameworks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs of two frameworks at three sizes and two batch sizes, told by their paths."""
    folder = tmp_path_factory.mktemp("logs")
    half = folder / "half_a_step.txt"
    for parser, log in (("paddleclas", "static.log"), ("mxnet_speedometer", "")):
        source = sorted((FIXTURES / "parsers" / parser).glob(log or "*.log"))[0]
        half.write_text(with_half_a_batch(source.read_text(encoding="utf-8")), encoding="utf-8")
        for case in ("1n1g", "1n8g", "4n8g"):
            another_training(half, folder / parser / case / "rn50_b128_fp32_1.log")
            another_training(source, folder / parser / case / "rn50_b256_fp32_1.log")
    half.unlink()
    return folder


def with_half_a_batch(text: str) -> str:
    """The log at the same rate with steps of 128 images, not 256, each of which takes half as long."""
    return re.sub(r"(batch_cost|reader_cost): ([0-9.]+)", lambda cost: f"{cost[1]}: {float(cost[2]) / 2:.6f}", text)


def copies(folder: Path, source: Path, names: list[str]) -> Path:
    for name in names:
        another_training(source, folder / name)
    return folder


def memory_logs(folder: Path) -> Path:
    """Logs that print the peak of memory."""
    return copies(folder, FIXTURES / "parsers/mmcv1/mmdet_epoch.log", ["mmdet/1n8g/fp32.log", "mmdet/2n8g/fp32.log"])


def server_logs(folder: Path) -> Path:
    """Logs of parameter servers, told by their names."""
    names = [f"CtrDnn_{reader}_16Thread_{nodes}Node" for reader in ("DataSet", "DataLoader") for nodes in (4, 8)]
    return copies(folder, FIXTURES / "parsers/paddle_ps/dataloader.log", names)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_published_shape_by_options_alone(shape: str, two_frameworks: Path, tmp_path: Path) -> None:
    options, heading, line = SHAPES[shape]
    arguments = options.format(mm=memory_logs(tmp_path / "mm"), ps=server_logs(tmp_path / "ps")).split()
    done = CliRunner().invoke(
        app, ["table", *([] if "{" in options else [str(two_frameworks)]), *arguments, "--no-notes"]
    )
    text = done.output
    bare, told = (re.sub(r" +", " ", re.sub(r" ⚠ [^|]*", " ", shown)) for shown in (text, "\n".join((heading, line))))
    assert all(row in re.sub("-+", "-", bare) for row in re.sub("-+", "-", told).split("\n")), text
