"""What a simulation or a look at the package index found, as Markdown, written into a page of ``tests/found``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
from numpy.random import Generator

#: Makes a part of a page's text with a generator, by a share of the repetitions.
Part = Callable[[Generator, float], str]


def percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f} %"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def write_between(page: Path, start: str, end: str, text: str) -> None:
    """Replace what stands in a page between two lines.

    Raises:
        ValueError: when it lacks one of them.
    """
    before, found_start, rest = page.read_text(encoding="utf-8").partition(start)
    _, found_end, after = rest.partition(end)
    if not found_start or not found_end:
        raise ValueError(f"{page} lacks the line {start} or {end}")
    page.write_text(f"{before}{start}\n\n{text}\n{end}{after}", encoding="utf-8")


@dataclass(frozen=True)
class Simulation:
    """A module's parts of a page of the documentation.

    Attributes:
        module: its name, which has this simulation as ``SIMULATION``.
        parts: by name. Each has its own stream of random numbers, so changing one leaves the numbers of the others.
        intro: what stands before all parts, by the share of the repetitions.
        page: where the text stands, a file of ``tests/found``.
    """

    module: str
    seed: int
    parts: Mapping[str, Part]
    page: str
    intro: Callable[[float], str] = lambda _: ""

    @property
    def start(self) -> str:
        return f"<!-- below: python -m {self.module} --write {self.page} -->"

    @property
    def end(self) -> str:
        return f"<!-- above: python -m {self.module} -->"

    def part(self, name: str, scale: float, seed: int) -> str:
        """The text of one part."""
        streams = dict(zip(self.parts, np.random.SeedSequence(seed).spawn(len(self.parts)), strict=True))
        return self.parts[name](np.random.default_rng(streams[name]), scale)

    def report(self, scale: float, seed: int, processes: int = 1) -> str:
        """The text of all parts."""
        rest = [self.module] * len(self.parts), self.parts, [scale] * len(self.parts), [seed] * len(self.parts)
        if processes > 1:
            with ProcessPoolExecutor(processes) as pool:
                texts = list(pool.map(_part_of, *rest))
        else:
            texts = [self.part(name, scale, seed) for name in self.parts]
        return self.intro(scale) + "\n".join(texts)

    def main(self, description: str | None) -> None:
        """Print the text, or write it into a page, as the command line asks."""
        arguments = argparse.ArgumentParser(description=description)
        arguments.add_argument("--scale", type=float, default=1.0, help="share of the repetitions")
        arguments.add_argument("--seed", type=int, default=self.seed, help="other random numbers than the page's")
        arguments.add_argument("--processes", type=int, default=1)
        arguments.add_argument("--part", choices=list(self.parts), action="append", help="this part (may be repeated)")
        arguments.add_argument(
            "--write", type=Path, help="a Markdown page: what stands between two markers is replaced"
        )
        given = arguments.parse_args()
        for name in given.part or ():
            print(self.part(name, given.scale, given.seed), flush=True)
        if given.part:
            return
        text = self.report(given.scale, given.seed, given.processes)
        if given.write is None:
            sys.stdout.write(text)
            return
        try:
            write_between(given.write, self.start, self.end, text)
        except ValueError as error:
            arguments.error(str(error))


def _part_of(module: str, name: str, scale: float, seed: int) -> str:
    simulation: Simulation = import_module(module).SIMULATION
    return simulation.part(name, scale, seed)
