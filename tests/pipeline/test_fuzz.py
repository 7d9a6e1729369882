"""A part of `make fuzz`: damaged numbers in every format's logs, and that its checks see what they are for."""

from __future__ import annotations

import random
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support import FIXTURES
from tests.tools.fuzz_checks import Mutant, differences, faults_of, metric_faults
from tests.tools.fuzz_seeds import GIVEN, Said, Seed, by_folder, extracted, kind_of, letters, options_of, said_of
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
    assert said_of([replace(run, notes=[*run.notes, note])]).unread == 12


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
    for number, file in enumerate(files[given::3]):
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
