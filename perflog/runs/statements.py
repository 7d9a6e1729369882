"""Which of a log's statements about a run are in force, and which contradict them.

In force is the last statement before the run's first step. A program that failed and was started again says its
configuration again; what the failed start said is no part of the run: a traceback between the two tells it, two lines
that begin a start, or settings that are said again in the same order. Two statements of one start that differ are a
contradiction: nothing tells which of them the measured steps had. What is said behind the last step is no part of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from perflog.formats.vocabulary import Fact, normal
from perflog.runs.extent import Extent

#: Of settings that a log gives several values for, so many contradictions are said.
MOST_CONTRADICTIONS = 3
#: What a program says of itself once in a start; a data loader's settings may stand there several times.
ONCE_A_START = frozenset({
    "devices", "nodes", "devices_per_node", "model", "framework_version", "accelerator", "precision",
})  # fmt: skip


class Statement(Struct, frozen=True):
    """One fact on a line of the log.

    Attributes:
        rank: the place of its pattern among those of the run's parser, which come before all others.
        pattern: the pattern's key.
        parser: the pattern's parser; ``own``: whether that is the run's.
        weak: whether it counts only where no surer pattern of its parser says the same key.
        ruled_out: lines by which it does not count, where one is of the same start or of a later one
            (``use_amp: False`` beside ``level: O1``).
    """

    fact: Fact
    line: int
    rank: int
    pattern: str
    parser: str
    own: bool
    weak: bool = False
    ruled_out: Sequence[int] = ()


def in_force(
    statements: Sequence[Statement], extent: Extent, starts: Sequence[int], failures: Collection[int] = ()
) -> list[Fact]:
    """The facts in force, one a key, and behind them those that contradict them.

    Args:
        statements: those up to the run's end, in any order.
        starts: the lines from the run's begin to its first step that say that a run begins.
        failures: those among them that say that a start failed.
    """
    last_start = _last_start(statements, extent, starts, failures)
    statements = _without_weaker(_not_ruled_out(statements, extent, last_start), extent)
    by_key: dict[str, list[Statement]] = {}
    for statement in sorted(statements, key=lambda s: (s.rank, s.line)):
        by_key.setdefault(statement.fact.key, []).append(statement)
    chosen = {key: _chosen(of_key, extent, last_start) for key, of_key in by_key.items()}
    contradictions = [
        statement.fact
        for key, of_key in by_key.items()
        for statement in of_key
        if max(extent.begin, last_start + 1) <= statement.line <= extent.last_step
        and _contradicts(statement, chosen[key])
    ]
    inside = [s.fact for s in chosen.values() if s.line >= extent.begin]
    before = [s.fact for s in chosen.values() if s.line < extent.begin]
    return [*inside, *before, *contradictions[:MOST_CONTRADICTIONS]]


def _not_ruled_out(statements: Sequence[Statement], extent: Extent, last_start: int) -> Sequence[Statement]:
    """The statements but for those that another line of their start, or of a later one, rules out."""

    def start_of(line: int) -> tuple[bool, bool]:
        return line >= extent.begin, line > last_start

    def ruled_out(s: Statement) -> bool:
        latest = max(extent.first_step, s.line)  # what a test behind the first step prints is of the test
        return any(line <= latest and start_of(line) >= start_of(s.line) for line in s.ruled_out)

    return [s for s in statements if not ruled_out(s)]


def _without_weaker(statements: Sequence[Statement], extent: Extent) -> Sequence[Statement]:
    """The statements but for weak ones of which the same parser says something surer, of this run or of those before.

    ``use_amp: True`` beside ``level: O2`` is no contradiction: the second says what kind.
    """
    if not any(statement.weak for statement in statements):
        return statements
    surer = {
        (s.parser, s.fact.key, inside) for s in statements if not s.weak for inside in (False, s.line >= extent.begin)
    }
    return [s for s in statements if not s.weak or (s.parser, s.fact.key, s.line >= extent.begin) not in surer]


def _chosen(statements: Sequence[Statement], extent: Extent, last_start: int) -> Statement:
    """Of statements of one key, those of the first pattern first, the one in force.

    The last before the first step, in the last start or else in those before it; else the first behind the first step;
    else the last of the runs before.
    """
    inside = [s for s in statements if s.line >= extent.begin]
    before_step = [s for s in inside if s.line <= extent.first_step]
    of_start = [s for s in before_step if s.line > last_start]
    candidates = of_start or before_step
    if not candidates and inside:
        return inside[0]
    candidates = candidates or list(statements)
    return max((s for s in candidates if s.rank == candidates[0].rank), key=lambda s: s.line)


def _contradicts(statement: Statement, chosen: Statement) -> bool:
    """Whether a statement says another value than the one in force, in a way that is as sure."""
    as_sure = statement.own or statement.parser == chosen.parser
    key = chosen.fact.key
    return as_sure and normal(key, statement.fact.value) != normal(key, chosen.fact.value)


def _last_start(
    statements: Iterable[Statement], extent: Extent, starts: Sequence[int], failures: Collection[int]
) -> int:
    """The line behind which the start that came to measure says its settings; 0 where there was one start."""
    lines: dict[str, list[int]] = {}
    once: set[str] = set()
    for statement in sorted(statements, key=lambda s: s.line):
        if extent.begin <= statement.line <= extent.first_step:
            of_pattern = lines.setdefault(statement.pattern, [])
            if not of_pattern or of_pattern[-1] != statement.line:
                of_pattern.append(statement.line)
            if statement.fact.key in ONCE_A_START:
                once.add(statement.pattern)
    failed = _last_failure(lines, failures)
    begun = [start for start in starts if start not in failures]
    starts = _apart(begun, {line for of_pattern in lines.values() for line in of_pattern})
    if len(starts) > 1:
        said_since = any(of_pattern[-1] > starts[-1] for of_pattern in lines.values())
        return max(failed, starts[-1] if said_since else starts[-2])
    return max(failed, _block_said_again(lines, once))


def _last_failure(lines: Mapping[str, Sequence[int]], failures: Iterable[int]) -> int:
    """The last failure with settings before it that are said again behind it; 0 where there is none.

    Programs go on behind many a traceback: without settings said again it tells nothing.
    """
    again = [(of_pattern[0], of_pattern[-1]) for of_pattern in lines.values()]
    return max((line for line in failures if any(first < line < last for first, last in again)), default=0)


def _apart(starts: Sequence[int], said: Collection[int]) -> list[int]:
    """The lines that begin a start, each but the first behind a line that says a setting since the one before it."""
    pairs = pairwise(starts)
    return [*starts[:1], *(start for before, start in pairs if any(before < line < start for line in said))]


def _block_said_again(lines: Mapping[str, Sequence[int]], once: Iterable[str]) -> int:
    """The last line of a block of settings that a later block repeats; 0 where none does.

    Args:
        lines: of each pattern, by its key.
        once: the patterns that say what is said once in a start.
    """
    last = 0
    for one in once:
        for other in lines:
            if other == one or len(lines[one]) < 2 or len(lines[other]) < 2:
                continue
            (one_old, one_new), (other_old, other_new) = lines[one][-2:], lines[other][-2:]
            if one_old < other_old < one_new < other_new or other_old < one_old < other_new < one_new:
                last = max(last, one_old, other_old)
    return last
