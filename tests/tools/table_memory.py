"""Tables whose rows have a history: what `compare` and `plan` make of the memory of a case."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

from perflog.compare.rows import compared_cases
from perflog.compare.rule import VERDICTS, Rule
from perflog.stats.memory import Memory, Remembered, memory_of
from tests.tools.pages import percent
from tests.tools.pages import table as markdown
from tests.tools.table_methods import (
    CHANGE,
    LIKE,
    MARGIN,
    NOISY,
    NOISY_ROWS,
    QUIET,
    ROWS,
    Array,
    Called,
    holm,
    outliers,
    t3,
    welch,
)
from tests.tools.tables_of_runs import Noise, normal, pairs_of, two_states

#: Campaigns of every history, and their runs.
CAMPAIGNS, RUNS = 30, 5


def history(random: Generator, noise: Noise, spread: float, between: float = 0.0, campaigns: int = CAMPAIGNS,
            bad: int = 0) -> Memory | None:  # fmt: skip
    """The memory of one case whose campaigns are all on one level.

    Args:
        between: the standard deviation of a campaign's own effect.
        bad: so many campaigns spread ten times as much.
    """
    spreads = np.full((campaigns, 1), spread)
    spreads[:bad] *= 10
    logs = spreads * noise(random, (campaigns, RUNS)) + between * random.standard_normal((campaigns, 1))
    found = memory_of([(100 * np.exp(logs)).tolist()])
    return None if isinstance(found, str) else found


def remembered(memories: Sequence[Memory | None], apart: bool) -> list[Remembered | None]:
    """What the rows of a table are judged with."""
    return [None if memory is None else Remembered(memory, apart) for memory in memories]


def called(old: Array, new: Array, memories: Sequence[Memory | None], apart: bool = False) -> Called:
    """The rows that ``compare`` calls slower or faster with their histories."""
    rows = compared_cases(pairs_of(old, new), Rule(margin=MARGIN), memories=remembered(memories, apart))
    return np.array([VERDICTS[row.verdict].is_change for row in rows])


#: Tables: their name, noise, runs a side, quiet rows' spread, noisy rows, spread between campaigns, noisier today, bad
#: campaigns of each history.
_Cell = tuple[str, Noise, int, float, int, float, float, int]
CELLS: tuple[_Cell, ...] = (
    *(
        (f"{NOISY_ROWS} rows of {ROWS} spread by 5 %, {name}", noise, n, QUIET, NOISY_ROWS, 0.0, 1.0, 0)
        for name, noise in (("log-normal", normal), ("t₃", t3), ("one run in ten far away", outliers))
        for n in (5, 10)
    ),
    *((f"like rows, spread {percent(spread)}", normal, 5, spread, 0, 0.0, 1.0, 0) for spread in LIKE),
    *((f"like rows, two states, {percent(spread)}", two_states, 5, spread, 0, 0.0, 1.0, 0) for spread in (0.01, 0.05)),
    ("like rows, spread 5 %", normal, 5, 0.05, 0, 0.0, 1.0, 0),
    ("like rows, t₃, 5 %", t3, 5, 0.05, 0, 0.0, 1.0, 0),
    ("like rows, spread 1 %, 3 of 30 campaigns spread by 10 %", normal, 5, 0.01, 0, 0.0, 1.0, 3),
    ("spread 3 %, today 4.5 %", normal, 5, 0.03, 0, 0.0, 1.5, 0),
    ("spread 3 %, today 6 %", normal, 5, 0.03, 0, 0.0, 2.0, 0),
    ("spread 3 %, today 9 %", normal, 5, 0.03, 0, 0.0, 3.0, 0),
    ("measured apart: campaigns differ by 0.5 %, runs by 0.3 %", normal, 5, 0.003, 0, 0.005, 1.0, 0),
    ("measured apart: campaigns differ by 3 %, runs by 0.3 %", normal, 5, 0.003, 0, 0.03, 1.0, 0),
)  # fmt: skip


def memory_part(random: Generator, scale: float) -> str:
    """What is found, and falsely found, in tables whose rows all have a history."""
    tables = max(10, round(400 * scale))
    lines = []
    for name, noise, n, spread, noisy, between, today, bad in CELLS:
        spreads = np.full((ROWS, 1), spread)
        spreads[ROWS - noisy :] = NOISY
        counts = np.zeros(4)
        for _ in range(tables):
            memories = [history(random, noise, float(one), between, bad=bad) for one in spreads[:, 0]]
            old, new = (
                today * spreads * noise(random, (ROWS, n)) + between * random.standard_normal((ROWS, 1))
                for _ in range(2)
            )
            new[0] += np.log1p(CHANGE)
            ours, theirs = called(old, new, memories, bool(between)), holm(welch(old, new))
            counts += (ours[0], theirs[0], ours[1:].any(), theirs[1:].any())
        lines.append([name, str(n), *map(percent, counts / tables)])
    words = (
        f"Tables of {ROWS} rows of which one is 5 % slower, margin 2 %, {tables} tables a line; each row has a history of"
        f" its own, {CAMPAIGNS} campaigns of {RUNS} runs with its noise. Beside `compare` Welch's t of the logarithms"
        " against the same margin with Holm's adjustment, which has no history. False: another row called."
    )
    head = ["rows", "n", "found", "Welch, Holm", "false", "Welch, Holm: false"]
    return f"#### The memory of a case\n\n{words}\n\n{markdown(head, lines)}"
