"""Two releases, and a history with a slower version in it, for real: ``python -m tests.tools.for_real OLD_PYTHON NEW_PYTHON``.

A small training on PyTorch, a copy of ``runners/pytorch`` in a git repository of its own, is measured by perflog's own
commands:

- the old release against the new one, and the old one against itself, by ``perflog run --against``;
- campaigns of the old release, saved into a history at different times by ``perflog save --commit git``; then campaigns
  with a ``time.sleep`` of 3 % of the step, until ``perflog history --regressions`` finds them; ``history bisect`` and
  ``history ack``; then campaigns without the sleep, until the change is listed as made good.

Each step waits for its batch for ``--wait`` milliseconds, as for a storage: on a machine that others share, the time of
computing differs by 10 % and more from run to run, and 3 % of it cannot be seen in a few runs. ``--wait 0`` computes
alone. The rounds of the first part are run while no campaign of the second is due.

All that was run and printed is kept in the folder (``commands.jsonl``), and the same command goes on where it was cut
off. The end is a report in Markdown. ``--under`` has words that start each command that measures: ``taskset -c 1``.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shlex
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from perflog.stats.sequential import TableRule, look
from tests.support import ROOT

#: The share of a step that the slower version sleeps.
SHARE = 0.03
#: Steps at the start of a run that count for nothing.
WARMUP = 10
#: So many campaigns of the slower version, and of the mended one, are made at most.
MOST_SLOW, MOST_MENDED = 8, 6
#: Rounds of the first part that are run in one go while no campaign is due.
ROUNDS = 3
#: Simulated measurements that say within how many rounds such a measurement is decided, and their rounds at most.
SIMULATED, MOST_ROUNDS = 200, 100

_CAMPAIGN = """\
frameworks = ["pytorch"]
models = ["cnn"]
precisions = ["fp32"]
batch_sizes = [{batch}]
devices = ["1n1g"]
device = "cpu"
repeats = {repeats}
steps = {steps}
log_interval = 10
warmup = {warmup}
runners = ["pytorch"]
pythons = {{ pytorch = "{python}" }}
"""
#: (file, the line that the text is put before, the text): what a step waits for, and where the slower version sleeps.
_WAIT = (
    "common.py",
    "            if self.loaded is not None:\n",
    "            time.sleep({seconds})  # as for a storage\n",
)
_SLEEP = ("pytorch/train.py", "        now = time.perf_counter()\n", "        time.sleep({seconds:.7f})\n")


@dataclass(frozen=True, slots=True)
class Done:
    """A command that was run: its words, when, its exit status, what it printed, how busy others kept the machine."""

    words: list[str]
    at: str
    status: int
    out: str
    err: str
    #: Shares of all processors' time: of other processes, and of other machines of the host. None: not measured.
    others: float | None = None
    stolen: float | None = None


@dataclass(slots=True)
class Bench:
    """A folder in which commands are run and kept."""

    folder: Path
    under: Sequence[str]
    done: list[Done] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.kept.exists():
            self.done = [Done(**json.loads(line)) for line in self.kept.read_text().splitlines()]

    @property
    def kept(self) -> Path:
        return self.folder / "commands.jsonl"

    @property
    def program(self) -> Path:
        """The repository of the training."""
        return self.folder / "program"

    def perflog(self, *words: str, measures: bool = False, fails: Sequence[int] = (0,)) -> Done:
        """Run a command of perflog in the training's repository; one that ends otherwise ends this program."""
        command, times = [str(Path(sys.executable).with_name("perflog")), *words], self.folder / "times.json"
        if measures:
            command = [*self.under, sys.executable, "-m", "tests.tools.for_real", "inside", str(times), *command]
        env = {**os.environ, "PERFLOG_DATABASE": str(self.folder / "history.sqlite"), "PYTHONPATH": str(ROOT)}
        at = datetime.now(UTC).isoformat(timespec="seconds")
        ran = subprocess.run(command, cwd=self.program, env=env, capture_output=True, text=True, check=False)
        busy = json.loads(times.read_text()) if measures and times.exists() else {}
        done = Done(["perflog", *words], at, ran.returncode, ran.stdout, ran.stderr, **busy)
        self.done.append(done)
        with self.kept.open("a") as file:
            file.write(json.dumps({key: getattr(done, key) for key in Done.__slots__}) + "\n")
        if done.status not in fails:
            sys.exit(f"{shlex.join(done.words)}: exit status {done.status}\n{done.out}{done.err}")
        return done

    def git(self, *words: str) -> str:
        name = ("-c", "user.name=for_real", "-c", "user.email=for_real@example.org")
        return subprocess.run(
            ["git", *name, *words], cwd=self.program, check=True, capture_output=True, text=True
        ).stdout.strip()

    def edit(self, place: tuple[str, str, str], seconds: float, message: str) -> None:
        """Put a sleep before a line of the training, or take it out where there are no seconds; and commit that."""
        file, before, text = place
        path, begins, ends = self.program / file, text.partition("{")[0], text.partition("}")[2]
        rows = path.read_text().splitlines(keepends=True)
        rows = [row for row in rows if not (row.startswith(begins) and row.endswith(ends))]
        if seconds:
            rows.insert(rows.index(before), text.format(seconds=seconds))
        path.write_text("".join(rows))
        if self.git("status", "--porcelain"):
            self.git("commit", "-qam", message)


