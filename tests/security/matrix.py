"""Who writes the checkout says what each path in it is: every argument of a command as everything that a path may be.

``python -m tests.security.matrix`` runs all cells and prints the table of docs/security.md.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import polars as pl

from perflog.parts.part import KEY
from perflog.parts.rows import _Left, packed
from tests.security.hostile import LEAKED, LOGS, SECRET, PullRequest, files_in, pull_request
from tests.support import ROOT

#: Seconds and bytes of memory that a cell may take: what the command needs for itself, and a slow machine.
SECONDS, MEMORY = 60, 700 << 20
#: A user who is neither this one nor root.
STRANGER = 54321
#: What the config file of that user makes of every model.
STRANGERS = "strangersmodel"
_SPARSE = 64 << 30
#: Runs a command and writes the most kB that it held; in a process of its own, since a child counts what its parent held
#: when it was forked, and the tests hold much.
_MEASURED = """
import resource, subprocess, sys
status = subprocess.call(sys.argv[2:])
with open(sys.argv[1], "w") as file:
    file.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(status if status >= 0 else 128 - status)
"""
_PLAIN_TABLE = "table logs --rows devices"

#: What a cell must come to: refused in one plain line, or done (with the path left out, where it is none that counts).
REFUSED, DONE = "refused", "done"


@dataclass(frozen=True)
class Argument:
    """An argument of a command.

    Attributes:
        words: the command, with ``{x}`` in the place of the path.
        takes: what it names: ``logs``, a ``document``, a ``folder`` of definitions, an ``output``, a ``database`` or
            ``parts``.
        ending: what the path's name ends with.
        recipe: where the path stands in a recipe of ``README.md``, the recipe.
    """

    words: str
    takes: str
    ending: str = ".log"
    recipe: str = ""


ARGUMENTS: Mapping[str, Argument] = {
    "readme FILE": Argument("readme --check {x}", "document", ".md"),
    "readme, recipe's logs": Argument(
        "readme --check README.md", "recipe", recipe="table {x} --parsers evil --rows model"
    ),
    "readme, recipe's picture": Argument("readme README.md", "output", ".svg", "plot logs --kind spread -o {x}"),
    "readme --allow": Argument(
        "readme --check --allow {x} README.md", "allowed", "", "table {x} --parsers evil --rows model"
    ),
    "audit FILE": Argument("audit {x} --logs logs --all", "document", ".md"),
    "audit --logs": Argument("audit README.md --all --logs {x}", "logs", recipe=_PLAIN_TABLE),
    "audit --parsers": Argument("audit README.md --logs logs --parsers {x}", "folder", "", _PLAIN_TABLE),
    "audit -o": Argument("audit README.md --logs logs -o {x}", "output", ".md", _PLAIN_TABLE),
    "compare OLD NEW": Argument("compare logs {x} --format markdown", "logs"),
    "compare --parsers": Argument("compare logs logs --parsers {x}", "folder", ""),
    "compare -o": Argument("compare logs logs -o {x}", "output", ".md"),
    "compare --database": Argument("compare logs logs --history --database {x}", "database", ".sqlite"),
    "extract": Argument("extract {x}", "logs"),
    "extract -o": Argument("extract logs -o {x}", "output", ".csv"),
    "table": Argument("table {x} --rows model", "logs"),
    "table --templates": Argument("table logs --rows devices --style theirs --templates {x}", "folder", ""),
    "plot": Argument("plot {x} --kind spread -o made.svg", "logs"),
    "plot -o": Argument("plot logs --kind spread -o {x}", "output", ".svg"),
    "report": Argument("report {x} --html -o made.html", "logs"),
    "report -o": Argument("report logs --html -o {x}", "output", ".html"),
    "explain": Argument("explain {x}", "logs"),
    "save": Argument("save {x} --label x --database {home}/h.sqlite", "logs"),
    "save --database": Argument("save logs --label x --database {x}", "database", ".sqlite"),
    "merge": Argument("merge {x}", "parts", ".parquet"),
}


class Place:
    """A hostile pull request, and a home of the one who runs perflog on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.request: PullRequest = pull_request(folder)
        self.tree, self.outside = self.request.tree, self.request.outside
        self.home = folder / "home"
        self.home.mkdir()
        text = (self.outside / "secret.log").read_bytes()
        for ending in (".log", ".md", ".svg", ".csv", ".html", ".sqlite", ".parquet", ".toml"):
            (self.outside / f"{SECRET}{ending}").write_bytes(text)  # its name is a secret too
        theirs = (self.outside / "parsers/theirs.toml").read_bytes()
        (self.outside / "theirs.toml").write_bytes(theirs)
        self.files = files_in(self.outside)


