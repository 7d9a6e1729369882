"""A campaign file on this machine, and running it, from Python: what can be run, with which commands, and what became of it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

import perflog.campaign as campaigns
from perflog.campaign import Completion, Job, Observer
from perflog.campaign.execute import guarded, hosts_of, starts
from perflog.campaign.plan import Folder, load_campaign
from perflog.campaign.runner import load_runner
from perflog.errors import PerflogError, UsageError
from tests.campaign.test_campaign import RUNNER, campaign, names
from tests.support import ROOT


def test_what_can_be_run_and_what_cannot(tmp_path: Path) -> None:
    file = campaign(tmp_path, precisions=["fp32", "fp16"], models=["logistic", "unknown"], repeats=2)
    scheduled = campaigns.schedule(file, logs=tmp_path / "there", only={"batch_size": "8"}, repeats=1)
    assert [job.name for job in scheduled.jobs] == ["numpy_runner/logistic/bz8/1n1g/logistic_b8_fp32_1"]
    below = "numpy_runner/unknown/bz8/1n1g/unknown_b8_fp32"
    assert scheduled.refused[below].startswith("NumPy's runner has no model 'unknown'")
    assert scheduled.folder.root == tmp_path / "there"
    (entry,) = campaigns.commands(scheduled)
    assert (entry.state, len(entry.commands)) == ("open", 1)
    assert entry.commands[0].startswith("OMP_NUM_THREADS=1 ")
    assert campaigns.slurm_scripts(scheduled).startswith("#!/bin/bash\n")
    with pytest.raises(UsageError, match=r"nothing to run with --only devices=2n2g"):
        campaigns.schedule(file, only={"devices": "2n2g"})


class Recorder(Observer):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def begin(self, total: int, done: int, cut: int) -> None:
        self.told.append((total, done, cut))

    def begin_job(self, job: Job, seconds: Mapping[Job, float]) -> None:
        self.told.append((job.repeat, len(seconds)))

    def end_job(self, job: Job, completion: Completion) -> None:
        self.told.append((job.repeat, completion.reason[:14], completion.unit))

    def end(self) -> None:
        self.told.append("end")


def test_a_campaign_is_run_from_python_and_goes_on(tmp_path: Path) -> None:
    scheduled = campaigns.schedule(campaign(tmp_path, repeats=2))
    (tmp_path / "logs/numpy_runner").mkdir(parents=True)
    (tmp_path / "logs/numpy_runner/cut_b8_fp32_1.log.running").touch()
    recorder = Recorder()
    outcome = campaigns.run(scheduled, observer=recorder)
    assert (outcome.folder, outcome.finished, outcome.failed) == (tmp_path / "logs", scheduled.jobs, ())
    assert recorder.told == [(2, 0, 1), (1, 0), (1, "", "samples/s"), (2, 1), (2, "", "samples/s"), "end"]
    before = {path: path.read_bytes() for path in (tmp_path / "logs").rglob("*.log")}
    assert campaigns.run(scheduled) == outcome
    assert {path: path.read_bytes() for path in (tmp_path / "logs").rglob("*.log")} == before, "nothing is run twice"


def test_what_failed_is_run_again_when_asked(tmp_path: Path) -> None:
    scheduled = campaigns.schedule(campaign(tmp_path, models=["stopping"], repeats=1))
    recorder = Recorder()
    assert campaigns.run(scheduled, observer=recorder).failed == scheduled.jobs
    assert recorder.told[2] == (1, "failed: the lo", "")
    assert campaigns.run(scheduled, observer=recorder).failed == scheduled.jobs
    assert recorder.told[4:] == [(1, 1, 0), "end"]
    assert campaigns.run(scheduled, retry_failed=True, observer=recorder).failed == scheduled.jobs
    assert recorder.told[6:8] == [(1, 0, 0), (1, 1)]
    assert names(tmp_path / "logs") == ["numpy_runner/stopping/bz8/1n1g/stopping_b8_fp32_1.log.failed"]


def test_an_environment_that_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERFLOG_ENVIRONMENTS", str(tmp_path / "none"))
    file = campaign(tmp_path, frameworks=["pytorch"], models=["cnn"], repeats=1, device="cpu")
    with pytest.raises(UsageError, match="the environment of pytorch is missing"):
        campaigns.run(campaigns.schedule(file))
    assert campaigns.states()["pytorch"][0] == "missing"
    assert campaigns.environments() == tmp_path / "none"
    with pytest.raises(UsageError, match=r"no runner 'torch' \(known: "):
        campaigns.make_environment("torch")


@pytest.mark.long
def test_an_environment_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from perflog.campaign import runner as environment

    monkeypatch.setenv("PERFLOG_ENVIRONMENTS", str(tmp_path / "environments"))
    here = Path(shutil.copytree(RUNNER, tmp_path / "mine"))
    (here / "requirements.txt").write_text("not a requirement at all\n")
    with pytest.raises(PerflogError, match="failed; the environment of mine is not made"):
        environment.make(load_runner(here), quiet=True)
    assert environment.state(load_runner(here)) == "unfinished"


def test_where_environments_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from perflog.campaign import runner as environment

    monkeypatch.delenv("PERFLOG_ENVIRONMENTS", raising=False)
    assert environment.environments().parts[-2:] == ("runners", ".environments")
    monkeypatch.setattr(environment, "folder", lambda name: tmp_path / name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert environment.environments() == tmp_path / "cache/perflog/environments"


def test_commands_of_several_processes_and_nodes(tmp_path: Path) -> None:
    runner = load_runner(RUNNER)
    side, scratch = tmp_path / "side", tmp_path / "scratch"

    def commands(job_index: int = 0, **given: object) -> list[str]:
        chosen = load_campaign(campaign(tmp_path, **given))
        jobs = campaigns.schedule(chosen.file).jobs
        return [start.text for start in starts(jobs[job_index], runner, chosen, side, scratch)]

    (several,) = commands(devices=["1n2g"])
    assert "train.py logistic 8 20 5 5" in several
    with pytest.raises(UsageError, match=r"has no command for mpirun"):
        commands(devices=["1n2g"], launcher="mpirun")
    first, second = commands(devices=["2n1g"], hosts=["localhost", "no-such-host.invalid"])
    assert first.startswith("[localhost] ")
    assert " env NODE=0 " in first
    assert second.startswith("[no-such-host.invalid] ")
    assert " env NODE=1 " in second
    with pytest.raises(UsageError, match=r"none: No such file or directory \(hostfile of "):
        commands(devices=["2n1g"], hostfile="none")


def test_mpirun_and_a_launcher_on_the_first_node(tmp_path: Path) -> None:
    here = Path(shutil.copytree(RUNNER, tmp_path / "numpy_runner"))
    text = (
        (here / "runner.toml")
        .read_text()
        .replace(
            "each_node = ", 'mpirun = ["{python}", "{master_ip}"]\nfirst_node = ["launch", "-H", "{hostfile}"]\n# '
        )
    )
    (here / "runner.toml").write_text(text)
    runner = load_runner(here)

    def first(**given: object) -> str:
        chosen = load_campaign(
            campaign(tmp_path, devices=["2n2g"], hosts=["127.0.0.1", "b"], runners=[str(here)], **given)
        )
        (start,) = starts(
            campaigns.schedule(chosen.file).jobs[0], runner, chosen, tmp_path / "side", tmp_path / "s", 4321
        )
        return start.text

    assert (
        f"[127.0.0.1] OMP_NUM_THREADS=1 SOME_SETTING='of the runner' launch -H {tmp_path}/s/hosts logistic" in first()
    )
    words = first(launcher="mpirun")
    assert " mpirun -np 4 -H 127.0.0.1:2,b:2 --bind-to none -x OMP_NUM_THREADS -x SOME_SETTING " in words
    assert " -x MASTER_ADDR=127.0.0.1 -x MASTER_PORT=4321 " in words


def test_a_remote_command_stands_under_a_guard_there(tmp_path: Path) -> None:
    chosen = load_campaign(
        campaign(
            tmp_path,
            devices=["2n1g"],
            hosts=["localhost", "far"],
            remote=["on", "{host}"],
            pythons={"numpy_runner": "/opt/python"},
        )
    )
    job = campaigns.schedule(chosen.file).jobs[0]
    commands = starts(job, load_runner(RUNNER), chosen, tmp_path / "side", tmp_path / "scratch")
    given = guarded(commands, chosen, [tmp_path / "a", tmp_path / "b"], "campaign/run/name")
    here, there = given["commands"]
    assert here["environment"]["PATH"].startswith("/opt:")
    assert "remote" not in here
    assert there["argv"][:2] == ["on", "far"]
    assert f"cd {Path.cwd()} && PATH=/opt:$PATH python3 " in there["argv"][2]
    assert there["remote"]["mark"] == given["mark"] == "campaign/run/name"
    assert [command["argv"] for command in there["remote"]["commands"]] == [commands[1].argv]
    assert there["remote"]["tells"], "the first node's output is the log, this one's is not"
    assert hosts_of(replace(chosen, hostfile="", hosts=("a",))) == ["a"]


def test_a_folder_that_was_cut_off_is_cleaned(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    (job,) = campaigns.schedule(campaign(tmp_path, repeats=1)).jobs
    folder.log(job).parent.mkdir(parents=True)
    assert folder.state(job) == "open"
    folder.running(job).write_text("a")
    folder.side(job).write_text("{}")
    folder.side(job).with_name(f"{folder.side(job).name}.part").touch()
    assert folder.state(job) == "running"
    assert folder.clean() == 1
    assert list(folder.log(job).parent.iterdir()) == []
    folder.running(job).write_text("no line end")
    folder.fail(job, "why")
    assert (folder.state(job), folder.failed(job).read_text()) == ("failed", "no line end\nwhy\n")
    folder.running(job).write_text("a\n")
    folder.finish(job)
    assert (folder.state(job), folder.failed(job).exists()) == ("finished", False)
    folder.failed(job).touch()  # as when it is killed between the two
    assert folder.clean() == 0
    assert not folder.failed(job).exists()


def test_the_journal_tells_how_long_a_job_may_take(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    first, second = campaigns.schedule(campaign(tmp_path, batch_sizes=[8, 16], repeats=1)).jobs
    assert folder.seconds([first]) == {}
    folder.own.mkdir()
    for seconds in (2.0, 4.0):
        folder.note({"configuration": first.name[:-2], "seconds": seconds})
    with (folder.own / "journal.jsonl").open("a") as file:
        file.write('{"configuration": "cut by a power')
    assert folder.seconds([first, second]) == {first: 3.0, second: 3.0}


@pytest.mark.long
def test_a_training_without_an_end_is_killed_at_its_time_limit(tmp_path: Path) -> None:
    campaigns.run(campaigns.schedule(campaign(tmp_path, models=["hanging"], repeats=1, time_limit=5)))
    (log,) = (tmp_path / "logs").rglob("*.failed")
    last = log.read_text().splitlines()[-1]
    assert last == "perflog run: failed: hang: no end within 5 s; 10 of 20 steps logged [NumPy]"


def test_the_last_lines_of_other_nodes_are_kept_of_a_failure(tmp_path: Path) -> None:
    file = campaign(tmp_path, models=["raising"], devices=["2n1g"], hosts=["localhost", "127.0.0.1"], repeats=1)
    campaigns.run(campaigns.schedule(file))
    (log,) = (tmp_path / "logs").rglob("*.failed")
    text = log.read_text()
    assert "--- node1.out, its last lines\n" in text
    assert text.count("ValueError: the labels are out of range") == 3, "the first node's, the other's, and the reason"


def test_a_folder_is_held_by_one_campaign(tmp_path: Path) -> None:
    with (
        Folder(tmp_path).locked(),
        pytest.raises(UsageError, match="is at work in this folder"),
        Folder(tmp_path).locked(),
    ):
        pass
    with Folder(tmp_path).locked():
        pass


def test_unknown_names_are_told() -> None:
    with pytest.raises(AttributeError, match=r"'perflog\.campaign' has no attribute 'judge'"):
        _ = campaigns.judge


def test_a_gpu_is_never_replaced_by_a_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERFLOG_ENVIRONMENTS", str(tmp_path / "none"))
    monkeypatch.setenv("PATH", str(tmp_path))
    paddle = load_runner(ROOT / "runners/paddle")
    said: dict[str, object] = {"frameworks": ["paddle"], "models": ["cnn"], "repeats": 1}
    for device, words in (({}, "gpu"), ({"device": "npu"}, "npu"), ({"device": "cpu"}, "cpu")):
        scheduled = campaigns.schedule(campaign(tmp_path, **said, **device))
        assert [f"--device={words} " in entry.commands[0] for entry in campaigns.commands(scheduled)] == [True]
    with pytest.raises(UsageError, match="device is 'gpu' \\(the default\\), and this machine has no GPU"):
        campaigns.run(campaigns.schedule(campaign(tmp_path, **said)))
    with pytest.raises(UsageError, match=r"device = 'gpus': expected one of"):
        campaigns.schedule(campaign(tmp_path, **said, device="gpus"))
    smi = tmp_path / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho 'Tesla V100-SXM2-16GB'\n")
    smi.chmod(0o755)
    with pytest.raises(UsageError, match="the environment of paddle is missing"):
        campaigns.run(campaigns.schedule(campaign(tmp_path, **said)))
    assert [paddle.requirements(gpus).name for gpus in (0, 8)] == ["requirements.txt", "requirements-gpu.txt"]
    assert "paddlepaddle-gpu==" in paddle.requirements(8).read_text()
    assert load_runner(ROOT / "runners/pytorch").requirements(8).name == "requirements.txt"