def inside(file: str, command: Sequence[str]) -> int:
    """Run a command, and write how busy other processes and other machines of the host were meanwhile."""

    def ticks() -> tuple[float, float, float]:
        user, nice, system, _, _, irq, softirq, steal = map(float, Path("/proc/stat").read_text().split()[1:9])
        own = os.times()
        return user + nice + system + irq + softirq, steal, own.children_user + own.children_system

    began, before = time.monotonic(), ticks()
    status = subprocess.run(command, check=False).returncode
    busy, steal, own = (after - was for after, was in zip(ticks(), before, strict=True))
    hertz, whole = os.sysconf("SC_CLK_TCK"), (time.monotonic() - began) * (os.cpu_count() or 1)
    others = max(0.0, busy / hertz - own) / whole
    Path(file).write_text(json.dumps({"others": round(others, 3), "stolen": round(steal / hertz / whole, 3)}))
    return status


def make_program(bench: Bench, given: argparse.Namespace) -> None:
    """The training's repository: the runner for PyTorch and a campaign, in one commit."""
    if bench.program.exists():
        return
    (bench.program / "pytorch").mkdir(parents=True)
    for name in ("common.py", "runner_data.py", "pytorch/runner.toml", "pytorch/train.py"):
        shutil.copyfile(ROOT / "runners" / name, bench.program / name)
    shape = {"batch": given.batch, "repeats": given.runs, "steps": given.steps, "warmup": WARMUP}
    for name, python in (("campaign.toml", given.old), ("newer.toml", given.new)):
        (bench.program / name).write_text(_CAMPAIGN.format(python=python.absolute(), **shape))
    (bench.program / ".gitignore").write_text("__pycache__/\n")
    bench.git("init", "-q", "-b", "main")
    bench.git("add", ".")
    bench.git("commit", "-qm", "The training")
    if given.wait:
        bench.edit(_WAIT, given.wait / 1000, "Each step waits for its batch")


@dataclass(frozen=True, slots=True)
class Measurement:
    """Two sides that are measured in turn: its folder's name, the new side's campaign file, and the budget."""

    name: str
    campaign: str
    rounds: int
    margin: str

    def go_on(self, bench: Bench) -> bool:
        """Run some rounds more; False where all is decided or the budget is spent."""
        row = self.row(bench)
        ran = 0 if row is None else row["old"]["n"]
        if (row and row["verdict"] != "inconclusive") or ran >= self.rounds:
            return False
        budget = ["--max-runs", str(max(4, min(self.rounds, ran + ROUNDS))), "--margin", self.margin]
        where = ["--logs", f"../{self.name}", "--against", "campaign.toml"]
        bench.perflog("run", self.campaign, *where, *budget, "--quiet", measures=True)
        return True

    def row(self, bench: Bench) -> dict[str, Any] | None:
        """What ``perflog compare`` says of the two sides; None where nothing was measured yet."""
        if not list((bench.folder / self.name).rglob("*.log")):
            return None
        done = bench.perflog("compare", f"../{self.name}/old", f"../{self.name}/new", "--warmup", str(WARMUP), "-f", "json",
                             "--no-history", "--quiet")  # fmt: skip
        (row,) = json.loads(done.out)["comparisons"][0]["rows"]
        return dict(row)


