"""What a reading keeps of a log: lines, runs, ranks, positions, units, and which parser counts."""

from __future__ import annotations

import pytest

from perflog.measurements.segment import Segment
from perflog.reading.reading import Reading
from tests.measurements.support import RATE, STEP_TIME, column, parser, table
from tests.reading.support import BEGIN, STEPS, catalog, fact, formats, read, steps

SIMPLE = formats(STEPS, BEGIN, fact("batch_size"))


def segments(reading: Reading, key: str = "made.step", rank: int = 0) -> list[Segment]:
    return reading.series[key][rank].segments


@pytest.mark.parametrize("border", [0, 1, 2, 3, 5])
def test_lines_are_numbered_over_blocks(border: int) -> None:
    lines = ["hello\n", *steps(1, 2).splitlines(True), "set batch_size=8\n", *steps(3).splitlines(True), "end\n"]
    blocks = "".join(lines[:border]), "".join(lines[border:])
    reading = read(SIMPLE, *(block for block in blocks if block))
    assert column(segments(reading)[0], "line") == [2, 3, 5]
    assert [(found.line, found.fields) for found in reading.facts] == [(4, {"batch_size": "8"})]
    account = reading.accounts["made.step"]
    assert (account.candidates, account.matches, account.first_line, account.last_line) == (3, 3, 2, 5)
    assert reading.lines == 6


def test_lines_that_hold_a_literal_and_do_not_match_are_counted() -> None:
    reading = read(SIMPLE, "row of houses\n" + steps(1), "row step=x\n")
    account = reading.accounts["made.step"]
    assert (account.candidates, account.matches, account.first_line, account.last_line) == (3, 1, 2, 2)


@pytest.mark.parametrize("in_two", [False, True])
def test_a_line_that_says_so_begins_a_second_run(in_two: bool) -> None:
    first, second = "begin\n" + steps(1, 2), "begin at fp16\n" + steps(1, 2, 3, ips=6)
    reading = read(SIMPLE, first, second) if in_two else read(SIMPLE, first + second)
    assert [(part.first_line, part.last_line, part.refused) for part in segments(reading)] == [(2, 3, ""), (5, 7, "")]
    assert [(reading.next_start(line)) for line in (0, 1, 3, 4)] == [1, 4, 4, 8]
    assert [found.fields for found in reading.facts] == [{}, {"precision": "fp16"}]


def test_without_such_a_line_two_runs_are_refused() -> None:
    (segment,) = segments(read(SIMPLE, steps(1, 2) + steps(1, 2, ips=6)))
    assert segment.refused.startswith("steps go back from step 2 (line 2) to step 1 (line 3)")


def test_a_last_line_that_may_be_cut_is_left_out_and_said() -> None:
    reading = read(SIMPLE, steps(1, 2) + "row step=3 ips=1")
    assert column(segments(reading)[0], "end") == [1, 2]
    assert reading.notes == ["line 3 ends the log inside a number that may go on: it is left out"]
    reading = read(SIMPLE, steps(1, 2), steps(3) + "row step=4 ips=1")
    assert reading.notes == ["line 4 ends the log inside a number that may go on: it is left out"]
    assert read(SIMPLE, steps(1, 2)[:-1] + " ok").notes == []


def test_ranks_are_told_by_the_launchers_tag() -> None:
    text = steps(1, tag="[rank0]:") + steps(1, tag="[rank1]:") + steps(2) + steps(2, tag="[rank1]:")
    reading = read(SIMPLE, text)
    assert sorted(reading.series["made.step"]) == [0, 1]
    assert column(segments(reading, rank=0)[0], "line") == [1, 3]  # a line without a tag is the first rank's
    assert column(segments(reading, rank=1)[0], "line") == [2, 4]


def test_ranks_are_told_by_the_lines_own_words() -> None:
    ranked = formats(table("rank step ips", RATE))
    text = "".join(f"row rank={rank} step={step} ips=5\n" for step in (1, 2) for rank in (0, 3))
    reading = read(ranked, text + "row rank=nan step=3 ips=5\n")
    assert sorted(reading.series["made.step"]) == [0, 3]
    assert column(segments(reading, rank=0)[0], "end") == [1, 2, 3]
    assert "rank" not in segments(reading)[0].last


def test_the_units_of_a_patterns_lines_are_kept() -> None:
    regex = "row step=(?P<step>{I}) ips=(?P<ips>{N}) (?P<unit>[a-z]+/s)"
    value = {"group": "ips", "quantity": "rate"}
    printing = formats({"name": "step", "role": "step", "literal": "row", "regex": regex, "value": [value]})
    reading = read(printing, "row step=1 ips=5 img/s\n", "row step=2 ips=5 img/s\nrow step=3 ips=5 seq/s\n")
    assert reading.units == {"made.step": {"img/s", "seq/s"}}
    assert column(segments(reading)[0], "end") == [1, 2, 3]


