"""Which machine.json counts for a log, and what it says: the nearest one, and never silently another."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from perflog.errors import UsageError
from perflog.formats.vocabulary import Fact
from perflog.runs import machine as module
from perflog.runs.machine import Machine, Machines, described, facts_of, known_facts

RECORDED: Mapping[str, object] = {
    "cpus": 2, "cpu": "A", "memory_gib": 4, "system": "S", "kernel": "6", "driver": "580",
    "gpus": ["NVIDIA H200, 141 GiB, 0", "NVIDIA H200, 141 GiB, 1"],
    "frameworks": {"pytorch": {"packages": {"torch": "2.13.0", "numpy": "2"}}},
}  # fmt: skip


def write(folder: Path, facts: object) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "machine.json"
    file.write_text(facts if isinstance(facts, str) else json.dumps(facts), encoding="utf-8")
    return str(file)


def test_the_nearest_counts(tmp_path: Path) -> None:
    far = write(tmp_path, {"driver": "1"})
    near = write(tmp_path / "a/b", {"driver": "2"})
    machines = Machines()
    assert machines.of(str(tmp_path / "a/b/x.log")) == Machine(near, {"driver": "2"}, ())
    assert machines.of(str(tmp_path / "a/b/c/d/x.log")) == Machine(near, {"driver": "2"}, ("d", "c"))
    assert machines.of(str(tmp_path / "a/x.log")) == Machine(far, {"driver": "1"}, ("a",))
    assert machines.of(str(tmp_path / "x.log")) == Machine(far, {"driver": "1"}, ())


def test_it_may_be_any_number_of_folders_above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path, {"driver": "1"})
    deep = "/".join("abcdefghijkl")
    (tmp_path / deep).mkdir(parents=True)
    assert Machines().of(f"{tmp_path}/{deep}/x.log") == Machine(file, {"driver": "1"}, tuple("lkjihgfedcba"))
    monkeypatch.chdir(tmp_path / "a/b")
    assert Machines().of("c/x.log") == Machine(file, {"driver": "1"}, ("c", "b", "a"))
    assert Machines().of("../x.log") == Machine(file, {"driver": "1"}, ("a",))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[1]", 'expected a JSON object such as {"driver": "550.54"}, found list'),
        ("{", "expected a JSON object, which cannot be read: Expecting property name"),
        ('{"x": NaN}', "expected a JSON object, which cannot be read: NaN is no JSON"),
        ("", "expected a JSON object, which cannot be read: Expecting value"),
        ("[" * 100_000, "expected a JSON object, which cannot be read: "),
    ],
)
def test_a_broken_one_is_told_and_no_other_is_taken(text: str, problem: str, tmp_path: Path) -> None:
    write(tmp_path, RECORDED)
    file = write(tmp_path / "pytorch", text)
    machine = Machines().of(str(tmp_path / "pytorch/1n1g/x.log"))
    assert machine is not None
    assert (machine.file, machine.facts, machine.folders) == (file, {}, ("1n1g",))
    assert machine.problem.startswith(f"{file}: {problem}")
    assert (facts_of(machine), described([machine])) == ([], [])
    with pytest.raises(UsageError) as caught:
        known_facts(machine)
    assert str(caught.value) == machine.problem


def test_what_is_no_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "machine.json").mkdir()
    (tmp_path / "a").mkdir()
    (tmp_path / "a/machine.json").symlink_to(tmp_path / "none")
    problems = [found.problem for name in ("x.log", "a/x.log") if (found := Machines().of(str(tmp_path / name)))]
    assert problems == [
        f"{tmp_path}/machine.json: expected a JSON object, which cannot be read: Is a directory",
        f"{tmp_path}/a/machine.json: expected a JSON object, which cannot be read: No such file or directory",
    ]


def test_none_anywhere(tmp_path: Path) -> None:
    assert Machines().of(str(tmp_path / "x.log")) is None
    assert known_facts(None) is None
    assert (facts_of(None), described([None])) == ([], [])


def test_a_folder_is_looked_at_once_by_many_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, RECORDED)
    looked: list[str] = []
    look = module.machine_in

    def counted(folder: str) -> Machine | None:
        looked.append(folder)
        return look(folder)

    monkeypatch.setattr(module, "machine_in", counted)
    machines = Machines()
    paths = [f"{tmp_path}/{folder}/{n}.log" for n in range(50) for folder in ("a", "b/c", "b")]
    with ThreadPoolExecutor(8) as pool:
        found = set(map(id, pool.map(machines.of, paths)))
    assert sorted(looked) == [f"{tmp_path}{below}" for below in ("", "/a", "/b", "/b/c")]
    assert len(found) == 3


def test_a_file_that_changed_is_seen_by_the_next_extraction(tmp_path: Path) -> None:
    first, path = Machines(), str(tmp_path / "x.log")
    for driver in ("1", "2"):
        write(tmp_path, {"driver": driver})
        assert known_facts(first.of(path)) == {"driver": "1"}
        assert known_facts(Machines().of(path)) == {"driver": driver}


def test_version_and_accelerator(tmp_path: Path) -> None:
    """The version is that of the runner's environment; what the machine has, its runs need not have used."""
    write(tmp_path, RECORDED)
    inside, beside = (Machines().of(f"{tmp_path}/{name}/1n1g/x.log") for name in ("pytorch", "mxnet"))
    assert facts_of(inside) == [Fact("framework_version", "2.13.0", "machine", "machine.json")]
    assert facts_of(beside) == []
    assert described([inside, None, beside]) == ["NVIDIA H200, driver 580, A × 2, 4 GiB, S, Linux 6"]


@pytest.mark.parametrize(
    "facts",
    [
        {"gpus": ["V100, 1", "A100, 2"]},
        {"gpus": [{"name": "V100"}]},
        {"gpus": "V100"},
        {"frameworks": []},
        {"frameworks": {"pytorch": {"packages": ["torch"]}}},
        {"frameworks": {"pytorch": {"packages": {}}}},
        {"frameworks": {"pytorch": None}},
        {"frameworks": {"pytorch": {"packages": {"torch": 2}}}},
    ],
)
def test_facts_of_another_shape_say_nothing(facts: Mapping[str, object]) -> None:
    assert facts_of(Machine("machine.json", {"cpus": 1, **facts}, ("pytorch",))) == []
    assert facts_of(Machine("machine.json", {"gpus": ["V100"]}, ())) == []  # not of `perflog run`
