"""Runs of one log: their metrics and notes, what is refused, ranks, failures, and what is no run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from perflog.errors import ParserError
from perflog.formats.catalog import Catalog
from perflog.formats.load import load_parser
from perflog.logs.find import LogFile
from perflog.notes import texts
from perflog.reading.reading import Reading
from perflog.resources import folder
from perflog.runs.build import build_runs
from perflog.runs.run import Skipped
from perflog.runs.throughput import measurements_of, primary_pattern
from perflog.settings.options import Amount, Window
from tests.measurements.support import MEAN_TIME, RATE, STEP_TIME, parser, table
from tests.reading.support import BEGIN, STEPS, catalog, fact, formats, read, summary
from tests.runs.support import ALL, options, run, runs, steps

SIMPLE = formats(STEPS, BEGIN, fact("batch_size"), fact("devices"))


def sampled(groups: str, *values: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A pattern with a sample."""
    return {
        **table(groups, *values, **more),
        "sample": [{"line": "row" + "".join(f" {group}=1" for group in groups.split())}],
    }


def test_the_throughput_of_a_run() -> None:
    made = run(SIMPLE, "hello\n" + steps(1, 2, ips=4) + steps(3, 4, ips=8), window=Window(Amount(1)))
    throughput = made.throughput
    assert throughput.value == pytest.approx(3 / (1 / 4 + 2 / 8), rel=1e-15)
    assert (throughput.unit, throughput.estimator, throughput.used, throughput.excluded) == (
        "samples/s",
        "total",
        3,
        {"warm-up": 1},
    )
    assert (throughput.first_line, throughput.last_line, throughput.first_step, throughput.last_step) == (3, 5, 1, 4)
    assert (made.first_line, made.last_line, made.lines, made.window) == (2, 5, 5, "warm-up 1 step")
    assert (made.parser, made.framework, texts(made.notes)) == ("made", "", [])
    assert "step_time" not in made.metrics  # nothing says how many samples a step has


def test_the_time_of_a_step() -> None:
    text = "set batch_size=8\nset devices=2\n" + steps(1, 2, ips=4)
    metric = run(SIMPLE, text).metrics["step_time"]
    assert (metric.value, metric.unit, metric.used, metric.first_line, metric.last_line) == (4, "s", 2, 3, 4)
    timed = run(
        formats(sampled("step ms", STEP_TIME)),
        "row step=1 ms=500\nrow step=2 ms=1500\n",
        set={"batch_size": "8", "devices": "1"},
    )
    assert (timed.throughput.value, timed.metrics["step_time"].value, timed.throughput.time_per_step) == (8, 1, 1)


@pytest.mark.parametrize(
    ("printed", "bounds", "note"),
    [
        ("5.00", None, ""),  # half a digit is 0.1 %
        ("5.0", (5 / 1.01, 5 / 0.99), ""),
        ("5", (5 / 1.1, 5 / 0.9), "the printed digits allow 4.545 to 5.556 samples/s"),
    ],
)
def test_the_printed_digits_bound_the_throughput(printed: str, bounds: tuple[float, float] | None, note: str) -> None:
    """Above 0.2 % the bounds are there, above 2 % they are said too; equal numbers may all be rounded one way."""
    made = run(SIMPLE, "".join(f"row step={step} ips={printed}\n" for step in (1, 2, 3)))
    assert made.throughput.rounding == (None if bounds is None else pytest.approx(bounds, rel=1e-12))
    assert texts(made.notes) == ([note] if note else [])