@dataclass(frozen=True)
class Made:
    """A path that is being made: the place, the path, and what the names of the files it should look like end with."""

    place: Place
    x: Path
    ending: str


Kind = Callable[[Made], None]


def _link(at: Made) -> None:
    at.x.symlink_to(f"../outside/{SECRET}{at.ending}")


def _chain(at: Made) -> None:
    """In the tree, out of it, and on from there."""
    (at.place.folder / "between").symlink_to(f"outside/{SECRET}{at.ending}")
    (at.place.tree / "first").symlink_to("../between")
    at.x.symlink_to("evil/../first")


def _folder_link(at: Made) -> None:
    at.x.symlink_to("../outside")


def _below_folder_link(at: Made) -> None:
    """The last part of the path is no link, one above it is."""
    at.x.symlink_to("../outside")


def _link_in_folder(at: Made) -> None:
    at.x.mkdir()
    (at.x / f"a{at.ending}").symlink_to(f"../../outside/{SECRET}{at.ending}")


def _loop(at: Made) -> None:
    at.x.symlink_to(at.x.name)


def _fifo(at: Made) -> None:
    os.mkfifo(at.x)


def _device(at: Made) -> None:
    at.x.symlink_to("/dev/zero")


def _environment(at: Made) -> None:
    at.x.symlink_to("/proc/self/environ")


def _credentials(at: Made) -> None:
    """git's own file with the job's token, inside the repository."""
    at.x.symlink_to(".git/config")


def _sparse(at: Made) -> None:
    at.x.touch()
    os.truncate(at.x, _SPARSE)


def _archive(at: Made) -> None:
    """Members that are links out of the archive, and whose names lead out of it."""
    with tarfile.open(at.x, "w:gz") as archive:
        for name, link in (("a.log", f"{at.place.outside}/secret.log"), ("b.log", "../outside/secret.log")):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, link
            archive.addfile(member)
        hard = tarfile.TarInfo("c.log")
        hard.type, hard.linkname = tarfile.LNKTYPE, "../outside/secret.log"
        archive.addfile(hard)
        climbing = tarfile.TarInfo("../../outside/written.log")
        climbing.size = 2
        archive.addfile(climbing, io.BytesIO(b"x\n"))
        for log in sorted(LOGS.iterdir())[:2]:
            archive.add(log, f"1n1g/{log.name}")


def _part(at: Made) -> None:
    at.x.write_bytes(bomb())


def _part_in_folder(at: Made) -> None:
    at.x.mkdir()
    (at.x / "a.parquet").write_bytes(bomb())


def _config_above(at: Made) -> None:
    """Somebody else's, above the repository: it would change every number and name."""
    _logs(at.x)
    (at.place.tree / "perflog.toml").unlink(missing_ok=True)
    (at.place.folder / "perflog.toml").write_text(f'warmup = 1\n[set]\nmodel = "{STRANGERS}"\n')
    os.chown(at.place.folder / "perflog.toml", STRANGER, STRANGER)


def _config_of_all_keys(at: Made) -> None:
    _logs(at.x)
    outside = at.place.outside
    (at.place.tree / "perflog.toml").write_text(
        f'warmup = 1\nsteps = 5\nestimator = "total"\naggregate = "median"\nvalues = "differenced"\n'
        f'without_slow = false\nformat = "csv"\ndatabase = "{outside}/{SECRET}.sqlite"\nparsers = ["evil", "{outside}"]\n'
        'parser = ["leak", "theirs"]\n[baseline]\ndevices = 1\n[set]\nmodel = "x"\n[aliases]\nrn50 = "resnet50"\n'
    )


def _logs(x: Path) -> None:
    x.mkdir()
    for log in sorted(LOGS.iterdir())[:2]:
        (x / log.name).write_bytes(log.read_bytes())


