"""Lines of two processes in one log, without tags that tell whose each is: no number, and the reason; never a blend."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from perflog.notes import texts
from perflog.runs.run import Run
from tests.support import FIXTURES, extracted
from tests.tools.mutations import scaled

PARSERS = FIXTURES / "parsers"
BLENDED = "several ranks or runs are blended"
#: Formats that print a record on several lines, or an epoch more than once, and one that prints steps.
LOGS = (
    "composer/batches.log", "composer/epochs.log", "nemo_rl/grpo.log", "nemo_rl/sft_two_epochs.log",
    "ultralytics/train.log", "ultralytics/twice.log", "ultralytics/new_bar.log",
    "build_nanogpt/train_gpt2.log", "psmnet/train.log",
)  # fmt: skip


def lines_of(name: str) -> list[bytes]:
    return (PARSERS / name).read_bytes().splitlines(keepends=True)


def beside(lines: list[bytes]) -> bytes:
    """Another process whose times are half as long again, each line behind that of the first."""
    return b"".join(line + scaled(line, 1.5) for line in lines)


def runs_of(folder: Path, name: str, data: bytes) -> list[Run]:
    file = folder / Path(name).name
    file.write_bytes(data)
    return extracted(file).runs


@pytest.mark.parametrize("name", LOGS)
def test_a_second_process_without_tags_gives_a_reason(name: str, tmp_path: Path) -> None:
    (alone,) = extracted(PARSERS / name).runs
    assert alone.throughput.value is not None
    runs = runs_of(tmp_path, name, beside(lines_of(name)))
    assert [run.throughput.value for run in runs] == [None] * len(runs)
    assert BLENDED in " ".join(run.throughput.reason for run in runs)


def test_a_heading_of_keras_within_a_line_begins_no_run(tmp_path: Path) -> None:
    """'[Epoch 1/100]' of each line is no 'Epoch 1/100' of Keras: two processes are not as many runs as lines."""
    name = "plsc/passl.log"
    lines = [line.partition(b"] ")[2].replace(b"0/1251]", b"00/12510]") for line in lines_of(name)]
    (alone,) = runs_of(tmp_path, name, b"".join(lines))
    assert alone.throughput.value is not None
    (run,) = runs_of(tmp_path, name, beside(lines))
    assert run.throughput.value is None
    assert BLENDED in run.throughput.reason


@pytest.mark.parametrize("name", [*LOGS, "stable_baselines3/ppo.log"])
def test_lines_that_are_printed_twice_change_nothing(name: str, tmp_path: Path) -> None:
    (alone,) = extracted(PARSERS / name).runs
    (twice,) = runs_of(tmp_path, name, b"".join(line * 2 for line in lines_of(name)))
    assert twice.throughput.value == pytest.approx(alone.throughput.value, rel=1e-9)


def composer(steps: range, broken: dict[int, bytes]) -> bytes:
    """Records of ten samples a second, one every ten steps; ``broken``: lines put into the records of some steps."""
    record = b"[batch=%d/400]:\n\t Train time/batch: %d\n%s\t Train throughput/samples_per_sec: 10.0000\n"
    return b"".join(record % (step, step - 1, broken.get(step, b"")) for step in steps)


OTHER = b"\t Train throughput/samples_per_sec: 70.0000\n"


@pytest.mark.parametrize(
    ("broken", "value", "words"),
    [
        ({}, 10.0, ""),
        ({200: OTHER}, 10.0, "1 record without a usable number, the first at line 31"),
        ({200: OTHER, 210: OTHER}, None, "2 of 31 records, the first at line 31, hold two different numbers of one kind"),
    ],
)  # fmt: skip
def test_one_mixed_record_is_left_out_and_many_refuse_the_run(
    broken: dict[int, bytes], value: float | None, words: str, tmp_path: Path
) -> None:
    (run,) = runs_of(tmp_path, "a.log", composer(range(100, 401, 10), broken))
    assert run.throughput.value == value
    assert words in " ".join([run.throughput.reason, *texts(run.notes)])


KERAS = b"400/400 - 12s - %dms/step - accuracy: 0.40 - loss: 2.0000\n"


def epochs(*parts: tuple[int, list[int]]) -> bytes:
    """Epochs with the times of a step on the lines behind each."""
    return b"".join(b"Epoch %d/6\n" % epoch + b"".join(KERAS % time for time in times) for epoch, times in parts)


def test_evaluations_and_lost_lines_of_epochs_change_nothing(tmp_path: Path) -> None:
    ordered = epochs(*((epoch, [30]) for epoch in range(1, 7)))
    evaluated = epochs(*((epoch, [30, 20]) for epoch in range(1, 7)))
    lost = epochs((1, [30, 20]), (2, [30, 20]), (4, [30, 20]), (5, [30, 20]), (6, [30, 20]))
    killed = epochs(*((epoch, [30, 20]) for epoch in range(1, 5)), (5, []))
    for data in (ordered, evaluated, lost, killed, killed * 2):
        (run,) = runs_of(tmp_path, "a.log", data)
        assert run.throughput.value == pytest.approx(1000 / 30)


@pytest.mark.parametrize(
    ("mixed", "lacking", "behind"),
    [
        ([(1, []), (2, [30]), (3, [30, 30]), (4, []), (5, [30]), (6, [30, 30])], 2, 2),
        ([(1, []), (2, [30]), (3, [70, 30]), (5, []), (4, [30, 30, 30]), (6, [])], 2, 3),
        ([(1, [30]), (2, [70, 30]), (3, [30, 30]), (5, []), (4, [])], 1, 2),
    ],
)
def test_lines_out_of_order_give_a_reason(
    mixed: list[tuple[int, list[int]]], lacking: int, behind: int, tmp_path: Path
) -> None:
    """The second and the third gave 20 and 30 steps a second: no epoch is left out between those that have a line."""
    (run,) = runs_of(tmp_path, "a.log", epochs(*mixed))
    assert run.throughput.value is None
    assert run.throughput.reason == (
        f"the lines are out of order: epochs without a line: {lacking}, lines behind another one of their epoch: {behind}"
    )


def training(first: int, last: int, time: float) -> list[bytes]:
    lines = [b"=> creating model 'cnn'\n"] if first == 0 else []
    form = b"Epoch: [0][%d/600]\tTime  %.6f ( %.6f)\tData  0.0004 ( 0.0004)\tLoss 4.6099e+00 (4.6099e+00)\n"
    return lines + [form % (step, time, time) for step in range(first, last, 10)]


def woven(one: list[bytes], other: list[bytes]) -> list[bytes]:
    return [line for pair in zip(one, other, strict=False) for line in pair]


@pytest.mark.parametrize("begins", [120, 300])
def test_a_run_that_goes_on_behind_the_beginning_of_another_is_no_run(begins: int, tmp_path: Path) -> None:
    whole = training(0, 600, 0.1)
    one, rest = training(0, begins, 0.1), training(begins, 600, 0.1)
    (alone,) = runs_of(tmp_path, "a.log", b"".join(whole))
    assert alone.throughput.value == pytest.approx(10.0)
    blended = one + training(0, 10, 0.3) + woven(rest, training(10, 600, 0.3))
    runs = runs_of(tmp_path, "a.log", b"".join(blended))
    assert [run.throughput.value for run in runs] == [None, None]
    assert "its steps go on behind line" in runs[0].throughput.reason
    again = runs_of(tmp_path, "a.log", b"".join(one + training(0, 600, 0.3)))
    assert [run.throughput.value for run in again] == pytest.approx([10.0, 1 / 0.3])


def with_line(name: str, change: Callable[[bytes], bytes]) -> bytes:
    return b"".join(change(line) for line in lines_of(name))


GLUED = (
    "build_nanogpt/train_gpt2.log", "ssd_pytorch/retinaface.log", "habana_bert/bert.log", "ngc_bert_tf/tf2.log",
    "ngc_summary/sim.log", "tf_slim/every_step.log",
)  # fmt: skip


@pytest.mark.parametrize("name", GLUED)
def test_of_two_lines_in_one_the_first_is_read(name: str, tmp_path: Path) -> None:
    (alone,) = extracted(PARSERS / name).runs
    (glued,) = runs_of(tmp_path, name, with_line(name, lambda line: line.rstrip(b"\n") + scaled(line, 1.5)))
    assert glued.throughput.value == pytest.approx(alone.throughput.value, rel=1e-9)


def test_a_second_record_in_a_line_does_not_count_where_the_pattern_names_the_end(tmp_path: Path) -> None:
    """EasyOCR's line ends with its time, and so does a second one that stands in it."""
    name = "deep_text/attn.log"
    (alone,) = extracted(PARSERS / name).runs

    def twice(line: bytes) -> bytes:
        return line.rstrip(b"\n") + scaled(line, 1.3) if b"Elapsed_time" in line else line

    (glued,) = runs_of(tmp_path, name, with_line(name, twice))
    assert glued.throughput.value == pytest.approx(alone.throughput.value, rel=1e-9)


