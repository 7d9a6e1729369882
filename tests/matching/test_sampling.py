"""Which lines of a text are sampled is a matter of that text alone."""

from __future__ import annotations

import numpy as np
import pytest

from perflog.matching.sampling import samples_of


@pytest.mark.parametrize("ranks", [[-1, -1], [0, 1], [3, 3], [1, 2]])
def test_ranks_of_another_text_decide_nothing(ranks: list[int]) -> None:
    """A text of untagged lines stands before one whose ranks begin at 1: both have samples, as each has alone."""
    texts = [b"a 1\na 2\n", b"a 5\na 6\n"]
    offset = np.array([0, 4])

    def samples(text: list[int], rank: list[int], value: list[float]) -> dict[int, list[float]]:
        n = len(text)
        found = samples_of(
            np.array(text),
            np.tile([0, 1], n // 2),
            np.array(rank),
            np.tile(offset, n // 2),
            {"v": np.array(value)},
            texts,
        )
        return {number: part.columns["v"].tolist() for number, part in found.items()}

    alone = samples([1, 1], ranks, [5.0, 6.0])
    assert alone[1] == (
        [5.0, 6.0] if min(ranks) > 0 else [v for v, rank in zip([5.0, 6.0], ranks, strict=True) if rank <= 0]
    )
    together = samples([0, 0, 1, 1], [-1, -1, *ranks], [1.0, 2.0, 5.0, 6.0])
    assert together == {0: [1.0, 2.0]} | alone
