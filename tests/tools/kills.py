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
import sqlite3
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a process that is forked must have no threads

from perflog.files import is_temporary
from perflog.history.saving import campaigns, load, save
from tests.forks.server import MODULES

ROOT = Path(__file__).resolve().parents[2]
LOGS = ROOT / "fixtures/seed004/logs_fp32/mindspore/resnet50/bz128"
#: Seconds after the temporary file appears within which the second half of the kills comes.
SOON = 0.012
REGIONS = """# Results
<!-- perflog: table logs --rows devices --value throughput,speedup -->
old
<!-- /perflog -->
<!-- perflog: plot logs --kind spread -o spread.svg -->
<!-- /perflog -->
"""
#: What each command is, and what lies in its folder before it.
COMMANDS: Mapping[str, tuple[tuple[str, ...], Mapping[str, str]]] = {
    "readme": (("readme", "README.md", "-q"), {"README.md": REGIONS, "spread.svg": "old\n"}),
    "extract": (("extract", "logs", "-q", "-f", "json", "-o", "out.json"), {"out.json": "old\n" * 5000}),
    "report": (
        ("report", "logs", "-q", "-o", "r.html"),
        {"r.html": "<!DOCTYPE html>\n<!-- made by perflog, old -->\n"},
    ),
    "plot": (("plot", "logs", "-q", "--kind", "spread", "-o", "out.svg"), {"out.svg": "old\n"}),
    "save": (("save", "logs", "-q", "--label", "new", "--database", "h.sqlite"), {}),
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


@dataclass(frozen=True)
class Subject:
    """A command in a folder of its own.

    Attributes:
        words: the command; ``seconds``: how long it takes undisturbed.
        old, new: the states of what it writes, before and after it.
        begin: puts the old state there. state: what is there, as something that can be compared; it raises for a
            database that is not sound.
    """

    folder: Path
    words: tuple[str, ...]
    seconds: float
    old: object
    new: object
    begin: Callable[[], None]
    state: Callable[[], object]


def start(folder: Path, words: Sequence[str]) -> int:
    """The command as a process in its folder, a copy of this one: what it imports is there. What it says lies in the
    file ``said``.
    """
    process = os.fork()
    if process:
        return process
    try:
        os.chdir(folder)
        said = os.open("said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(said, 1)
        os.dup2(said, 2)
        sys.argv = ["perflog", *words]
        from perflog.__main__ import main as command

        command()
    except SystemExit as ended:
        os._exit(int(ended.code or 0))
    finally:
        os._exit(99)


def end(process: int) -> int:
    """The exit status of a process, negative where a signal ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def subject(name: str, folder: Path) -> Subject:
    """A command ready to be killed: its folder laid out, and run once undisturbed."""
    words, before = COMMANDS[name]
    shutil.copytree(LOGS, folder / "logs")
    (folder / ".git").mkdir()  # what a README's recipes may use ends here
    if name == "save":
        _saved(folder / "h.sqlite", "other")
        shutil.copy(folder / "h.sqlite", folder / "before")

    def begin() -> None:
        for file, text in before.items():
            (folder / file).write_text(text, encoding="utf-8")
        if name == "save":
            for left in folder.glob("h.sqlite*"):
                left.unlink()
            shutil.copy(folder / "before", folder / "h.sqlite")

    def state() -> object:
        return _campaigns(folder / "h.sqlite") if name == "save" else {f: (folder / f).read_bytes() for f in before}

    begin()
    old = state()
    began = time.perf_counter()
    if end(start(folder, words)):
        raise RuntimeError(f"{name}: {(folder / 'said').read_text()}")
    return Subject(folder, words, time.perf_counter() - began, old, state(), begin, state)


def _saved(database: Path, label: str) -> None:
    from tests.extractions import campaign

    save(database, campaign(4, 3, seed=label), label)


def _campaigns(database: Path) -> object:
    """The campaigns of a history, each with all its rows; raises for a database that is not sound."""
    connection = sqlite3.connect(database)
    try:
        sound = (
            connection.execute("PRAGMA integrity_check").fetchall(),
            connection.execute("PRAGMA foreign_key_check").fetchall(),
        )
    finally:
        connection.close()
    if sound != ([("ok",)], []):
        raise RuntimeError(f"not sound: {sound}")
    return {entry.label: len(load(database, entry.label).extraction.runs) for entry in campaigns(database)}


def temporaries(folder: Path) -> list[str]:
    """Files of perflog's and of SQLite's that are there while something is written."""
    return [file.name for file in folder.iterdir() if is_temporary(file.name) or file.name.endswith("-journal")]


def attempt(subject: Subject, moment: float | None, soon: float) -> bool:
    """Run the command and kill it: at a moment, or (None) so soon after its temporary file appears; whether it died."""
    there = set(temporaries(subject.folder))
    process = start(subject.folder, subject.words)
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
    return end(process) < 0


def campaign_of(name: str, kills: int, rng: random.Random) -> Tally:
    """Kill one command until it has died so often."""
    tally = Tally()
    with TemporaryDirectory() as folder:
        chosen = subject(name, Path(folder))
        while tally.killed < kills and tally.attempts < 5 * kills:
            chosen.begin()
            moment = rng.uniform(0, chosen.seconds) if tally.attempts % 2 else None
            tally.killed += attempt(chosen, moment, rng.uniform(0, SOON))
            tally.attempts += 1
            _judge(chosen, tally)
        chosen.begin()
        status = end(start(chosen.folder, chosen.words))
        if status or chosen.state() != chosen.new:
            said = (chosen.folder / "said").read_text()
            tally.faults.append(f"the run after all kills: status {status}, {said!r}")
        if temporaries(chosen.folder):
            tally.faults.append(f"left over after it: {temporaries(chosen.folder)}")
    return tally


def _judge(chosen: Subject, tally: Tally) -> None:
    """Count what is there as old or new; anything else is a fault. Of several files each may be one or the other."""
    tally.most_left = max(tally.most_left, len(temporaries(chosen.folder)))
    try:
        state = chosen.state()
    except Exception as error:
        tally.faults.append(f"{type(error).__name__}: {error}")
        return
    if state == chosen.old:
        tally.old += 1
    elif state == chosen.new or _mixed(state, chosen.old, chosen.new):
        tally.new += 1
    else:
        tally.faults.append(f"neither the old nor the new: {str(state)[:200]}")


def _mixed(state: object, old: object, new: object) -> bool:
    """Whether every one of several files is whole: its old or its new form."""
    if not (isinstance(state, dict) and isinstance(old, dict) and isinstance(new, dict)) or state.keys() != old.keys():
        return False
    return all(data in (old[file], new.get(file)) for file, data in state.items())


def prepare() -> None:
    """Import what the commands import, once for all of them."""
    for module in MODULES:
        import_module(module)
    import_module("perflog.formats.catalog").load_catalog()


def main() -> int:
    """Kill, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("commands", nargs="*", default=[], choices=[[], *COMMANDS])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    prepare()
    print(
        "| command | attempts | kills | old files left | new files left | torn, missing or partial | temporary files, most at once |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|")
    faults: list[str] = []
    for name in given.commands or COMMANDS:
        tally = campaign_of(name, given.kills, random.Random(f"{given.seed} {name}"))
        numbers = (tally.attempts, tally.killed, tally.old, tally.new, len(tally.faults), tally.most_left)
        print(f"| `{name}` | " + " | ".join(map(str, numbers)) + " |", flush=True)
        faults += [f"{name}: {fault}" for fault in tally.faults]
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
