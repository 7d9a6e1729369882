"""Choices that are drawn at random, each under a name, so that a log can say what was drawn for it."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


class Draw:
    """The choices of one log: the same seed and index give the same log.

    Attributes:
        chosen: what was drawn, by the name of its dimension.
        noise: numbers in bulk.
    """

    def __init__(self, seed: int, index: int) -> None:
        self._rng = random.Random(f"loops {seed} {index}")
        self.noise = np.random.default_rng((seed, index))
        self.chosen: dict[str, str] = {}

    def one(self, name: str, options: Sequence[T], weights: Sequence[float] | None = None) -> T:
        """One of the options."""
        at = self._rng.choices(range(len(options)), weights)[0]
        self.chosen[name] = _brief(options[at])
        return options[at]

    def whether(self, name: str, share: float) -> bool:
        """True in this share of all logs."""
        answer = self._rng.random() < share
        self.chosen[name] = "yes" if answer else "no"
        return answer

    def number(self, name: str, low: float, high: float) -> float:
        """A number between two, evenly on a scale of logarithms."""
        value = float(low * (high / low) ** self._rng.random())
        self.chosen[name] = f"{value:.4g}"
        return value

    def count(self, name: str, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``, evenly on a scale of logarithms where ``low`` is above 0."""
        value = self._rng.randint(low, high) if low <= 0 else round(low * (high / low) ** self._rng.random())
        self.chosen[name] = str(value)
        return value

    def some(self, name: str, options: Sequence[T], most: int) -> list[T]:
        """Up to ``most`` different options, in any order."""
        found = self._rng.sample(list(options), self._rng.randint(0, min(most, len(options))))
        self.chosen[name] = ", ".join(map(_brief, found))
        return found

    def order(self, name: str, parts: list[T]) -> list[T]:
        """The same parts in another order."""
        mixed = list(parts)
        self._rng.shuffle(mixed)
        self.chosen[name] = "mixed"
        return mixed

    def again(self, number: int = 0) -> Draw:
        """A generator that makes the same choices from here on, with a noise of its own: for another rank, or a restart."""
        other = copy.deepcopy(self)
        other.noise = np.random.default_rng((number + 1, copy.deepcopy(self._rng).getrandbits(32)))
        return other

    def plain(self) -> random.Random:
        """The generator itself, for what is no dimension: numbers of losses, names of files."""
        return self._rng


def _brief(value: object) -> str:
    text = getattr(value, "__name__", None) or str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
