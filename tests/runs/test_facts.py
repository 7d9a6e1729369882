"""Facts about a run: from options, the log's lines inside and before it, the path, the machine, and the parser."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

import perflog
from perflog.formats.catalog import Catalog
from perflog.formats.load import load_parser
from perflog.formats.paths import PathPatterns, _path_pattern, _PatternTable
from perflog.notes import texts
from perflog.resources import folder
from perflog.runs.build import build_runs
from perflog.runs.factor import PATH_ALONE
from perflog.runs.run import Run
from tests.measurements.support import RATE, STEP_TIME, parser, table
from tests.reading.support import BEGIN, STEPS, catalog, fact, formats, read, steps
from tests.runs.support import options, run, runs
from tests.support import FIXTURES, extracted

KEYS = ("batch_size", "devices", "precision", "model", "framework")
MADE = formats(STEPS, BEGIN, *(fact(key) for key in KEYS[:4]), framework="PyTorch", default={"precision": "fp32"})


def notes_of(made: Run) -> list[str]:
    """A run's notes but for what its coarse print allows."""
    return [note for note in texts(made.notes) if not note.startswith("the printed digits allow")]


def said(text: str, **given: str) -> dict[str, object]:
    return dict(run(MADE, text, **given).values)


def test_the_log_and_what_the_parser_declares() -> None:
    assert said("set batch_size=8\nset model=bert\n" + steps(1, 2)) == {
        "batch_size": 8, "model": "bert", "precision": "fp32", "framework": "PyTorch"
    }  # fmt: skip


def test_options_count_before_the_log() -> None:
    made = run(
        MADE,
        "set batch_size=8\n" + steps(1, 2),
        set={"batch_size": "16"},
        config_set={"batch_size": "4", "devices": "2"},
    )
    assert (made.values["batch_size"], made.values["devices"]) == (16, 2)
    assert made.metadata.sources["batch_size"] == "command line"
    assert notes_of(made) == [
        "batch_size is 16 by the command line, 4 by the config",
        "batch_size is 16 by the command line, 8 by the log",
    ]


def test_what_a_run_says_itself_counts_before_what_was_said_before_it() -> None:
    text = "set model=a\nset devices=4\n" + steps(1, 2) + "begin\nset model=b\n" + steps(1, 2, ips=6)
    first, second = runs(MADE, text)
    assert (first.values["model"], second.values["model"]) == ("a", "b")
    assert (first.values["devices"], second.values["devices"]) == (4, 4)  # said once for both
    assert not [note for note in texts(second.notes) if "two values" in note]
    assert notes_of(second) == ["run 2 of 2 in this log (lines 5 to 8)"]


def test_what_is_said_behind_a_run_is_not_of_it() -> None:
    first, second = runs(MADE, steps(1, 2) + "begin\nset model=b\n" + steps(1, 2, ips=6))
    assert ("model" in first.values, second.values["model"]) == (False, "b")


def test_a_setting_behind_the_last_step_contradicts_nothing() -> None:
    """Another program's settings, or those of a start that made no step, stand behind the run."""
    made = run(TIMED, "set batch_size=8\nset devices=4\n" + timed(1, 2) + "set batch_size=64\n")
    assert (made.throughput.value, notes_of(made)) == (8 * 4 / 0.1, [])
    assert run(TIMED, "set devices=4\n" + timed(1, 2) + "set batch_size=64\n").throughput.value == 64 * 4 / 0.1


def test_three_contradictions_are_said() -> None:
    text = "".join(f"set model={name}\n" for name in "abcdef") + "set model=a\n" + steps(1, 2)
    made = run(MADE, text)
    assert made.values["model"] == "a"
    assert notes_of(made) == [
        f"the log gives two values for model: a and {name} (line {line})"
        for line, name in ((2, "b"), (3, "c"), (4, "d"))
    ]


def test_the_first_pattern_counts_before_the_first_line() -> None:
    other = {
        "name": "other",
        "role": "metadata",
        "literal": "also",
        "regex": "also batch_size=(?P<batch_size>{I})",
        "sample": [{"line": "also batch_size=8"}],
    }
    made = formats(STEPS, fact("batch_size"), other)
    assert run(made, "also batch_size=4\nset batch_size=8\n" + steps(1, 2)).values["batch_size"] == 8


