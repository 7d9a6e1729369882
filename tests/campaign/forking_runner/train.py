"""A training of processes that are hard to end: they ignore signals, leave the session, or drop their environment.

It writes into ``$NOTES`` who it is and which processes of trainings before it are still alive.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

NOTES = Path(os.environ.get("NOTES", "notes"))


def main() -> None:
    steps, interval = map(int, sys.argv[1:3])
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    before = [note["pid"] for note in notes(NOTES)]
    note("main", beside=[pid for pid in before if alive(pid)])
    if os.fork() == 0:
        note("child")
        idle()
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        note("daemon")
        idle()
    if os.environ.get("BARE"):
        bare = subprocess.Popen(["env", "-i", "setsid", "-f", "sleep", os.environ["BARE"]])
        bare.wait()
    for step in range(1, steps + 1):
        time.sleep(0.005)
        if step % interval == 0:
            print(
                f"Training: -Speed {8 / 0.005:.1f} samples/sec   Loss 0.5   Epoch: 0   Global Step: {step}   Required: 0 hours",
                flush=True,
            )
        if step == steps // 2:
            wait_or_eat()
    Path(sys.argv[3]).write_text("{}\n")


def wait_or_eat() -> None:
    """Stay at half of the steps while ``$NOTES.hold`` is there; where ``$NOTES.eat`` is, two children take all memory."""
    eaters = 0
    while Path(f"{NOTES}.hold").exists():
        time.sleep(0.01)
        if eaters < 2 and Path(f"{NOTES}.eat").exists():
            eaters += 1
            if os.fork() == 0:
                note("eater")
                eaten: list[bytes] = []
                while len(eaten) < 256:  # no more than that, should there be no limit
                    eaten.append(b"x" * (1 << 20))
                    time.sleep(0.001)
                idle()


def idle() -> None:
    time.sleep(300)
    os._exit(0)


def note(who: str, **more: object) -> None:
    with NOTES.open("a") as file:
        file.write(json.dumps({"who": who, "pid": os.getpid(), **more}) + "\n")


def notes(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def alive(pid: object) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


if __name__ == "__main__":
    main()
