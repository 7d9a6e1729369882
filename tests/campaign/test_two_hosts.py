"""Two hosts for real: namespaces with a name, a network, processes and an sshd each; trainings over ssh and mpirun between them.

Needs root, iproute2, openssh and PyTorch's environment (``perflog run --make-environment pytorch``); skipped, with the reason, elsewhere.
Everything is in unnamed namespaces that end with the process that holds them: nothing is left behind, however the test ends.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from perflog.campaign import runner as environment
from perflog.campaign.runner import load_runners
from tests.support import ROOT, extracted
from tests.tools.agreement import TOLERANCE, compared

PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
TOOLS = ("ip", "sshd", "ssh", "ssh-keygen", "unshare", "nsenter", "mount")
pytestmark = pytest.mark.long
ADDRESSES = {"node0": "10.77.0.10", "node1": "10.77.0.11"}

#: The first process of a host. It ends when its standard input does, and the kernel then ends all others of its namespace.
INIT = """set -e
mount -t tmpfs none /run && mkdir /run/sshd
mount --bind {files}/hosts /etc/hosts
mount --bind {files}/ssh_config /etc/ssh/ssh_config
echo {name} > /proc/sys/kernel/hostname
ip link set lo up
echo made
read go
ip address add {address}/24 dev eth0
ip link set eth0 up
{sshd} -f {files}/sshd_config -o ListenAddress={address}
echo up
exec cat
"""
SSHD = """HostKey {files}/key
AuthorizedKeysFile {files}/key.pub
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
PidFile none
"""
SSH = """Host node0 node1
  IdentityFile {files}/key
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
"""


@dataclass(frozen=True, slots=True)
class Host:
    name: str
    holder: subprocess.Popen[str]

    @property
    def init(self) -> int:
        """Its first process, as seen from outside."""
        pid = self.holder.pid
        return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])

    def command(self, *words: str) -> list[str]:
        return ["nsenter", "--target", str(self.init), "--net", "--uts", "--mount", "--pid", "--", *words]

    def processes(self) -> dict[int, str]:
        """What runs on it, but for its first process and the sshd that waits for connections."""
        mine, found = Path(f"/proc/{self.init}/ns/pid").readlink(), {}
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                text = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()  # empty: a zombie
                if (
                    (entry / "ns/pid").readlink() == mine
                    and int(entry.name) != self.init
                    and text
                    and "[listener]" not in text
                ):
                    found[int(entry.name)] = text
            except OSError:
                continue
        return found

    def said(self) -> str:
        assert self.holder.stdout is not None
        return self.holder.stdout.readline().strip()


def missing() -> str:
    """Why this cannot be tested here."""
    if os.geteuid():
        return "making hosts needs root"
    lacking = [tool for tool in TOOLS if shutil.which(tool, path=PATH) is None]
    if lacking:
        return f"{', '.join(lacking)}: not installed (apt-get install iproute2 openssh-server)"
    state = environment.state(load_runners()["pytorch"])
    return (
        ""
        if state == "ready"
        else f"the environment of pytorch is {state} (perflog run --make-environment pytorch, or PERFLOG_ENVIRONMENTS)"
    )


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Host]]:
    if why := missing():
        pytest.skip(why)
    files = tmp_path_factory.mktemp("hosts")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(files / "key")], check=True)
    (files / "hosts").write_text(
        "127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in ADDRESSES.items())
    )
    (files / "sshd_config").write_text(SSHD.format(files=files))
    (files / "ssh_config").write_text(SSH.format(files=files))
    with ExitStack() as stack:
        made = [stack.enter_context(host(name, files)) for name in ADDRESSES]
        if any(one.said() != "made" for one in made):
            pytest.skip("namespaces cannot be made here")
        first, second = (str(one.holder.pid) for one in made)
        subprocess.run(
            ["ip", "link", "add", "eth0", "netns", first, "type", "veth", "peer", "name", "eth0", "netns", second],
            check=True,
            env={"PATH": PATH},
        )
        for one in made:
            assert one.holder.stdin is not None
            one.holder.stdin.write("go\n")
            one.holder.stdin.flush()
            assert one.said() == "up"
        yield made
        assert eventually(lambda: not left(made)), left(made)


class host:  # noqa: N801  a context manager by its use
    def __init__(self, name: str, files: Path) -> None:
        script = INIT.format(name=name, files=files, address=ADDRESSES[name], sshd=shutil.which("sshd", path=PATH))
        words = [
            "unshare",
            "--net",
            "--uts",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
            "sh",
            "-c",
            script,
        ]
        pipe = subprocess.PIPE
        self.made = Host(
            name, subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, env={**os.environ, "PATH": PATH})
        )

    def __enter__(self) -> Host:
        return self.made

    def __exit__(self, *_: object) -> None:
        self.made.holder.kill()
        self.made.holder.communicate()


def eventually(true: Callable[[], bool], seconds: float = 15.0) -> bool:
    until = time.monotonic() + seconds
    while not true():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def left(hosts: list[Host]) -> list[str]:
    return [f"{one.name}: {text}" for one in hosts for text in one.processes().values()]


def campaign(folder: Path, **given: object) -> Path:
    usual: dict[str, object] = {
        "frameworks": ["pytorch"], "models": ["cnn"], "precisions": ["fp32"], "batch_sizes": [8], "devices": ["2n1g"], "device": "cpu", "repeats": 1,
        "steps": 60, "log_interval": 10, "warmup": 10, "time_limit": 120, "hosts": list(ADDRESSES),
    }  # fmt: skip
    file = folder / "campaign.toml"
    settings = {"GLOO_SOCKET_IFNAME": "eth0"}
    file.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in (usual | given).items()))
    with file.open("a") as more:
        more.write("[environment]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items()))
    return file


def started(on: Host, file: Path, **variables: str) -> subprocess.Popen[str]:
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    words = on.command(sys.executable, "-m", "perflog", "run", str(file))
    return subprocess.Popen(words, cwd=ROOT, env=variables, stderr=subprocess.PIPE, text=True)


def check(logs: Path, ranks: set[int]) -> None:
    """One run of two nodes, at the speed that the ranks' own clocks say."""
    (log,) = logs.rglob("2n1g/*.log")
    done = subprocess.run(
        [sys.executable, "-m", "perflog", "extract", str(logs), "--warmup", "10", "--format", "json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    (case,) = json.loads(done.stdout)["cases"]
    assert (case["case"]["nodes"], case["case"]["devices"], case["case"]["batch_size"]) == (2, 2, 8)
    extraction = extracted(logs, warmup=10)
    assert [len(one.runs) for one in extraction.cases] == [1]
    assert extraction.skipped == []
    ((run, value, wall),) = compared(logs)
    assert abs(value / wall - 1) <= TOLERANCE
    side = json.loads(log.with_suffix(".side.json").read_text())
    assert [rank["rank"] for rank in side["ranks"]] == [0, 1], "both hosts' ranks took part"
    for rank in ranks:
        assert f"[1,{rank}]<stdout>:Epoch: [0][50/60]" in log.read_text()
    assert run.throughput.used


def test_over_ssh(hosts: list[Host], tmp_path: Path) -> None:
    python, there = str(environment.python_of(load_runners()["pytorch"])), False
    with started(hosts[0], campaign(tmp_path)) as process:
        while process.poll() is None:
            there |= any(text.startswith(python) and "train.py" in text for text in hosts[1].processes().values())
            time.sleep(0.1)
        assert process.returncode == 0, process.communicate()[1]
    assert there, "the second host trained"
    check(tmp_path / "logs", set())
    assert eventually(lambda: not left(hosts)), left(hosts)


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="mpirun: not installed (apt-get install openmpi-bin)")
def test_by_mpirun_both_ranks_logging(hosts: list[Host], tmp_path: Path) -> None:
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_orte_tag_output": "1"}
    with started(hosts[0], campaign(tmp_path, launcher="mpirun", arguments=["--log-ranks=every"]), **root) as process:
        _, said = process.communicate()
    assert process.returncode == 0, said
    check(tmp_path / "logs", {0, 1})
    assert eventually(lambda: not left(hosts)), left(hosts)


def test_killed_on_one_host_nothing_is_left_on_either(hosts: list[Host], tmp_path: Path) -> None:
    process = started(hosts[0], campaign(tmp_path, steps=100_000, log_interval=5))

    def growing() -> bool:
        return any(path.read_bytes().count(b"/100000]") > 2 for path in (tmp_path / "logs").rglob("*.running"))

    assert eventually(lambda: growing() or process.poll() is not None, 60)
    assert any("train.py" in text for text in hosts[1].processes().values())
    (perflog,) = (pid for pid, text in hosts[0].processes().items() if "-m perflog run" in text)
    os.kill(perflog, signal.SIGKILL)
    process.communicate()
    assert eventually(lambda: not left(hosts)), left(hosts)