def test_tables_translate_and_words_that_they_lack_say_nothing() -> None:
    words = {"precision": {"O1": "amp", "O0": "fp32"}}
    made = formats(
        STEPS, {**fact("precision", map=words, set={"mode": "train"}), "sample": [{"line": "set precision=O1"}]}
    )
    assert dict(run(made, "set precision=O1\n" + steps(1, 2)).values) == {"precision": "amp", "mode": "train"}
    assert dict(run(made, "set precision=O7\n" + steps(1, 2)).values) == {"mode": "train"}


@pytest.mark.parametrize(("printed", "devices"), [("0,1,2,3", 4), ("[0,1]", 2), ("(0,)", 1), ("[]", None)])
def test_a_list_of_devices_is_their_number(printed: str, devices: int | None) -> None:
    made = formats(STEPS, {**fact("device_list"), "sample": [{"line": "set device_list=0,1"}]})
    assert run(made, f"set device_list={printed}\n" + steps(1, 2)).values.get("devices") == devices


# Which statement is in force.

TIMES = table("step ms", STEP_TIME, sample=[{"line": "row step=1 ms=5"}])
TIMED = formats(TIMES, BEGIN, *(fact(key) for key in KEYS[:4]))


def timed(*numbers: int, ms: int = 100) -> str:
    return "".join(f"row step={number} ms={ms}\n" for number in numbers)


def test_a_start_that_failed_is_no_part_of_the_run() -> None:
    text = "begin\nset devices=4\nset batch_size=64\nout of memory\nbegin\nset batch_size=8\nset devices=4\n" + timed(
        1, 2
    )
    made = run(TIMED, text)
    assert (made.throughput.value, notes_of(made)) == (8 * 4 / 0.1, [])


def test_a_start_that_failed_is_told_by_its_settings_said_again() -> None:
    text = "set devices=4\nset batch_size=64\nout of memory\nset devices=4\nset batch_size=8\n" + timed(1, 2)
    made = run(TIMED, text)
    assert (made.throughput.value, notes_of(made)) == (8 * 4 / 0.1, [])


def test_what_only_the_failed_start_said_counts_still() -> None:
    text = "set devices=4\nbegin\nset batch_size=64\nout of memory\nbegin\nset batch_size=8\n" + timed(1, 2)
    assert run(TIMED, text).throughput.value == 8 * 4 / 0.1


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("set devices=4\nset batch_size=64\nset batch_size=8\n" + timed(1, 2), "8 (line 3) and 64 (line 2)"),
        (
            "set devices=4\nset batch_size=64\n" + timed(1) + "set batch_size=8\n" + timed(2),
            "64 (line 2) and 8 (line 4)",
        ),
        ("set devices=4\nbegin\nset batch_size=64\nset batch_size=8\n" + timed(1, 2), "8 (line 4) and 64 (line 3)"),
    ],
)
def test_two_values_of_a_factor_in_one_start_give_no_number(text: str, lines: str) -> None:
    made = run(TIMED, text)
    assert made.throughput.value is None
    assert made.throughput.reason == f"the log gives two values for batch_size of this run: {lines}"
    assert run(TIMED, text, set={"batch_size": "8"}).throughput.value == 8 * 4 / 0.1


def test_devices_that_are_not_what_nodes_have_give_no_number() -> None:
    made = formats(TIMES, *(fact(key) for key in ("batch_size", "devices", "nodes", "devices_per_node")))
    settings = "set batch_size=8\nset devices={}\nset nodes=2\nset devices_per_node=4\n"
    assert run(made, settings.format(8) + timed(1, 2)).throughput.value == 8 * 8 / 0.1
    refused = run(made, settings.format(16) + timed(1, 2)).throughput
    assert refused.value is None
    assert refused.reason == "the log contradicts itself: devices is 16 by the log, 2 × 4 by the log"


def test_two_values_of_what_is_no_factor_are_a_doubt() -> None:
    made = run(MADE, "set batch_size=64\nset batch_size=8\n" + steps(1, 2))  # the log prints the job's rate
    assert made.throughput.value == 5
    assert notes_of(made) == ["the log gives two values for batch_size: 8 and 64 (line 1)"]


