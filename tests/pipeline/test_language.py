"""What the format language can say of a log, end to end: small formats and logs whose truth is written beside them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from perflog.errors import ParserError
from perflog.extraction import Extraction, extract_paths
from perflog.formats.catalog import load_catalog
from perflog.formats.load import parser_from
from perflog.notes import texts
from perflog.runs.run import Run
from perflog.settings.options import Amount, Options, Window

HEAD = 'title = "T"\nsource = "S"\n'


@pytest.fixture
def all_of(tmp_path: Path) -> Callable[..., Extraction]:
    """Writes a format and a log, and extracts from the log."""

    def of(toml: str, log: str, warmup: int = 0, unit: str = "steps") -> Extraction:
        (tmp_path / "made.toml").write_text(HEAD + toml)
        (tmp_path / "made.log").write_text(log)
        chosen = Options(window=Window(Amount(warmup, unit)))
        return extract_paths([str(tmp_path / "made.log")], chosen, load_catalog([tmp_path]))

    return of


@pytest.fixture
def extracted(all_of: Callable[..., Extraction]) -> Callable[..., Run]:
    """Writes a format and a log, and gives the log's one run."""

    def of(toml: str, log: str, warmup: int = 0, unit: str = "steps") -> Run:
        extraction = all_of(toml, log, warmup, unit)
        assert not extraction.skipped, extraction.skipped
        (run,) = extraction.runs
        return run

    return of


BAR = """
[[pattern]]
name = "bar"
role = "step"
literal = "it: "
regex = 'it: (?P<step>{I})/(?P<run_steps>{I}) \\[(?P<elapsed>{CLOCK})<'
redrawn = true
irregular = true
first_is_start = true
restarts = true
KEYS
[[pattern.value]]
group = "elapsed"
quantity = "elapsed"
unit = "clock"
span = "cumulative"
[[pattern.sample]]
line = "it: 12/300 [01:02<?"
expect = { step = 12, elapsed = "01:02" }
[[pattern]]
name = "loss"
role = "metadata"
literal = "loss="
regex = 'loss={NN}'
[[pattern.sample]]
line = "loss=1.5"
[[pattern]]
name = "saving"
role = "ignore"
literal = "saving"
regex = 'saving'
PAUSES
[[pattern.sample]]
line = "saving"
"""


def bar(keys: str = "", pauses: str = "") -> str:
    return BAR.replace("KEYS", keys).replace("PAUSES", pauses)


def drawn(*rows: tuple[int, int], total: int = 300) -> str:
    return "".join(f"it: {step}/{total} [{s // 60:02}:{s % 60:02}<?\n" for step, s in rows)


def test_a_bars_clock_is_differenced_and_its_first_row_only_sets_it(extracted: Callable[..., Run]) -> None:
    """After a resume at step 1,000 the first row shows 1,000 steps in 5 s; from there on a step takes 2 s."""
    run = extracted(bar(), drawn((1000, 5), (1010, 25), (1040, 85), (1100, 205)))
    assert (run.throughput.value, run.throughput.unit) == (0.5, "steps/s")
    assert run.metrics["step_time"].value == 2


def test_the_first_of_several_drawings_of_a_step_counts(extracted: Callable[..., Run]) -> None:
    """Closing the bar, and an evaluation before that, draw step 60 again, 100 s later."""
    run = extracted(bar(), drawn((10, 20), (10, 21), (20, 40), (60, 120), (60, 220), (60, 221)))
    assert run.metrics["step_time"].value == 2


def test_a_bar_that_begins_again_is_the_same_run(extracted: Callable[..., Run]) -> None:
    """50 steps in 160 s: the first drawing of the whole log only sets the clock. No line says that a run begins."""
    log = drawn((10, 20), (20, 40), (30, 60)) + drawn((5, 20), (20, 80), (30, 120))
    run = extracted(bar(), log)
    assert run.metrics["step_time"].value == pytest.approx(160 / 50)
    assert "the bar began again 1 time and no line says that a run begins: one training is counted" in texts(run.notes)


def test_a_resumed_bar_whose_steps_go_on_is_one_run(extracted: Callable[..., Run]) -> None:
    """The clock falls from 200 s to 4 s between steps 100 and 101: that interval is not measured."""
    run = extracted(bar(), drawn((10, 20), (50, 100), (100, 200)) + drawn((101, 4), (121, 44), (141, 84)))
    assert run.metrics["step_time"].value == 2
    assert (run.throughput.first_step, run.throughput.last_step) == (10, 141)


NAMED_BARS = bar().replace("regex = 'it: (", "regex = 'it: (?:epoch (?P<epoch>{I}) )?(")


def of_epoch(epoch: int, *rows: tuple[int, int]) -> str:
    return drawn(*rows).replace("it: ", f"it: epoch {epoch} ")


def test_a_bar_whose_epoch_falls_is_of_another_run(all_of: Callable[..., Extraction]) -> None:
    """Two trainings, one behind the other, of two epochs each: 2 s a step in the first, 4 s in the second."""
    rows, slower = [(10, 20), (20, 40), (40, 80)], [(5, 20), (20, 80), (40, 160)]
    log = of_epoch(0, *rows) + of_epoch(1, *rows) + of_epoch(0, *slower) + of_epoch(1, *slower)
    runs = all_of(NAMED_BARS, log).runs
    assert [run.metrics["step_time"].value for run in runs] == [2, 4]
    assert [run.throughput.used for run in runs] == [5, 5]


def test_a_bar_whose_epoch_stays_is_of_another_run_behind_a_line_that_begins_one(
    all_of: Callable[..., Extraction],
) -> None:
    """Two bars of epoch 0 are two iterations of one training, unless a line between them begins another one."""
    rows, slower = [(10, 20), (20, 40), (40, 80)], [(5, 20), (20, 80), (40, 160)]
    toml = NAMED_BARS.replace('name = "loss"\n', 'name = "loss"\nstarts_run = true\n')
    twice = "loss=1\n" + of_epoch(0, *rows) + of_epoch(0, *rows)
    (run,) = all_of(toml, twice).runs
    assert (run.metrics["step_time"].value, run.throughput.used) == (2, 5)
    runs = all_of(toml, twice + "loss=1\n" + of_epoch(0, *slower) + of_epoch(0, *slower)).runs
    assert [run.metrics["step_time"].value for run in runs] == [2, 4]


