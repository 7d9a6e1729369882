"""The tools that put faults into logs: each fault is what it is called, and what became of a log is judged as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from perflog.evidence.witness import Verdict, Witness
from tests.support import FIXTURES, catalog
from tests.tools import faults, faults_of_logs, inject, lost_lines
from tests.tools.faults_of_logs import BLOCK, EPOCHS, SHARDS, STEPS_IN_A_SECOND
from tests.tools.inject import Kind, became, is_doubted
from tests.tools.laboratory import Faulty, Laboratory, Made, Result, Subject, copied, subjects

FORMATS = ("averagemeter", "megatron", "tqdm")
PLAIN = Kind([])


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Laboratory, dict[str, Subject]]]:
    folder = tmp_path_factory.mktemp("clean")
    lab = Laboratory(copied(folder, [FIXTURES / "parsers" / name for name in FORMATS]))
    yield lab, {subject.name: subject for subject in subjects(folder, lab.given, lab.results(folder, catalog()))}


@pytest.fixture(scope="module")
def chosen(lab: tuple[Laboratory, dict[str, Subject]]) -> dict[str, Subject]:
    return lab[1]


@pytest.fixture
def bar(chosen: dict[str, Subject]) -> Subject:
    """One bar of all steps."""
    return chosen["tqdm/gaussian_splatting.log"]


@pytest.fixture
def stamped(chosen: dict[str, Subject]) -> Subject:
    return chosen["megatron/newest.log"]


def read(lab: Laboratory, folder: Path, subject: Subject, fault: str | Faulty) -> Result:
    text = fault if isinstance(fault, str) else fault.text
    (folder / subject.name).parent.mkdir(parents=True)
    (folder / subject.name).write_bytes(text.encode("latin-1"))
    return lab.results(folder, catalog())[subject.name]


def test_a_bar_of_each_epoch_and_shard_begins_as_often_as_there_are(bar: Subject) -> None:
    for fault, parts in ((faults_of_logs.bar_of_an_epoch, EPOCHS), (faults_of_logs.bar_of_a_shard, EPOCHS * SHARDS)):
        text = fault(bar) or ""
        assert len(re.findall(r"\| 0/\d+ \[00:00<", text)) == parts
        assert len(re.findall(r"^Epoch: ", text, re.MULTILINE)) == EPOCHS - 1
        clocks = re.findall(r"Training progress:.*\[(\d\d):(\d\d)<", text)
        longest = max(60 * int(minutes) + int(seconds) for minutes, seconds in clocks)
        assert longest < 2 * 144 / parts  # the steps take 144 s, more of them at the end
    around = faults_of_logs.outer_bar(bar) or ""
    assert [line for line in around.split("\n") if not line.startswith("Epoch: ")] == bar.lines


def test_a_coarse_clock_has_several_steps_in_a_second(chosen: dict[str, Subject]) -> None:
    faulty = faults_of_logs.coarse_clock(chosen["tqdm/kohya.log"])
    assert faulty is not None and faulty.times > 1
    clocks = re.findall(r"\| *(\d+)/\d+ \[(\d\d):(\d\d)<", faulty.text)
    step, minutes, seconds = map(int, clocks[len(clocks) // 2])
    assert step / (60 * minutes + seconds) == pytest.approx(STEPS_IN_A_SECOND, rel=0.2)


def test_faults_of_lines(stamped: Subject) -> None:
    place, text = faults_of_logs.without_line(stamped, 0.5) or (0, "")
    assert text.split("\n") == [*stamped.lines[:place], *stamped.lines[place + 1 :]]
    assert place in faults.measured_lines(stamped)
    cut = (faults_of_logs.cut_in_number(stamped) or "").split("\n")
    places = faults.measured_lines(stamped)
    line = places[len(places) // 2]
    found = re.search(stamped.measured.pattern.regex, stamped.lines[line])
    assert found is not None and stamped.lines[line][: len(cut[line])].endswith(
        found[stamped.measured.basis.value.group][:-1]
    )
    assert faults_of_logs.cut_columns(stamped, 10_000) is None


def test_two_runs_in_a_file(stamped: Subject) -> None:
    other = replace(stamped, name="other", lines=[line.upper() for line in stamped.lines], value=2 * stamped.value)
    assert list(faults_of_logs.partners([stamped, other])) == [(stamped, other), (other, stamped)]
    assert not list(faults_of_logs.partners([stamped, replace(other, value=stamped.value)]))
    mixed = faults_of_logs.mixed(stamped, other)
    texts = ["\n".join(one.lines) for one in (stamped, other)]
    assert mixed is not None and len(mixed.text) == sum(map(len, texts))
    assert mixed.text.startswith(texts[0][:BLOCK] + texts[1][:BLOCK])
    assert sorted(faults_of_logs.inside(stamped, other).text.split("\n")) == sorted([*stamped.lines, *other.lines])


def test_stamps_and_numbers_of_a_slow_record_go_together(stamped: Subject) -> None:
    places = faults.measured_lines(stamped)
    slow = (faults.slow_last(stamped) or "").split("\n")
    assert slow[: places[-1]] == stamped.lines[: places[-1]]
    before, after = (
        float(re.search(r"per iteration \(ms\): ([0-9.]+)", lines[places[-1]])[1])  # type: ignore[index]
        for lines in (stamped.lines, slow)
    )
    assert after == pytest.approx(60 * before, rel=0.01)
    assert slow[places[-1]][:25] > stamped.lines[places[-1]][:25]
    back = (faults_of_logs.set_back(stamped) or "").split("\n")
    middle = places[len(places) // 2]
    assert back[:middle] == stamped.lines[:middle] and back[middle][:25] < stamped.lines[middle - 1][:25]


def test_a_factor_is_found_where_something_tells(lab: tuple[Laboratory, dict[str, Subject]], tmp_path: Path) -> None:
    """The stamps of the lines contradict numbers that are twice as high, and nothing is wrong with the clean log."""
    laboratory, chosen = lab
    subject = chosen["megatron/newest.log"]
    result = read(laboratory, tmp_path / "twice", subject, faults.by_factor(subject, 2.0) or "")
    assert became(subject, Faulty(""), result, PLAIN, "total") == "refused"
    clean = read(laboratory, tmp_path / "clean", subject, "\n".join(subject.lines))
    assert {became(subject, Faulty(""), clean, PLAIN, estimator) for estimator in ("total", "median")} == {"harmless"}
    assert became(subject, Faulty("", times=2.0), clean, PLAIN, "total") in ("missed", "nothing could tell")
    assert became(subject, Faulty(""), None, PLAIN, "total") == "refused"


@pytest.mark.parametrize(
    ("told", "doubted"),
    [(2.0, True), (1.2, True), (0.9, False), (4.5, False), (None, False)],
    ids=["the truth", "nearer", "further", "beyond", "nothing"],
)
def test_a_doubt_of_something_else_is_none(stamped: Subject, told: float | None, doubted: bool) -> None:
    """The truth is twice the number: what speaks of less, or of more than four times, is no doubt of that."""
    clean = stamped.clean["total"]
    value = clean.value or 0.0
    witness = Witness("a witness", "throughput", stamped.unit, value, (told or 1) * value, "doubts", (1, 2))
    verdict = Verdict((witness,), doubts=("a doubt",)) if told else Verdict()
    made = Made(replace(clean.run, evidence=verdict, notes=[]), clean.raw)
    assert is_doubted(stamped, [2 * value], made, PLAIN, "total") is doubted


def test_a_log_of_more_runs_is_split(stamped: Subject) -> None:
    clean = stamped.clean["total"]
    twice = Result("", {"total": [clean, clean]}, [])
    assert became(stamped, Faulty(""), twice, PLAIN, "total") == "split"
    assert became(stamped, Faulty("", also=stamped), twice, PLAIN, "total") == "harmless"


def test_facts_that_change_are_a_fault_of_their_own(stamped: Subject) -> None:
    clean = stamped.clean["total"]

    def judged(**values: str) -> str:
        metadata = replace(clean.run.metadata, values={**clean.run.values, **values})
        run = replace(clean.run, metadata=metadata)
        return became(
            stamped, Faulty(""), Result("", {"total": [Made(run, clean.raw)]}, []), Kind([], of_facts=True), "total"
        )

    assert judged() == "harmless"
    assert judged(precision="amp") == "missed"


def test_every_fault_can_be_made_of_some_log(chosen: dict[str, Subject]) -> None:
    every = {**inject.KINDS, **inject.of_pairs([*chosen.values()])}
    made = {
        name
        for name, kind in every.items()
        if any(fault(subject) for subject in chosen.values() for fault in kind.make)
    }
    # logs of other formats state several devices and batch sizes, print summaries, or are two of one format
    assert made >= {"2 ×", "one line lost, at each tenth", "slow last record, 60 ×", "columns cut", "clock set back"}


@pytest.mark.parametrize(
    ("share", "every"), [(0.5, 4), *(pytest.param(n / 10, 1, marks=pytest.mark.long) for n in range(1, 10))]
)
def test_one_lost_line_takes_no_number(share: float, every: int) -> None:
    """Of the fixtures' logs at least 99 % keep their number without one of their measured lines."""
    found = list(lost_lines.losses([share], every))
    assert len(found) >= 400 // every
    assert sum(loss.kept for loss in found) >= 0.99 * len(found), "\n".join(lost_lines.report(found))