def test_each_run_of_a_log_has_the_settings_before_its_own_steps() -> None:
    text = "set devices=2\nset batch_size=8\nbegin\n" + timed(1, 2) + "set batch_size=16\nbegin\n"
    values = [made.throughput.value for made in runs(TIMED, text + timed(1, 2, ms=200))]
    assert values == [8 * 2 / 0.1, 16 * 2 / 0.2]


# Where a factor comes from.

NAMES = Catalog(
    TIMED.parsers,
    PathPatterns(
        (
            _path_pattern(_PatternTable(regex="gpu(?P<devices>[0-9]+)"), "t"),
            _path_pattern(_PatternTable(regex="bs(?P<batch_size>[0-9]+)"), "t"),
        )
    ),
)


def noted(path: str, given: str, text: str = timed(1, 2)) -> tuple[float | None, list[str]]:
    reading = read(NAMES, text, path=path)
    reading.log = replace(reading.log, given=given)
    outcome = build_runs(reading, NAMES, options())
    assert isinstance(outcome, list)
    return outcome[0].throughput.value, notes_of(outcome[0])


def test_a_factor_that_names_alone_tell_is_said() -> None:
    value, notes = noted("/logs/gpu4/bs8.log", "/logs")
    assert (value, notes) == (320, [PATH_ALONE["devices"], PATH_ALONE["batch_size"]])
    value, notes = noted("/logs/gpu4/bs8.log", "/logs", "set batch_size=8\n" + timed(1, 2))
    assert (value, notes) == (320, [PATH_ALONE["devices"]])


def test_a_folder_above_the_given_path_is_named() -> None:
    above = (
        "the number of devices, 4, is known from the folder 'gpu4' alone, which stands above the path that was given"
    )
    assert noted("/logs/gpu4/x/bs8.log", "/logs/gpu4/x") == (320, [above, PATH_ALONE["batch_size"]])
    assert noted("/logs/gpu4/bs8.log", "/logs/gpu4/bs8.log") == (320, [above, PATH_ALONE["batch_size"]])
    assert noted("/logs/gpu4/bs8.log", "/logs/gpu4") == (320, [PATH_ALONE["devices"], PATH_ALONE["batch_size"]])
    both = [PATH_ALONE["devices"], PATH_ALONE["batch_size"]]
    assert noted("/logs/gpu4/gpu4_bs8.log", "/logs/gpu4/gpu4_bs8.log")[1] == both


def test_a_name_that_is_no_factor_is_not_said() -> None:
    reading = read(Catalog(MADE.parsers, NAMES.path_patterns), steps(1, 2), path="/logs/gpu4/bs8.log")
    outcome = build_runs(reading, Catalog(MADE.parsers, NAMES.path_patterns), options())
    assert isinstance(outcome, list)
    assert (outcome[0].values["devices"], notes_of(outcome[0])) == (4, [])


def test_aliases_are_other_names_of_one() -> None:
    made = run(MADE, "set model=RN50\nset batch_size=8\n" + steps(1, 2), aliases={"rn50": "resnet50", "8": "9"})
    assert (made.values["model"], made.values["batch_size"]) == ("resnet50", 8)
    made = run(MADE, "set model=x\n" + steps(1, 2), aliases={"x": "resnet50"}, set={"model": "resnet50"})
    assert [note for note in texts(made.notes) if "model" in note] == []


# Programs that speak in one log.

SECOND = parser(
    table("at took", {"group": "took", "quantity": "step_time", "unit": "ms"}, literal="tick", name="tick")
    | {"regex": "tick (?P<step>{I}) (?P<took>{N})", "sample": [{"line": "tick 1 5"}]},
    {**fact("batch_size"), "literal": "batch ", "regex": "batch (?P<batch_size>{I})", "sample": [{"line": "batch 8"}]},
    {**fact("devices"), "literal": "over ", "regex": "over (?P<devices>{I})", "sample": [{"line": "over 8"}]},
    name="second", framework="Other", priority=40,
)  # fmt: skip
FIRST = parser(TIMES, *(fact(key) for key in KEYS[:4]), framework="PyTorch")
BOTH = catalog(FIRST, SECOND)
MINE, THEIRS = (
    "set batch_size=8\nset devices=1\n" + timed(1, 2, 3),
    "batch 32\nover 2\ntick 1 200\ntick 2 200\ntick 3 200\n",
)