def test_a_bar_without_epochs_is_of_another_run_behind_a_line_that_begins_one(
    all_of: Callable[..., Extraction],
) -> None:
    rows, slower = [(10, 20), (20, 40), (40, 80)], [(5, 20), (20, 80), (40, 160)]
    toml = bar().replace('name = "loss"\n', 'name = "loss"\nstarts_run = true\n')
    log = "loss=1\n" + drawn(*rows) + drawn(*rows) + "loss=1\n" + drawn(*slower) + drawn(*slower)
    assert [run.metrics["step_time"].value for run in all_of(toml, log).runs] == [2, 4]
    (both,) = all_of(toml, log.replace("loss=1\n", "")).runs
    assert both.throughput.used == 11


TRACKED = 'track = "run_steps"\nonly_with = ["loss"]\n'


def test_the_bar_that_encloses_the_losses_is_the_trainings(extracted: Callable[..., Run]) -> None:
    """A step takes 20 s; the other bar, in which the training's clock runs on, 50 s."""
    log = (
        drawn((10, 200), (20, 400)) + "loss=1\n" + drawn((1, 1), (5, 50), total=5) + drawn((30, 650), (40, 850))
        + "loss=1\nloss=1\n" + drawn((1, 1), (5, 50), total=5) + drawn((50, 1100), (60, 1300))
    )  # fmt: skip
    run = extracted(bar(TRACKED), log)
    assert run.metrics["step_time"].value == pytest.approx(20)
    assert run.throughput.last_step == 60


def test_without_a_line_that_says_so_no_bar_is_the_trainings(all_of: Callable[..., Extraction]) -> None:
    extraction = all_of(bar(TRACKED), drawn((10, 20), (20, 40), (30, 60)))
    assert [skipped.reason for skipped in extraction.skipped] == [
        "the log draws progress bars without a name (300 steps), and no line says which one is the training's: say it "
        "as --as bar=300"
    ]


def test_a_record_with_a_pause_inside_is_left_out(extracted: Callable[..., Run]) -> None:
    """A step takes 2 s; saving between steps 20 and 30 takes 100 s."""
    log = drawn((10, 20), (20, 40)) + "saving\n" + drawn((30, 160), (40, 180), (70, 240))
    run = extracted(bar(pauses="pauses = true"), log)
    assert run.metrics["step_time"].value == 2
    assert "1 record left out that holds an evaluation or the like (120 s)" in texts(run.notes)


BLOCK = """
[[pattern]]
name = "head"
role = "position"
literal = "[step="
regex = '\\[step=(?P<step>{I})'
[[pattern.sample]]
line = "[step=12"
expect = { step = 12 }
[[pattern]]
name = "clock"
role = "step"
literal = "clock="
regex = 'clock=(?P<clock>{N})'
block = "head"
[[pattern.value]]
group = "clock"
quantity = "elapsed"
span = "cumulative"
[[pattern.sample]]
line = "clock=4"
expect = { clock = 4 }
[[pattern]]
name = "tokens"
role = "step"
literal = "total_tokens="
regex = 'total_tokens=(?P<tokens>{NS})'
block = "head"
scaled = ["tokens"]
[[pattern.value]]
group = "tokens"
quantity = "samples"
unit = "tokens"
span = "cumulative"
[[pattern.sample]]
line = "total_tokens=1,024"
expect = { tokens = "1,024" }
"""


def test_the_lines_of_a_block_are_one_record(extracted: Callable[..., Run]) -> None:
    """40,960 tokens and 4 s a step: 10,240 tokens/s."""
    log = "".join(f"[step={n}\n   clock={4 * n}\n   total_tokens={40960 * n:,}\n" for n in range(10, 110, 10))
    run = extracted(BLOCK, log, warmup=20)
    assert (run.throughput.value, run.throughput.unit) == (10240, "tokens/s")
    assert run.metrics["step_time"].value == 4


SUM = """
[[pattern]]
name = "step"
role = "step"
literal = "step:"
regex = 'step:(?P<step>{NS}) updt:(?P<update>{N})(?: data:(?P<data>{N}))?'
scaled = ["step"]
[[pattern.value]]
group = "update"
quantity = "step_time"
plus = ["data"]
[[pattern.sample]]
line = "step:1,200 updt:0.25 data:0.125"
expect = { step = "1,200", update = 0.25 }
"""


def test_a_time_in_two_parts_is_their_sum_or_none(extracted: Callable[..., Run]) -> None:
    run = extracted(SUM, "".join(f"step:{n} updt:0.25 data:0.125\n" for n in range(10, 100, 10)))
    assert run.metrics["step_time"].value == 0.375
    run = extracted(SUM, "".join(f"step:{n} updt:0.25\n" for n in range(10, 100, 10)))
    assert run.throughput.value is None


SAME = """
[[pattern]]
name = "step"
role = "step"
literal = "n="
regex = 'n=(?P<step>{I}) (?:(?P<ms>{N})ms/step|(?P<rate>{N})it/s)'
[[pattern.value]]
group = "ms"
quantity = "step_time"
unit = "ms"
same = "speed"
[[pattern.value]]
group = "rate"
quantity = "rate"
unit = "it/s"
same = "speed"
[[pattern.sample]]
line = "n=1 250ms/step"
expect = { step = 1, ms = 250 }
"""


def test_one_number_in_two_units_is_one_number(extracted: Callable[..., Run]) -> None:
    run = extracted(SAME, "".join(f"n={n} {'250ms/step' if n % 2 else '2it/s'}\n" for n in range(1, 101)))
    assert run.metrics["step_time"].value == 0.375
    assert run.throughput.used == 100


SHOWN = """
[[pattern]]
name = "step"
role = "step"
literal = "i="
regex = 'i=(?P<step>{I}) t=(?P<t>{N})'
step_base = "first"
[[pattern.value]]
group = "t"
quantity = "step_time"
span = "cumulative"
[[pattern.sample]]
line = "i=1 t=2"
expect = { step = 1, t = 2 }
"""


@pytest.mark.parametrize("base", [0, 1])
def test_the_first_line_shows_whether_steps_count_from_0_or_1(base: int, extracted: Callable[..., Run]) -> None:
    """The first step takes 21 s, all others 1 s; the mean is printed at steps 1, 11, 21 … of the run."""
    lines = [f"i={n - 1 + base} t={(20 + n) / n:.12g}\n" for n in range(1, 102, 10)]
    run = extracted(SHOWN, "".join(lines), warmup=1)
    assert run.metrics["step_time"].value == pytest.approx(1, abs=1e-9)