def test_what_the_log_says_besides_is_the_runs_evidence() -> None:
    timed = formats(sampled("step ips ms", RATE, STEP_TIME))
    lines = "".join(f"row step={step} ips={{}} ms=1600.0\n" for step in range(1, 6))
    agreed = run(timed, lines.format(*["5.000"] * 5), set={"batch_size": "8", "devices": "1"})
    assert agreed.evidence is not None
    assert agreed.evidence.corroborated
    assert agreed.throughput.value == 5
    refused = run(timed, lines.format(*["5.000"] * 5), set={"batch_size": "8", "devices": "2"})
    assert refused.evidence is not None
    assert not refused.evidence.corroborated
    assert refused.throughput.reason == (
        "the log contradicts itself: work per step is 16 samples by the measurements and 8 samples by ms times ips on "
        "the lines (lines 1 to 5)"
    )
    assert (refused.throughput.value, refused.throughput.time_per_step, "step_time" in refused.metrics) == (
        None,
        None,
        False,
    )


def test_a_window_that_cannot_be_taken_leaves_a_reason() -> None:
    made = run(SIMPLE, steps(1, 2, 3), window=Window(Amount(5)))
    assert (made.throughput.value, made.throughput.reason, made.throughput.unit) == (
        None,
        "the run ends after 3 steps, warm-up 5",
        "samples/s",
    )
    assert made.throughput.time_per_step is None


def test_without_a_batch_size_steps_are_counted() -> None:
    made = run(formats(sampled("step ms", STEP_TIME)), "row step=1 ms=500\nrow step=2 ms=500\n")
    assert (made.throughput.value, made.throughput.unit) == (2, "steps/s")
    assert any(
        note.startswith("batch_size and devices are unknown, so that steps are counted") for note in texts(made.notes)
    )
    assert made.metrics["step_time"].value == 0.5


def test_lines_without_any_number_leave_a_reason() -> None:
    made = run(formats(sampled("step ips", RATE)), "row step=1 ips=nan\nrow step=2 ips=nan\n")
    assert made.throughput.reason == "no line holds a rate or a time that can be used"


def test_what_is_refused_has_neither_throughput_nor_step_time() -> None:
    text = "set batch_size=8\nset devices=1\n" + steps(1, 2) + steps(1, 2, ips=6)
    made = run(SIMPLE, text)
    assert made.throughput.value is None
    assert made.throughput.reason.startswith("steps go back from step 2 (line 4) to step 1 (line 5)")
    assert "step_time" not in made.metrics


def test_two_runs_of_one_log_have_their_lines() -> None:
    first, second = runs(SIMPLE, "begin\n" + steps(1, 2) + "begin\n" + steps(1, 2, ips=6) + "bye\n")
    assert (texts(first.notes), texts(second.notes)) == (
        ["run 1 of 2 in this log (lines 1 to 3)"],
        ["run 2 of 2 in this log (lines 4 to 7)"],
    )
    assert [first.throughput.value, second.throughput.value] == pytest.approx([5, 6])


def test_notes_of_what_was_printed() -> None:
    text = steps(1, 2) + steps(2) + "row step=3 ips=0\n" + steps(4, 9)
    made = run(SIMPLE, text)
    assert texts(made.notes) == [
        "1 event printed twice, counted once",
        "4 records are missing, the first before step 9 (line 6)",
        "1 record without a usable number, the first at line 4",
    ]
    assert made.throughput.excluded == {"no usable number": 1, "printed twice": 1}
    assert texts(run(SIMPLE, steps(1, 2, 4, 5)).notes) == ["1 record is missing, the first before step 4 (line 3)"]


def test_notes_of_running_means_and_formats_without_steps() -> None:
    means = formats(sampled("epoch step ms", {**MEAN_TIME, "since": "epoch"}, step_per="epoch"))
    text = "".join(f"row epoch={e} step={s} ms=100\n" for e, s in ((3, 50), (3, 60), (4, 10), (4, 20)))
    made = run(means, text, set={"global_batch_size": "10"})
    assert texts(made.notes) == ["2 running means left out: how many steps they cover cannot be known"]
    assert made.throughput.value == pytest.approx(100)
    keyless = run(formats(sampled("ips", RATE)), "row ips=5.000\nrow ips=6.000\n", window=Window(Amount(0, "records")))
    assert texts(keyless.notes) == ["the lines print no step numbers; each is taken to cover equally many steps"]


