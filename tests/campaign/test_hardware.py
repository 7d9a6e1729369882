"""What machine.json says of the hardware, and what slowed a training: read where it can be, absent with the reason else.

No GPU is here: a stand-in of nvidia-smi prints what the real one is documented to print.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from perflog.campaign import machine
from perflog.campaign.machine import (
    Counters,
    Sampler,
    close,
    cpu_findings,
    gpu_findings,
    read_counters,
    record,
    throttled_runs,
)
from perflog.campaign.plan import Folder
from tests.campaign.test_campaign import campaign
from tests.campaign.test_machine import program
from tests.cli.test_cli import run

#: Answers of nvidia-smi, by the end of its arguments: two GPUs, one of which has no ECC; and a driver that is too old.
SMI = """
case "$*" in
  *query-gpu=name*) echo "H100"; echo "V100";;
  *query-gpu=pci.bus_id*) echo "00000000:1B:00.0"; echo "00000000:43:00.0";;
  *query-gpu=power.limit*) echo 700.00; echo 300.00;;
  *query-gpu=ecc.mode.current*) echo Enabled; echo "[N/A]";;
  *query-gpu=mig.mode.current*) echo "Field \\"mig.mode.current\\" is not a valid field to query."; exit 2;;
  *query-gpu=index*) printf '0, 0x0000000000000004\\n1, 0x0000000000000001\\n0, 0x0000000000000044\\n'; sleep 60;;
  *nvlink*) echo "GPU 0: H100"; echo "Link 0: 26.562 GB/s";;
  *TEMPERATURE*) echo "GPU Current Temp : 34 C"; echo "   GPU Slowdown Temp    : 87 C";;
  *) exit 1;;
