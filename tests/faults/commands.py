"""The commands that are tried, each in a folder of its own, and what of that folder it may change."""

from __future__ import annotations

import json
import lzma
import os
import shutil
import sqlite3
import tarfile
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from perflog.cache.place import TICK_NS
from tests.support import ROOT

_LOGS = ROOT / "fixtures/seed004/logs_fp32/mindspore/resnet50/bz128"
_README = """# Results
<!-- perflog: table logs --rows devices --value throughput,speedup -->
old
<!-- /perflog -->
"""
#: A training that is over at once: InsightFace's form, which perflog knows. It is no Python, so the shim lets it be.
_TRAINING = """#!/bin/sh
for step in 10 20 30 40 50 60; do
    echo "Training: -Speed 802.5000 samples/sec   Loss 0.5000   Epoch: 0   Global Step: $step   Required: 0 hours"
done
"""
_RUNNER = """title = "Quick"
framework = "NumPy"
models = ["logistic"]
precisions = ["fp32"]
arguments = ["{steps}"]

[commands]
one = ["sh", "{here}/train.sh"]
"""
_CAMPAIGN = """runners = ["quick"]
frameworks = ["quick"]
models = ["logistic"]
precisions = ["fp32"]
batch_sizes = [8]
devices = ["1n1g"]
repeats = 2
steps = 60
log_interval = 10
warmup = 10
time_limit = 20
"""
#: Of a folder, what counts as its state: the content of files by their names.
State = Mapping[str, object]


@dataclass(frozen=True)
class Command:
    """A command and its folder.

    Attributes:
        words: the command.
        outputs: the files that it writes, with what is in them before.
        lay: puts everything else there that it needs. databases: outputs that are SQLite's, compared by their rows.
        own: names below which it may keep what it likes, as long as the next call goes on.
        polars: it needs polars, which a process imports after it was forked.
        campaign: what is below ``own`` are a campaign's logs, which count.
    """

    words: tuple[str, ...]
    outputs: Mapping[str, str] = field(default_factory=dict)
    lay: Callable[[Path], None] = lambda _: None
    databases: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    polars: bool = False
    campaign: bool = False


def _packed(folder: Path) -> None:
    """The logs in an archive, and one by itself, compressed."""
    with tarfile.open(folder / "logs.tar.gz", "w:gz") as archive:
        archive.add(folder / "logs", "logs")
    (folder / "one.log.xz").write_bytes(lzma.compress((folder / "logs/1n1g/rn50_b128_fp32_1.log").read_bytes()))


def _parts(folder: Path) -> None:
    run = _run(folder)
    run("extract", "logs", "-q", "--shard", "1/2", "-o", "1.parquet")
    run("extract", "logs", "-q", "--shard", "2/2", "-o", "2.parquet")


def _history(folder: Path) -> None:
    _run(folder)("save", "logs/1n1g", "-q", "--label", "old", "--database", "h.sqlite")


def _aged(folder: Path) -> None:  # noqa: ARG001 - the time goes by for all
    time.sleep(1.05 * TICK_NS / 1e9)  # a log that was written within the file system's tick is not kept


def _warm(folder: Path) -> None:
    _aged(folder)
    _run(folder)("extract", "logs", "-q", "--cache")


def _fresh(folder: Path) -> None:
    """Logs that seem to have grown just now, however long the trials take: what is said of a silent one has its age."""
    for log in folder.rglob("*.log"):
        os.utime(log, (time.time() + 86_400,) * 2)


def _campaign(folder: Path) -> None:
    shutil.rmtree(folder / "logs")
    (folder / "quick").mkdir()
    (folder / "quick/runner.toml").write_text(_RUNNER, encoding="utf-8")
    (folder / "quick/train.sh").write_text(_TRAINING, encoding="utf-8")
    (folder / "campaign.toml").write_text(_CAMPAIGN, encoding="utf-8")