EPOCHS = """
[[pattern]]
name = "epoch"
role = "position"
literal = "Epoch "
regex = 'Epoch (?P<epoch>{I})/{I}'
step_per = "epoch"
[[pattern.sample]]
line = "Epoch 1/3"
expect = { epoch = 1 }
[[pattern]]
name = "step"
role = "step"
literal = "step "
regex = 'step (?P<step>{I}) - (?P<t>{N})s'
position = "epoch"
[[pattern.value]]
group = "t"
quantity = "step_time"
[[pattern.sample]]
line = "step 1 - 2s"
expect = { step = 1, t = 2 }
[[pattern]]
name = "evaluation"
role = "ignore"
literal = "Eval begin"
regex = 'Eval begin'
evaluates = true
[[pattern.sample]]
line = "Eval begin"
"""


def test_lines_after_an_evaluations_beginning_are_no_training(extracted: Callable[..., Run]) -> None:
    epochs = [
        f"Epoch {e}/3\n" + "".join(f"step {n} - 2s\n" for n in range(1, 21)) + "Eval begin\n"
        + "".join(f"step {n} - 1s\n" for n in range(1, 6))
        for e in (1, 2, 3)
    ]  # fmt: skip
    run = extracted(EPOCHS, "".join(epochs))
    assert (run.metrics["step_time"].value, run.throughput.used) == (2, 60)


TOTAL = """
[[pattern]]
name = "step"
role = "step"
literal = "step "
regex = 'step (?P<epoch>{I}) (?P<step>{I})/(?P<epoch_steps>{I}) - (?P<t>{N})s'
step_per = "epoch"
[[pattern.value]]
group = "t"
quantity = "step_time"
span = "last"
[[pattern.sample]]
line = "step 1 10/100 - 2s"
expect = { step = 10, t = 2 }
[[pattern]]
name = "epoch"
role = "step"
literal = "END "
regex = 'END (?P<epoch>{I}) (?P<total>{N})s'
total = "epoch"
[[pattern.value]]
group = "total"
quantity = "interval_time"
[[pattern.sample]]
line = "END 1 200s"
expect = { epoch = 1, total = 200 }
"""


def test_the_totals_of_epochs_count_where_one_step_in_several_is_printed(extracted: Callable[..., Run]) -> None:
    """Every tenth step is printed, and takes 2 s as the others take 3 s; an epoch of 100 steps takes 290 s."""
    epochs = ["".join(f"step {e} {n}/100 - 2s\n" for n in range(10, 101, 10)) + f"END {e} 290s\n" for e in (1, 2, 3)]
    run = extracted(TOTAL, "".join(epochs), warmup=20)
    assert (run.metrics["step_time"].value, run.throughput.used) == (2.9, 2)


def test_rate_times_time_of_an_epoch_tell_its_steps(extracted: Callable[..., Run]) -> None:
    """64 samples a step, 100 steps an epoch, 3 s a step; the step lines say neither how many steps an epoch has."""
    toml = (
        TOTAL.replace("/(?P<epoch_steps>{I})", "")
        .replace("(?P<t>{N})s", "(?P<t>{N})s (?P<ips>{N})")
        .replace('line = "step 1 10/100 - 2s"', 'line = "step 1 10 - 2s 32"')
        .replace("(?P<total>{N})s", "(?P<total>{N})s (?P<mean>{N})")
        .replace('line = "END 1 200s"', 'line = "END 1 200s 21.3"')
        .replace('span = "last"\n', 'span = "last"\n' + IPS.format("ips", "last"), 1)
    )
    toml = toml.replace('quantity = "interval_time"\n', 'quantity = "interval_time"\n' + IPS.format("mean", "interval"))
    epochs = [
        "".join(f"step {e} {n} - 2s 32\n" for n in range(10, 101, 10)) + f"END {e} 300s 21.33333\n" for e in (1, 2, 3)
    ]
    run = extracted(toml, "".join(epochs), warmup=20)
    assert run.throughput.value == pytest.approx(64 / 3, rel=1e-6)
    assert run.throughput.used == 2


IPS = '[[pattern.value]]\ngroup = "{}"\nquantity = "rate"\nunit = "samples/s"\nspan = "{}"\n'


def test_the_totals_of_epochs_are_a_witness_otherwise(extracted: Callable[..., Run]) -> None:
    """Every step is printed and takes 2 s; an epoch of 20 steps takes 40 s, or 160 s."""
    for total, agreement in ((40, "agrees"), (160, "contradicts")):
        epochs = ["".join(f"step {e} {n}/20 - 2s\n" for n in range(1, 21)) + f"END {e} {total}s\n" for e in (1, 2, 3)]
        run = extracted(TOTAL, "".join(epochs))
        assert run.evidence is not None
        assert [w.agreement for w in run.evidence.witnesses if w.name == "the lines of whole epochs"] == [agreement]
        assert (run.throughput.value is None) == (agreement == "contradicts")


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (('track = "run_steps"', 'track = "nothing"'), "track = 'nothing'"),
        (('only_with = ["loss"]', 'only_with = ["bar"]'), "only_with: 'bar'"),
        (("first_is_start = true", 'scaled = ["other"]'), "scaled: 'other'"),
    ],
)
def test_what_makes_no_sense_is_refused(change: tuple[str, str], fault: str) -> None:
    text = HEAD + bar(TRACKED).replace(*change)
    with pytest.raises(ParserError, match=fault):
        parser_from(tomllib.loads(text), Path("made.toml"))


PER_WORK = """
[[pattern]]
name = "tick"
role = "step"
literal = "tick "
regex = 'tick (?P<step>{I}) sec/kimg (?P<per>{N})'
[[pattern.value]]
group = "per"
quantity = "time_per_work"
unit = "s/kimg"
[[pattern.sample]]
line = "tick 1 sec/kimg 22.00"
expect = { step = 1, per = 22 }
"""


def test_a_time_per_work_is_the_inverse_of_a_rate(extracted: Callable[..., Run]) -> None:
    """Equal work in each tick, at 20 and at 30 s per 1,000 images: 40 images/s."""
    run = extracted(PER_WORK, "".join(f"tick {n} sec/kimg {20 if n % 2 else 30}.000\n" for n in range(1, 11)))
    assert run.throughput.value == pytest.approx(40)
    assert run.throughput.unit == "images/s"


PER_AMOUNT = """
[[pattern]]
name = "batch"
role = "metadata"
literal = "batch size "
regex = 'batch size (?P<global_batch_size>{I})'
[[pattern.sample]]
line = "batch size 256"
[[pattern]]
name = "step"
role = "step"
literal = "step "
regex = 'step (?P<step>{I}): (?P<ms>{N}) ms per (?P<images>{I}) images'
[[pattern.value]]
group = "ms"
quantity = "time_per_work"
unit = "ms/image"
amount = "images"
[[pattern.sample]]
line = "step 1: 101.2 ms per 64 images"
expect = { step = 1, ms = 101.2, images = 64 }
"""
PER_NUMBER = PER_AMOUNT.replace("(?P<images>{I})", "64").replace('amount = "images"', "").replace(
    'unit = "ms/image"', 'unit = "ms/64 images"'
).replace(", images = 64", "")  # fmt: skip