def test_times_of_unknown_numbers_of_steps_give_no_speed() -> None:
    """One line an epoch, with its time alone: 0.25 epochs a second are no 0.25 steps."""
    records = Window(Amount(0, "records"))
    times = {"group": "s", "quantity": "interval_time"}
    made = run(formats(sampled("s", times)), "row s=4\nrow s=4\n", window=records)
    assert made.throughput.value is None and "step_time" not in made.metrics
    assert made.throughput.reason == (
        "the lines tell how long an interval took, and no line tells how many steps it had"
    )
    work = {"group": "done", "quantity": "samples"}
    counted = run(formats(sampled("s done", times, work)), "row s=4 done=80\nrow s=4 done=80\n", window=records)
    assert (counted.throughput.value, counted.throughput.unit) == (20, "samples/s")
    assert "step_time" not in counted.metrics


def test_notes_of_the_basis_and_the_warmup() -> None:
    last = formats(sampled("step ips", {**RATE, "span": "last"}))
    text = "".join(f"row step={10 * n} ips={1 if n < 6 else 3}.000\n" for n in range(1, 41))
    basis = "each line tells of its last step only: 1 of 10 steps measured"
    doubt = "warm-up 0 steps, the detector (MSER-5) finds 59 steps: the rate then differs by +25.0 %"
    assert texts(run(last, text).notes) == [doubt, basis]
    assert texts(run(last, text, convention="c").notes) == [basis]
    found = run(last, text, window=Window(Amount(0, "auto")))
    assert texts(found.notes) == ["warm-up auto: 59 steps left out (MSER-5)", basis]


def test_the_last_step_of_each_epoch_alone_gives_no_number() -> None:
    """One line an epoch, with its last step: it may be the epoch's time (a data sink), and is no mean of its steps."""
    last = formats(sampled("epoch step ms", {**STEP_TIME, "span": "last"}, step_per="epoch"))
    text = "".join(f"row epoch={n} step=50 ms=100\n" for n in range(1, 9))
    made = run(last, text, set={"global_batch_size": "10"})
    assert made.throughput.value is None
    assert made.throughput.reason == (
        "each line tells of its last step only: 1 of 50 steps measured, and nothing else in the log says how long the "
        "others took"
    )


@pytest.mark.parametrize("value", [{**STEP_TIME, "span": "last"}, STEP_TIME, {**MEAN_TIME, "since": "epoch"}])
def test_the_first_step_of_each_epoch_alone_gives_no_number(value: dict[str, str]) -> None:
    """Epochs shorter than the interval of the lines print their first step, which starts the reading of data."""
    firsts = formats(sampled("epoch step epoch_steps ms", value, step_per="epoch"))
    told = {"global_batch_size": "10"}
    text = "".join(f"row epoch={n} step=1 epoch_steps=8 ms=100\n" for n in range(1, 40))
    reason = "each line tells of its last step only, the first of its epoch, in which the reading of data begins"
    assert run(firsts, text, set=told).throughput.reason == reason
    whole = run(firsts, text.replace("epoch_steps=8", "epoch_steps=1"), set=told)
    assert whole.throughput.value == pytest.approx(100)


def test_many_repeats_are_blended_ranks() -> None:
    repeating = formats(sampled("step ips", RATE, step_repeats=True))
    text = "".join(f"row step={n // 2 + 1} ips={5 + n}\n" for n in range(12))
    made = run(repeating, text)
    assert made.throughput.reason == "6 of 12 records repeat the step before them: several ranks are blended"
    few = "".join(f"row step={n} ips={5 + n}\n" for n in range(1, 12)) + "row step=11 ips=3\n"
    assert run(repeating, few).throughput.value is not None


