"""Campaigns with a training that needs no framework: layout, order, resume, failures and their reasons."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from perflog.campaign import runner as environment
from perflog.campaign.machine import allowed
from perflog.campaign.plan import jobs, load_campaign
from perflog.campaign.runner import load_runner
from perflog.errors import UsageError
from perflog.notes import texts
from perflog.show import contents as report
from tests.cli.test_cli import run
from tests.support import FIXTURES, ROOT, extracted

RUNNER = ROOT / "tests" / "campaign" / "numpy_runner"


def campaign(folder: Path, **given: object) -> Path:
    """A campaign file; ``models=["logistic"]`` in place of the usual values."""
    usual: dict[str, object] = {
        "runners": [str(RUNNER)], "frameworks": ["numpy_runner"], "models": ["logistic"], "precisions": ["fp32"], "batch_sizes": [8], "devices": ["1n1g"],
        "repeats": 2, "steps": 20, "log_interval": 5, "warmup": 5, "time_limit": 20,
    }  # fmt: skip
    file = folder / "campaign.toml"
    file.write_text(
        "".join(
            f"{key} = {json.dumps(value)}\n" for key, value in (usual | given).items() if not isinstance(value, dict)
        )
    )
    with file.open("a") as more:
        for key, value in given.items():
            if isinstance(value, dict):
                more.write(f"[{key}]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in value.items()))
    return file


def names(logs: Path) -> list[str]:
    return sorted(str(path.relative_to(logs)) for path in logs.rglob("*.log*"))


@pytest.mark.long
def test_the_layout_of_the_logs_and_what_stands_beside_them(tmp_path: Path) -> None:
    file = campaign(tmp_path, batch_sizes=[8, 16], repeats=2)
    done = run("run", str(file))
    assert done.returncode == 0, done.stderr
    logs = tmp_path / "logs"
    expected = [f"numpy_runner/logistic/bz{b}/1n1g/logistic_b{b}_fp32_{n}.log" for b in (16, 8) for n in (1, 2)]
    assert names(logs) == expected
    order = [line.split("]")[1].split(":")[0].strip() for line in done.stderr.splitlines() if line.startswith("[")]
    assert [name[-1] for name in order] == ["1", "1", "2", "2"], (
        "every configuration's first run comes before any second one"
    )
    assert all((logs / name).with_suffix(".side.json").is_file() for name in expected)
    facts = json.loads((logs / "machine.json").read_text())
    assert facts["cpus"] >= 1
    assert facts["kernel"]
    assert facts["frameworks"]["numpy_runner"]["packages"]["numpy"]
    assert set(facts["clocks"]) == {"before", "after"}
    extraction = extracted(logs, warmup=5)
    assert [len(case.runs) for case in extraction.cases] == [2, 2]
    assert not extraction.skipped, "what a campaign writes beside its logs is not taken for logs"
    assert [(run.values["batch_size"], run.values["devices"]) for run in extraction.runs] == [
        (8, 1),
        (8, 1),
        (16, 1),
        (16, 1),
    ]
    again = run("run", str(file))
    assert (again.returncode, "4 of 4 runs are there" in again.stderr, "[" in again.stderr) == (0, True, False)


@pytest.mark.long
def test_repeats_are_added_and_parts_are_chosen(tmp_path: Path) -> None:
    file = campaign(tmp_path, batch_sizes=[8, 16], repeats=3)
    assert (
        run(
            "run", str(file), "--only", "batch_size=8", "--repeats", "1", "--logs", str(tmp_path / "here"), "--quiet"
        ).stderr
        == ""
    )
    assert names(tmp_path / "here") == ["numpy_runner/logistic/bz8/1n1g/logistic_b8_fp32_1.log"]
    done = run("run", str(file), "--only", "batch_size=8", "--repeats", "2", "--logs", str(tmp_path / "here"))
    assert "1 of 2 runs are there; going on" in done.stderr
    assert len(names(tmp_path / "here")) == 2
    for wrong, said in (
        (["--only", "colour=red"], "expected one of framework, model"),
        (["--only", "batch_size=9"], "nothing to run"),
    ):
        done = run("run", str(file), *wrong)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_dry_run_prints_the_commands_and_runs_nothing(tmp_path: Path) -> None:
    file = campaign(tmp_path, precisions=["fp32", "fp16"], repeats=1, environment={"SOME_SETTING": "of the campaign"})
    done = run("run", str(file), "--dry-run")
    assert done.returncode == 0
    assert done.stdout.startswith(
        "# numpy_runner/logistic/bz8/1n1g/logistic_b8_fp32_1.log\nOMP_NUM_THREADS=1 SOME_SETTING='of the campaign' "
    )
    assert f"{RUNNER}/train.py logistic 8 20 5 5 " in done.stdout
    assert (
        done.stderr
        == "cannot run numpy_runner/logistic/bz8/1n1g/logistic_b8_fp16: half precision is slower than single on CPUs\n"
    )
    assert not (tmp_path / "logs").exists()


@pytest.mark.long
def test_failures_are_kept_with_their_reason_and_the_campaign_goes_on(tmp_path: Path) -> None:
    models = ["huge", "diverging", "raising", "aborting", "silent", "stopping", "leaving", "logistic"]
    first = run("run", str(campaign(tmp_path, models=models, repeats=1)))
    assert first.returncode == 3
    done = run("run", str(campaign(tmp_path, models=[*models, "hanging"], repeats=1, time_limit=4)))
    assert (done.returncode, "8 of 9 runs are there" in done.stderr) == (3, True)
    logs = tmp_path / "logs"
    expected = {
        "huge": "OOM: line 9: numpy._core._exceptions._ArrayMemoryError: Unable to allocate",
        "diverging": "failed: NaN loss (line 2: Training: -Speed ",
        "raising": "failed: crash: exit status 1; 10 of 20 steps logged; ValueError: the labels are out of range",
        "aborting": "failed: crash: killed by SIGABRT; 10 of 20 steps logged; ",
        "hanging": "failed: hang: no end within 4 s; 10 of 20 steps logged",
        "silent": "failed: no steps logged (empty file)",
        "stopping": "failed: the log is incomplete: 10 of 20 steps logged",
    }
    for model, reason in expected.items():
        (log,) = logs.rglob(f"{model}_b8_fp32_1.log.failed")
        last = log.read_text().splitlines()[-1]
        assert last.startswith("perflog run: "), last
        assert last.endswith(" [NumPy]"), last
        said = last.removeprefix("perflog run: ")
        if model == "huge":
            assert said.startswith("OOM: line "), said
            assert "Unable to allocate" in said, said
        else:
            assert said.startswith(reason), said
        assert f"{model}_b8_fp32_1: {reason[:6]}" in first.stderr + done.stderr
    assert sorted(path.name for path in logs.rglob("*.log")) == ["leaving_b8_fp32_1.log", "logistic_b8_fp32_1.log"]
    assert "killed by SIGABRT after its last step" in first.stderr, "a log is not judged by the exit status alone"
    assert "2 finished, 7 failed" in done.stderr
    table = run("table", str(logs), "--rows", "model", "--warmup", "5", "--no-notes").stdout
    assert [line.split("|")[2].strip() for line in table.splitlines() if "| huge" in line] == ["OOM"]
    assert "| silent" in table
    extraction = run("extract", str(logs), "--warmup", "5")
    assert extraction.returncode == 3
    assert "failed: hang: no end within 4 s" in extraction.stdout
    assert "9 runs, 0 files skipped" in extraction.stdout


def test_a_training_that_fails_after_its_last_line_has_failed(tmp_path: Path) -> None:
    done = run("run", str(campaign(tmp_path, models=["late"], repeats=1, steps=22)))
    assert (done.returncode, "failed: crash: exit status 1; 20 of 22 steps logged; ValueError" in done.stderr) == (
        3,
        True,
    ), done.stderr


@pytest.mark.long
def test_a_failed_run_stands_with_the_others_of_its_case_until_it_is_run_again(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    assert run("run", str(campaign(tmp_path, repeats=1)), "--quiet").returncode == 0
    assert run("run", str(campaign(tmp_path, repeats=2, environment={"MEMORY": "none"})), "--quiet").returncode == 3
    (failed,) = logs.rglob("*.failed")
    failed.write_bytes(failed.read_bytes().splitlines()[-1] + b"\n")  # as when memory runs out before the first step
    (case,) = extracted(logs, warmup=5).cases
    assert [run.throughput.value is None for run in case.runs] == [False, True]
    assert case.throughput.n == 1
    assert any(note.startswith("1 of 2 runs has no value: OOM: ") for note in texts(case.notes))
    assert case.key["batch_size"] == 8
    file = campaign(tmp_path, repeats=2)
    done = run("run", str(file))
    assert (done.returncode, "1 failed" in done.stderr) == (3, True), "a failed run is not run again unasked"
    assert run("run", str(file), "--retry-failed").returncode == 0
    assert [path.endswith(".log") for path in names(logs)] == [True, True]


def test_a_growing_log_is_no_run_yet(tmp_path: Path) -> None:
    assert run("run", str(campaign(tmp_path, repeats=1)), "--quiet").returncode == 0
    (log,) = (tmp_path / "logs").rglob("*.log")
    log.rename(f"{log}.running")
    extraction = extracted(tmp_path / "logs", warmup=5)
    assert (extraction.runs, extraction.skipped[0].reason) == (
        [],
        "its training has not ended (`perflog watch` shows it)",
    )
    shown = run("watch", str(tmp_path / "logs")).stdout
    assert "0 of 1" in shown
    assert "step 20 of 20" in shown


def test_two_campaigns_do_not_share_a_folder(tmp_path: Path) -> None:
    file = campaign(tmp_path, models=["hanging"], time_limit=30)
    first = subprocess.Popen([sys.executable, "-m", "perflog", "run", str(file), "--quiet"], cwd=ROOT)
    try:
        while not (tmp_path / "logs" / ".perflog" / "lock").exists() or not list(
            (tmp_path / "logs").rglob("*.running")
        ):
            assert first.poll() is None, "the first campaign has ended before the second one looked"
            time.sleep(0.02)
        second = run("run", str(file))
        assert second.returncode == 2
        assert f"another `perflog run` (process {first.pid}) is at work in this folder" in second.stderr
    finally:
        first.kill()
        first.wait()


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.long)])
@pytest.mark.long
def test_killed_again_and_again_a_campaign_has_exactly_the_runs_it_should_have(kills: int, tmp_path: Path) -> None:
    helper = f"{random.randrange(10**5, 10**6)}.25"
    file = campaign(
        tmp_path, batch_sizes=[8, 16], repeats=5 if kills > 3 else 2, steps=40, environment={"HELPER": helper}
    )
    logs, command = tmp_path / "logs", [sys.executable, "-m", "perflog", "run", str(file), "--quiet"]
    wanted = sorted(str(job.log) for job in jobs(load_campaign(file)))
    seen: dict[str, bytes] = {}
    cut = 0
    dice = random.Random(5)
    for _ in range(kills):
        process = subprocess.Popen(command, cwd=ROOT)
        time.sleep(dice.uniform(0.2, 1.1))
        process.kill()
        cut += process.wait() == -signal.SIGKILL
        for path in logs.rglob("*.log"):
            name = str(path.relative_to(logs))
            assert seen.setdefault(name, path.read_bytes()) == path.read_bytes(), "a finished run was run again"
    assert cut == kills or len(seen) == len(wanted)
    done = run("run", str(file))
    assert done.returncode == 0, done.stderr
    assert names(logs) == wanted
    assert {name: (logs / name).read_bytes() for name in seen} == seen
    assert all(len(path.read_text().splitlines()) == 9 for path in logs.rglob("*.log")), (
        "each log is of one training, whole"
    )
    assert sorted(path.name for path in logs.rglob("*.side.json*")) == sorted(
        Path(name).with_suffix(".side.json").name for name in wanted
    )
    left = subprocess.run(["pgrep", "-f", f"sleep {helper}"], capture_output=True, text=True, check=False).stdout
    assert left == "", "no process outlives its campaign"


def test_logs_of_two_machines_are_not_mixed(tmp_path: Path) -> None:
    file = campaign(tmp_path, repeats=1)
    assert run("run", str(file), "--quiet").returncode == 0
    facts = json.loads((tmp_path / "logs/machine.json").read_text())
    (tmp_path / "logs/machine.json").write_text(json.dumps(facts | {"cpu": "another"}))
    done = run("run", str(file), "--repeats", "2")
    assert (done.returncode, "its logs are of another machine (cpu: another" in done.stderr) == (2, True)


def test_secrets_are_never_written() -> None:
    given = {
        "NCCL_DEBUG": "INFO",
        "CUDA_VISIBLE_DEVICES": "0",
        "NCCL_API_KEY": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "TORCH_HUB_TOKEN": "x",
        "HOME": "/root",
    }
    assert allowed(given) == {"CUDA_VISIBLE_DEVICES": "0", "NCCL_DEBUG": "INFO"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('devices = ["8"]', "devices: '8': expected nodes and devices per node, such as '2n8g'"),
        (
            'frameworks = ["torch"]',
            "no runner 'torch'; did you mean 'pytorch'? (known: mindspore, mindspore_resnet50, mxnet, ngc_maskrcnn, ",
        ),
        ("steps = 3", "steps = 3 must be more than warmup = 5"),
        ("colour = 3", "unknown key 'colour'"),
        ('repeats = "3"', "repeats = '3': expected a whole number of 1 or more"),
        ("models = []", "models = []: expected a list of models, such as"),
        ('models = ["../x"]', "expected a name of small letters and digits"),
    ],
)
def test_a_campaign_file_that_is_wrong(line: str, said: str, tmp_path: Path) -> None:
    file = campaign(tmp_path)
    key = line.split(" ")[0]
    file.write_text(
        "".join(f"{old}\n" for old in file.read_text().splitlines() if not old.startswith(f"{key} ")) + line + "\n"
    )
    with pytest.raises(UsageError) as error:
        load_campaign(file)
    assert said in str(error.value)


@pytest.mark.long
def test_several_nodes_are_started_from_one(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("# two\nlocalhost slots=1\n127.0.0.1\n")
    file = campaign(tmp_path, devices=["2n1g"], repeats=1, hostfile="hosts")
    assert run("run", str(file), "--quiet").returncode == 0, "each node has its own output, the first one's is the log"
    (log,) = (tmp_path / "logs").rglob("2n1g/*.log")
    assert len(log.read_text().splitlines()) == 5
    file = campaign(
        tmp_path, devices=["2n1g"], repeats=2, hosts=["localhost", "far"], remote=["sh", "-c"]
    )  # a host that is reached by a shell
    done = run("run", str(file))
    assert done.returncode == 0, done.stderr
    file = campaign(tmp_path, devices=["3n1g"], hosts=["a"])
    done = run("run", str(file))
    assert (done.returncode, "needs 3 hosts" in done.stderr) == (2, True)


def test_a_node_that_was_never_reached_fails_the_run(tmp_path: Path) -> None:
    """However complete the first node's log is: ssh ends with 255 where it finds nobody, other launchers as they like."""
    for status in (255, 1, 0):
        remote = ["sh", "-c", f"echo no route to {{host}}; exit {status}"]
        logs = tmp_path / f"logs{status}"
        file = campaign(
            tmp_path, devices=["2n1g"], repeats=1, hosts=["localhost", "far"], remote=remote, logs=str(logs)
        )
        done = run("run", str(file))
        assert done.returncode == 3, (status, done.stderr)
        assert "failed: node 1 (far) started nothing: no route to far; 20 of 20 steps logged" in done.stderr
        assert [path.suffix for path in logs.rglob("*.log*")] == [".failed"]


