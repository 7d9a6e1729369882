"""How long each parser's step patterns take on their own sample lines: ``python -m tests.tools.bench.regexes``.

The column to watch is ``ns/byte`` of the captures. Where Rust's one-pass matcher can be used it is about 3 to 5;
10 and more means that at some place the next character does not say which branch is taken (two optional
parts that begin alike, ``.*?``, blanks followed by an optional part that begins with blanks).
"""

from __future__ import annotations

from statistics import median
from time import process_time

import polars as pl

from perflog.formats.catalog import load_catalog
from perflog.formats.parser import Pattern
from perflog.matching.polars_engine import Texts

COPIES, REPEATS = 20_000, 5


def main() -> None:
    """Print one line per pattern, the slowest last."""
    rows = []
    for pattern in (p for parser in load_catalog().parsers for p in parser.patterns if p.role in ("step", "position")):
        line = next((s.line for s in pattern.samples if "\n" not in s.line), None)
        if line is not None:
            rows.append((*_cost(pattern, line), pattern.key, "literal" if pattern.tail is not None else "line"))
    print("ns/byte  µs/line  way      pattern")
    for per_byte, per_line, key, way in sorted(rows):
        print(f"{per_byte:7.1f} {per_line:8.2f}  {way:8} {key}")


def _cost(pattern: Pattern, line: str) -> tuple[float, float]:
    """(nanoseconds per byte of the line, microseconds per line) of matching with all captures."""
    data = ((line + "\n") * COPIES).encode()
    times = []
    for _ in range(REPEATS):
        texts = Texts([data])
        start = process_time()
        texts.match(pattern, pattern.groups)
        times.append(process_time() - start)
    taken = median(times)
    return taken / len(data) * 1e9, taken / COPIES * 1e6


if __name__ == "__main__":
    pl.Config.set_verbose(False)
    main()