def test_positions_that_are_refused_refuse_what_they_place() -> None:
    position = {
        "name": "place", "role": "position", "literal": "at", "regex": "at step=(?P<step>{I}) loss=(?P<loss>{N})",
        "sample": [{"line": "at step=1 loss=1"}],
    }  # fmt: skip
    placed = formats(position, sampled("ms", STEP_TIME, position="place"), BEGIN)
    text = "".join(f"at step={step} loss={loss}\nrow ms=100\n" for step, loss in ((1, 1), (2, 2)))
    given: dict[str, Any] = {"set": {"global_batch_size": "10"}}
    assert run(placed, text, **given).throughput.value == 100
    broken = run(placed, "at step=1 loss=9\n" + text, **given)
    assert broken.throughput.reason.startswith("step 1 has different records at lines 1 and 2")
    again = text.replace("ms=100", "ms=200") + "at step=2 loss=3\n"
    first, second = runs(placed, text + "begin\n" + again, **given)
    assert (first.throughput.value, first.throughput.reason) == (100, "")  # the second run's steps are not its own
    assert second.throughput.reason.startswith("step 2 has different records at lines 8 and 10")


@pytest.mark.parametrize("unit", ["GiB", "MiB", "MB"])
def test_the_last_loss_and_peak_of_memory_are_metrics(unit: str) -> None:
    made = formats(sampled("step ips loss memory", RATE, memory_unit=unit))
    found = run(made, "row step=1 ips=5 loss=0.9 memory=7\nrow step=2 ips=5 loss=0.5 memory=nan\n").metrics
    assert (found["loss"].value, found["loss"].first_line, found["loss"].unit) == (0.5, 2, "")
    assert (found["memory"].value, found["memory"].first_line, found["memory"].unit) == (7, 1, unit)


def test_conventions_round_throughput_and_nothing_else() -> None:
    made = formats(sampled("step ips loss", RATE), summary({**RATE, "span": "run"}))
    found = run(
        made, "row step=1 ips=5.256 loss=0.555\nrow step=2 ips=5.256 loss=0.555\nsum ips=7.777\n", digits="%.1f"
    )
    assert (found.throughput.value, found.metrics["reported"].value, found.metrics["loss"].value) == (5.3, 7.8, 0.555)
    assert run(made, "row step=1 ips=5 loss=1\n", digits="%.1f", window=Window(Amount(5))).throughput.value is None


# Several ranks in one log.

PER_RANK = formats(sampled("step ips", {**RATE, "scope": "rank"}), fact("devices"))


def ranked(*rates: float, first: int = 0) -> str:
    return "".join(
        f"[rank{first + rank}]:row step={step} ips={rate:.3f}\n" for step in (1, 2) for rank, rate in enumerate(rates)
    )


def test_the_slowest_of_ranks_that_speak_for_themselves_is_taken_for_all() -> None:
    made = run(PER_RANK, ranked(5, 4, 6))
    assert (made.throughput.value, made.values["devices"], made.metadata.sources["devices"]) == (12, 3, "log")
    assert texts(made.notes) == [
        "devices taken from the 3 ranks that print",
        "the slowest of 3 ranks is taken for all (each waits for the others)",
    ]


def test_ranks_and_devices_that_are_not_as_many() -> None:
    made = run(PER_RANK, "set devices=8\n" + ranked(5, 4))
    assert made.throughput.value == 32
    assert texts(made.notes)[0] == "2 ranks print, of 8 devices"
    assert texts(run(PER_RANK, "set devices=2\n" + ranked(5, 4)).notes) == [
        "the slowest of 2 ranks is taken for all (each waits for the others)"
    ]


def test_some_ranks_alone_do_not_tell_the_devices() -> None:
    made = run(PER_RANK, ranked(5, 4, first=2))
    assert (made.throughput.value, made.throughput.unit) == (4, "samples/s/rank")
    assert texts(made.notes) == [
        "2 ranks print, and the number of devices is unknown",
        "the printed rate is one rank's and the number of devices is unknown: give --set devices=N",
        "the slowest of 2 ranks is taken for all (each waits for the others)",
    ]