@pytest.mark.parametrize("estimator", ["total", "median"])
@pytest.mark.parametrize("format_", [PER_AMOUNT, PER_NUMBER], ids=["a group", "a number"])
def test_a_time_of_an_amount_of_work(tmp_path: Path, format_: str, estimator: str) -> None:
    """101.25 ms for each 64 images: 632 images/s, and with a batch of 256 a step takes 405 ms."""
    lines = ["batch size 256", *(f"step {n}: 101.25 ms per 64 images" for n in range(1, 11))]
    (tmp_path / "made.toml").write_text(HEAD + format_)
    (tmp_path / "made.log").write_text("\n".join(lines) + "\n")
    options = Options(window=Window(Amount(0)), estimator=estimator)
    (run,) = extract_paths([str(tmp_path / "made.log")], options, load_catalog([tmp_path])).runs
    assert run.throughput.value == pytest.approx(64 / 0.10125)
    assert run.throughput.unit == "images/s"
    assert run.metrics["step_time"].value == pytest.approx(0.405)


def test_amounts_may_differ_from_line_to_line(extracted: Callable[..., Run]) -> None:
    """The same work in each step, at 1 ms and at 3 ms an image: 500 images/s."""
    lines = (f"step {n}: {64 * n if n % 2 else 192 * n}.00 ms per {64 * n} images\n" for n in range(1, 11))
    assert extracted(PER_AMOUNT, "".join(lines)).throughput.value == pytest.approx(500)


@pytest.mark.parametrize(
    ("change", "fault"),
    [(('amount = "images"', 'amount = "image"'), "amount = 'image': not a named group"),
     (('quantity = "time_per_work"\nunit = "ms/image"', 'quantity = "step_time"\nunit = "ms"'), "amount: only a time")],
)  # fmt: skip
def test_an_amount_that_is_none_is_refused(change: tuple[str, str], fault: str) -> None:
    with pytest.raises(ParserError, match=fault):
        parser_from(tomllib.loads(HEAD + PER_AMOUNT.replace(*change)), Path("made.toml"))


ASSUMED = """
[[pattern]]
name = "epoch"
role = "step"
literal = "Epoch time: "
regex = 'Epoch time: (?P<t>{N}) s'
assumed_covers = 250
assumption = "250 steps an epoch are the program's default"
[[pattern.value]]
group = "t"
quantity = "interval_time"
[[pattern.sample]]
line = "Epoch time: 100.0 s"
expect = { t = 100 }
"""


def test_an_assumed_number_of_steps_is_said(extracted: Callable[..., Run]) -> None:
    run = extracted(ASSUMED, "Epoch time: 100.00 s\nEpoch time: 150.00 s\n")
    assert run.metrics["step_time"].value == 0.5
    assert "250 steps an epoch are the program's default" in texts(run.notes)


def test_the_first_record_of_an_epoch_is_left_out_where_it_is_wrong(extracted: Callable[..., Run]) -> None:
    """The first record of each epoch covers fewer steps than the ten it claims: 1 s, all others 20 s."""
    toml = TOTAL.partition('[[pattern]]\nname = "epoch"')[0].replace('span = "last"', 'span = "interval"')
    toml = toml.replace('step_per = "epoch"', 'step_per = "epoch"\ndrops_first = "epoch"')
    epochs = ["".join(f"step {e} {n}/100 - {0.1 if n == 10 else 2}s\n" for n in range(10, 101, 10)) for e in (1, 2)]
    run = extracted(toml, "".join(epochs))
    assert (run.metrics["step_time"].value, run.throughput.used) == (2, 18)


STEPS = """
[[pattern]]
name = "step"
role = "step"
literal = "step "
regex = 'step (?P<step>{I}) - (?P<t>{N})s'
[[pattern.value]]
group = "t"
quantity = "step_time"
[[pattern.sample]]
line = "step 1 - 2s"
expect = { step = 1, t = 2 }
"""
FACT = """
[[pattern]]
name = "NAME"
role = "metadata"
literal = "LITERAL"
regex = 'LITERAL(?P<GROUP>[A-Za-z0-9]+)'
KEYS
[[pattern.sample]]
line = "LITERAL64"
"""


def fact(name: str, literal: str, group: str, keys: str = "") -> str:
    text = FACT.replace("NAME", name).replace("LITERAL", literal)
    return text.replace("GROUP", group).replace("KEYS", keys)


def steps(count: int = 20) -> str:
    return "".join(f"step {n} - 2.0000s\n" for n in range(1, count + 1))


def test_a_fact_of_its_own_counts_in_logs_of_its_parser_alone(tmp_path: Path, extracted: Callable[..., Run]) -> None:
    log = "size: 64\n" + steps()
    own = fact("size", "size: ", "global_batch_size", "own = true")
    run = extracted(STEPS + own, log)
    assert (run.throughput.value, run.throughput.unit) == (32, "samples/s")
    framework = 'framework = "F"\n'  # facts of other parsers of a framework count, but for such
    (tmp_path / "settings.toml").write_text(HEAD + framework + own)
    assert extracted(framework + STEPS, log).throughput.unit == "steps/s"
    (tmp_path / "settings.toml").write_text(HEAD + framework + own.replace("own = true", ""))
    assert extracted(framework + STEPS, log).throughput.value == 32


def test_a_fact_counts_inside_its_section(extracted: Callable[..., Run]) -> None:
    toml = STEPS + fact("opens", "== ", "section") + fact("size", "size: ", "global_batch_size", 'section = "train"')
    log = "size: 2\n== val\nsize: 4\n== train\nnested\nsize: 64\n== test\nsize: 8\n" + steps()
    run = extracted(toml, log)
    assert (run.throughput.value, run.throughput.unit, run.metadata.doubts) == (32, "samples/s", [])
    assert "section" not in run.metadata.values
    assert extracted(toml, log.replace("== train\n", "")).throughput.unit == "steps/s"


def test_what_a_weak_fact_says_is_no_contradiction(extracted: Callable[..., Run]) -> None:
    toml = STEPS + fact("amp", "amp: ", "precision", "weak = true") + fact("level", "level: ", "precision")
    run = extracted(toml, "amp: amp\nlevel: bf16\namp: amp\n" + steps())
    assert (run.metadata.values["precision"], run.metadata.doubts) == ("bf16", [])
    assert extracted(toml, "amp: amp\n" + steps()).metadata.values["precision"] == "amp"
    run = extracted(toml.replace("weak = true", ""), "amp: amp\nlevel: bf16\n" + steps())
    assert "precision" in run.metadata.contradictions


