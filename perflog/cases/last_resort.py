"""Runs into cases, with a last resort: an error that nobody foresaw takes no number from the other logs."""

from __future__ import annotations

from collections.abc import Sequence

from perflog.cases.build import build_cases
from perflog.cases.case import Case
from perflog.cases.copies import runs_by_log, with_doubts, without_copies, without_same_names, without_second_accounts
from perflog.cases.repeats import named_apart, of_first_ranks, settled
from perflog.errors import is_for_want_of_memory
from perflog.formats.paths import PathPatterns
from perflog.notes import Note
from perflog.reading.gather import reason_of
from perflog.runs.run import Run, Skipped
from perflog.settings.options import Options

#: How the note of a case begins that stands apart because the cases of all logs could not be built together.
APART = "internal error while the cases of all logs were built, please report it"


def cases_of(
    runs: Sequence[Run], skipped: Sequence[Skipped], patterns: PathPatterns, options: Options
) -> tuple[list[Case], list[Skipped]]:
    """(the cases of all runs, the logs that are left out beside those ``skipped`` already).

    Where that fails, the logs whose own cases cannot be built are left out with the reason, and the others are built
    again. Where these fail only together, each log has cases of its own, with a note.
    """
    try:
        return _built(runs, skipped, patterns, options)
    except BaseException as error:
        _raise_what_ends_all(error)
    sound, faulty = _sound_and_faulty(runs, patterns, options)
    of_sound = [run for of_log in sound for run in of_log]
    try:
        cases, left_out = _built(of_sound, skipped, patterns, options)
    except BaseException as error:
        _raise_what_ends_all(error)
        note = f"{APART}: each log stands alone, and none is compared with others ({_short(error)})"
        cases = [_with_note(case, note) for of_log in sound for case in _built(of_log, (), patterns, options)[0]]
        left_out = []
    return cases, [*left_out, *faulty]


def _raise_what_ends_all(error: BaseException) -> None:
    """Raise what is no matter of a log, and want of memory: how much there is must not decide what the cases are."""
    if is_for_want_of_memory(error):
        raise error
    reason_of(error)


def _built(
    runs: Sequence[Run], skipped: Sequence[Skipped], patterns: PathPatterns, options: Options
) -> tuple[list[Case], list[Skipped]]:
    kept, copies = without_copies(runs)
    kept, of_one_name = without_same_names(kept)
    kept, seconds = without_second_accounts(kept)
    kept, other_ranks = of_first_ranks(kept, patterns)
    uncounted = (left_out.log for left_out in (*skipped, *copies))
    told_apart = named_apart(settled(kept, patterns, uncounted), patterns)
    return build_cases(with_doubts(told_apart), options), [*copies, *of_one_name, *seconds, *other_ranks]


def _sound_and_faulty(
    runs: Sequence[Run], patterns: PathPatterns, options: Options
) -> tuple[list[list[Run]], list[Skipped]]:
    """(the runs of each log whose own cases can be built, the other logs with their reasons)."""
    sound, faulty = [], []
    for log, of_log in runs_by_log(runs):
        try:
            _built(of_log, (), patterns, options)
            sound.append(of_log)
        except BaseException as error:
            _raise_what_ends_all(error)
            faulty.append(Skipped(log, reason_of(error, "its cases were built"), failed=True))
    return sound, faulty


def _with_note(case: Case, note: str) -> Case:
    case.notes.append(Note.of_case(note))
    return case


def _short(error: BaseException) -> str:
    """What an error says, behind what all such reasons begin with."""
    return reason_of(error).partition("please report it: ")[2].removesuffix(" (PERFLOG_DEBUG=1 shows where)")