def test_two_shapes_of_a_formats_lines_are_two_programs(tmp_path: Path) -> None:
    """The tokens of a step that the first program names are not the second one's, which counts in seconds."""
    first = lines_of("modded_nanogpt/parameter_golf.log")
    (golf,) = extracted(PARSERS / "modded_nanogpt/parameter_golf.log").runs
    second = b"".join(b"step:%d/120 train_time:%.3fs step_avg:96.00ms\n" % (step, 0.1 * step) for step in range(1, 81))
    runs = runs_of(tmp_path, "a.log", b"".join(first) + second)
    numbers = {run.throughput.unit: run.throughput.value for run in runs}
    assert numbers == {"tokens/s": golf.throughput.value, "steps/s": pytest.approx(10.0)}
    said = [note for run in runs for note in texts(run.notes) if "programs speak" in note]
    assert [note.rpartition(" in ")[2] for note in said] == [
        f"lines {len(first) + 1} to {len(first) + 80}", f"lines 1 to {len(first)}"
    ]  # fmt: skip


BANNER = b"  Total train batch size (w. parallel, distributed & accumulation) = 64\n"


@pytest.mark.parametrize("before", [True, False])
def test_a_batch_size_that_another_format_says_is_another_programs(before: bool, tmp_path: Path) -> None:
    model, *steps = training(0, 600, 0.1)
    lines = [model, BANNER, *steps] if before else [model, steps[0], BANNER, *steps[1:]]
    (run,) = runs_of(tmp_path, "a.log", b"".join(lines))
    assert run.throughput.unit == "steps/s"
    assert run.throughput.value == pytest.approx(10.0)


