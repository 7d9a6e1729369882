"""Whether two engines find the same in the same texts, to the last bit.

``python -m tests.tools.engines --count 20000 --seed 31`` asks it of mutated logs; exit status 1 where they differ.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from perflog.formats.catalog import Catalog, load_catalog
from perflog.matching import Batch, Matches
from perflog.matching.compiled_engine import CompiledEngine
from perflog.matching.polars_engine import PolarsEngine


class Engines:
    """Both engines of one catalogue."""

    def __init__(self, catalog: Catalog) -> None:
        self.compiled = CompiledEngine(catalog)
        self.polars = PolarsEngine(catalog)

    def differences(self, texts: Sequence[bytes], at_end: bool = True) -> list[str]:
        """In what the engines differ on texts; empty when in nothing."""
        return list(differences(self.compiled.match(texts, at_end), self.polars.match(texts, at_end)))


def differences(one: Batch, other: Batch) -> Iterator[str]:
    """In what two batches differ, in words."""
    if one.lines.tolist() != other.lines.tolist():
        yield f"lines: {one.lines.tolist()} and {other.lines.tolist()}"
    if one.cut.tolist() != other.cut.tolist():
        yield f"cut: {one.cut.tolist()} and {other.cut.tolist()}"
    mine, theirs = ({m.pattern.key: m for m in batch.matches if len(m) or m.candidates} for batch in (one, other))
    for key in sorted(mine.keys() | theirs.keys()):
        if key not in mine or key not in theirs:
            yield f"{key}: only one engine tried it"
            continue
        yield from _of_pattern(key, mine[key], theirs[key])


def _of_pattern(key: str, one: Matches, other: Matches) -> Iterator[str]:
    if len(one) != len(other):
        yield f"{key}: {len(one)} and {len(other)} matches (lines {one.line.tolist()[:9]} and {other.line.tolist()[:9]})"
        return
    for name in ("text", "line", "rank"):
        if getattr(one, name).tolist() != getattr(other, name).tolist():
            yield f"{key}: {name} {getattr(one, name).tolist()[:9]} and {getattr(other, name).tolist()[:9]}"
    for name in ("units", "candidates"):
        if dict(getattr(one, name)) != dict(getattr(other, name)):
            yield f"{key}: {name} {getattr(one, name)} and {getattr(other, name)}"
    if set(one.columns) != set(other.columns):
        yield f"{key}: groups {sorted(one.columns)} and {sorted(other.columns)}"
        return
    for group in one.columns:
        if not _same(one.columns[group], other.columns[group]):
            yield f"{key}: {group} {list(one.columns[group])[:5]} and {list(other.columns[group])[:5]}"


def _same(one: Any, other: Any) -> bool:
    """Texts equal, numbers equal bit for bit (any NaN is like any other, and so are the zeros' signs told apart)."""
    if isinstance(one, list) or isinstance(other, list):
        return list(one) == list(other)
    one, other = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    lacking = np.isnan(one)
    if not np.array_equal(lacking, np.isnan(other)):
        return False
    return bool((one[~lacking].view(np.int64) == other[~lacking].view(np.int64)).all())


def main() -> int:
    from tests.tools.fuzz import texts  # which imports this module

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000, help="how many mutated logs (default: 20000)")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    engines, tried, failures = Engines(load_catalog()), 0, 0
    for seed, batch in texts(arguments.seed, arguments.count):
        told = engines.differences(batch)
        tried, failures = tried + len(batch), failures + bool(told)
        if told:
            print(f"batch {seed}: {told}")
        if tried % 2400 < len(batch):
            print(f"{tried} mutated logs, {failures} batches with differences", flush=True)
    print(f"{tried} mutated logs in all, {failures} batches with differences")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