@lru_cache(maxsize=1)
def bomb() -> bytes:
    """A part of few kB whose rows are 4 GB of text: one text of a megabyte, 4,000 times."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "part.parquet"
        words = ["extract", str(LOGS), "--shard", "1/1", "-o", str(file), "--quiet"]
        subprocess.run(
            [sys.executable, "-m", "perflog", *words], env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True
        )
        first, head = pl.read_parquet(file)[:1], pl.read_parquet_metadata(file)[KEY]
        first = first.with_columns(
            new_texts=pl.lit(packed(_Left("x" * 1_000_000, True))), numbers=pl.lit(b"x" * 1_000_000)
        )
        rows = pl.DataFrame({"position": pl.Series(range(4_000), dtype=pl.UInt64)})
        rows = rows.with_columns(**{name: pl.lit(first[name][0], first.schema[name]) for name in first.columns[1:]})
        # in groups, as the whole column would be 4 GB while it is written too
        rows.write_parquet(file, metadata={KEY: head}, row_group_size=100)
        return file.read_bytes()


KINDS: Mapping[str, Kind] = {
    "link to a file": _link,
    "chain of links": _chain,
    "link to a folder": _folder_link,
    "file below such a link": _below_folder_link,
    "folder with a link": _link_in_folder,
    "link to itself": _loop,
    "FIFO": _fifo,
    "device": _device,
    "/proc/self/environ": _environment,
    "git's credentials": _credentials,
    "sparse file of 64 GiB": _sparse,
    "archive of links": _archive,
    "part of 4 GB": _part,
    "folder with such a part": _part_in_folder,
    "stranger's config above": _config_above,
    "config with every key": _config_of_all_keys,
}
#: Kinds that are no question to what an argument takes: a folder of logs is none to what takes one file.
_NOT_ASKED: Mapping[str, tuple[str, ...]] = {
    "folder with a link": ("document", "output", "database", "parts"),
    "archive of links": ("document", "output", "database", "folder", "parts", "allowed"),
    "part of 4 GB": ("document", "output", "database", "folder", "allowed"),
    "folder with such a part": ("document", "output", "database", "folder", "allowed"),
    "stranger's config above": ("document", "output", "database", "folder", "parts", "allowed"),
    "config with every key": ("document", "output", "database", "folder", "parts", "allowed"),
    "sparse file of 64 GiB": ("output", "folder", "allowed"),
}


@dataclass(frozen=True)
class Cell:
    """An argument, what its path is, and whether the run is confined."""

    argument: str
    kind: str
    confined: bool

    def __str__(self) -> str:
        return f"{self.argument}: {self.kind}, {'confined' if self.confined else 'free'}"


def cells() -> Iterator[Cell]:
    """Every cell. Outputs, databases and definitions that the user of a free run names are the user's own, links and
    all, and so is a file of any size: they are asked of confined runs alone."""
    for name, argument in ARGUMENTS.items():
        for kind in KINDS:
            if argument.takes in _NOT_ASKED.get(kind, ()):
                continue
            yield Cell(name, kind, True)
            if argument.takes in ("logs", "recipe", "allowed") and kind != "sparse file of 64 GiB":
                yield Cell(name, kind, False)


def demanded(cell: Cell) -> str:
    """What a cell must come to."""
    if cell.kind in ("archive of links", "stranger's config above"):
        return DONE  # such members are no logs; the config is passed over and that is said
    if "part" in cell.kind and cell.argument == "audit --logs":
        return DONE  # an audit holds tables against logs, and opens no part
    return REFUSED


@dataclass(frozen=True)
class Outcome:
    """What a cell came to.

    Attributes:
        status: the exit status; below zero for a signal.
        memory: the most that was held at once, in bytes.
        leaks: where the secret stood: streams and files.
        changed: whether a file outside was changed, made or removed.
    """

    status: int
    stdout: str
    stderr: str
    memory: int
    leaks: tuple[str, ...]
    changed: bool

    @property
    def verdict(self) -> str:
        """``refused``, ``done``, or what is wrong."""
        wrong = [f"the secret is in {', '.join(self.leaks)}"] if self.leaks else []
        wrong += ["a file outside was changed"] if self.changed else []
        wrong += [f"{self.memory >> 20} MiB"] if self.memory > MEMORY else []
        wrong += ["no plain line"] if "Traceback" in self.stderr or "internal error" in self.stderr else []
        lines = self.stderr.strip().splitlines()
        if self.status == 2 and not (len(lines) == 1 and lines[0].startswith("perflog: ")):
            wrong.append(f"{len(lines)} lines")
        if self.status not in (0, 1, 2, 3):
            wrong.append(f"exit status {self.status}")
        return "; ".join(wrong) or (REFUSED if self.status == 2 else DONE)


def run_cell(cell: Cell, folder: Path) -> Outcome:
    """Make the pull request in an empty folder, and run the command on it as a workflow does."""
    place, argument = Place(folder), ARGUMENTS[cell.argument]
    if not cell.confined:  # what its parsers read is looked at in every run: here the confined run is
        (place.tree / "perflog.toml").write_text('parsers = "evil"\n')
    ending = {"part of 4 GB": ".parquet", "archive of links": ".tar.gz"}.get(cell.kind, argument.ending)
    x = place.tree / f"x{'' if 'folder' in cell.kind or 'config' in cell.kind else ending}"
    KINDS[cell.kind](Made(place, x, argument.ending or ".toml"))
    named = f"{x.name}/{SECRET}{argument.ending or '.toml'}" if cell.kind == "file below such a link" else x.name
    if cell.kind == "link to a folder" and argument.takes == "output":
        named = f"{x.name}/new{argument.ending}"
    if argument.recipe:
        place.request.readme(argument.recipe.format(x=named))
    words = argument.words.format(x=named, home=place.home).split()
    return _outcome(place, words, cell.confined, named)


def _outcome(place: Place, words: list[str], confined: bool, named: str) -> Outcome:
    summary, out, err = (place.home / name for name in ("summary", "out", "err"))
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(place.home), "PYTHONPATH": str(ROOT), **LEAKED,
        "GITHUB_STEP_SUMMARY": str(summary), **({"PERFLOG_CONFINED": str(place.tree)} if confined else {}),
    }  # fmt: skip
    held = place.folder / "held"
    command = ["timeout", "--signal=KILL", str(SECONDS), sys.executable, "-m", "perflog", *words]
    with out.open("wb") as stdout, err.open("wb") as stderr:
        status = subprocess.call(
            [sys.executable, "-I", "-S", "-c", _MEASURED, str(held), *command],
            cwd=place.tree, env=environment, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
        )  # fmt: skip
    texts = {name: file.read_text(errors="replace") for name, file in (("stdout", out), ("stderr", err))}
    # the name that the command itself holds is no secret
    leaks = [name for name, text in texts.items() if SECRET in text.replace(named, "")]
    leaks += [str(path.relative_to(place.folder)) for path in _new_files(place) if _tells(path, named)]
    return Outcome(
        status, texts["stdout"], texts["stderr"], int(held.read_text()) << 10, tuple(leaks),
        files_in(place.outside) != place.files,
    )  # fmt: skip


def _new_files(place: Place) -> Iterator[Path]:
    for root in (place.tree, place.home):
        for path in root.rglob("*"):
            if (
                path.is_file()
                and not path.is_symlink()
                and path.stat().st_size < 64 << 20
                and path.name not in ("out", "err")
            ):
                yield path


def _tells(path: Path, named: str) -> bool:
    if ".git" in path.parts or path.name in ("perflog.toml", "README.md"):
        return False
    return SECRET in path.name or SECRET.encode() in path.read_bytes().replace(named.encode(), b"")


def main() -> None:
    """Run all cells, and print a row for each kind: how many cells, how many of them refused or done."""

    def verdict_of(cell: Cell) -> tuple[Cell, str]:
        with tempfile.TemporaryDirectory(prefix="perflog-matrix-") as folder:
            outcome = run_cell(cell, Path(folder))
        if outcome.verdict == demanded(cell):
            return cell, outcome.verdict
        said = outcome.stderr.strip()[:400]
        print(f"WRONG {cell}: {outcome.verdict}, {demanded(cell)} expected: {said}", file=sys.stderr)
        return cell, "wrong"

    chosen = [cell for cell in cells() if all(word in str(cell) for word in sys.argv[1:])]
    with ThreadPoolExecutor(3) as pool:
        verdicts = list(pool.map(verdict_of, chosen))
    print("| the path is | cells | refused in one line | read, or passed over | wrong |\n|---|--:|--:|--:|--:|")
    for kind in KINDS:
        of_kind = [verdict for cell, verdict in verdicts if cell.kind == kind]
        counts = [of_kind.count(verdict) for verdict in (REFUSED, DONE, "wrong")]
        print(f"| {kind} | {len(of_kind)} | {' | '.join(map(str, counts))} |")


if __name__ == "__main__":
    main()
