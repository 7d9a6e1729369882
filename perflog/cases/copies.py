"""A log that was given twice, or copied under another name, counts once."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter

from perflog.cases.case import Identity, identity, told_apart_by
from perflog.logs.containers import digests
from perflog.logs.find import UNFINISHED, LogFile
from perflog.notes import Note
from perflog.runs.run import COUNTED_BY_RANKS, Clock, Run, Skipped
from perflog.spelling import some_of

# ----------------------------------------------------------------------------------------------------
# Logs that tell what another log tells: left out with a reason, and named in a note of the other.


def runs_by_log(runs: Iterable[Run]) -> Iterator[tuple[LogFile, list[Run]]]:
    """Each log with its runs, which follow each other."""
    for log, of_log in groupby(runs, attrgetter("log")):
        yield log, list(of_log)


def _alike(runs: Sequence[Run], key_of: Callable[[LogFile, Sequence[Run]], Hashable]) -> dict[LogFile, list[Run]]:
    """The logs whose key another log has too, with their runs, in order; a few more where keys have one hash.

    Of very many logs, hashes of their keys are held and not these.
    """
    import numpy as np

    hashes = array("q", (hash(key_of(log, of_log)) for log, of_log in runs_by_log(runs)))
    ordered = np.sort(hashes)
    often = set(ordered[1:][ordered[1:] == ordered[:-1]].tolist())
    if not often:
        return {}
    return {log: of_log for number, (log, of_log) in zip(hashes, runs_by_log(runs), strict=True) if number in often}


def without(
    runs: Sequence[Run], counted: Mapping[LogFile, LogFile], notes: Mapping[LogFile, str], reason: str
) -> tuple[list[Run], list[Skipped]]:
    """(the runs of the logs that count, the logs left out).

    Args:
        counted: each log to be left out, with the one that counts in its place.
        notes: what is said of each log that counts so.
        reason: why logs are left out; ``{}`` stands for the name of the one that counts.
    """
    kept = [
        run.changed(notes=[*run.notes, Note(notes[run.log])]) if run.log in notes else run
        for run in runs
        if run.log not in counted
    ]
    return kept, [Skipped(log, reason.format(other.name)) for log, other in counted.items()]


def copies_among(runs: Sequence[Run], of: Sequence[Run]) -> dict[LogFile, LogFile]:
    """The logs of some runs whose text is that of a log of others, each with that log."""
    read_alike = {_what_is_read(run) for run in runs} & {_what_is_read(run) for run in of}
    if not read_alike:
        return {}
    text_of = _texts({run.log: run.digest for run in (*runs, *of) if _what_is_read(run) in read_alike})
    first = {text: run.log for run in reversed(of) if (text := text_of.get(run.log)) is not None}
    return {run.log: first[text] for run in runs if (text := text_of.get(run.log)) in first and text is not None}


def without_copies(runs: Sequence[Run]) -> tuple[list[Run], list[Skipped]]:
    """(the runs without those of logs whose text is another's, the logs left out).

    Logs are compared where their runs have the same numbers on the same lines. The one in the fewest folders counts, as
    it stands before those that were put away, and of them the first in the order of ``runs``, with a note that names
    the others.
    """
    alike: dict[tuple[object, ...], list[LogFile]] = {}
    by_log = _alike(runs, lambda _, of_log: tuple((run.lines, run.first_line, run.value) for run in of_log))
    for log, of_log in by_log.items():
        alike.setdefault(tuple(_what_is_read(run) for run in of_log), []).append(log)
    groups = [logs for logs in alike.values() if len(logs) > 1]
    text_of = _texts({log: by_log[log][0].digest for logs in groups for log in logs})
    copies: dict[LogFile, LogFile] = {}
    for logs in groups:
        copies |= _copies(logs, text_of)
    if not copies:
        return list(runs), []
    return without(runs, copies, _notes(copies), "the same text as {}: a log counts once")


def _texts(known: Mapping[LogFile, bytes | None]) -> dict[LogFile, bytes | None]:
    """A hash of each log's text: ``known`` from its reading, else made now; None for what can be read no more."""
    return {**known, **digests([log for log, digest in known.items() if digest is None and log.pipe is None])}


def _what_is_read(run: Run) -> tuple[object, ...]:
    metric = run.throughput
    return run.parser, run.lines, run.first_line, run.last_line, metric.value, metric.first_line, metric.used


def _copies(logs: Iterable[LogFile], texts: Mapping[LogFile, bytes | None]) -> dict[LogFile, LogFile]:
    """Of logs that may be one, each that is a copy, with the first of that text (``texts``: a hash of each)."""
    first_of: dict[bytes, LogFile] = {}
    copies: dict[LogFile, LogFile] = {}
    for log in sorted(logs, key=lambda log: log.place.count("/")):
        content = texts[log]
        if content is None:
            continue
        first = first_of.setdefault(content, log)
        if first is not log:
            copies[log] = first
    return copies


def _notes(copies: Mapping[LogFile, LogFile]) -> dict[LogFile, str]:
    """What is to be said of each log that has copies."""
    names: dict[LogFile, list[str]] = {}
    for copy, first in copies.items():
        names.setdefault(first, []).append(copy.name)
    return {
        first: f"{first.name} counts once: the same text is in {some_of(of_first)}" for first, of_first in names.items()
    }


# ----------------------------------------------------------------------------------------------------
# Logs whose names differ in nothing but their endings tell of one training, which counts once.
#
# ``run_2.log`` beside ``run_2.out`` (what a logger wrote, and what the terminal showed), ``run_2.log.gz`` (packed
# before the training was done again) or ``run_2.log.bak``: their texts differ, so that they are no copies, and no
# repeats.

#: The endings of logs, in the order in which one counts before another; a backup counts behind all.
_ENDINGS = (".log", ".out", ".txt", ".err")
_BACKUP = ".bak"
#: How a log is chosen among those of one name: it has a number, is no backup, is not packed, by its ending.
_Choice = tuple[bool, bool, bool, int]


def without_same_names(runs: Sequence[Run]) -> tuple[list[Run], list[Skipped]]:
    """(the runs, without those of logs that have another's name and configuration, the logs left out).

    The names are compared without their endings; a log with a number that is neither packed nor a backup counts.
    """
    by_log = _alike(runs, lambda log, _: _name_and_choice(log, False)[0])
    named: dict[str, list[tuple[_Choice, LogFile]]] = {}
    for log, of_log in by_log.items():
        name, choice = _name_and_choice(log, any(run.value is not None for run in of_log))
        named.setdefault(name, []).append((choice, log))
    counted: dict[LogFile, LogFile] = {}
    for logs in named.values():
        if len(logs) > 1:
            counted |= _counted([log for _, log in sorted(logs, key=lambda pair: pair[0])], by_log)
    if not counted:
        return list(runs), []
    notes = {first: f"{first.name} counts for {other.name} too: their names differ in their ending alone"
             for other, first in reversed(counted.items())}  # fmt: skip
    return without(runs, counted, notes, "it has the name of {} but for its ending: a training counts once")


def _name_and_choice(log: LogFile, has_value: bool) -> tuple[str, _Choice]:
    """(the log's path without what may follow its name, how it is chosen)."""
    place = log.name if log.name.endswith(UNFINISHED) else log.place  # a campaign's failed run is another one
    name, backup = place.removesuffix(_BACKUP), place.endswith(_BACKUP)
    ending = next((ending for ending in _ENDINGS if name.endswith(ending)), "")
    is_packed = bool(log.member) or not log.path.endswith(place)
    order = _ENDINGS.index(ending) if ending else len(_ENDINGS)
    return name.removesuffix(ending), (not has_value, backup, is_packed, order)


def _counted(logs: Iterable[LogFile], by_log: Mapping[LogFile, Sequence[Run]]) -> dict[LogFile, LogFile]:
    """Of logs of one name, the first to count first, each that does not count, with the one that does."""
    first_of: dict[tuple[object, ...], LogFile] = {}
    counted: dict[LogFile, LogFile] = {}
    for log in logs:
        first = first_of.setdefault(tuple(sorted({*map(identity, by_log[log])}, key=repr)), log)
        if first is not log:
            counted[log] = first
    return counted


# ----------------------------------------------------------------------------------------------------
# A training whose program writes a JSON file or a table beside its text log is one training, and counts once.

#: The endings of logs that programs write beside the text.
_BESIDE = (".json", ".jsonl", ".csv")
#: Two accounts of one training differ by what each was rounded to: a bar's clock is cut to whole seconds.
AGREE = 0.02
#: A file's folder.
_Folder = str


def without_second_accounts(runs: Sequence[Run]) -> tuple[list[Run], list[Skipped]]:
    """(the runs without those of JSON files and tables whose text log tells the same training, the logs left out).

    The two are one training's where their names begin alike, or where each is the only log of its kind there, and where
    their runs have the same numbers. The JSON file stands in the folder of the text log or in one below it. The text
    log counts, because it says more of what was trained, with a note that names the other.
    """
    there = {_is_beside(run.log) for run in runs}
    if len(there) < 2:
        return list(runs), []
    by_log = dict(runs_by_log(runs))
    text_of = _text_logs(by_log)
    if not text_of:
        return list(runs), []
    notes = {text: f"{text.name} counts once: {second.name} tells the same run" for second, text in text_of.items()}
    return without(runs, text_of, notes, "it tells the same run as {}: a run counts once")


def _text_logs(by_log: Mapping[LogFile, Sequence[Run]]) -> dict[LogFile, LogFile]:
    """Each JSON file that tells the training of a text log, with that log; a text log has one at most."""
    texts_in = _by_folder(log for log in by_log if not _is_beside(log))
    seconds_in = _by_folder(filter(_is_beside, by_log))
    found: dict[LogFile, LogFile] = {}
    taken: set[LogFile] = set()
    for folder, seconds in seconds_in.items():
        texts = texts_in.get(folder) or texts_in.get(folder.rpartition("/")[0], [])
        for second in seconds:
            alike = [text for text in texts if _stem(text) == _stem(second)]
            text = alike[0] if len(alike) == 1 else texts[0] if len(texts) == len(seconds) == 1 else None
            if text and text not in taken and _same_numbers(by_log[text], by_log[second]):
                found[second] = text
                taken.add(text)
    return found


def _by_folder(logs: Iterable[LogFile]) -> dict[_Folder, list[LogFile]]:
    folders: dict[_Folder, list[LogFile]] = {}
    for log in logs:
        folders.setdefault(_path(log).rpartition("/")[0], []).append(log)
    return folders


def _path(log: LogFile) -> str:
    return log.name.replace("\\", "/")


def _is_beside(log: LogFile) -> bool:
    return _path(log).lower().endswith(_BESIDE)


def _stem(log: LogFile) -> str:
    """The name up to its first dot: ``20210505_123456`` of ``20210505_123456.log.json``."""
    return _path(log).rpartition("/")[2].partition(".")[0]


def _same_numbers(texts: Sequence[Run], seconds: Sequence[Run]) -> bool:
    """Whether two logs have as many runs, and each of one has the throughput of its like in the other."""
    return len(texts) == len(seconds) and all(map(_agree, texts, seconds))


def _agree(text: Run, second: Run) -> bool:
    one, other = text.throughput, second.throughput
    if one.value is None or other.value is None:
        return False
    if one.unit == other.unit:
        return abs(one.value / other.value - 1) <= AGREE
    return bool(one.time_per_step and other.time_per_step and abs(one.time_per_step / other.time_per_step - 1) <= AGREE)


# ----------------------------------------------------------------------------------------------------
# Logs that were written in step: ranks and nodes of one training print the same step at the same moment.

#: Lines of ranks that wait for each other stand so many seconds apart; stamps are cut to whole ones.
APART = 1.0
#: Two trainings, begun at one moment on equal machines, differ by more than this share of their time at the end.
DRIFT = 0.0005
#: Shorter logs may be in step by chance.
LEAST_TIME = 20.0
#: What logs in step may be: of one case, and of one folder.
_RANKS = "the logs of one training's ranks, which are no repeats"
_NODES = "the logs of one training's nodes, whose devices are those of all of them"


def with_doubts(runs: Sequence[Run]) -> list[Run]:
    """The runs; those of one configuration whose logs were written in step with a note that they may be no repeats.

    Logs of one folder that each count their devices by the ranks that print may be the nodes of one training.
    """
    groups: dict[Identity, list[int]] = {}
    nodes: dict[Identity, list[int]] = {}
    for place, run in enumerate(runs):
        clock = run.clock
        if clock is not None and clock[2] - clock[1] >= LEAST_TIME:
            groups.setdefault(identity(run), []).append(place)
            if any(note.text.startswith(COUNTED_BY_RANKS) for note in run.notes):
                folder, _ = run.log.folder_and_name
                nodes.setdefault((folder, run.parser, *told_apart_by(run.values).items()), []).append(place)
    doubts: list[Note | None] = [None] * len(runs)
    for alike, what in ((nodes, _NODES), (groups, _RANKS)):
        for places in alike.values():
            for place, note in _notes_beside(runs, places, what):
                doubts[place] = note
    shared: dict[tuple[int, int], list[Note]] = {}  # runs in step share their notes where they had the same before
    return [
        run if doubt is None else run.changed(notes=shared.setdefault((id(run.notes), id(doubt)), [*run.notes, doubt]))
        for run, doubt in zip(runs, doubts, strict=True)
    ]


def _notes_beside(runs: Sequence[Run], places: Sequence[int], what: str) -> Iterator[tuple[int, Note]]:
    """Of the runs at some places, each that was written in step with others, and what is said of it: ``what`` they
    may be."""
    for together in _in_step(runs, places) if len(places) > 1 else ():
        names = list(dict.fromkeys(name for name, _ in together))
        if len(names) > 1:
            said = f"{some_of(names)} were written in step, to the second: they may be {what}"
            note = Note.of_case(said)
            yield from ((place, note) for _, place in together)


def _in_step(runs: Sequence[Run], places: Iterable[int]) -> Iterator[list[tuple[str, int]]]:
    """The runs that begin and end together, by the names of their logs and their places."""
    timed = [(clock, runs[place].log.name, place) for place in places if (clock := runs[place].clock) is not None]
    timed.sort()
    together: list[tuple[str, int]] = []
    before, last_step = timed[0][0], runs[timed[0][2]].throughput.last_step
    for clock, name, place in timed:
        step = runs[place].throughput.last_step
        if step != last_step or not _are_in_step(before, clock):
            yield together
            together = []
        together.append((name, place))
        before, last_step = clock, step
    yield together


def _are_in_step(one: Clock, other: Clock) -> bool:
    apart = APART + DRIFT * (one[2] - one[1])
    return one[0] == other[0] and all(abs(a - b) <= apart for a, b in zip(one[1:], other[1:], strict=True))
