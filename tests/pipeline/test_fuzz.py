"""A part of `make fuzz`: damaged numbers in every format's logs, and that its checks see what they are for."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perflog.extraction import Extraction, extract_logs
from perflog.logs.find import LogFile
from perflog.notes import Note
from tests.support import FIXTURES
from tests.tools import fuzz_seeds
from tests.tools.fuzz_batch import ALONE, Laboratory, laboratory_in, try_batch
from tests.tools.fuzz_checks import Mutant, Tally, differences, faults_of, keep, load, metric_faults
from tests.tools.fuzz_seeds import (
    ENOUGH_RECORDS,
    GIVEN,
    Places,
    Said,
    Seed,
    beginning,
    by_folder,
    extracted,
    kind_of,
    letters,
    options_of,
    said_of,
    short_seeds,
    whole_seeds,
)
from tests.tools.mutations import MUTATIONS, Mutation

BY_NAME = {mutation.name: mutation for mutation in MUTATIONS}
SAID = Said({"samples/s": (100.0,)}, frozenset({"a note with 0"}))
SEED = Seed("x.log", b"one\ntwo\nthree\n", (SAID, SAID))
OTHER = replace(SEED, said=(Said({"samples/s": (300.0,)}),) * 2)


def mutant(name: str) -> Mutant:
    return Mutant(SEED, OTHER, BY_NAME[name], b"")


def kinds(name: str, said: Said, reread: Said = SAID) -> list[str]:
    return [kind for kind, _ in faults_of(mutant(name), said, 0, lambda _: reread)]


def of(value: float, unit: str = "samples/s", *notes: str) -> Said:
    return Said({unit: (value,)}, frozenset(kind_of(note) for note in notes))


def test_there_are_all_mutations_and_each_is_made_again_by_its_seed() -> None:
    assert len(MUTATIONS) == 35
    log = (FIXTURES / "seed001" / "GPUx32_time2train_ips-bs4.log").read_bytes()
    unchanged = []
    for mutation in MUTATIONS:
        made = [mutation.mutate(random.Random(7), log, log[::-1]) for _ in range(2)]
        assert made[0] == made[1], mutation.name
        if made[0] == log:
            unchanged.append(mutation.name)
    assert unchanged == []


@pytest.mark.parametrize(
    ("name", "said", "expected"),
    [
        ("lines doubled", of(100), []),
        ("lines doubled", of(101), ["changed"]),
        ("lines doubled", of(101, "samples/s", "a new note"), []),
        ("lines doubled", of(101, "samples/s", "a note with 17"), ["changed"]),  # the seed says as much
        ("lines doubled", of(101, "steps/s"), []),  # another unit is said
        ("lines doubled", replace(of(101), bounds={"samples/s": [(99.5, 102.5)]}), []),  # its rounding is said
        ("lines doubled", replace(of(101), bounds={"samples/s": [(100.5, 101.5)]}), ["changed"]),
        ("lines doubled", replace(of(101), unread=1), []),  # more lines that could not be read are said
        ("shuffled", of(101), []),
        ("shuffled", of(120), ["changed"]),
        ("single ones", of(99_000), []),
        ("single ones", of(101_000), ["absurd"]),
        ("single ones", of(float("inf")), ["no number", "absurd"]),
        ("single ones", of(-1.0, "steps/s"), ["no number"]),
        ("joined", of(300), []),  # the other log's
        ("joined", of(900), ["changed"]),
        ("at a byte", of(130), []),
        ("at a byte", Said(fault="internal error while this log was read"), ["exception"]),
        ("at a byte", Said(fault="the gzip data are damaged or cut short"), []),
    ],
)
def test_what_should_not_be_is_found(name: str, said: Said, expected: list[str]) -> None:
    assert kinds(name, said) == expected


def test_the_other_log_may_say_another_number_under_this_ones_path() -> None:
    assert kinds("joined", of(2400), reread=of(2400)) == []


def test_the_unread_lines_of_a_note_are_counted() -> None:
    run = extracted([FIXTURES / "seed001" / "GPUx32_time2train_ips-bs4.log"], options_of({})).runs[0]
    note = "12 lines hold 'Epoch[' and could not be read, 4 could: see `perflog explain`"
    assert said_of([run]).unread == 0
    assert said_of([replace(run, notes=[*run.notes, Note(note)])]).unread == 12


def test_a_log_that_says_something_else_alone_is_found() -> None:
    assert differences(of(1), of(1)) == []
    assert differences(of(1), of(2)) != []


@pytest.mark.parametrize("mutation", [m for m in MUTATIONS if m.group == "numbers"], ids=lambda m: str(m.name))
@pytest.mark.parametrize("given", range(len(GIVEN)))
def test_damaged_numbers_in_logs_of_all_formats(mutation: Mutation, given: int, tmp_path: Path) -> None:
    """Once: an infinite loss, steps that overflow, a mean of infinite numbers, counts too large for a frame."""
    files = [file for file in sorted((FIXTURES / "parsers").glob("*/*")) if file.suffix in (".log", ".txt", ".out")]
    rng = random.Random(f"{mutation.name} {given}")
    folders = []
    for number, file in enumerate(files[given::6]):
        folder = tmp_path / letters(number)
        folder.mkdir()
        (folder / file.name).write_bytes(mutation.mutate(rng, file.read_bytes()[:40_000], b""))
        folders.append(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        extraction = extracted(folders, options_of(GIVEN[given]))
    said = by_folder(extraction, folders)
    assert {folder.name: each.fault for folder, each in said.items() if each.fault} == {}
    assert list(metric_faults(extraction)) == []
    assert sum(bool(each.values) for each in said.values()) > len(folders) / 3


#: Logs of three formats, which say all that a number in samples takes.
SMALL = ("seed001/GPUx32_time2train_ips-bs4.log", "parsers/build_nanogpt/train_gpt2.log", "parsers/deep_text/attn.log")
#: Logs of a batch here: enough for a few of each mutation.
FEW = 96


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Laboratory:
    return laboratory_in(tmp_path_factory.mktemp("fuzz"), {name: (FIXTURES / name).read_bytes() for name in SMALL})


Damage = Callable[[Extraction], None]


def planted(monkeypatch: pytest.MonkeyPatch, damage: Damage) -> None:
    """Let the program do something wrong with what it extracted."""

    def extract(*given: Any) -> Extraction:
        extraction = extract_logs(*given)
        damage(extraction)
        return extraction

    monkeypatch.setattr(fuzz_seeds, "extract_logs", extract)


def bytes_of(log: LogFile) -> bytes:
    return Path(log.path).read_bytes()


def test_a_sound_program_shows_nothing(lab: Laboratory) -> None:
    tally = try_batch(lab, 1, 0, FEW)
    assert tally.lines == []
    assert tally.tried.total() == FEW
    assert tally.numbers.total() > FEW / 3
    assert tally.also["logs alone too"] == ALONE


def test_a_wrong_factor_is_found_in_each_log_that_has_it(lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rate is off by 3 % where a NUL byte is in the log."""
    wrong: set[str] = set()

    def damage(extraction: Extraction) -> None:
        for run in extraction.runs:
            if run.throughput.value is not None and b"\x00" in bytes_of(run.log):
                run.throughput.value *= 1.03
                run.throughput.rounding = None
                wrong.add(run.log.path)

    planted(monkeypatch, damage)
    tally = try_batch(lab, 1, 0, FEW)
    assert {key for key in tally.found if key != "NUL bytes|changed"} <= {"several|changed"}
    assert tally.found["NUL bytes|changed"] == tally.numbers["NUL bytes"] > 0