def by_parser(text: str) -> dict[str, float | None]:
    return {made.parser: round(made.throughput.value or 0, 6) for made in runs(BOTH, text)}


def test_joined_programs_have_a_run_each() -> None:
    assert by_parser(MINE + THEIRS) == {"made": 80, "second": 320}
    assert by_parser(THEIRS + MINE) == {"made": 80, "second": 320}
    first, second = runs(BOTH, MINE + THEIRS)
    assert notes_of(first) == ["2 programs speak in this log, one behind the other: this one in lines 1 to 7"]
    assert notes_of(second) == ["2 programs speak in this log, one behind the other: this one in lines 8 to 10"]


@pytest.mark.parametrize("framework", ["Other", "PyTorch", ""])
def test_no_program_has_the_others_settings(framework: str) -> None:
    both = catalog(FIRST, structs.replace(SECOND, framework=framework))
    bare = "".join(line for line in THEIRS.splitlines(keepends=True) if line.startswith("tick"))
    assert runs(both, MINE + bare)[0].throughput.value == pytest.approx(80)
    lines = [line for pair in zip(MINE.splitlines(), THEIRS.splitlines(), strict=True) for line in pair]
    woven = run(both, "\n".join(lines) + "\n")
    assert (woven.parser, woven.values["batch_size"]) == ("made", 8)
    assert woven.throughput.value == pytest.approx(80)
    bare_woven = run(both, "\n".join(line for line in lines if not line.startswith("set")) + "\n")
    assert "batch_size" not in bare_woven.values and bare_woven.throughput.unit == "steps/s"


def test_a_joined_program_without_settings_has_none() -> None:
    bare = "".join(line for line in THEIRS.splitlines(keepends=True) if line.startswith("tick"))
    first, second = runs(BOTH, MINE + bare)
    assert first.throughput.value == pytest.approx(80)
    assert second.values == {"framework": "Other"}


def test_what_was_said_in_another_programs_lines_is_not_inherited() -> None:
    launcher = parser({**fact("devices"), "literal": "ranks=", "regex": "ranks=(?P<devices>{I})", "sample": [{"line": "ranks=8"}]},
                      name="launcher", framework="PyTorch")  # fmt: skip
    both = catalog(FIRST, structs.replace(SECOND, framework="PyTorch"), launcher)
    first, second = runs(both, "ranks=8\n" + MINE.replace("set devices=1\n", "") + THEIRS.replace("over 2\n", ""))
    assert (first.values["devices"], second.values.get("devices")) == (8, None)
    first, second = runs(both, "ranks=8\n" + timed(1, 2) + THEIRS.replace("over 2\n", "ranks=4\n"))
    assert (first.values["devices"], second.values.get("devices")) == (8, 4)


def test_lines_of_another_format_without_settings_are_no_program() -> None:
    same = catalog(FIRST, structs.replace(SECOND, framework=""))
    bare = "tick 1 200\ntick 2 200\ntick 3 200\n"
    assert [made.parser for made in runs(same, MINE + bare)] == ["made"]
    assert sorted(made.parser for made in runs(same, MINE + THEIRS)) == ["made", "second"]


OTHER = parser(
    {**fact("model"), "literal": "set model"}, {**fact("precision"), "literal": "set precision"}, name="other"
)
SAME = parser({**fact("seed")}, name="same", framework="PyTorch", priority=60)


def test_settings_of_other_frameworks_say_nothing() -> None:
    both = catalog(parser(STEPS, framework="PyTorch"), OTHER, SAME)
    assert dict(run(both, "set model=m\nset seed=7\n" + steps(1, 2)).values) == {"framework": "PyTorch", "seed": "7"}