esac
"""


@pytest.fixture
def smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    program(tmp_path / "bin", "nvidia-smi", SMI)
    return tmp_path


@pytest.mark.usefixtures("smi")
def test_gpus_have_their_settings_and_what_a_driver_does_not_say_is_absent() -> None:
    facts = machine.hardware()
    first, second = facts["gpus"]
    assert (first["name"], first["power_limit_w"], first["ecc"]) == ("H100", "700.00", "Enabled")
    assert (second["name"], second["power_limit_w"]) == ("V100", "300.00")
    assert second["ecc"] == {"absent": "nvidia-smi has no ecc.mode.current: [N/A]"}
    assert first["mig"]["absent"].endswith('exit status 2, Field "mig.mode.current" is not a valid field to query.')
    assert first["numa_node"]["absent"].startswith("/sys/bus/pci/devices/0000:1b:00.0/numa_node: ")
    assert facts["nvlink"] == "GPU 0: H100\nLink 0: 26.562 GB/s"
    assert facts["temperature_limits"] == ["GPU Slowdown Temp: 87 C"]


def test_without_nvidia_smi_all_of_it_is_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    facts = machine.hardware()
    gone = {"absent": "nvidia-smi: No such file or directory"}
    assert (facts["gpus"], facts["nvlink"], facts["temperature_limits"]) == (gone, gone, gone)


def test_the_containers_image_is_what_its_runtime_tells(tmp_path: Path) -> None:
    assert "no trace of a container" in machine.container({}, tmp_path)["absent"]
    (tmp_path / ".dockerenv").touch()
    docker = machine.container({}, tmp_path)
    assert docker == {"runtime": "docker", "image": {"absent": "docker does not tell a container its image"}}
    (tmp_path / "run").mkdir()
    (tmp_path / "run/.containerenv").write_text('engine="podman-4"\nimage="nvcr.io/nvidia/pytorch:20.06-py3"\n')
    assert machine.container({}, tmp_path)["image"] == "nvcr.io/nvidia/pytorch:20.06-py3"
    inside = machine.container({"APPTAINER_CONTAINER": "/images/pytorch.sif"}, tmp_path)
    assert inside == {"runtime": "apptainer", "image": "/images/pytorch.sif"}


def test_numa_nodes_and_what_the_process_may_use(tmp_path: Path) -> None:
    (tmp_path / "status").write_text("Name:\tx\nCpus_allowed_list:\t0-3\nMems_allowed_list:\t0\n")
    for node, cpus in enumerate(("0-3", "4-7")):
        (tmp_path / f"node{node}").mkdir()
        (tmp_path / f"node{node}/cpulist").write_text(f"{cpus}\n")
    found = machine.numa(tmp_path / "status", tmp_path)
    assert found == {"nodes": {"node0": "0-3", "node1": "4-7"}, "cpus_allowed": "0-3", "memories_allowed": "0"}
    gone = machine.numa(tmp_path / "none", tmp_path / "none")
    assert gone["cpus_allowed"] == {"absent": f"{tmp_path / 'none'}: No such file or directory"}


def test_reasons_of_gpus_are_counted_by_sample() -> None:
    lines = ["0, 0x0000000000000004", "1, 0x0000000000000001", "0, 0x0000000000000044", "no sample"]
    assert gpu_findings(lines) == [
        "GPU 0: power cap in 2 of 2 samples", "GPU 0: temperature (hardware) in 1 of 2 samples",
    ]  # fmt: skip
    assert gpu_findings(["0, 0x0000000000000113"]) == []  # idle, set clocks, boost with others, display: not slowed


def test_counters_of_the_kernel(tmp_path: Path) -> None:
    assert read_counters(tmp_path / "none", tmp_path / "none") == Counters(None, None, 0.0)
    for cpu, count in enumerate((3, 4)):
        folder = tmp_path / f"cpu{cpu}/thermal_throttle"
        folder.mkdir(parents=True)
        (folder / "core_throttle_count").write_text(f"{count}\n")
    (tmp_path / "cpu.stat").write_text("usage_usec 9\nnr_periods 8\nnr_throttled 5\nthrottled_usec 1250000\n")
    after = read_counters(tmp_path, tmp_path / "cpu.stat")
    assert after == Counters(7, 5, 1.25)
    assert cpu_findings(Counters(5, 2, 1.0), after) == [
        "CPUs: 2 events of too high temperature",
        "CPUs: the quota of the control group stopped processes 3 times, 0.25 s in all",
    ]
    assert cpu_findings(after, after) == []
    assert cpu_findings(Counters(None, None, 0.0), after) == []


def test_the_sampler_ends_with_the_training(smi: Path) -> None:
    with Sampler(smi / "samples") as sampler:
        while (smi / "samples").stat().st_size < 60:
            pass
    assert sampler.findings[:2] == gpu_findings((smi / "samples").read_text().splitlines())
    assert sampler.findings[0] == "GPU 0: power cap in 2 of 2 samples"
    assert "gpus" not in sampler.absent


def test_a_throttled_run_stands_in_machine_json(smi: Path) -> None:
    done = run("run", str(campaign(smi, repeats=1)), env={"PATH": f"{smi / 'bin'}:/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr
    data = json.loads((smi / "logs/machine.json").read_text())
    name = "numpy_runner/logistic/bz8/1n1g/logistic_b8_fp32_1"
    assert data["throttled"].get(name, [""])[0].startswith("GPU 0: power cap in ")
    (entry,) = Folder(smi / "logs").journal()
    assert entry["throttled"] == data["throttled"][name]
    assert data["hardware"]["gpus"][0]["power_limit_w"] == "700.00"


def test_of_a_runs_entries_the_last_counts(tmp_path: Path) -> None:
    journal: list[dict[str, Any]] = [
        {"job": "a", "throttled": ["GPU 0: power cap in 1 of 9 samples"]}, {"job": "a", "throttled": []},
        {"job": "b", "throttled": ["CPUs: 2 events of too high temperature"]}, {"job": "c"},
    ]  # fmt: skip
    assert throttled_runs(journal) == {"b": ["CPUs: 2 events of too high temperature"]}
    record(tmp_path, {"cpu": "A", "cpus": 2, "gpus": [], "frameworks": {}})
    close(tmp_path)
    assert "throttled" not in json.loads((tmp_path / "machine.json").read_text())
    close(tmp_path, throttled_runs(journal))
    assert list(json.loads((tmp_path / "machine.json").read_text())["throttled"]) == ["b"]
