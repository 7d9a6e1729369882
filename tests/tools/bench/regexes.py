"""How long each parser's step patterns take on their own sample lines: ``python -m tests.tools.bench.regexes``.

One line per pattern, the slowest last, with the engine in use and with polars. The column to watch is ``ns/byte``.
"""

from __future__ import annotations

from statistics import median
from time import process_time

from perflog.formats.catalog import load_catalog
from perflog.formats.parser import Pattern
from perflog.matching import Engine, engine_for
from perflog.matching.polars_engine import PolarsEngine

COPIES, REPEATS = 20_000, 5


def main() -> None:
    """Print what every pattern costs."""
    catalog = load_catalog()
    rows = []
    for parser in catalog.parsers:
        only = catalog.only([parser.name])
        engines = engine_for(only), PolarsEngine(only)
        for pattern in parser.patterns:
            line = _line_of(pattern)
            if line:
                rows.append((_cost(engines[0], line), _cost(engines[1], line), pattern.key))
    print("ns/byte  polars  pattern")
    for own, polars, key in sorted(rows):
        print(f"{own:7.2f} {polars:7.2f}  {key}")


def _line_of(pattern: Pattern) -> str | None:
    if pattern.role not in ("step", "position"):
        return None
    return next((sample.line for sample in pattern.samples if "\n" not in sample.line), None)


def _cost(engine: Engine, line: str) -> float:
    """Nanoseconds of processor time per byte of the line, with all captures."""
    data = ((line + "\n") * COPIES).encode()
    times = []
    for _ in range(REPEATS):
        start = process_time()
        engine.match([data], at_end=True)
        times.append(process_time() - start)
    return median(times) / len(data) * 1e9


if __name__ == "__main__":
    main()