def test_settings_of_a_parser_with_other_lines_in_the_log_count() -> None:
    speaking = parser(fact("model"), table("loss step", {"group": "loss_", "quantity": "metric", "metric": "m"}, literal="sum") | {
        "name": "sum", "role": "summary", "regex": "sum (?P<value>{N})", "value": [{"group": "value", "quantity": "metric", "metric": "m"}],
        "sample": [{"line": "sum 5"}],
    }, name="other")  # fmt: skip
    both = catalog(parser(STEPS, framework="PyTorch"), speaking)
    assert "model" not in run(both, "set model=m\n" + steps(1, 2)).values
    assert run(both, "set model=m\nsum 5\n" + steps(1, 2)).values["model"] == "m"


def test_paths_and_machines_say_something(tmp_path: Path) -> None:
    patterns = PathPatterns((_path_pattern(_PatternTable(regex="bs(?P<batch_size>[0-9]+)"), "t"),))
    made = Catalog(MADE.parsers, patterns)
    (tmp_path / "machine.json").write_text(json.dumps({"cpus": 1, "gpus": ["NVIDIA H200, 141 GiB, 0"]}))
    found = run(made, steps(1, 2), path=str(tmp_path / "bs32_abc.log"))
    assert (found.values["batch_size"], found.metadata.sources["batch_size"]) == (32, "path")
    assert "accelerator" not in found.values
    assert found.notes[0].text == (
        "the log does not say whether the machine's NVIDIA H200 (machine.json) trained, or its CPU"
    )
    assert found.label.endswith("abc")
    assert found.machine is not None
    (tmp_path / "machine.json").write_text("[]")
    broken = run(made, steps(1, 2), path=str(tmp_path / "bs32_abc.log"))
    assert notes_of(broken) == [
        f'{tmp_path}/machine.json: expected a JSON object such as {{"driver": "550.54"}}, found list'
    ]


def test_the_framework_of_a_rates_parser() -> None:
    assert run(formats(table("step ips", RATE, sample=STEPS["sample"])), steps(1, 2)).framework == ""
    assert run(MADE, steps(1, 2)).framework == "PyTorch"


#: A made format beside the lines by which programs of every framework say that they train on the CPU.
ON_CPU = Catalog((*MADE.parsers, load_parser(folder("parsers") / "trained_on_cpu.toml")), MADE.path_patterns)
MACHINE = {
    "cpus": 8, "gpus": ["Tesla V100, 32 GiB, 0"],
    "frameworks": {"pytorch": {"packages": {"torch": "2.13.0"}}, "cpu_build": {"packages": {"torch": "2.13.0+cpu"}}},
}  # fmt: skip


@pytest.mark.parametrize(
    "line",
    ["Using device: cpu", "device: cpu", "Running on Place(cpu)", "Device: CPUPlace", "INFO:root:context: cpu(0)",
     "device_target: CPU", "Process rank: -1, device: cpu, n_gpu: 0distributed training: False"],
)  # fmt: skip
def test_a_training_on_the_cpu_is_never_an_accelerators(line: str, tmp_path: Path) -> None:
    """The machine has a V100 and the path names one; the log says what trained."""
    (tmp_path / "machine.json").write_text(json.dumps(MACHINE))
    patterns = PathPatterns((_path_pattern(_PatternTable(regex="(?P<accelerator>V100)"), "t"),))
    found = run(Catalog(ON_CPU.parsers, patterns), f"{line}\n" + steps(1, 2), path=str(tmp_path / "V100.log"))
    assert (found.values["accelerator"], found.metadata.sources["accelerator"]) == ("CPU", "log")
    assert found.notes[0].text == "trained on the CPU, not on the machine's Tesla V100 (machine.json)"
    assert "accelerator is CPU by the log, V100 by the path" in texts(found.notes)


@pytest.mark.parametrize(
    "line", ["    device: cpu", "Epoch 0 Var LOSS - place: CPUPlace", "device: cuda:0", "load cpu"]
)
def test_what_says_nothing_of_the_device(line: str, tmp_path: Path) -> None:
    (tmp_path / "machine.json").write_text(json.dumps(MACHINE))
    found = run(ON_CPU, f"{line}\n" + steps(1, 2), path=str(tmp_path / "x.log"))
    assert "accelerator" not in found.values
    assert (
        found.notes[0].text
        == "the log does not say whether the machine's Tesla V100 (machine.json) trained, or its CPU"
    )