def test_a_level_counts_where_its_switch_is_on(extracted: Callable[..., Run]) -> None:
    """The switch decides wherever it stands in the start; one of an earlier start, or of a later test, does not."""
    toml = STEPS + fact("switch", "amp: ", "precision", "weak = true") + fact("off", "noamp: ", "precision")
    toml += fact("level", "level: ", "precision", 'never_with = ["off"]')
    off, on = "noamp: fp32\nlevel: amp\n", "level: fp16\namp: amp\n"
    for log in (off, "level: amp\nnoamp: fp32\n", on + "Traceback (most recent call last):\n" + on[:12] + off):
        run = extracted(toml, log + steps())
        assert (run.metadata.values["precision"], run.metadata.doubts) == ("fp32", []), log
    for log in (on, "amp: amp\nlevel: fp16\n", off + "Traceback (most recent call last):\n" + on * 2):
        run = extracted(toml, log + steps() + "noamp: fp32\n")
        assert (run.metadata.values["precision"], run.metadata.doubts) == ("fp16", []), log


@pytest.mark.parametrize(("key", "fault"), [("own = true", "own"), ('section = "x"', "section")])
def test_what_only_facts_have_is_refused_elsewhere(key: str, fault: str) -> None:
    with pytest.raises(ParserError, match=f"{fault}: only a pattern with role metadata gives facts"):
        parser_from(
            tomllib.loads(HEAD + STEPS.replace("[[pattern.value]]", key + "\n[[pattern.value]]")), Path("m.toml")
        )
    sample = STEPS.replace("expect", "facts = {}\nexpect")
    with pytest.raises(ParserError, match="sample: only a pattern with role metadata gives facts"):
        parser_from(tomllib.loads(HEAD + sample), Path("m.toml"))
    level = fact("level", "level: ", "precision", 'never_with = ["step"]')
    with pytest.raises(ParserError, match="never_with: 'step' is not a pattern of this file with role metadata"):
        parser_from(tomllib.loads(HEAD + STEPS + level), Path("m.toml"))
    with pytest.raises(ParserError, match="no pattern with role metadata has a group named 'section'"):
        text = HEAD + STEPS + fact("size", "size: ", "global_batch_size", 'section = "train"')
        parser_from(tomllib.loads(text), Path("m.toml"))


COUNTED = """
[[pattern]]
name = "step"
role = "step"
literal = "seen "
regex = '(?P<clock>{N}) epoch (?P<epoch>{I}) seen (?P<samples>{I})/{I}'
step_counts = "samples"
step_per = "epoch"
[[pattern.value]]
group = "clock"
quantity = "elapsed"
span = "cumulative"
[[pattern.value]]
group = "samples"
quantity = "samples"
span = "cumulative"
since = "epoch"
[[pattern.sample]]
line = "12.5 epoch 0 seen 512/51200"
expect = { samples = 512 }
"""


def seen(first: int = 1, batch: int = 512) -> str:
    """Steps 1, 11, 21 … of two epochs of 100 steps, 0.5 s each but for the first, which takes 20 s."""
    of_epoch = [n for n in range(first, 101) if n % 10 == 1 or n == 100]
    return "".join(
        f"{20 + 0.5 * (100 * e + n - 1)} epoch {e} seen {batch * n}/51200\n"
        for e in (0, 1)
        for n in of_epoch
    )  # fmt: skip


def test_steps_follow_from_a_counter_of_samples(extracted: Callable[..., Run]) -> None:
    """The first line of an epoch is of one step; 512 samples take 0.5 s."""
    run = extracted(COUNTED, seen(), warmup=20)
    assert (run.throughput.value, run.throughput.unit) == (1024, "samples/s")
    assert (run.metrics["step_time"].value, run.throughput.first_step, run.throughput.last_step) == (0.5, 21, 200)


def test_the_batch_that_the_log_tells_makes_steps_of_samples(extracted: Callable[..., Run]) -> None:
    """The log begins at step 51: 26,112 samples are one step or any number of them, until the batch size is said."""
    facts = fact("size", "size: ", "batch_size") + fact("devices", "devices: ", "devices")
    assert extracted(COUNTED, seen(first=51)).throughput.first_step == 0
    run = extracted(COUNTED, seen(first=51), warmup=20)
    assert (run.throughput.value, run.throughput.reason[:34]) == (None, "this format prints no step numbers")
    run = extracted(COUNTED + facts, "size: 64\ndevices: 8\n" + seen(first=51), warmup=20)
    assert (run.throughput.value, run.metrics["step_time"].value) == (1024, 0.5)


KEYLESS = """
[[pattern]]
name = "step"
role = "step"
literal = "took "
regex = 'took (?P<t>{N})s, (?P<mean>{N})s'
[[pattern.value]]
group = "t"
quantity = "step_time"
span = "last"
[[pattern.value]]
group = "mean"
quantity = "step_time"
span = "interval"
[[pattern.sample]]
line = "took 2.0s, 2.5s"
expect = { t = 2, mean = 2.5 }
"""


def test_lines_without_steps_are_not_taken_for_every_step(extracted: Callable[..., Run]) -> None:
    """The last step before each line took 2 s, the mean of those since the line before is 2.2 s."""
    log = "".join(f"took 2.0{n:02}s, 2.2{n:02}s\n" for n in range(21))
    assert extracted(KEYLESS, log, 0, "records").metrics["step_time"].value == pytest.approx(2.21)
    reason = "each line tells of its last step only, and nothing in the log says which steps are printed"
    alone = KEYLESS.replace("(?P<mean>{N})", "{N}").partition('[[pattern.value]]\ngroup = "mean"')[0]
    alone += '[[pattern.sample]]\nline = "took 2.0s, 2.5s"\n'
    assert extracted(alone, log, 0, "records").throughput.reason == reason


def test_a_warm_up_of_one_record_leaves_one_record_out(extracted: Callable[..., Run]) -> None:
    """Of 11 lines of a clock the first only sets it: a warm-up of one record is that one, one of two another."""
    log = drawn(*((n, 2 * n) for n in range(10, 111, 10)))
    assert extracted(bar(), log, 0, "records").throughput.used == 10
    assert extracted(bar(), log, 1, "records").throughput.used == 10
    assert extracted(bar(), log, 2, "records").throughput.used == 9
    assert extracted(STEPS, steps(10), 1, "records").throughput.used == 9
    assert (
        extracted(bar(), drawn((10, 20), (20, 40)), 2, "records").throughput.reason
        == "the run ends after 2 records, warm-up 2"
    )


