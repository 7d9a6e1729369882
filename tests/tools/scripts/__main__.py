"""Train all scripts, have perflog read their logs, and print a table: ``python -m tests.tools.scripts``."""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path

from tests.tools.pages import table
from tests.tools.scripts.judging import Judged, Verdict, judged
from tests.tools.scripts.loop import all_scripts

HEAD = ("script", "prints", "the log holds", "verdict", "by", "value (truth), or reason")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.scripts", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these scripts alone")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the logs there, each in a folder of its own")
    parser.add_argument("--show", metavar="NAME", help="print this script's log")
    parser.add_argument("--seed", type=int, default=0, help="which machine: another pace, another noise")
    given = parser.parse_args()
    scripts = {script.name: script for script in all_scripts()}
    if unknown := {*(given.only or ()), *([given.show] if given.show else ())} - scripts.keys():
        parser.error(f"no script {', '.join(sorted(unknown))}; there are {', '.join(scripts)}")
    if given.show:
        print(scripts[given.show].trained(given.seed).text, end="")
        return
    with tempfile.TemporaryDirectory() as made:
        folder = given.keep or Path(made)
        read = [judged(scripts[name], folder, given.seed) for name in given.only or scripts]
    print(table(HEAD, map(_row, read)))
    counts = Counter(one.verdict for one in read)
    print("\n".join(f"- {verdict.value}: {counts[verdict]}" for verdict in Verdict))


def _row(one: Judged) -> list[str]:
    about = one.script
    words = one.said if one.gave_a_number else one.said[:90]
    holds = f"{about.holds.value}{f': {about.because}' if about.because else ''}"
    return [cell.replace("|", "\\|") for cell in (about.name, about.prints, holds, one.verdict.value, one.by, words)]


main()