def test_a_banner_of_another_program_tells_no_batch_size_where_a_program_prints_its_own(tmp_path: Path) -> None:
    """The Accelerate example's 64 samples a step multiplied the rate of Mask R-CNN, whose own configuration is lost."""
    lines = lines_of("ngc_maskrcnn/dll.txt")
    (alone,) = runs_of(tmp_path, "a.log", b"".join(lines))
    (run,) = runs_of(tmp_path, "a.log", BANNER + b"".join(lines))
    assert (run.throughput.unit, run.throughput.value) == ("steps/s", alone.throughput.value)


def test_an_epoch_that_ends_twice_is_of_two_processes(tmp_path: Path) -> None:
    """CNTK's lines print no step: the rates of both were blended."""
    file = tmp_path / "a.log"
    for data, value in ((b"".join(lines_of("cntk/python.log")), True), (beside(lines_of("cntk/python.log")), False)):
        file.write_bytes(data)
        (run, *more) = extracted(file, warmup="1records").runs
        assert (run.throughput.value is not None, bool(more)) == (value, False)
    assert BLENDED in run.throughput.reason


@pytest.mark.parametrize("together", [1, 3])
def test_a_counter_of_samples_that_does_not_go_on_is_of_two_processes(tmp_path: Path, together: int) -> None:
    """EDSR's lines tell no step: two processes on one file were half as fast, or a little slower."""
    lines = (FIXTURES / "parsers" / "edsr" / "div2k.log").read_text().splitlines(keepends=True)
    other = [line.replace("+1.2s", "+1.3s").replace("Rate: 1", "Rate: 2") for line in lines]
    blocks = [lines[at : at + together] + other[at : at + together] for at in range(0, len(lines), together)]
    (tmp_path / "train.log").write_text("".join(line for block in blocks for line in block))
    (made,) = extracted(tmp_path, warmup="5records").runs
    assert made.throughput.value is None
    assert "the counter (samples) does not go on" in made.throughput.reason
