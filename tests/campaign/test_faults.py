"""Campaigns on machines that fail: one plain line each, what has ended is kept, and the same command goes on. All real."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import perflog.campaign as campaigns
from perflog.campaign import guard, machine
from perflog.campaign.plan import Folder, load_campaign
from perflog.errors import UsageError
from tests.campaign.forking_runner.train import alive, notes
from tests.campaign.test_campaign import campaign, names
from tests.campaign.test_guard import Run, again, begun, children, command, eventually
from tests.campaign.test_machine import program
from tests.campaign.test_scheduling import Recorder
from tests.cli.test_cli import run
from tests.support import ROOT


class Teller(Recorder):
    """Writes down what it is told, the lines of the campaign as a whole too."""

    def tell(self, text: str) -> None:
        self.told.append(text)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(disk)]
    done = subprocess.run(words, capture_output=True, text=True, check=False) if shutil.which("mount") else None
    if done is None or done.returncode:
        pytest.skip(f"a small disk needs root: {done.stderr.strip() if done else 'no mount'}")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def fill(file: Path, pages: int) -> None:
    """Fill the disk until so many pages of 4 kB are left."""
    status = os.statvfs(file.parent)
    file.write_bytes(b"x" * (status.f_bavail - pages) * status.f_bsize)


@pytest.mark.parametrize("pages", [2, *(pytest.param(n, marks=pytest.mark.long) for n in (0, 1, 3, 4, 5, 6, 8))])
def test_a_full_disk(pages: int, small_disk: Path, tmp_path: Path) -> None:
    file, logs = campaign(tmp_path, repeats=1), small_disk / "logs"
    words = ("run", str(file), "--quiet", "--logs", str(logs))
    assert run(*words).returncode == 0
    (first,) = logs.rglob("*.log")
    before = first.read_bytes()
    fill(small_disk / "filler", pages)
    done = run(*words, "--repeats", "3")
    assert done.returncode in ((2,) if pages < 2 else (0, 2, 3)), done.stderr
    if done.returncode == 2:
        assert "No space left on device" in done.stderr
        assert len(done.stderr.splitlines()) == 1, done.stderr
    assert first.read_bytes() == before
    (small_disk / "filler").unlink()
    done = run(*words, "--repeats", "3", "--retry-failed")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(list(logs.rglob("*.log"))) == 3
    assert [path.name for path in logs.rglob(".perflog-*.tmp")] == []
    assert all(json.loads(line)["job"] for line in (logs / ".perflog/journal.jsonl").read_text().splitlines())


@pytest.mark.long
def test_files_that_may_not_grow(tmp_path: Path) -> None:
    """A limit of the size of files, as a quota; needs no root."""
    file = campaign(tmp_path, repeats=1)
    assert run("run", str(file), "--quiet").returncode == 0
    journal = tmp_path / "logs/.perflog/journal.jsonl"
    before = journal.read_bytes()
    limit = len(before) + 100

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    shutil.copy(tmp_path / "logs/machine.json", tmp_path / "machine.json")
    words = [sys.executable, "-m", "perflog", "run", str(file), "--repeats", "2", "--quiet"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, preexec_fn=limited)
    assert (done.returncode, done.stderr.count("\n"), "File too large" in done.stderr) == (2, 1, True), done.stderr
    assert journal.read_bytes() == before
    assert run("run", str(file), "--repeats", "2", "--quiet").returncode == 0
    assert len(names(tmp_path / "logs")) == 2


def test_half_a_line_never_stands_in_the_journal(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.own.mkdir()
    folder.note({"job": "a"})
    size = (folder.own / "journal.jsonl").stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 5, hard))
    try:
        with pytest.raises(OSError, match=r"journal\.jsonl"):
            folder.note({"job": "b"})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    folder.note({"job": "c"})
    assert folder.journal() == [{"job": "a"}, {"job": "c"}]


@pytest.mark.long
def test_a_folder_that_is_deleted_while_it_runs(tmp_path: Path) -> None:
    going = begun(tmp_path)
    going.whole()
    shutil.rmtree(tmp_path / "logs")
    text = going.process.communicate(timeout=30)[1]
    said = f"perflog: {tmp_path}/logs: the folder was deleted while the campaign was at work; the same command begins anew\n"
    assert (going.process.returncode, text) == (2, said)
    assert [pid for pid in going.processes() if alive(pid)] == [], "the training is ended too"
    following = Run(tmp_path, again(tmp_path / "campaign.toml"))
    assert (following.end().splitlines()[-1][:10], following.process.returncode) == ("2 finished", 0)


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file\n")
    done = run("run", str(campaign(tmp_path, repeats=1)))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith(f"perflog: {tmp_path}/logs: the campaign cannot go on: Not a directory")


@pytest.mark.long
@pytest.mark.skipif(shutil.which("faketime") is None, reason="faketime: not installed (apt-get install faketime)")
def test_a_clock_that_is_set_back_between_two_runs(tmp_path: Path) -> None:
    file = campaign(tmp_path, repeats=1)
    assert run("run", str(file), "--quiet").returncode == 0
    words = ["faketime", "-f", "-1d", sys.executable, "-m", "perflog", "run", str(file), "--repeats", "2"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, *others = done.stderr.splitlines()
    assert first.startswith(f"{tmp_path}/logs: the clock was set back: it is 20")
    assert not any("clock was set" in line for line in others)
    seconds = [entry["seconds"] for entry in Folder(tmp_path / "logs").journal()]
    assert len(seconds) == 2
    assert all(0 < value < 60 for value in seconds)
    done = run("run", str(file), "--repeats", "3")
    assert (done.returncode, "clock was set" in done.stderr) == (0, False), (
        "the first run's end is the latest, and past"
    )
    assert len(names(tmp_path / "logs")) == 3


def test_a_clock_set_back_by_the_journal_alone(tmp_path: Path) -> None:
    folder, now = Folder(tmp_path), datetime(2026, 11, 23, 12, tzinfo=UTC)
    folder.own.mkdir()
    assert folder.clock_set_back(now) == ""
    for hours in (2, 0):
        folder.note({"ended": (now - timedelta(hours=hours)).isoformat(timespec="seconds")})
    folder.note({"ended": "no time"})
    assert folder.clock_set_back(now) == ""
    said = folder.clock_set_back(now - timedelta(hours=1))
    assert "it is 2026-11-23 11:00:00 UTC, and a run ended at 2026-11-23 12:00:00; " in said


@pytest.fixture
def hung(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An nvidia-smi that gives no answer, ignores SIGTERM and has a child that holds its output."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    monkeypatch.setattr(machine, "PATIENCE", 0.5)
    monkeypatch.setattr(machine, "_hanging", {})
    program(tmp_path / "bin", "nvidia-smi", f"echo asked >> {tmp_path}/asked; trap '' TERM; sleep 20; sleep 20")
    return tmp_path


def test_an_nvidia_smi_that_hangs(hung: Path) -> None:
    began = time.monotonic()
    outcome = campaigns.run(campaigns.schedule(campaign(hung, repeats=2)))
    assert (len(outcome.finished), outcome.failed) == (2, ())
    assert time.monotonic() - began < 15
    assert (hung / "asked").read_text() == "asked\n", "what hangs is asked once"
    facts = json.loads((hung / "logs/machine.json").read_text())
    query = "nvidia-smi --query-gpu=name --format=csv,noheader: no answer within 0.5 s"
    assert facts["hardware"]["gpus"] == facts["hardware"]["nvlink"] == {"absent": query}
    assert [entry["not_sampled"]["gpus"] for entry in Folder(hung / "logs").journal()] == [{"absent": query}] * 2


def test_a_campaign_on_gpus_says_that_nvidia_smi_hangs(hung: Path) -> None:
    with pytest.raises(UsageError, match=r"^nvidia-smi .*: no answer within 0\.5 s, so nobody knows whether"):
        campaigns.run(campaigns.schedule(campaign(hung, frameworks=["pytorch"], models=["cnn"])))
    (hung / "logs").mkdir()
    (hung / "logs/machine.json").write_text('{"gpus": ["H200"]}')
    with pytest.raises(UsageError, match=r"gpus: \['H200'\], here nvidia-smi .*: no answer within 0\.5 s\); mend that"):
        campaigns.run(campaigns.schedule(campaign(hung)))


SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[int]:
    """An sshd on a port of the loopback address that wants the key beside the test, or asks for a password."""
    if SSHD is None or shutil.which("ssh") is None:
        pytest.skip("sshd: not installed (apt-get install openssh-server)")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = int(listener.getsockname()[1])
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "key")], check=True)
    text = f"HostKey {tmp_path}/key\nListenAddress 127.0.0.1\nPort {port}\nPidFile none\nUsePAM no\nStrictModes no\n"
    text += f"AuthorizedKeysFile {tmp_path}/key.pub\nPasswordAuthentication yes\nPermitRootLogin yes\n"
    (tmp_path / "sshd_config").write_text(text)
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    with subprocess.Popen(
        [SSHD, "-D", "-e", "-f", str(tmp_path / "sshd_config")], stderr=subprocess.DEVNULL
    ) as process:
        eventually(lambda: answers(port), "sshd")
        try:
            yield port
        finally:
            process.kill()


def answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def ssh_words(port: int, folder: Path, *more: str) -> list[str]:
    """A campaign's ``remote``: any host's name leads to this machine."""
    options = [f"UserKnownHostsFile={folder}/known", "GlobalKnownHostsFile=none", "HostName=127.0.0.1"]
    return ["ssh", "-F", "none", "-p", str(port), *(word for one in options for word in ("-o", one)), *more, "{host}"]


@pytest.mark.parametrize(
    ("checking", "last_words"),
    [("ask", "Host key verification failed."), ("no", "Permission denied (publickey,password")],
)
def test_an_ssh_that_would_ask_a_question(checking: str, last_words: str, server: int, tmp_path: Path) -> None:
    """Whether the host is known, or for a password; with a window that would wait for an answer without end."""
    program(tmp_path / "bin", "askpass", f"echo asked >> {tmp_path}/asked; sleep 60")
    words = ssh_words(server, tmp_path, "-o", f"StrictHostKeyChecking={checking}")
    file = campaign(tmp_path, devices=["2n1g"], hosts=["nobody@far", "localhost"], repeats=1, remote=words)
    window = {"DISPLAY": ":0", "SSH_ASKPASS": str(tmp_path / "bin/askpass"), "SSH_ASKPASS_REQUIRE": "force"}
    began = time.monotonic()
    done = run("run", str(file), env=window)
    assert done.returncode == 3, done.stderr
    assert time.monotonic() - began < 20
    assert not (tmp_path / "asked").exists()
    (failed,) = (tmp_path / "logs").rglob("*.failed")
    assert last_words in failed.read_text()
    assert len(done.stderr.splitlines()) == 2, done.stderr


@pytest.mark.long
@pytest.mark.parametrize("half", ["first", "second"])
def test_a_guard_on_another_host_that_is_killed(half: str, server: int, tmp_path: Path) -> None:
    """Over ssh: its training dies with it, the run fails, and the next one is alone."""
    words = ssh_words(server, tmp_path, "-i", str(tmp_path / "key"), "-o", "StrictHostKeyChecking=no")
    given: dict[str, Any] = {"devices": ["2n1g"], "hosts": ["localhost", "far"], "remote": words}
    going = begun(tmp_path, **given)
    here = going.guards()
    eventually(lambda: len(going.processes()) == 6 and "Step: 10 " in going.log(), "both trainings")
    python = f"python3 {guard.__file__}"
    there = [int(entry.name) for entry in Path("/proc").glob("[0-9]*") if command(int(entry.name)).strip() == python]
    (first,) = (pid for pid in there if set(children(pid)) & set(there))
    (second,) = set(there) - {first}
    os.kill({"first": first, "second": second}[half], signal.SIGKILL)
    eventually(lambda: bool(list(tmp_path.rglob("*.log.failed"))), "the end of the first run", 60)
    assert [pid for pid in (*here, first, second, *going.processes()) if alive(pid)] == []
    text = going.end()
    assert going.process.returncode == 3, text
    assert "forking_b8_fp32_1: failed: " in text
    assert ("the guard of its processes was killed by SIGKILL" in text) == (half == "second"), text
    assert [path.name for path in tmp_path.rglob("*.log")] == ["forking_b8_fp32_2.log"]
    assert [note["beside"] for note in notes(going.notes) if note["who"] == "main"][2] == []


SECRET = "hunter2-and-more"


def test_no_value_of_the_environment_stands_on_a_command_line_or_in_a_file(tmp_path: Path) -> None:
    given = {"WANDB_API_KEY": SECRET, "SOME_SETTING": SECRET, "NOTES": str(tmp_path / "notes")}
    going = begun(
        tmp_path, environment=given, repeats=1, devices=["2n1g"], hosts=["localhost", "far"], remote=["sh", "-c"]
    )
    there: set[str] = set()

    def look() -> bool:
        """Whether both trainings have begun; gather the command lines until then."""
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                there.add(entry.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue
        return len([pid for pid in going.processes() if alive(pid)]) >= 6

    eventually(look, "both trainings")
    text = going.end()
    assert going.process.returncode == 0, text
    assert [line for line in there if SECRET in line] == []
    assert sum("guard.py" in line for line in there) >= 2
    files = [path for path in (tmp_path / "logs").rglob("*") if path.is_file()]
    assert len(files) >= 4
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []
    shown = run("run", str(tmp_path / "campaign.toml"), "--dry-run").stdout
    assert "WANDB_API_KEY=*** " in shown
    assert SECRET not in text


@pytest.mark.parametrize("line", [f'environment = "{SECRET}"', f'environment = {{ TOKEN = ["{SECRET}"] }}'])
def test_no_message_shows_a_value_of_the_environment(line: str, tmp_path: Path) -> None:
    file = campaign(tmp_path)
    file.write_text(f"{file.read_text()}{line}\n")
    with pytest.raises(UsageError, match=r"environment\S* = …: expected") as error:
        load_campaign(file)
    assert SECRET not in str(error.value)


@pytest.mark.parametrize(
    "host",
    [
        "-oProxyCommand=touch x",
        "-oProxyCommand=x",
        "a b",
        "a\tb",
        "a\x1b[2J",
        "a\nb",
        "",
        "a@-oX",
        "a;b",
        "$(x)",
        "a,b",
    ],
)
def test_what_is_no_name_of_a_host_is_refused(host: str, tmp_path: Path) -> None:
    done = run("run", str(campaign(tmp_path, devices=["2n1g"], hosts=["localhost", host])))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert f"{tmp_path}/campaign.toml: hosts: " in done.stderr
    assert "expected the name or the address of a host, such as 'node1' or 'user@10.0.0.1'" in done.stderr
    assert "\x1b" not in done.stderr


def test_a_hostfile_has_names_of_hosts_too(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("localhost\n-oProxyCommand=touch${IFS}x slots=1\n")
    done = run("run", str(campaign(tmp_path, devices=["2n1g"], hostfile="hosts")))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert (
        f"{tmp_path}/hosts (hostfile of {tmp_path}/campaign.toml): '-oProxyCommand=touch${{IFS}}x': expected"
        in done.stderr
    )


@pytest.mark.parametrize(
    "host", ["node1", "user@10.0.0.1", "fe80::1%eth0", "[::1]", "node_1.cluster.example", "rechner-ä"]
)
def test_names_of_hosts(host: str, tmp_path: Path) -> None:
    assert load_campaign(campaign(tmp_path, hosts=[host])).hosts == (host,)