def _cut_campaign(folder: Path) -> None:
    """A campaign that was killed in its second training."""
    _campaign(folder)
    _run(folder)("run", "campaign.toml", "-q")
    second = sorted((folder / "logs").rglob("*.log"))[1]
    second.rename(second.with_name(second.name + ".running"))


def _run(folder: Path) -> Callable[..., None]:
    from tests.faults.trial import undisturbed

    def run(*words: str) -> None:
        ended = undisturbed(folder, words)
        assert ended.status in (0, 3), ended

    return run


COMMANDS: Mapping[str, Command] = {
    "extract": Command(("extract", "logs", "-q")),
    "extract packed": Command(("extract", "logs.tar.gz", "one.log.xz", "-q"), lay=_packed),
    "extract --cache": Command(("extract", "logs", "-q", "--cache"), lay=_aged, own=("cache",)),
    "extract --cache, kept": Command(("extract", "logs", "-q", "--cache"), lay=_warm, own=("cache",)),
    "extract -o json": Command(("extract", "logs", "-q", "-f", "json", "-o", "x.json"), {"x.json": "old\n" * 5000}),
    "extract -o parquet": Command(("extract", "logs", "-q", "-o", "x.parquet"), {"x.parquet": "old\n"}, polars=True),
    "readme": Command(("readme", "README.md", "-q"), {"README.md": _README}),
    "report": Command(
        ("report", "logs", "-q", "-o", "r.html"), {"r.html": "<!DOCTYPE html>\n<!-- made by perflog, old -->\n"}
    ),
    "save": Command(
        ("save", "logs", "-q", "--label", "new", "--database", "h.sqlite"), lay=_history, databases=("h.sqlite",)
    ),
    "history": Command(("history", "--database", "h.sqlite"), lay=_history, databases=("h.sqlite",)),
    "merge": Command(
        ("merge", "1.parquet", "2.parquet", "-q", "-f", "json", "-o", "x.json"),
        {"x.json": "old\n"},
        lay=_parts,
        polars=True,
    ),
    "run": Command(("run", "campaign.toml"), lay=_campaign, own=("logs",), campaign=True),
    "run, going on": Command(("run", "campaign.toml"), lay=_cut_campaign, own=("logs",), campaign=True),
    "watch": Command(("watch", "logs", "--once"), lay=_fresh),
}


def lay_out(command: Command, folder: Path) -> None:
    """Put what a command needs into an empty folder."""
    folder.mkdir()
    (folder / ".git").mkdir()  # what a README's recipes may use ends here
    shutil.copytree(_LOGS / "1n1g", folder / "logs/1n1g")
    shutil.copytree(_LOGS / "1n4g", folder / "logs/1n4g")
    command.lay(folder)
    for name, text in command.outputs.items():
        (folder / name).write_text(text, encoding="utf-8")


def state_of(command: Command, folder: Path) -> State:
    """What is in the folder: bytes by name, a database's rows, a campaign's logs by what became of them."""
    files: dict[str, object] = {  # read first: SQLite takes back what a journal beside it says
        name: rows_in(folder / name) for name in command.databases if (folder / name).exists()
    }
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if (
            path.is_dir()
            or name == "stdout"
            or name in files
            or (name.split("/")[0] in command.own and not command.campaign)
        ):
            continue
        if name.split("/")[0] in command.own:
            if not name.startswith("logs/.perflog/") or "/scratch/" in name:
                files[name] = "" if name.endswith((".json", ".toml")) else path.read_bytes()
        else:
            files[name] = path.read_bytes()
    return files


def rows_in(database: Path) -> object:
    """The rows of a history, without the moments of saving; raises sqlite3.Error where the file is not sound."""
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)], database
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == [], database
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        labels = [row[0] for row in connection.execute("SELECT label FROM perflog_campaign ORDER BY id")]
        counts = {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in sorted(tables)}
    return json.dumps([labels, counts])