def test_time_stamps_are_read_as_seconds() -> None:
    regex = r"(?P<timestamp>[-0-9]+ [0-9:.]+) row step=(?P<step>{I})"
    stamped = formats(
        {
            "name": "step",
            "role": "step",
            "literal": "row",
            "regex": regex,
            "value": [{"group": "timestamp", "quantity": "timestamp", "unit": "s"}],
        }
    )
    text = "2026-01-01 10:00:00.5 row step=1\n2026-01-01 10:00:02 row step=2\n"
    assert column(segments(read(stamped, text))[0], "time") == [1.5]


POSITION = {
    "name": "place",
    "role": "position",
    "literal": "at",
    "regex": "at epoch=(?P<epoch>{I}) step=(?P<step>{I})",
    "step_per": "epoch",
}
PLACED = formats(POSITION, table("ms", STEP_TIME, position="place"))


def place(epoch: int, step: int, ms: int = 100) -> str:
    return f"at epoch={epoch} step={step}\nrow ms={ms}\n"


@pytest.mark.parametrize("border", [0, 1, 2, 3, 4, 5, 6, 7])
def test_positions_are_carried_over_blocks(border: int) -> None:
    lines = (place(1, 10) + place(1, 20, 200) + place(2, 10) + place(2, 20)).splitlines(True)
    blocks = "".join(lines[:border]), "".join(lines[border:])
    (segment,) = segments(read(PLACED, *(block for block in blocks if block)))
    assert (segment.refused, column(segment, "end")) == ("", [10, 20, 30, 40])
    if border > 3:
        assert column(segment, "time") == [1, 2, 1, 1]


def test_positions_are_each_ranks_own() -> None:
    def tagged(rank: int, text: str) -> str:
        return "".join(f"[rank{rank}]:{line}" for line in text.splitlines(True))

    first = tagged(0, "at epoch=1 step=10\n") + tagged(1, "at epoch=1 step=20\n")
    second = tagged(1, "row ms=100\n") + tagged(0, "row ms=200\n") + tagged(0, place(1, 20)) + tagged(1, place(1, 40))
    for blocks in ((first + second,), (first, second)):
        reading = read(PLACED, *blocks)
        assert column(segments(reading, rank=0)[0], "end") == [10, 20]
        assert column(segments(reading, rank=1)[0], "end") == [20, 40]


def test_a_measurement_before_any_position_has_none() -> None:
    reading = read(PLACED, "row ms=100\n" + place(1, 10) + place(1, 20))
    assert column(segments(reading)[0], "line") == [3, 5]
    assert segments(reading)[0].tally.unusable == 1
    alone = read(PLACED, "row ms=100\nrow ms=200\n")
    assert segments(alone)[0].count.keyless


def test_a_position_of_one_run_is_none_of_the_next() -> None:
    """Lines that stand before their position: the first of a second run once had the last step of the first."""
    made = formats(POSITION, BEGIN, table("ms", STEP_TIME, position="place"))
    text = "begin\n" + "".join(f"row ms=100\nat epoch=1 step={step}\n" for step in (10, 20, 30, 40))
    for blocks in ((text + text.replace("100", "200"),), (text, text.replace("100", "200"))):
        first, second = segments(read(made, *blocks))
        assert (first.refused, second.refused) == ("", "")
        assert (column(first, "end"), column(second, "end")) == ([10, 20, 30], [10, 20, 30])
        assert (column(first, "time"), column(second, "time")) == ([1.0] * 3, [2.0] * 3)


GENERIC = parser(
    {**STEPS, "regex": "row step=(?P<step>{I}) ips=(?P<ips>{N})"}, fact("model"), name="generic", priority=10
)
SPECIFIC = parser(table("step ips", RATE, literal="line"), fact("batch_size"), name="specific", priority=50)
BOTH = catalog(GENERIC, SPECIFIC)
OWN, OTHERS = "line step=1 ips=9\nline step=2 ips=9\n", steps(1, 2) + "set model=x\n"


@pytest.mark.parametrize(
    "blocks", [(OWN + OTHERS,), (OTHERS + OWN,), (OWN, OTHERS), (OTHERS, OWN), (OTHERS, "\n", OWN)]
)
def test_generic_parsers_count_only_where_nothing_specific_measured(blocks: tuple[str, ...]) -> None:
    reading = read(BOTH, *blocks)
    assert sorted(reading.series) == ["specific.step"]
    assert sorted(reading.patterns) == sorted(reading.accounts) == ["specific.step"]
    assert reading.facts == []


def test_settings_of_a_specific_parser_do_not_silence_a_generic_one() -> None:
    reading = read(BOTH, OTHERS + "set batch_size=8\n")
    assert sorted(reading.series) == ["generic.step"]
    assert [sorted(found.fields) for found in reading.facts] == [["model"], ["batch_size"]]
    assert sorted(read(BOTH, OWN).series) == ["specific.step"]


def test_lines_to_be_ignored_are_no_facts() -> None:
    ignoring = formats(STEPS, {"name": "eval", "role": "ignore", "literal": "eval", "regex": "eval .*"})
    reading = read(ignoring, "eval row step=1 ips=9\n" + steps(1, 2))
    assert (reading.facts, column(segments(reading)[0], "line")) == ([], [2, 3])