def promised(row: Mapping[str, Any], margin: float) -> tuple[float, float, float]:
    """Within how many rounds measurements like this one are decided.

    (the standard deviation of the rounds' differences of logarithms, the rounds by which half and 95 % of simulated
    measurements with that deviation and the measured change are decided; infinite: more than
    :data:`MOST_ROUNDS`).
    """
    sides = [[run["value"] for run in row[side]["runs"]] for side in ("old", "new")]
    differences = [new / old for old, new in zip(*sides, strict=True)]
    logs = [math.log(value) for value in differences]
    mean, deviation = statistics.fmean(logs), statistics.stdev(logs)
    rule, draw, rounds = TableRule(1, margin), random.Random(0), []
    for _ in range(SIMULATED):
        old, new, decided = list[float](), list[float](), False
        while len(old) < MOST_ROUNDS and not decided:
            old.append(math.exp(draw.gauss(0, deviation / math.sqrt(2))))
            new.append(math.exp(draw.gauss(mean, deviation / math.sqrt(2))))
            decided = look(old, new, rule).decided
        rounds.append(len(old) if decided else math.inf)
    rounds.sort()
    half, most = rounds[SIMULATED // 2], rounds[int(0.95 * SIMULATED)]
    return deviation, half, most


def history_of(bench: Bench, campaigns: int) -> Iterator[None]:
    """The second part; stops before each campaign until it is due."""
    yield from repeated(bench, "steady", campaigns, lambda: False)
    if not kept_of(bench, "mended") and not any(one.words[1:3] == ["history", "ack"] for one in bench.done):
        if not kept_of(bench, "slow"):
            bench.edit(_SLEEP, SHARE * step_seconds(bench), "Each step sleeps")
        yield from repeated(bench, "slow", MOST_SLOW, lambda: "worse" in states(bench))
        answer(bench)
    bench.edit(_SLEEP, 0, "No sleep")
    yield from repeated(bench, "mended", MOST_MENDED, lambda: "made good since" in states(bench))
    if not any(one.words[1:] == ["history", "check"] for one in bench.done):
        for words in (["--regressions", "--gate"], ["events"], ["check"]):
            bench.perflog("history", *words, fails=(0, 1))


def repeated(bench: Bench, kind: str, most: int, enough: Callable[[], bool]) -> Iterator[None]:
    """Campaigns of one kind, until there are enough."""
    for number in range(1 + len(kept_of(bench, kind)), most + 1):
        if enough():
            return
        yield
        label = f"{kind}-{number:02d}"
        bench.perflog("run", "campaign.toml", "--logs", f"../{label}", "--quiet", measures=True)
        save = ["--label", label, "--commit", "git", "--branch", "main", "--warmup", str(WARMUP), "--quiet"]
        bench.perflog("save", f"../{label}", *save)
        changes(bench)


def answer(bench: Bench) -> None:
    """What somebody does who is told of a change: the gate, the commits, an answer for it, the gate again."""
    for change in changes(bench):
        if change["state"] == "worse":
            bench.perflog("history", "--regressions", "--gate", fails=(0, 1))
            bench.perflog("history", "bisect", change["campaign"], "--repository", ".", fails=(0, 1, 2))
            bench.perflog("history", "ack", change["campaign"], "the sleep, ticket 1", "--by", "Ada")
            bench.perflog("history", "--regressions", "--gate", fails=(0, 1))


def changes(bench: Bench) -> list[dict[str, Any]]:
    """The changes of level that the history shows now; the look is kept in its ledger."""
    done = bench.perflog("history", "--regressions", "-f", "json", "--quiet")
    return list(json.loads(done.out)["changes"])


def states(bench: Bench) -> list[str]:
    """What became of each change of level."""
    return [change["state"] for change in changes(bench)]


def kept_of(bench: Bench, kind: str) -> list[str]:
    """The labels of a kind that were saved."""
    labels = [one.words[one.words.index("--label") + 1] for one in bench.done if one.words[1] == "save"]
    return [label for label in labels if label.startswith(kind)]


def step_seconds(bench: Bench) -> float:
    """The median time of a step over the campaigns so far."""
    done = bench.perflog("history", "--case", "model=cnn", "--value", "step_time", "-f", "json", "--quiet")
    (series,) = json.loads(done.out)["series"]
    values: list[float] = [point["value"] for part in series["parts"] for point in part["points"]]
    return statistics.median(values)


# ----------------------------------------------------------------------------------------------------
# The report.


def report(bench: Bench, measurements: Sequence[Measurement]) -> Iterator[str]:
    """What came out, a line each."""
    machine = json.loads(next(bench.folder.glob("*/machine.json")).read_text())
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    measured = [one for one in bench.done if one.others is not None]
    others = statistics.median(one.others for one in measured if one.others is not None)
    yield (
        f"{bench.done[0].at[:16]} to {bench.done[-1].at[11:16]} UTC, perflog {commit.stdout.strip()}, "
        f"{machine.get('cpu')}, {os.cpu_count()} processors; while it was measured other processes took "
        f"{100 * others:.0f} % of them (median)"
    )
    yield ""
    yield "| old side | new side | rounds | budget | verdict | spread of a round | decided in half / in 95 % of such |"
    yield "|---|---|--:|--:|---|--:|--:|"
    for each in measurements:
        if (row := each.row(bench)) is None:
            continue
        margin = float(each.margin.rstrip("%")) / 100
        deviation, half, most = promised(row, margin)
        change = f"{100 * (row['ratio'] - 1):+.1f} % ({100 * (row['interval']['low'] - 1):+.1f} to {100 * (row['interval']['high'] - 1):+.1f})"
        verdict = {"same": f"same within {each.margin}", "inconclusive": "undecided"}.get(
            row["verdict"], row["verdict"]
        )
        yield (
            f"| torch {row['old']['version']} | {row['new']['version']} | {row['old']['n']} | {each.rounds} | {verdict}, "
            f"{change} | {100 * deviation:.1f} % | {half:g} / {most:g} |"
        )
    yield ""
    for one in bench.done:
        if one.words[1] == "history" and "json" not in one.words:
            yield f"$ {shlex.join(one.words)}   # {one.at[11:19]}, exit status {one.status}"
            yield one.out.rstrip()
    done = bench.perflog("history", "--case", "model=cnn")
    yield done.out.rstrip()


def main() -> int:
    if sys.argv[1:2] == ["inside"]:
        return inside(sys.argv[2], sys.argv[3:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", metavar="OLD_PYTHON", type=Path, help="the interpreter that has the old release")
    parser.add_argument("new", metavar="NEW_PYTHON", type=Path, help="the one that has the new release")
    parser.add_argument("--campaigns", type=int, default=10, help="of the steady version (default: 10)")
    parser.add_argument("--minutes", type=float, default=5, help="between two campaigns (default: 5)")
    parser.add_argument("--runs", type=int, default=5, help="of a campaign (default: 5)")
    parser.add_argument("--steps", type=int, default=45, help="of a run (default: 45)")
    parser.add_argument("--batch", type=int, default=1, help="samples of a step (default: 1)")
    parser.add_argument("--wait", type=float, default=100, help="milliseconds that a step waits (default: 100)")
    parser.add_argument("--rounds", type=int, default=30, help="of a measurement at most (default: 30)")
    parser.add_argument("--margin", default="2%", help="of a measurement (default: 2%%)")
    parser.add_argument("--under", default="", help="words that start each command that measures")
    parser.add_argument("--folder", type=Path, default=Path("build/for-real"), help="(build/for-real)")
    given = parser.parse_args()
    bench = Bench(given.folder.absolute(), shlex.split(given.under))
    make_program(bench, given)
    measurements = [
        Measurement("releases", "newer.toml", given.rounds, given.margin),
        Measurement("itself", "campaign.toml", given.rounds, given.margin),
    ]
    due, going = time.monotonic(), list(measurements)
    for _ in history_of(bench, given.campaigns):
        while time.monotonic() < due:
            if going and not going[0].go_on(bench):
                going.pop(0)
            elif not going:
                time.sleep(max(0.0, due - time.monotonic()))
        due = time.monotonic() + 60 * given.minutes
    for each in going:
        while each.go_on(bench):
            pass
    print("\n".join(report(bench, measurements)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
