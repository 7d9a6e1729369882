"""What happens to every line of a log alike: ``python -m tests.tools.systematic``, all hard failures.

Terminals cut and wrap lines, ``cat -n``, ``grep -n`` and mail put something before each, locales write numbers another
way, a machine's zone changes, and two processes write to one file. Each damage is put into every log of the fixtures
and of the corpus that has a number. Its number now is the log's own within 1 %, or there is none and a reason, or
something is said that was not said before: any other is wrong. Prints what became of the logs by damage, and names the
wrong ones, and those that are off by less than a factor; exit status 1 where one is wrong.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from perflog.notes import texts
from tests.support import CORPUS, FIXTURES, catalog
from tests.tools import faults, faults_of_logs
from tests.tools.fuzz_seeds import kind_of
from tests.tools.inject import SAME
from tests.tools.laboratory import A_FACTOR, Fault, Faulty, Laboratory, Made, Result, Subject, copied, subjects

WIDTHS = (80, 100, 120)
#: Seconds by which the stamps move where a log's zone changes in its middle: summer time, and a machine elsewhere.
ZONES = (3600.0, -3600.0, 8 * 3600.0)
_POINT = re.compile(r"(?<=\d)\.(?=\d)")
_LONG = re.compile(r"(?<![\w.,:/+-])\d{4,15}(?![\w:/,-])")


def _prefixed(subject: Subject, prefix: Callable[[int], str]) -> str:
    return "\n".join(f"{prefix(number)}{line}" if line or number < len(subject.lines) else ""
                     for number, line in enumerate(subject.lines, 1))  # fmt: skip


def _wrapped(subject: Subject, width: int) -> str | None:
    if all(len(line) <= width for line in subject.lines):
        return None
    return "\n".join(line[at : at + width] for line in subject.lines for at in range(0, max(1, len(line)), width))


def _another_zone(subject: Subject, seconds: float) -> str | None:
    places = faults.measured_lines(subject)
    if len(places) < 2:
        return None
    text = faults.later(subject.lines, places[len(places) // 2], seconds)
    return text if text != "\n".join(subject.lines) else None


def _changed(subject: Subject, regex: re.Pattern[str], change: Callable[[re.Match[str]], str]) -> str | None:
    text = "\n".join(subject.lines)
    changed = regex.sub(change, text)
    return changed if changed != text else None


def damages(chosen: Sequence[Subject]) -> Mapping[str, Fault]:
    """By name; those of two logs take a log of the same format with another number."""
    partner = {subject.name: other for subject, other in faults_of_logs.partners(chosen)}

    def together(subject: Subject, how: Callable[[Subject, Subject], Faulty | None]) -> Faulty | None:
        return how(subject, partner[subject.name]) if subject.name in partner else None

    return {
        **{f"cut at {width}": partial(faults_of_logs.cut_columns, width=width) for width in WIDTHS},
        **{f"wrapped at {width}": partial(_wrapped, width=width) for width in WIDTHS},
        "another run inside": partial(together, how=faults_of_logs.inside),
        "blocks of 4 kB of two": partial(together, how=faults_of_logs.mixed),
        "cat -n": partial(_prefixed, prefix=lambda number: f"{number:6d}\t"),
        "grep -n": partial(_prefixed, prefix=lambda number: f"{number}:"),
        "mail quote": partial(_prefixed, prefix=lambda _: "> "),
        "decimal commas": partial(_changed, regex=_POINT, change=lambda _: ","),
        "thousands' marks": partial(_changed, regex=_LONG, change=lambda found: f"{int(found[0]):,}"),
        **{f"zone {seconds / 3600:+.0f} h": partial(_another_zone, seconds=seconds) for seconds in ZONES},
    }


def became(subject: Subject, damage: Faulty, result: Result | None) -> str:
    """What became of a log, the worst of its runs: ``wrong``, ``off`` (by less than a factor), and what may be."""
    made = result.runs.get("total", ()) if result is not None else ()
    kinds = {_of_run(subject, damage, one) for one in made}
    return next((kind for kind in ("wrong", "off", "said", "same", "none") if kind in kinds), "none")


def _of_run(subject: Subject, damage: Faulty, made: Made) -> str:
    if made.value is None:
        return "none"
    if made.run.throughput.unit != subject.unit:
        return "said"
    truths = [subject.value, *([damage.also.value] if damage.also is not None else [])]
    low, high = made.run.throughput.rounding or (made.value, made.value)
    errors = [abs(made.value / truth - 1) for truth in truths]
    if min(errors) <= SAME or any(low <= truth <= high for truth in truths):
        return "same"
    clean = _words(subject.clean["total"])
    if damage.also is not None:
        clean |= _words(damage.also.clean["total"])
    if made.doubts or _words(made) - clean:
        return "said"
    ratio = min(max(made.value / truth, truth / made.value) for truth in truths)
    return "wrong" if ratio >= A_FACTOR else "off"


def _words(made: Made) -> set[str]:
    return {kind_of(text) for text in texts(made.run.notes)}


def tried(
    roots: Sequence[Path], only: str = "", kept: Path | None = None
) -> Iterator[tuple[str, Mapping[str, Sequence[str]]]]:
    """(a damage, by what became of them the names of the logs that it was put into)."""
    with tempfile.TemporaryDirectory() as scratch:
        clean, damaged = Path(scratch) / "clean", Path(scratch) / "damaged"
        lab = Laboratory(copied(clean, roots), ("total",))
        chosen = list(subjects(clean, lab.given, lab.results(clean, catalog())))
        for name, damage in damages(chosen).items():
            if only not in name:
                continue
            became_of = lab.with_fault(chosen, damage, kept / name if kept else damaged, keep=kept is not None)
            found: defaultdict[str, list[str]] = defaultdict(list)
            for subject in chosen:
                if subject.name in became_of:
                    found[became(subject, *became_of[subject.name])].append(subject.name)
            yield name, found


def sample(seed: int, count: int) -> list[Path]:
    """Folders of so many formats."""
    return random.Random(seed).sample(sorted(p for p in (FIXTURES / "parsers").iterdir() if p.is_dir()), count)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--only", metavar="WORDS", default="", help="the damages whose name holds these words")
    arguments.add_argument("--keep", metavar="FOLDER", type=Path, help="keep the damaged logs, by damage")
    given = arguments.parse_args()
    bad = False
    print("| damage | logs | same | none | said | off | wrong |\n|---|--:|--:|--:|--:|--:|--:|")
    names: list[str] = []
    for name, found in tried([FIXTURES / "parsers", CORPUS], given.only, given.keep):
        count = Counter({kind: len(logs) for kind, logs in found.items()})
        columns = (count.total(), *(count[kind] for kind in ("same", "none", "said", "off", "wrong")))
        print(f"| {name} | " + " | ".join(map(str, columns)) + " |", flush=True)
        names += [f"{name}, {kind}: {log}" for kind in ("wrong", "off") for log in found.get(kind, ())]
        bad = bad or bool(found.get("wrong"))
    print("\n".join(names))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