SAVING = '[[pattern]]\nname = "saving"\nrole = "ignore"\nliteral = "saving"\nregex = "saving"\npauses = true\n'
SAVING += '[[pattern.sample]]\nline = "saving"\n'


def test_a_mean_that_holds_a_pause_is_left_out(extracted: Callable[..., Run]) -> None:
    """Ten steps of 2 s between lines, 60 s of saving between steps 50 and 60: their mean is 8 s."""
    log = "".join(f"step {n} - {8 if n == 60 else 2:.4f}s\n" for n in range(10, 101, 10))
    log = log.replace("step 60 ", "saving\nstep 60 ")
    run = extracted(STEPS.replace('"step_time"\n', '"step_time"\nholds_pauses = true\n') + SAVING, log)
    assert (run.metrics["step_time"].value, run.throughput.used) == (2, 9)
    assert "1 record left out that holds an evaluation or the like (80 s)" in texts(run.notes)
    assert extracted(STEPS + SAVING, log).metrics["step_time"].value == 2.6


def test_the_time_of_what_is_left_out_is_said_where_it_is_known(extracted: Callable[..., Run]) -> None:
    """A rate of tokens without a time beside it: 500 tokens/s, but 80 tokens/s where saving lies between the lines."""
    rate = 'quantity = "rate"\nunit = "tokens/s"\nholds_pauses = true\n'
    log = "".join(f"step {n} - {80 if n == 60 else 500:.4f}s\n" for n in range(10, 101, 10))
    run = extracted(
        STEPS.replace('quantity = "step_time"\n', rate) + SAVING, log.replace("step 60 ", "saving\nstep 60 ")
    )
    assert (run.throughput.value, run.throughput.unit, run.throughput.used) == (500, "tokens/s", 9)
    assert "1 record left out that holds an evaluation or the like" in texts(run.notes)