def test_of_ranks_that_print_the_jobs_rate_the_slowest_is_taken() -> None:
    made = run(SIMPLE, ranked(5, 4))
    note = (
        "2 ranks print a rate each, which in this format is the job's; if each counts its own work alone, the job does "
        "2 times as much"
    )
    slowest = "the slowest of 2 ranks is taken for all (each waits for the others)"
    assert (made.throughput.value, texts(made.notes)) == (4, [note, slowest])


def test_a_rank_that_is_printed_twice_tells_no_devices() -> None:
    text = "".join(f"[rank{rank}]:row step={step} ips={4 + step / 8:.3f}\n" for step in range(1, 5) for rank in (0, 1))
    made = run(PER_RANK, text)
    assert (made.throughput.unit, "devices" in made.values) == ("samples/s/rank", False)
    assert made.throughput.value == pytest.approx(4 / sum(1 / (4 + step / 8) for step in range(1, 5)))
    assert (
        texts(made.notes)[0]
        == "2 ranks print the same numbers, as one does that is printed twice: they tell no devices"
    )


@pytest.mark.parametrize(
    ("setting", "about", "expected"),
    [("", "time per step", "agrees"), ("set batch_size=8\n", "throughput", "agrees"),
     ("set batch_size=16\n", "throughput", "contradicts")],
)  # fmt: skip
def test_the_clock_speaks_of_the_throughput_where_the_log_states_a_batch(
    setting: str, about: str, expected: str
) -> None:
    """Eight samples in a step of 1.94 seconds; without the setting, the batch comes of rate and time on the lines."""
    timed = formats(sampled("step ips ms", RATE, STEP_TIME), fact("batch_size"))
    lines = "".join(f"10:00:{2 * step} row step={step} ips=4.125 ms=1939.39\n" for step in range(5, 25))
    made = run(timed, setting + lines, set={"devices": "1"})
    assert made.evidence is not None
    clock = next(witness for witness in made.evidence.witnesses if witness.name == "the clock of the lines")
    assert (clock.about, clock.agreement) == (about, expected)


def test_the_log_may_be_drawn_anew_on_one_line() -> None:
    """The digits of a bar's last state count, whatever the terminal showed before it."""
    timed = formats(sampled("step ms", STEP_TIME))
    text = "".join(f"row step=x ms=?\rrow step={step} ms=2000.0\n" for step in range(1, 6))
    assert run(timed, text).throughput.rounding is None
    coarse = run(timed, text.replace("2000.0", "20")).throughput
    assert coarse.rounding == pytest.approx((50 / 1.025, 50 / 0.975))


def test_a_rank_without_measurements_does_not_count() -> None:
    made = run(PER_RANK, "set devices=1\n" + ranked(5) + "[rank1]:row step=1 ips=nan\n")
    assert (made.throughput.value, texts(made.notes)) == (5, [])


def test_a_rank_without_a_number_leaves_all_without() -> None:
    text = "set devices=2\n" + ranked(5, 4) + "[rank1]:row step=2 ips=7\n"
    made = run(PER_RANK, text)
    assert made.throughput.value is None
    assert made.throughput.reason.startswith("step 2 has different records at lines 5 and 6")


# Failures, logs that are none, and which pattern speaks for a log.

FAILURES = load_parser(folder("parsers") / "perflog_run.toml")
FAILING = Catalog((FAILURES, *SIMPLE.parsers), SIMPLE.path_patterns)
LAST = "perflog run: OOM: line 3: out of memory [PyTorch]\n"


def test_a_training_that_failed_has_no_number_whatever_it_measured() -> None:
    made = run(FAILING, steps(1, 2) + LAST)
    assert (made.throughput.value, made.throughput.reason) == (None, "OOM: line 3: out of memory")
    assert (list(made.metrics), made.parser, made.last_line, made.throughput.unit) == (
        ["throughput"],
        "made",
        3,
        "samples/s",
    )


def test_a_training_that_failed_at_once_is_a_run_too() -> None:
    made = run(FAILING, "hello\n" + LAST)
    assert (made.parser, made.framework, made.throughput.reason) == (
        "perflog_run",
        "PyTorch",
        "OOM: line 3: out of memory",
    )
    assert (made.first_line, "failure" in made.values) == (2, False)