def test_slurm_scripts(tmp_path: Path) -> None:
    done = run("run", str(campaign(tmp_path, devices=["1n2g", "2n2g"], repeats=5, time_limit=60)), "--slurm")
    scripts = done.stdout.split("#!/bin/bash\n")[1:]
    assert len(scripts) == 2
    assert "#SBATCH --nodes=2\n" in scripts[1]
    assert "#SBATCH --time=0:05:00\n" in scripts[1]
    assert 'scontrol show hostnames "$SLURM_JOB_NODELIST" > .hosts-2n2g\n' in scripts[1]
    assert "--only devices=2n2g" in scripts[1]
    for script in scripts:
        assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0


def test_environments_are_listed(tmp_path: Path) -> None:
    done = run("run", "--list", env={"PERFLOG_ENVIRONMENTS": str(tmp_path)})
    assert done.stdout.splitlines()[0] == f"environments in {tmp_path}"
    rows = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "pytorch missing perflog run --make-environment pytorch" in rows
    done = run(
        "run",
        str(campaign(tmp_path, frameworks=["pytorch"], models=["cnn"], device="cpu")),
        env={"PERFLOG_ENVIRONMENTS": str(tmp_path)},
    )
    assert (done.returncode, done.stderr) == (
        2,
        "perflog: the environment of pytorch is missing: perflog run --make-environment pytorch\n",
    )


