"""Fail the n-th call of each kind that a command makes, for all n, and look at what it leaves.

    python -m tests.faults.nth [--kinds open,read] [--most 40] [--mallocs 100] [COMMAND …]

As SQLite's and curl's tests do: a shim (shim.c, LD_PRELOAD) fails the first call, then the second, until the command no
longer meets it. After each: an exit status that perflog knows, one plain line where it failed, every file the old or
the new one, none left over; and the same command again, with nothing failing, gives what it would have given. The table
is Markdown; the exit status is 1 if anything else was seen, which is said on stderr.
"""

from __future__ import annotations

import argparse
import errno
import os
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a process that is forked must have no threads

from tests.faults.commands import COMMANDS, Command, State, lay_out, state_of
from tests.faults.trial import KINDS, SHORT, Ended, built, emptied, import_all, trial, undisturbed
from tests.support import ROOT

#: How calls of each kind fail: with what, and whether all calls after it fail too.
FAULTS: Mapping[str, tuple[tuple[int, bool], ...]] = {
    "open": (
        (errno.EACCES, True),
        (errno.EIO, False),
        (errno.ENOSPC, False),
        (errno.ENOMEM, False),
        (errno.EINTR, False),
    ),
    "read": ((errno.EIO, True), (errno.EIO, False), (errno.EINTR, False), (SHORT, False)),
    "write": ((errno.ENOSPC, True), (errno.EIO, False), (errno.EINTR, False), (SHORT, False)),
    "fsync": ((errno.ENOSPC, True), (errno.EIO, False)),
    "rename": ((errno.EACCES, True), (errno.EIO, False), (errno.ENOSPC, False)),
    "mmap": ((errno.ENOMEM, True), (errno.ENOMEM, False)),
    "fork": ((errno.EAGAIN, True), (errno.ENOMEM, False)),
    "thread": ((errno.EAGAIN, True), (errno.EAGAIN, False)),
    "malloc": ((errno.ENOMEM, False),),
}
#: Calls that are no fault at all: the system may answer so at any time, and the result must be the same.
HARMLESS = (errno.EINTR, SHORT)
#: Exit statuses that perflog has (`perflog --help`).
USUAL = (0, 1, 2, 3, 130, 141)


#: What libraries make of a call that fails, and no caller can mend. Counted by themselves, each must be one of these.
LIBRARIES: Mapping[str, re.Pattern[str]] = {
    "polars takes an interrupted read for a damaged file": re.compile("failed to fill whole buffer"),
    "a thread that has no memory to begin is waited for (python/cpython#140746)": re.compile(
        r'threading\.py", line \d+ in start\b'
    ),
    "numpy keeps a buffer that it could not make an array of": re.compile("deallocated bytearray object has exported"),
    "FreeType without memory names no cause (matplotlib)": re.compile("failed to (?:get|load) glyph"),
}
#: The exit statuses of a library in C or Rust that ends the process without memory (polars, msgspec), and what then
#: stands on stderr: where perflog's own C code is at work the first frame is of perflog/matching.
CRASHES, CRASHED = (
    (134, 139),
    re.compile(r'(?:Segmentation fault|Aborted)\s+(?:Current t|T)hread [^\n]*\n  File "(?![^"]*perflog/matching/)'),
)
#: What a page says in place of the lines of a log that was read once and cannot be read again.
_SAID = "the log could not be read again"


@dataclass
class Tally:
    """Of one command and kind: trials, the calls it makes, how the trials ended, how many of them a library ended in a
    way of its own, by :data:`LIBRARIES`, and what was wrong.
    """

    trials: int = 0
    calls: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    libraries: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