TABLE = {
    "name": "table",
    "role": "step",
    "literal": " " * 9,
    "regex": "^(?P<step>{I}) {9}(?P<took>{N})$",
    "step_per": "run",
    "value": [{"group": "took", "quantity": "step_time", "unit": "s"}],
    "sample": [{"line": "1         0.5"}],
}  # a pattern with blanks alone for its literal


def test_lines_with_blanks_are_no_lines_that_could_not_be_read() -> None:
    text = "".join(f"{step}         0.5\n" + "blanks         of no table\n" * 20 for step in range(1, 31))
    assert not [note for note in texts(run(formats(TABLE), text).notes) if "could not be read" in note]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("hello\n", "no line of a known format"),
        (
            "row of houses\n",
            "no line of a known format (words of made occur, but no line is theirs: see `perflog explain`)",
        ),
        ("set batch_size=8\n", "no line of a known format"),
        ("eval 5\n", "lines of made, but no measurement among them"),
        ("blanks" + " " * 9 + "of no table\n", "no line of a known format"),  # any line may hold blanks
    ],
)
def test_why_a_log_has_no_run(text: str, reason: str) -> None:
    made = formats(
        STEPS,
        fact("batch_size"),
        {"name": "eval", "role": "ignore", "literal": "eval", "regex": "eval .*", "sample": [{"line": "eval 5"}]},
        TABLE,
    )
    outcome = build_runs(read(made, text), made, options())
    assert isinstance(outcome, Skipped)
    assert outcome.reason == reason
    assert list(measurements_of(read(made, text), outcome, made)) == []


def test_a_log_that_cannot_be_read_is_skipped_with_its_problem() -> None:
    reading = Reading(LogFile("x.log", 1), problem="binary file")
    assert build_runs(reading, SIMPLE, options()) == Skipped(reading.log, "binary file")


def test_a_parser_whose_sample_is_wrong_is_an_error() -> None:
    wrong = formats({**STEPS, "sample": [{"line": "row step=1 ips=5", "expect": {"ips": 6}}]})
    with pytest.raises(ParserError, match="sample expects ips = 6, read '5'"):
        run(wrong, steps(1, 2))


def test_the_most_specific_parser_that_measured_speaks_for_a_log() -> None:
    hot = {**table("step ips", RATE, literal="hot"), "sample": [{"line": "hot step=1 ips=5"}]}
    special = parser(hot, name="special", priority=70)
    both = catalog(special, *SIMPLE.parsers)
    assert run(both, steps(1, 2, 3) + "hot step=1 ips=9\n").parser == "special"
    assert run(both, steps(1, 2, 3) + "hot step=1 ips=nan\n").parser == "made"  # nothing measured
    reading = read(both, steps(1, 2))
    assert primary_pattern(reading, both) == SIMPLE.parsers[0].pattern("step")
    assert primary_pattern(read(both, "set batch_size=8\n"), both) is None


def test_each_run_has_its_segment() -> None:
    reading = read(SIMPLE, steps(1, 2) + "begin\n" + steps(1, 2, 3, ips=6))
    outcome = build_runs(reading, SIMPLE, options())
    assert [
        (its.run.throughput.value, its.segment.store.count) for _, its in measurements_of(reading, outcome, SIMPLE)
    ] == [(5, 2), (6, 3)]


def test_as_printed_values_are_taken_as_they_stand() -> None:
    means = formats(sampled("step ms", MEAN_TIME))
    text = "row step=10 ms=100\nrow step=20 ms=300\n"
    given: dict[str, Any] = {"set": {"global_batch_size": "10"}, "window": replace(ALL, last=Amount(1, "records"))}
    assert run(means, text, **given).throughput.value == pytest.approx(10 / 0.5)  # 20 × 0.3 s − 10 × 0.1 s
    assert run(means, text, as_printed=True, **given).throughput.value == pytest.approx(10 / 0.3)