def test_a_cpu_build_on_a_machine_with_accelerators(tmp_path: Path) -> None:
    (tmp_path / "machine.json").write_text(json.dumps(MACHINE))
    for name, note in (
        ("cpu_build", "trained on the CPU, not on the machine's Tesla V100 (machine.json)"),
        ("pytorch", "the log does not say whether the machine's Tesla V100 (machine.json) trained, or its CPU"),
    ):
        found = run(MADE, steps(1, 2), path=str(tmp_path / name / "x.log"))
        assert ("accelerator" in found.values, found.notes[0].text) == (False, note)


def test_a_log_that_names_its_accelerator_has_no_note_of_the_machines(tmp_path: Path) -> None:
    (tmp_path / "machine.json").write_text(json.dumps(MACHINE))
    made = formats(STEPS, fact("accelerator"), framework="PyTorch")
    found = run(made, "set accelerator=V100\n" + steps(1, 2), path=str(tmp_path / "x.log"))
    assert (found.values["accelerator"], notes_of(found)) == ("V100", [])


def test_a_statement_that_does_not_fit_hides_none_that_does() -> None:
    """Of two statements of one start the one that fits counts; what does not is said with its line."""
    made = run(MADE, "set precision=fp16\nset precision=O7\n" + steps(1, 2) + "set precision=O9\n")
    assert (made.values["precision"], notes_of(made)) == ("fp16", [])
    assert [said.split(" does")[0] for said in made.metadata.unfit] == ["precision 'O7' (line 2)"]
    text = "set precision=fp16\n" + steps(1, 2) + "begin\nset precision=O7\n" + steps(1, 2, ips=6)
    first, second = runs(formats(STEPS, BEGIN, fact("precision")), text)
    assert (first.values.get("precision"), second.values.get("precision")) == ("fp16", None)
    alone = run(formats(STEPS, fact("precision")), "set precision=O7\n" + steps(1, 2))
    assert "precision" not in alone.values and str(notes_of(alone)[0]).startswith(
        "precision 'O7' (line 1) does not count: "
    )


def test_an_alias_makes_a_name_of_what_does_not_fit() -> None:
    text = "set precision=O7\nset model=out/best.pt\n" + steps(1, 2)
    made = run(MADE, text, aliases={"O7": "fp16 by hand", "out/best.pt": "yolov8n"})
    assert (made.values["precision"], made.values["model"]) == ("fp16 by hand", "yolov8n")


def test_what_is_no_fact_is_said_with_file_and_line(tmp_path: Path) -> None:
    """A path of weights is no model; where nothing else names one, the run says so too."""
    log = tmp_path / "train.log"
    text = (FIXTURES / "parsers/ultralytics/train.log").read_text(encoding="utf-8")
    (number,) = (n for n, line in enumerate(text.splitlines(), 1) if "model=yolov8n.pt" in line)
    log.write_text(text.replace("model=yolov8n.pt", "model=runs/detect/train/weights/best.pt"), encoding="utf-8")
    (explained,) = perflog.explain(log)
    said = f"model 'runs/detect/train/weights/best' (line {number}) does not count: expected the name of a model"
    assert f"  no fact            {log}: {said}" in explained.text
    assert [text[: len(said)] for text in explained.data["no_facts"]] == [said]
    (found,) = extracted(log).runs
    assert "model" not in found.values and any(note.text.startswith(said) for note in found.notes)


def test_an_accelerator_is_cut_to_its_name(tmp_path: Path) -> None:
    """mmcv's dumped environment, as loggers of JSON write it: one line with escaped line ends."""
    log = tmp_path / "train.log"
    dumped = r"env_info: GPU 0,1: Tesla V100-SXM2-32GB\nCUDA_HOME: /usr/local/cuda\nGCC: gcc (GCC) 7.3"
    lines = (FIXTURES / "parsers/mmcv1/mmseg_iter.log").read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if "GPU 0" not in line]
    log.write_text("\n".join([dumped, *kept, ""]), encoding="utf-8")
    (found,) = extracted(log).runs
    assert found.values["accelerator"] == "Tesla V100-SXM2-32GB"