def test_an_interval_does_not_reach_back_over_the_beginning_of_an_epoch(extracted: Callable[..., Run]) -> None:
    """Every 40th step of all is printed, an epoch has 100: the clock begins anew with it. Each step takes 1.5 s."""
    toml = STEPS.replace("(?P<step>{I})", "(?P<epoch>{I}) (?P<step>{I})/(?P<epoch_steps>{I})", 1)
    toml = toml.replace("regex =", 'step_per = "epoch"\nregex =').replace("step 1 - 2s", "step 1 1/9 - 2s")
    toml = toml.replace('"step_time"\n', '"interval_time"\nsince = "epoch"\n')
    printed = [(n // 100 + 1, n % 100 or 100) for n in range(40, 361, 40) if n % 100]
    log = "".join(f"step {e} {n}/100 - {1.5 * min(40, n):.4f}s\n" for e, n in printed)
    run = extracted(toml, log)
    assert run.metrics["step_time"].value == pytest.approx(1.5, rel=1e-9)


SAMPLES_BAR = """
[[pattern]]
name = "bar"
role = "step"
literal = "img: "
regex = 'img: (?P<samples>{I})/{I} \\[(?P<elapsed>{CLOCK})<'
redrawn = true
irregular = true
first_is_start = true
restarts = true
step_counts = "samples"
[[pattern.value]]
group = "elapsed"
quantity = "elapsed"
unit = "clock"
span = "cumulative"
since = "epoch"
[[pattern.value]]
group = "samples"
quantity = "samples"
span = "cumulative"
since = "epoch"
[[pattern.sample]]
line = "img: 4/398 [00:02<"
[[pattern]]
name = "batch"
role = "metadata"
literal = "batch "
regex = 'batch (?P<global_batch_size>{I})'
[[pattern.sample]]
line = "batch 4"
"""


def test_a_bar_that_counts_samples_gives_their_rate(extracted: Callable[..., Run]) -> None:
    """4 images a step, 100 steps of 2 s an epoch, the last of 2 images; each step drawn, the last one twice."""
    epoch = "".join(f"img: {min(4 * k, 398)}/398 [{2 * k // 60:02d}:{2 * k % 60:02d}<\n" for k in range(1, 101))
    run = extracted(SAMPLES_BAR, "batch 4\n" + 2 * (epoch + "img: 398/398 [03:50<\n"))
    assert run.throughput.value == pytest.approx(2.0)
    assert run.throughput.unit == "samples/s"
    assert run.metrics["step_time"].value == pytest.approx(2.0)
    # the first line sets the clock, the second the counter, and the smaller batch at each end is left out
    assert run.throughput.used == 97 + 99


def test_a_bar_that_counts_samples_of_unknown_steps_is_refused(extracted: Callable[..., Run]) -> None:
    """Refreshes of 3, 5 and 4 steps of 4 images each, and no word of the batch."""
    run = extracted(SAMPLES_BAR, "".join(f"img: {n}/398 [00:{n // 2:02d}<\n" for n in (12, 32, 48)))
    assert run.throughput.value is None
    assert "nothing in the log says how many of them a step has" in run.throughput.reason


STEP_OF_ITS_OWN = """
[[pattern]]
name = "epoch"
role = "position"
literal = "epoch "
regex = 'epoch (?P<epoch>{I})'
step_per = "epoch"
[[pattern.sample]]
line = "epoch 0"
[[pattern]]
name = "step"
role = "step"
literal = "iter "
regex = 'iter (?P<step>{I}) (?P<t>{N})s'
position = "epoch"
step_base = BASE
[[pattern.value]]
group = "t"
quantity = "step_time"
span = "last"
[[pattern.sample]]
line = "iter 1 2.0s"
"""


@pytest.mark.parametrize(("key", "base"), [("0", 0), ("1", 1), ('"first"', 0), ('"first"', 1)])
def test_a_line_that_tells_its_step_says_what_it_counts_from(
    key: str, base: int, extracted: Callable[..., Run]
) -> None:
    """The line before tells the epoch alone, and counts from 1 as any format does that says nothing."""
    log = "".join(f"epoch {e}\n" + "".join(f"iter {base + k} 2.0s\n" for k in range(5)) for e in range(3))
    run = extracted(STEP_OF_ITS_OWN.replace("BASE", key), log)
    assert (run.throughput.used, run.throughput.last_step) == (15, 15)


CLOCK_OVER_EPOCHS = """
[[pattern]]
name = "step"
role = "step"
literal = "epoch "
regex = 'epoch (?P<epoch>{I}) step (?P<step>{I})(?:/(?P<epoch_steps>{I}))? t=(?P<t>{N})'
step_per = "epoch"
KEYS
[[pattern.value]]
group = "t"
quantity = "elapsed"
span = "cumulative"
[[pattern.sample]]
line = "epoch 1 step 100 t=200"
"""


@pytest.mark.parametrize("keys", ["", "irregular = true"])
@pytest.mark.parametrize(("length", "used"), [("", 7), ("/391", 9)])
def test_a_clock_over_the_end_of_an_epoch_counts_where_its_length_is_told(
    keys: str, length: str, used: int, extracted: Callable[..., Run]
) -> None:
    """391 steps of 2 s an epoch, a line at each 100th step: 191 steps lie between the lines about an epoch's end."""
    steps = [(epoch, step) for epoch in range(3) for step in (100, 200, 300)]
    log = "".join(f"epoch {epoch} step {step}{length} t={2 * (391 * epoch + step)}\n" for epoch, step in steps)
    run = extracted(CLOCK_OVER_EPOCHS.replace("KEYS", keys), log)
    assert run.throughput.value == pytest.approx(0.5)
    assert run.throughput.used == used


def test_the_length_of_a_window_is_what_the_log_says(extracted: Callable[..., Run]) -> None:
    """The mean of 20 steps is printed every 10: less that of the first 10, the second line's is of steps 11 to 20."""
    toml = STEPS.replace('"step_time"\n', '"step_time"\nspan = "window"\nwindow = 10\nwindow_from = "window_size"\n')
    toml += fact("window", "window: ", "window_size")
    log = "".join(f"step {n} - 2.0000s\n" for n in range(10, 101, 10))
    run = extracted(toml, "window: 20\n" + log, warmup=5)
    assert (run.throughput.used, run.throughput.first_step) == (9, 10)
    assert "each line is a mean over the last 20 steps, printed every 10" in texts(run.notes)
    assert "window_size" not in run.metadata.values
    assert extracted(toml, log, warmup=5).throughput.used == 9


def test_records_of_fewer_steps_than_the_others_are_left_out_and_said(extracted: Callable[..., Run]) -> None:
    """Lines divide by ten steps, also where one was made since the last: 6.4 samples a step in place of 64."""
    toml = STEPS.replace("(?P<t>{N})s", "(?P<t>{N})s (?P<samples>{N})").replace("- 2s", "- 2s 64")
    toml += '[[pattern.value]]\ngroup = "samples"\nquantity = "samples"\npartial = true\n'
    log = "".join(f"step {n} - {0.2 if n == 50 else 2:.4f}s {6.4 if n == 50 else 64}\n" for n in range(10, 101, 10))
    run = extracted(toml, log)
    assert (run.metrics["step_time"].value, run.throughput.used, run.throughput.unit) == (2, 9, "steps/s")
    assert run.throughput.excluded == {"mean over fewer steps than the others": 1}


def test_a_mean_since_the_start_goes_on_behind_a_resume(extracted: Callable[..., Run]) -> None:
    """Resumed at step 1,000: the mean counts the steps of this process, the first of which takes 20 s, others 1 s."""
    toml = STEPS.replace('"step_time"\n', '"step_time"\nspan = "cumulative"\nsince = "start"\n')
    log = "".join(f"step {1000 + n} - {(19 + n) / n:.12g}s\n" for n in range(10, 101, 10))
    run = extracted(toml, log, warmup=20)
    assert run.metrics["step_time"].value == pytest.approx(1, abs=1e-9)
    assert extracted(toml.replace('since = "start"\n', ""), log, warmup=20).throughput.value is None


def test_a_clock_in_whole_seconds_is_too_coarse_for_a_short_window(extracted: Callable[..., Run]) -> None:
    """A second of 40 is 2.5 per cent, a second of 30 is 3.3."""
    assert extracted(bar(), drawn((10, 20), (20, 40), (30, 60))).metrics["step_time"].value == 2
    run = extracted(bar(), drawn((10, 20), (20, 40), (25, 50)))
    reason = "the clock is printed in whole seconds, and 30 s are measured: they may be 3% off"
    assert (run.throughput.value, run.throughput.reason) == (None, reason)
    bars = "".join(drawn(*((n, n * 27 // 100) for n in range(10, 101, 10)), total=100) for _ in range(4))
    run = extracted(bar(), bars)
    assert run.throughput.reason.endswith("106 s in 4 bars are measured: they may be 4% off")


def bounded(seconds: float, share: float) -> object:
    """How far a rate of one step in so many seconds may be off."""
    return pytest.approx((1 / seconds / (1 + share), 1 / seconds / (1 - share)))


def test_the_last_digit_of_a_clock_bounds_the_number(extracted: Callable[..., Run]) -> None:
    """180 s are measured: a second of them is 0.56 per cent, and 0.1 s of a finer clock too little to be told."""
    rows = tuple((n, 2 * n) for n in range(10, 101, 10))
    run = extracted(bar(), drawn(*rows))
    assert (run.throughput.value, run.throughput.rounding) == (0.5, bounded(2, 1 / 180))
    finer = drawn(*rows).replace("<?", ".1<?").replace("02:00.1", "02:00.2")
    assert extracted(bar(), finer).throughput.rounding is None


def test_each_piece_of_a_clock_that_an_evaluation_parts_is_cut_at_both_ends(extracted: Callable[..., Run]) -> None:
    """One record of 62 s holds the saving: 160 s in two pieces, which may be 1 + 2·√(1/6) s off."""
    rows = tuple((n, 2 * n) for n in range(10, 51, 10))
    later = tuple((n, 2 * n + 42) for n in range(60, 101, 10))
    run = extracted(bar("", "pauses = true"), drawn(*rows) + "saving\n" + drawn(*later))
    assert run.metrics["step_time"].value == 2
    assert run.throughput.rounding == bounded(2, (1 + 2 * (1 / 6) ** 0.5) / 160)
    assert not [note for note in texts(run.notes) if "digits" in note]
    coarse = extracted(bar("", "pauses = true"), drawn(*rows[:2]) + "saving\n" + drawn((60, 162), (75, 192)))
    assert coarse.throughput.reason.endswith("50 s in 2 pieces are measured: they may be 4% off")


STAMPED = """
[[pattern]]
name = "step"
role = "step"
literal = "step "
regex = '^(?P<timestamp>[0-9: -]+) step (?P<step>{I})'
[[pattern.value]]
group = "timestamp"
quantity = "timestamp"
span = "cumulative"
[[pattern.sample]]
line = "2026-05-04 10:00:20 step 10"
"""


def test_stamps_in_whole_seconds_bound_the_number_and_refuse_a_short_window(extracted: Callable[..., Run]) -> None:
    """Ten steps take 4 s: 40 s behind the first line are 2.5 per cent of a second, 32 s more than 3."""
    line = "2026-05-04 10:{:02}:{:02} step {}\n".format
    log = "".join(line(4 * n // 60, 4 * n % 60, 10 * n) for n in range(1, 12))
    run = extracted(STAMPED, log)
    assert (run.metrics["step_time"].value, run.throughput.rounding) == (0.4, bounded(0.4, 1 / 40))
    assert "the printed digits allow 2.439 to 2.564 steps/s" in texts(run.notes)
    short = extracted(STAMPED, "".join(log.splitlines(keepends=True)[:9]))
    reason = "the clock is printed in whole seconds, and 32 s are measured: they may be 3% off"
    assert (short.throughput.value, short.throughput.reason) == (None, reason)
    assert "step_time" not in short.metrics  # it is the same time


PRODUCT = STEPS.replace("(?P<t>{N})s", "(?P<t>{N})s (?P<ips>{N})").replace("- 2s", "- 2s 32").replace(
    'quantity = "step_time"\n', 'quantity = "step_time"\nspan = "last"\n' + IPS.format("ips", "last")
)  # fmt: skip


def products(batch: int, digits: int = 4, odd: int = 0) -> str:
    times = [0.2 + 0.0137 * (n % 7) for n in range(1, 41)]
    return "".join(f"step {n} - {t:.{digits}f}s {(batch + odd * (n % 3)) / t:.3f}\n" for n, t in enumerate(times, 1))


@pytest.mark.parametrize(("scope", "key"), [("job", "global_batch_size"), ("rank", "batch_size")])
def test_rate_times_time_on_one_line_is_the_batch(scope: str, key: str, extracted: Callable[..., Run]) -> None:
    toml = PRODUCT.replace('"samples/s"\n', f'"samples/s"\nscope = "{scope}"\n')
    run = extracted(toml, products(64))
    assert (run.metadata.values[key], run.metadata.sources[key]) == (64, "log")


def test_a_product_that_is_not_one_whole_number_is_no_batch(extracted: Callable[..., Run]) -> None:
    """Work that changes from line to line, and digits that leave several numbers open."""
    for log in (products(64, odd=5), products(4096, digits=2)):
        assert "global_batch_size" not in extracted(PRODUCT, log).metadata.values
    toml = PRODUCT + fact("size", "size: ", "batch_size")
    assert "global_batch_size" not in extracted(toml, "size: 8\n" + products(64)).metadata.values


def test_micro_batches_times_accumulation_are_the_batch(extracted: Callable[..., Run]) -> None:
    """4 samples a micro-batch, 8 of them a step, on 2 devices: 64 samples in 2 s."""
    toml = STEPS + fact("micro", "micro: ", "micro_batch_size") + fact("devices", "devices: ", "devices")
    toml += fact("accumulation", "accumulation: ", "gradient_accumulation_steps")
    run = extracted(toml, "micro: 4\naccumulation: 8\ndevices: 2\n" + steps())
    assert (run.throughput.value, run.throughput.unit, run.metadata.values["batch_size"]) == (32, "samples/s", 32)
    assert extracted(toml, "micro: 4\ndevices: 2\n" + steps()).throughput.unit == "steps/s"
    run = extracted(toml, "micro: 4\naccumulation: 8\n" + steps())
    assert (run.throughput.unit, "give --set devices=N" in " ".join(texts(run.notes))) == ("steps/s", True)


ROUNDED = STEPS.replace("(?P<step>{I})", "(?P<step>{NS})").replace(
    "regex =", 'scaled = ["step"]\nstep_rounded = true\nregex ='
)


def big(number: int) -> str:
    """A number as LeRobot prints it: 800, 1K, 12K, 1M."""
    value, suffixes = float(number), ["", "K", "M"]
    while abs(value) >= 1000:
        value, suffixes = value / 1000, suffixes[1:]
    return f"{value:.0f}{suffixes[0]}"


def test_a_counter_in_whole_thousands_goes_on_by_its_interval(extracted: Callable[..., Run]) -> None:
    """Every 200th step is printed, up to step 20,000, 2 s each: 100 records, of which many say the same thousand."""
    log = "".join(f"step {big(n)} - {2 + n / 1e6:.6f}s\n" for n in range(200, 20_001, 200))
    run = extracted(ROUNDED, log, warmup=200)
    assert (run.throughput.used, run.throughput.first_step, run.throughput.last_step) == (99, 200, 20_000)
    assert run.metrics["step_time"].value == pytest.approx(2 + 10_200 / 1e6, rel=1e-9)


def test_a_rounded_counter_that_nothing_explains_gives_no_number(extracted: Callable[..., Run]) -> None:
    """A tenth of the lines missing, and a log that begins with thousands, unless its settings say the interval."""
    lines = [f"step {big(n)} - 2.0000s\n" for n in range(200, 20_001, 200)]
    reason = "steps are printed in whole thousands, and no interval between the lines fits"
    holes = [line for place, line in enumerate(lines) if place % 10 != 9]
    assert reason in extracted(ROUNDED, "".join(holes)).throughput.reason
    lost = extracted(ROUNDED, "".join(lines[:30] + lines[31:]))
    assert (lost.throughput.value, lost.throughput.last_step) == (0.5, 20_000)
    assert any("1 record is missing" in text for text in texts(lost.notes))
    late = "".join(lines[50:])
    assert reason in extracted(ROUNDED, late).throughput.reason
    run = extracted(ROUNDED + fact("every", "every: ", "print_interval"), "every: 200\n" + late)
    assert run.throughput.last_step == pytest.approx(20_000, abs=500)
    assert run.metrics["step_time"].value == 2
    assert "print_interval" not in run.metadata.values


def test_an_epoch_above_the_heads_of_records_places_them(extracted: Callable[..., Run]) -> None:
    """Steps begin anew with each of two epochs of 50; 40,960 tokens and 4 s a step."""
    epoch = EPOCHS.partition('[[pattern]]\nname = "step"')[0]
    toml = epoch + BLOCK.replace('role = "position"', 'role = "position"\nposition = "epoch"\nstep_per = "epoch"')
    log = "".join(
        f"Epoch {e}/2\n"
        + "".join(
            f"[step={n}\n   clock={4 * (n + 50 * e - 50)}\n   total_tokens={40960 * (n + 50 * e - 50)}\n"
            for n in range(10, 51, 10)
        )
        for e in (1, 2)
    )  # fmt: skip
    run = extracted(toml, log, warmup=20)
    assert (run.throughput.value, run.throughput.first_step, run.throughput.last_step) == (10240, 20, 100)
    assert extracted(BLOCK, log, warmup=20).throughput.value is None
