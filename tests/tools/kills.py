"""Kill every command that writes, again and again, and look at what it leaves.

    python -m tests.tools.kills [--kills 100] [--seed 1] [COMMAND …]

Half of the kills (SIGKILL) come at a random moment of the command's life, half within 12 ms of the moment at which its
temporary file (SQLite's journal) appears. After each, every file that it writes must be the old one or the new one,
byte for byte; a database must be sound and hold the campaign whole or not at all. Another run must go on as if nothing
had been, and leave no temporary file. The table is Markdown; the exit status is 1 if anything was torn or left.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a process that is forked must have no threads

from perflog.files import is_temporary
from tests.faults.commands import COMMANDS as EVERY
from tests.faults.commands import Command, State, state_of
from tests.faults.nth import Subject, new_folder
from tests.faults.trial import import_all, started, undisturbed

#: Seconds after the temporary file appears within which the second half of the kills comes.
SOON = 0.012
REGIONS = """# Results
<!-- perflog: table logs --rows devices --value throughput,speedup -->
old
<!-- /perflog -->
<!-- perflog: plot logs --kind spread -o spread.svg -->
<!-- /perflog -->
"""
COMMANDS: Mapping[str, Command] = {
    "readme": Command(("readme", "README.md", "-q"), {"README.md": REGIONS, "spread.svg": "old\n"}),
    "extract": EVERY["extract -o json"],
    "report": EVERY["report"],
    "plot": Command(("plot", "logs", "-q", "--kind", "spread", "-o", "out.svg"), {"out.svg": "old\n"}),
    "save": EVERY["save"],
}


@dataclass
class Tally:
    """What became of the attempts: those that a kill ended, with the old and the new files left, and the faults."""

    attempts: int = 0
    killed: int = 0
    old: int = 0
    new: int = 0
    most_left: int = 0
    faults: list[str] = field(default_factory=list)


def begin(subject: Subject) -> None:
    """Put the old state back; what killed writers left stays, for the next one to remove."""
    for name in (*subject.command.outputs, *subject.command.databases):
        shutil.copy(subject.before / name, subject.folder / name)
    for journal in subject.folder.glob("*-journal"):
        journal.unlink()


def temporaries(folder: Path) -> list[str]:
    """Files of perflog's and of SQLite's that are there while something is written."""
    return [file.name for file in folder.iterdir() if _is_temporary(file.name)]


def _is_temporary(name: str) -> bool:
    return is_temporary(name) or name.endswith("-journal")


def state(subject: Subject) -> State:
    """What is there but for temporary files; raises for a database that is not sound."""
    files = state_of(subject.command, subject.folder)
    return {name: content for name, content in files.items() if not _is_temporary(Path(name).name)}


def attempt(subject: Subject, moment: float | None, soon: float) -> bool:
    """Run the command and kill it: at a moment, or (None) so soon after its temporary file appears; whether it died."""
    there = set(temporaries(subject.folder))
    process = started(subject.folder, subject.command.words)
    until = time.perf_counter() + (moment if moment is not None else 60)
    while time.perf_counter() < until:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status) < 0
        if moment is None and set(temporaries(subject.folder)) - there:
            time.sleep(soon)
            break
        time.sleep(0.0002 if moment is None else 0.001)
    os.kill(process, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) < 0


def campaign_of(command: Command, kills: int, rng: random.Random) -> Tally:
    """Kill one command until it has died so often."""
    tally = Tally()
    with new_folder() as folder:
        subject = Subject(command, folder)
        begin(subject)
        began = time.perf_counter()
        undisturbed(subject.folder, command.words)
        seconds = time.perf_counter() - began
        while tally.killed < kills and tally.attempts < 5 * kills:
            begin(subject)
            moment = rng.uniform(0, seconds) if tally.attempts % 2 else None
            tally.killed += attempt(subject, moment, rng.uniform(0, SOON))
            tally.attempts += 1
            _judge(subject, tally)
        begin(subject)
        ended = undisturbed(subject.folder, command.words)
        if ended.status or state(subject) != subject.new:
            tally.faults.append(f"the run after all kills: status {ended.status}, {ended.error!r}")
        if temporaries(subject.folder):
            tally.faults.append(f"left over after it: {temporaries(subject.folder)}")
    return tally


def _judge(subject: Subject, tally: Tally) -> None:
    """Count what is there as old or new; anything else is a fault. Of several files each may be one or the other."""
    tally.most_left = max(tally.most_left, len(temporaries(subject.folder)))
    try:
        left = state(subject)
    except Exception as error:
        tally.faults.append(f"{type(error).__name__}: {error}")
        return
    torn = [
        name
        for name in sorted({*left, *subject.old, *subject.new})
        if left.get(name) not in (subject.old.get(name), subject.new.get(name))
    ]
    if left == subject.old:
        tally.old += 1
    elif not torn:
        tally.new += 1
    else:
        tally.faults.append(f"neither the old nor the new: {', '.join(torn)}")


def main() -> int:
    """Kill, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("commands", nargs="*", default=[], choices=[[], *COMMANDS])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    import_all()
    print(
        "| command | attempts | kills | old files left | new files left | torn, missing or partial | temporary files, most at once |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|")
    faults: list[str] = []
    for name in given.commands or COMMANDS:
        tally = campaign_of(COMMANDS[name], given.kills, random.Random(f"{given.seed} {name}"))
        numbers = (tally.attempts, tally.killed, tally.old, tally.new, len(tally.faults), tally.most_left)
        print(f"| `{name}` | " + " | ".join(map(str, numbers)) + " |", flush=True)
        faults += [f"{name}: {fault}" for fault in tally.faults]
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