class Subject:
    """A command laid out, run once undisturbed, and put back into its first state before each trial."""

    def __init__(self, command: Command, folder: Path) -> None:
        self.command = command
        self.folder = folder / "work"
        self.before = folder / "before"
        lay_out(self.command, self.folder)
        shutil.copytree(self.folder, self.before, symlinks=True)
        self.old: State = state_of(self.command, self.folder)
        self.right = undisturbed(self.folder, self.command.words)
        self.new: State = state_of(self.command, self.folder)
        self.again = self.right
        if self.command.databases:  # the same again is saved already
            self.again = undisturbed(self.folder, self.command.words)
        assert self.right.status == 0, self.right

    def begin(self) -> None:
        """Put the first state back. Inputs stay as they are: the cache knows a log by its inode and times."""
        if self.command.campaign:
            emptied(self.folder)
            shutil.copytree(self.before, self.folder, symlinks=True)
            return
        for path in self.folder.rglob("*"):
            if path.is_file() and not (self.before / path.relative_to(self.folder)).exists():
                path.unlink()
        for name in (*self.command.outputs, *self.command.databases):
            shutil.copy(self.before / name, self.folder / name)
        for name in self.command.own:
            emptied(self.folder / name)
            if (self.before / name).exists():
                shutil.copytree(self.before / name, self.folder / name, copy_function=shutil.copy2)

    def wrong(self, ended: Ended, error: int) -> Iterator[str]:
        """What is wrong with how the command ended, and with what it left."""
        yield from said_wrongly(ended, self.right, error)
        left = _sound_state(self.command, self.folder)
        if isinstance(left, str):
            yield left
        elif not self.command.campaign:
            yield from self._torn(left, ended)
        again = undisturbed(self.folder, self.command.words)
        after = _sound_state(self.command, self.folder)
        if (again.status, again.out) not in {(r.status, r.out) for r in (self.right, self.again)}:
            yield f"the next call ends with {again.status}: {again.error.strip() or again.out[:300]}"
        if not self.command.campaign and again.error not in (self.right.error, self.again.error):
            yield f"the next call says: {again.error.strip()}"
        if after != self.new:
            yield f"the next call leaves {_difference(after, self.new)}"

    def _torn(self, left: State, ended: Ended) -> Iterator[str]:
        for name in sorted({*left, *self.old, *self.new}):
            content = left.get(name)
            if content not in (self.old.get(name), self.new.get(name)):
                journal = name.removesuffix("-journal") in self.command.databases  # the next call takes it back
                with_reason = (
                    (ended.status == 3 or _SAID in str(content))
                    and name in self.command.outputs
                    and _is_whole(content, self.new[name])
                )
                if content is None or not (journal or with_reason):
                    yield f"{name} is {'missing' if content is None else 'torn' if name in self.new else 'a stray file'}"
            elif ended.status == 0 and content != self.new.get(name) and _SAID not in str(content):
                yield f"{name} is the old one, and the status is 0"


def _is_whole(content: object, right: object) -> bool:
    """Whether an output in which a log has a reason in place of its numbers ends as one with all numbers does."""
    return isinstance(content, bytes) and isinstance(right, bytes) and content[-4:] == right[-4:]


def _sound_state(command: Command, folder: Path) -> State | str:
    try:
        return state_of(command, folder)
    except Exception as error:
        return f"what is left cannot be read: {error!r}"


def _difference(found: State | str, right: State) -> str:
    if isinstance(found, str):
        return found
    return ", ".join(sorted(n for n in {*found, *right} if found.get(n) != right.get(n)))


def said_wrongly(ended: Ended, right: Ended, error: int) -> Iterator[str]:
    """What is wrong with a status and with what was said."""
    if ended.status is None:
        yield "it hangs"
    elif ended.status not in USUAL:
        yield f"exit status {ended.status}"
    if "Traceback" in ended.error or "internal error" in ended.error + ended.out:
        yield "a traceback or an internal error"
    usual = right.error.splitlines()
    lines = [line for line in ended.error.splitlines() if line not in usual and not line.startswith("  (")]
    if ended.status in (1, 2) and not (lines and lines[-1].startswith("perflog: ")):
        yield "no line that says why"
    if len(lines) > 1 and not _is_list(lines):
        yield f"{len(lines)} lines"
    if ended.status == 0 and ended.out != right.out:
        yield "status 0, and another result"
    if error in HARMLESS and (ended.status, ended.out) != (right.status, right.out):
        yield "a call that was cut short or interrupted changed the result"


def library_of(ended: Ended) -> str:
    """Whose way of its own a command ended in; empty for perflog's. One that hung was aborted here, and crashed not."""
    if ended.status in CRASHES and CRASHED.search(ended.error):
        return "a library in C or Rust ends the process without memory (polars, msgspec)"
    return next((name for name, form in LIBRARIES.items() if form.search(ended.error)), "")