@pytest.mark.long
def test_an_exception_is_found_with_its_log_and_the_others_are_checked(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program fails as a whole where a log has a BEL in it, which ends the titles of terminals."""

    def damage(extraction: Extraction) -> None:
        for run in extraction.runs:
            if b"\x07" in bytes_of(run.log):
                raise ZeroDivisionError("planted")

    planted(monkeypatch, damage)
    tally = try_batch(lab, 1, 1, FEW)
    assert 0 < tally.found["escape sequences|exception"] <= tally.tried["escape sequences"]
    assert all("planted" in line for line in tally.lines)
    assert tally.tried.total() == FEW
    assert tally.numbers.total() > FEW / 3


def test_an_infinite_number_is_found(lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> None:
    def damage(extraction: Extraction) -> None:
        for run in extraction.runs:
            if run.throughput.value is not None and b"nan" in bytes_of(run.log):
                run.throughput.value = float("inf")

    planted(monkeypatch, damage)
    assert any(key.endswith("no number") for key in try_batch(lab, 1, 2, FEW).found)


def test_a_log_is_cut_to_a_beginning_that_has_its_number(tmp_path: Path) -> None:
    head = b"=> creating model 'cnn'\n"
    form = b"Epoch: [0][%d/6000]\tTime  0.100000 ( 0.100000)\tData  0.0004 ( 0.0004)\tLoss 4.6099e+00 (4.6099e+00)\n"
    long = head + b"".join(form % step for step in range(0, 6000, 10))
    places = Places(tmp_path)
    whole = whole_seeds(places, {"long.log": long, "none.log": b"nothing\n" * 3000})
    cut, none = sorted(short_seeds(places, whole), key=lambda seed: seed.path)
    assert long.startswith(cut.data)
    assert cut.data.endswith(b"\n")
    assert len(cut.data) < len(long) / 4
    assert cut.said[0].values["steps/s"] == pytest.approx([10.0, 10.0])  # its own, and what the whole log says
    assert cut.said[0].records >= ENOUGH_RECORDS
    assert len(none.data) < 4000
    assert beginning(b"ab\ncd\nef", 5) == b"ab\n"
    assert beginning(b"a" * 9, 5) == b"a" * 5


def test_the_counts_are_kept_whole_and_of_one_seed(tmp_path: Path) -> None:
    state, tally = tmp_path / "state.json", Tally(seconds=2.0)
    tally.tried["joined"] += 7
    tally.report("1 4", "joined", "changed", "1 for 2", "bbbb/bbbc")
    assert load(state, 1, 384)[0] == 0
    keep(state, 1, 384, 5, tally)
    assert load(state, 1, 384) == (5, tally)
    assert tally.summary() == "7 logs, 0 with a number, 1 findings, 4 logs per second of processor time"
    with pytest.raises(SystemExit, match="name that seed, or another file"):
        load(state, 2, 384)