@pytest.mark.long
def test_an_environment_is_made_from_its_requirements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERFLOG_ENVIRONMENTS", str(tmp_path / "environments"))
    here = Path(shutil.copytree(RUNNER, tmp_path / "mine"))
    (here / "requirements.txt").write_text("# nothing\n")
    assert environment.state(load_runner(here)) == "missing"
    made = environment.make(load_runner(here), quiet=True)
    assert (made / "bin" / "python").is_file()
    assert environment.state(load_runner(here)) == "ready"
    assert environment.python_of(load_runner(here)) == made / "bin" / "python"
    (here / "requirements.txt").write_text("# changed\n")
    assert environment.state(load_runner(here)) == "outdated"
    (made / environment.READY).unlink()
    assert environment.state(load_runner(here)) == "unfinished"


def test_the_machine_gives_the_version_and_is_named(tmp_path: Path) -> None:
    log = tmp_path / "logs/pytorch/cnn/bz16/1n1g/cnn_b16_fp32_1.log"
    log.parent.mkdir(parents=True)
    shutil.copy(FIXTURES / "parsers/averagemeter/imagenet.log", log)
    facts = {
        "cpus": 2,
        "cpu": "A",
        "memory_gib": 4,
        "system": "S",
        "kernel": "6",
        "gpus": ["NVIDIA H200, 141 GiB, 0", "NVIDIA H200, 141 GiB, 1"],
        "driver": "580",
    }
    (tmp_path / "logs/machine.json").write_text(
        json.dumps(facts | {"frameworks": {"pytorch": {"packages": {"torch": "2.13.0", "numpy": "2"}}}})
    )
    (found,) = extracted(tmp_path / "logs").runs
    assert (found.values["framework_version"], found.values.get("accelerator")) == ("2.13.0", None)
    assert "the machine's NVIDIA H200" in found.notes[0].text
    assert found.metadata.sources["framework_version"] == "machine"
    (of_all,) = report.environment(extracted(tmp_path / "logs"), "en")
    assert of_all.pairs[-2] == ("Machine", "NVIDIA H200, driver 580, A × 2, 4 GiB, S, Linux 6")
    (given,) = extracted(tmp_path / "logs", set={"framework_version": "2.0"}).runs
    assert given.values["framework_version"] == "2.0"
    (tmp_path / "logs/machine.json").write_text("{")
    assert "framework_version" not in extracted(tmp_path / "logs").runs[0].values
