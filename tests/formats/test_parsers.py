"""Every parser is sound, has a fixture, and reads from it what was worked out apart from perflog."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from perflog.errors import ParserError
from perflog.extraction import extract_paths
from perflog.formats.catalog import load_catalog
from perflog.formats.dialect import tail_after
from perflog.formats.load import load_parser
from perflog.formats.paths import check_path_patterns
from perflog.formats.printed import kind
from perflog.inference.formats import INFERRED
from perflog.logs.find import find_logs
from perflog.matching.checks import check_parser, is_sound
from perflog.matching.one_line import read_line
from perflog.reading.schedule import read_logs
from tests.support import FIXTURES, arguments, catalog, extracted, options, parser_fixtures

#: The logs of each parser, with their side files; some are of programs that need none, since any log is read so.
CASES: dict[str, list[tuple[Path, dict[str, Any]]]] = {}
for _name, _log, _side in parser_fixtures():
    CASES.setdefault(_name, []).append((_log, _side))


def test_samples() -> None:
    assert {parser.name: faults for parser in catalog().parsers if (faults := check_parser(parser))} == {}


def test_every_parser_has_a_fixture() -> None:
    without = [parser.name for parser in catalog().parsers if parser.name not in CASES]
    assert without == [], "fixtures/parsers/NAME/ holds no log with a side file"


@cache
def matches() -> dict[str, dict[str, int]]:
    """How often each pattern matched in each log."""
    logs = [log for cases in CASES.values() for log, _ in cases]
    found = read_logs(
        find_logs(logs),
        catalog(),
        lambda r: (r.log.path, {key: account.matches for key, account in r.accounts.items()}),
    )
    return dict(found)


@pytest.mark.parametrize("name", CASES)
def test_fixture(name: str) -> None:
    for log, side in CASES[name]:
        check_log(name, log, side["expect"], side.get("options", []))


def check_log(name: str, log: Path, expect: dict[str, Any], given: list[str]) -> None:
    counted = {key.partition(".")[2]: count for key, count in matches()[str(log)].items() if key.startswith(f"{name}.")}
    for pattern, count in expect.get("matches", {}).items():
        assert counted.get(pattern, 0) == count, f"{pattern}: {counted}"
    if "throughput" not in expect and "reason" not in expect:
        return
    extraction = extracted(log, **arguments(given))
    if "reason" in expect and not extraction.runs:
        assert expect["reason"] in extraction.skipped[0].reason
        return
    parser = name if name in catalog().by_name else INFERRED
    runs = [run for run in extraction.runs if run.parser == parser]
    assert runs, [s.reason for s in extraction.skipped] or [r.parser for r in extraction.runs]
    found = runs[0].throughput
    if "reason" in expect:
        assert found.value is None
        assert expect["reason"] in found.reason
    else:
        assert found.reason == ""
        assert found.value == pytest.approx(expect["throughput"], rel=2e-6)
        assert found.unit == expect["unit"]


def test_every_fixture_log_has_a_side_file() -> None:
    logs = [p for p in (FIXTURES / "parsers").glob("*/*") if p.suffix != ".toml"]
    assert [p.name for p in logs if not Path(f"{p}.toml").is_file()] == []


def test_path_patterns() -> None:
    assert check_path_patterns(catalog().path_patterns) == []


def test_mismatch_shows_the_line_and_where_the_pattern_gave_up(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'title = "t"\nsource = "s"\n[[pattern]]\nname = "step"\nrole = "step"\nliteral = "step "\n'
        'regex = \'step (?P<step>{I}): (?P<rate>{N}) img/s\'\n[[pattern.value]]\ngroup = "rate"\nquantity = "rate"\nunit = "images/s"\n'
        "[[pattern.sample]]\nline = 'step 5: 12.5 seq/s'\nexpect = { step = 5 }\n"
    )
    (fault,) = check_parser(load_parser(file))
    assert fault.endswith("  step 5: 12.5 seq/s\n               ^ expected here: img/s")
    assert not is_sound(load_parser(file))
    file.write_text(file.read_text().replace("seq/s", "img/s"))
    assert is_sound(load_parser(file))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "role = 'stepp'",
            "role = 'stepp': expected one of step, position, summary, event, metadata, ignore; did you mean 'step'?",
        ),
        ("colour = 'red'", "unknown key 'colour'"),
        ("regex = 'step (?P<what>{N})'", "pattern 's': nothing says what group 'what' means"),
    ],
)
def test_malformed_parser_is_refused_with_its_place(tmp_path: Path, line: str, message: str) -> None:
    keys = {"name": "'s'", "role": "'step'", "literal": "'step '", "regex": "'step (?P<step>{I})'"}
    name, _, value = line.partition(" = ")
    keys[name] = value
    file = tmp_path / "mine.toml"
    file.write_text('title = "t"\nsource = "s"\n[[pattern]]\n' + "".join(f"{k} = {v}\n" for k, v in keys.items()))
    with pytest.raises(ParserError, match=re.escape(message)) as caught:
        load_parser(file)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize(
    ("literal", "regex", "tail"),
    [
        ("ips: ", "ips: ([0-9]+)", "([0-9]+)"),
        ("Epoch: [", r"Epoch: \[([0-9]+)\]", r"([0-9]+)\]"),
        ("ips", "ips?x", None),
        ("x", "y x", None),
    ],
)
def test_what_follows_the_literal(literal: str, regex: str, tail: str | None) -> None:
    assert tail_after(literal, regex) == tail


@pytest.mark.long
def test_throughput_times_step_time_is_the_global_batch() -> None:
    checked = 0
    for name, log, _ in parser_fixtures():
        for run in extracted(log).runs:
            step, batch, devices = (
                run.metrics.get("step_time"),
                run.metadata.integer("batch_size"),
                run.metadata.integer("devices"),
            )
            total = run.metadata.integer("global_batch_size") or (batch or 0) * (devices or 0)
            if (
                run.throughput.value is None
                or step is None
                or step.value is None
                or not total
                or kind(run.throughput.unit) != "items"
            ):
                continue
            assert run.throughput.value * step.value == pytest.approx(total, rel=1e-6), f"{name}: {log.name}"
            checked += 1
    assert checked >= 15


@pytest.mark.parametrize(("unit", "value"), [("img/sec", 120.0), ("kimg/sec", None), ("furlongs/sec", None)])
def test_a_unit_printed_on_the_line_counts_only_where_it_is_plain(
    unit: str, value: float | None, tmp_path: Path
) -> None:
    """A parser may leave the unit to its lines; thousands, or what is not known, are refused rather than scaled."""
    (tmp_path / "own.toml").write_text(
        'title = "own"\nsource = "own"\npriority = 90\n[[pattern]]\nname = "step"\nrole = "step"\nliteral = "OWN step"\n'
        "regex = 'OWN step (?P<step>{I}) rate (?P<rate>{N}) (?P<unit>[a-z]+/sec)'\n"
        '[[pattern.value]]\ngroup = "rate"\nquantity = "rate"\nspan = "interval"\n'
        '[[pattern.sample]]\nline = "OWN step 1 rate 2.0 img/sec"\nexpect = { step = 1 }\n',
        encoding="utf-8",
    )
    (tmp_path / "run.log").write_text(
        "".join(f"OWN step {n} rate 120.0 {unit}\n" for n in range(1, 60)), encoding="utf-8"
    )
    ((run,),) = (extract_paths([tmp_path / "run.log"], options(), load_catalog([tmp_path])).runs,)
    assert run.throughput.value == (None if value is None else pytest.approx(value)) and bool(
        run.throughput.reason
    ) == (value is None)


def test_a_sample_names_all_facts_of_its_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    head = (
        'title = "t"\nsource = "s"\n[[pattern]]\nname = "amp"\nrole = "metadata"\nliteral = "amp: "\n'
        "regex = 'amp: (?P<precision>True|False)(?: on (?P<devices>{I}))?'\nmap.precision = { True = \"amp\" }\n"
    )
    for line, right, wrong in (
        ("amp: True on 8", '{ precision = "amp", devices = 8 }', '{ precision = "amp" }'),
        ("amp: True", '{ precision = "amp" }', '{ precision = "True" }'),
        ("amp: False", "{}", '{ precision = "fp32" }'),
    ):
        for facts, sound in ((right, True), (wrong, False)):
            file.write_text(f"{head}[[pattern.sample]]\nline = '{line}'\nfacts = {facts}\n")
            assert is_sound(load_parser(file)) == sound, (line, facts)
    assert "sample expects the facts {'precision': 'fp32'}, given {}" in check_parser(load_parser(file))[0]


@pytest.mark.parametrize(
    ("fixture", "lines", "facts"),
    [
        ("oneflow_bert/n1g8.log", "batch_size_per_device = 32\nnum_accumulation_steps = 1", {"batch_size": 32}),
        ("oneflow_bert/n1g8.log", "batch_size_per_device = 32\nnum_accumulation_steps = 4", {"batch_size": None}),
        (
            "oneflow_models/resnet50.log",
            "  num_devices_per_node .... 1\n  train_batch_size .... 96\n  train_global_batch_size .... 768",
            {"devices": 8, "batch_size": 96},
        ),
        (
            "oneflow_models/resnet50.log",
            "  num_devices_per_node .... 1\n  train_batch_size .... 96\n  train_global_batch_size .... 96",
            {"devices": 1, "batch_size": 96},
        ),
        *(
            (
                "paddle_launch/new_launcher.log",
                "".join(f"LAUNCH INFO 2023-03-04 11:38:40,004 {line}\n" for line in lines),
                facts,
            )
            for lines, facts in (
                (("nnodes: 2", "Run Pod: a, replicas 4, status ready"), {"nodes": 2, "devices": 8}),
                (("ips: None", "nnodes: 1", "Run Pod: a, replicas 4, status ready"), {"nodes": 1, "devices": 4}),
                (("ips: 10.0.0.1,10.0.0.2", "nnodes: 1", "Run Pod: a, replicas 4, status ready"), {"devices": None}),
                (
                    ("nnodes: 1", "Job: default, mode ps, replicas 1[1:1]", "Run Pod: a, replicas 4, status ready"),
                    {"devices": None},
                ),
            )
        ),
        *(
            (log, "".join(f"[2023/07/28 06:53:36] {words}{line}\n" for line in lines), {"precision": precision})
            for log, words, lines, precision in (
                ("paddleclas/static.log", "ppcls INFO:     ", ("use_amp : False", "level : O1"), "fp32"),
                ("paddleclas/static.log", "ppcls INFO:     ", ("level : O2", "use_amp : False"), "fp32"),
                ("paddleclas/static.log", "ppcls INFO:     ", ("use_amp : True", "level : O1"), "amp"),
                ("paddleclas/static.log", "ppcls INFO:     ", ("use_amp : True", "level : O2"), "pure_fp16"),
                ("paddleclas/static.log", "ppcls INFO:     ", ("use_amp : True",), "amp"),
                ("paddleclas/static.log", "ppcls INFO:     ", ("scale_loss : 128.0", "level : O2"), "pure_fp16"),
                ("paddleclas/static.log", "INFO: ", ("use_amp : False", "use_pure_fp16 : True"), "pure_fp16"),
                ("paddleclas/static.log", "INFO: ", ("use_amp : True", "use_pure_fp16 : False"), "amp"),
                ("paddleocr/train.log", "ppocr INFO:     ", ("use_amp : False", "amp_level : O2"), "fp32"),
                ("paddleocr/train.log", "ppocr INFO:     ", ("use_amp : True", "amp_level : O2"), "pure_fp16"),
                ("paddleocr/train.log", "ppocr INFO:     ", ("use_amp : True", "amp_level : O1"), "amp"),
                ("paddleocr/train.log", "ppocr INFO:     ", ("use_amp : True",), None),  # the level differs by version
                ("paddleocr/train.log", "ppocr INFO:     ", ("amp_level : O2",), None),  # off without a switch
            )
        ),
        (
            "paddlenlp_transformer/static.log",
            " 'use_amp': False,\n 'use_pure_fp16': False,",
            {"precision": "fp32"},
        ),
        ("paddlenlp_transformer/static.log", " 'use_amp': True,\n 'use_pure_fp16': False,", {"precision": "amp"}),
        ("paddlenlp_transformer/static.log", " 'use_amp': True,\n 'use_pure_fp16': True,", {"precision": "pure_fp16"}),
        ("paddlenlp_transformer/static.log", " 'use_amp': False,\n 'use_pure_fp16': True,", {"precision": None}),
        ("basicsr/msrresnet.log", "  dist: True\n\tWorld size (gpu number): 4", {"devices": 4}),
        ("basicsr/msrresnet.log", "  dist: False\n  num_gpu: 4\n\tWorld size (gpu number): 1", {"devices": 4}),
        ("basicsr/msrresnet.log", "  dist: False\n  num_gpu: 0\n\tWorld size (gpu number): 1", {"devices": 1}),
        ("coqui/tts.log", " | > Num. of GPUs: 1", {"devices": 1}),
        ("coqui/tts.log", " | > Num. of GPUs: 8", {"devices": None}),
        ("darknet/yolov4.log", " Tensor Cores are used.", {"precision": "amp"}),
        (
            "darknet/yolov4.log",
            " Tensor Cores are disabled until the first 30 iterations are reached.\n Tensor Cores are used.",
            {"precision": None},
        ),
        ("detectron2/new.log", "GPU 0     Tesla T4 (arch=7.5)", {"accelerator": "Tesla T4"}),
        (
            "detectron2/new.log",
            "GPU 0     Tesla T4 (arch=7.5)\nd2: Running with full config:\nMODEL:\n  DEVICE: cpu",
            {"accelerator": "CPU"},
        ),
        ("flair/tagger.log", ' - mini_batch_size: "32"', {"global_batch_size": 32, "devices": None}),
        (
            "flair/tagger.log",
            ' - mini_batch_size: "32"\n - compute on device: cuda:0, cuda:1',
            {"global_batch_size": None, "devices": 2},
        ),
        ("gluoncv/yolo3_voc.log", "(kvstore=None)\nTotal batch size is set to 64 on 4 GPUs", {"devices": 4}),
        ("gluoncv/yolo3_voc.log", "(kvstore='dist_sync')\nTotal batch size is set to 64 on 4 GPUs", {"devices": None}),
        ("maxtext/llama2_7b.log", "Config param dtype: bfloat16", {"precision": "bf16"}),
        ("maxtext/llama2_7b.log", "Config param dtype: bfloat16\nConfig param quantization: fp8", {"precision": "fp8"}),
        ("maxtext/llama2_7b.log", "Config param dtype: bfloat16\nConfig param quantization: fp4", {"precision": None}),
        ("megatron/newest.log", "  fp8 ......... None\nusing torch.bfloat16 for parameters", {"precision": "bf16"}),
        ("megatron/newest.log", "  fp8 ......... hybrid\nusing torch.bfloat16 for parameters", {"precision": "fp8"}),
        ("mmcv1/mmdet_epoch.log", "    samples_per_gpu=4,\n        samples_per_gpu=1,", {"batch_size": 4}),
        (
            "mmcv1/mmdet_epoch.log",
            "    samples_per_gpu=4,\n    train_dataloader=dict(samples_per_gpu=8),",
            {"batch_size": 8},
        ),
        ("ms_swift/seconds.log", "rank: 0, local_rank: 0, world_size: 4, local_world_size: 4", {"devices": 4}),
        ("ms_swift/seconds.log", "rank: -1, local_rank: -1, world_size: 1, local_world_size: 1", {"devices": None}),
        (
            "ms_swift/seconds.log",
            "rank: -1, local_rank: -1, world_size: 1, local_world_size: 1\ndevice_count: 1",
            {"devices": 1},
        ),
        (
            "ms_swift/seconds.log",
            "rank: 0, local_rank: 0, world_size: 4, local_world_size: 4\nUsing MP(device_map) + DDP",
            {"devices": None},
        ),
        ("nanochat/base.log", "COMPUTE_DTYPE: torch.bfloat16 (", {"precision": "bf16"}),
        (
            "nanochat/base.log",
            "COMPUTE_DTYPE: torch.bfloat16 (\nFP8 training enabled (tensorwise scaling) - converted 9/9",
            {"precision": "fp8"},
        ),
    ],
)
def test_a_switch_decides_over_what_is_printed_always(
    fixture: str, lines: str, facts: dict[str, object], tmp_path: Path
) -> None:
    """Each group of lines is what the program prints of one run; the facts follow from its source."""
    log = (FIXTURES / "parsers" / fixture).read_text(encoding="utf-8")
    parser = catalog()[fixture.split("/", 1)[0]]
    patterns = [pattern for pattern in parser.patterns if pattern.role == "metadata"]
    told = {line for line in log.splitlines() for pattern in patterns if read_line(pattern, line) is not None}
    place = tmp_path / "run.log"
    place.write_text(f"{lines}\n" + "".join(f"{line}\n" for line in log.splitlines() if line not in told))
    metadata = extracted(place).runs[0].metadata
    assert ({key: metadata.values.get(key) for key in facts}, metadata.contradictions) == (facts, {})
