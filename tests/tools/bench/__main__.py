"""Times perflog against a DLPerf-style script and ``rg -c``, and prints a Markdown report (see README.md).

Times are not asserted unless ``--check`` is given: other work on the machine moves all of them. Ratios last.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from tests.tools.bench import report
from tests.tools.bench.report import Result
from tests.tools.bench.scenarios import Options, bars, campaign, dense, formats, many, packed, small, sparse, ten

SCENARIOS = {"a": dense, "b": sparse, "c": small, "d": campaign, "e": bars, "f": formats, "p": packed, "m": many}


def main() -> int:
    """Run the chosen scenarios, print the report, and say with ``--check`` whether every target is met."""
    arguments = _arguments()
    options = _options(arguments)
    keep = arguments.keep or options.work.exists()
    options.work.mkdir(parents=True, exist_ok=True)
    facts = report.facts()
    if options.scale != 1:
        facts.append(f"- Scale {options.scale:g}: the targets are meant for scale 1, where starting up weighs less")
    try:
        results = [SCENARIOS[letter](options) for letter in arguments.scenarios]
        if arguments.ten:
            results.append(ten(options))
    finally:
        if not keep:
            shutil.rmtree(options.work)
    print("\n".join(_report(facts, results)))
    return 1 if arguments.check and _missed(results) else 0


def _report(facts: list[str], results: list[Result]) -> list[str]:
    parts = [facts, report.data_and_notes(results), report.table(results), report.targets(results)]
    return ["# perflog benchmarks", *(line for part in parts for line in ["", *part])]


def _missed(results: list[Result]) -> bool:
    """A target that was not measured is not missed; a tool that failed is."""
    return any(target.met is False for result in results for target in result.targets) or any(
        timing.failure for result in results for timing in result.timings
    )


def _options(arguments: argparse.Namespace) -> Options:
    return Options(
        work=(arguments.work or Path(tempfile.gettempdir())).resolve() / "perflog-bench",
        scale=arguments.scale,
        repeats=arguments.repeats,
        repeats_slow=arguments.repeats_slow,
        repeats_start=arguments.repeats_start,
        baselines=arguments.only != "perflog",
        perflog=arguments.only != "baseline",
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--work", type=Path, help="make the data in DIR/perflog-bench (default: the temporary folder)", metavar="DIR")
    add("--keep", action="store_true", help="keep the data for the next run, which reuses them and keeps them too")
    add("--scale", type=_scale, default=1.0, help="size of the data; 1.0 is 2 GB, 0.5 GB and 20,000 logs (default)")
    add(
        "--scenarios",
        type=_letters,
        default="abcdef",
        help="which of a, b, c, d, e, f, p, m to run, as one word (default: abcdef)",
    )
    add("--ten", action="store_true", help="also read a log five times as large as that of a, for its peak memory")
    add("--only", choices=["baseline", "perflog"], help="leave out perflog, or the script and rg")
    add("--repeats", type=_count, default=3, metavar="N", help="runs of each tool (default: 3)")
    add("--repeats-slow", type=_count, default=1, metavar="N", help="runs of the script in a and c (default: 1)")
    add("--repeats-start", type=_count, default=15, metavar="N", help="runs of each command in d (default: 15)")
    add("--check", action="store_true", help="exit with status 1 if a target is missed")
    return parser.parse_args()


def _letters(word: str) -> str:
    if not word or set(word) - set(SCENARIOS):
        raise argparse.ArgumentTypeError(f"{word!r} is not made of {', '.join(SCENARIOS)}")
    return word


def _scale(word: str) -> float:
    scale = float(word)
    if not 0 < scale < 100:
        raise argparse.ArgumentTypeError(f"{word} is not a size above 0 and below 100")
    return scale


def _count(word: str) -> int:
    if not word.isdecimal() or word == "0":
        raise argparse.ArgumentTypeError(f"{word!r} is not a number of runs; give 1 or more")
    return int(word)


if __name__ == "__main__":
    sys.exit(main())