def _is_list(lines: Sequence[str]) -> bool:
    """Whether lines say one thing each of several logs or runs."""
    return (
        all(line.startswith(("[", "cannot start ", "cache ", "  ", "skipped ", "perflog: ")) for line in lines)
        or "finished" in lines[-1]
    )


def numbers(calls: int, most: int) -> list[int]:
    """Which calls are struck: all, or so many that are spread over them, the first and the last among them."""
    if calls <= most:
        return list(range(1, calls + 1))
    return sorted({1 + round(i * (calls - 1) / max(most - 1, 1)) for i in range(most)})


def tried(subject: Subject, kind: str, most: int) -> Tally:
    """Strike a command's calls of a kind, one by one."""
    tally = Tally()
    command = subject.command
    subject.begin()
    tally.calls = trial(subject.folder, command.words, kind, 0, 0, polars=command.polars).calls
    for error, lasting in FAULTS[kind]:
        wanted = numbers(tally.calls, most)
        while wanted:
            nth = wanted.pop(0)
            subject.begin()
            ended = trial(subject.folder, command.words, kind, nth, error, lasting, command.polars)
            if not ended.struck:
                break
            tally.trials += 1
            tally.ends["hangs" if ended.status is None else str(ended.status)] += 1
            what = "short" if error == SHORT else errno.errorcode[error] + (" lasting" if lasting else "")
            found = list(subject.wrong(ended, error))
            if found and (whose := library_of(ended)):
                tally.libraries[whose] += 1
                continue
            for wrong in found:
                said = " | ".join(ended.error.partition("Extension modules")[0].strip().splitlines()[-4:])
                tally.wrong.append(f"{kind} {nth} ({ended.where}) {what}: {wrong}; status {ended.status}: {said}")
            if not wanted and tally.calls <= most:
                wanted.append(nth + 1)  # a command that fails goes other ways, which may have more calls
    return tally


def main() -> int:
    """Try what is asked for; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("commands", nargs="*", metavar="COMMAND", help=f"of {', '.join(COMMANDS)}")
    parser.add_argument("--kinds", default=",".join(KINDS[1:]))
    parser.add_argument("--most", type=int, default=1000, help="calls of a kind that are struck, spread over all")
    parser.add_argument("--mallocs", type=int, default=100, help="the same for memory, of which there are thousands")
    given = parser.parse_args()
    if "FAULT_SHIM" not in os.environ:
        return _with_shim()
    import_all()
    print("| command | call | calls | trials | ended well | one line (1, 2) | a reason (3) | a library's | wrong |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    wrong = 0
    for name in given.commands or COMMANDS:
        with new_folder() as folder:
            subject = Subject(COMMANDS[name], folder)
            for kind in given.kinds.split(","):
                if subject.command.polars and kind in ("mmap", "thread"):
                    continue  # polars, in Rust, aborts without memory, and waits for ever for a thread that cannot start
                began = time.monotonic()
                tally = tried(subject, kind, given.mallocs if kind in ("malloc", "mmap") else given.most)
                ends = tally.ends
                good, said = ends["0"], ends["1"] + ends["2"]
                print(
                    f"| `{name}` | {kind} | {tally.calls} | {tally.trials} | {good} | {said} | {ends['3']} "
                    f"| {tally.libraries.total()} | {len(tally.wrong)} |", flush=True,
                )  # fmt: skip
                wrong += len(tally.wrong)
                for line in tally.wrong:
                    print(f"{name}: {line}", file=sys.stderr)
                whose = "".join(f"; {count} x {whose}" for whose, count in tally.libraries.items())
                print(f"{name} {kind}: {time.monotonic() - began:.1f} s {dict(ends)}{whose}", file=sys.stderr)
    return int(wrong > 0)


@contextmanager
def new_folder() -> Iterator[Path]:
    """A new folder; one of tempfile's is removed by each forked process that ends."""
    folder = Path(tempfile.mkdtemp()).resolve()
    try:
        yield folder
    finally:
        emptied(folder)


def _with_shim() -> int:
    """This program again, with the shim in front of the C library."""
    with tempfile.TemporaryDirectory() as folder:
        import subprocess

        library = str(built(Path(folder)))
        environment = {**os.environ, "LD_PRELOAD": library, "FAULT_SHIM": "1", "PERFLOG_THREADS": "2"}
        command = [sys.executable, "-m", "tests.faults.nth", *sys.argv[1:]]
        return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
