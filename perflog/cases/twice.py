"""A training whose program writes a JSON file or a table beside its text log is one training, and counts once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from perflog.cases.left_out import runs_by_log, without
from perflog.logs.find import LogFile
from perflog.runs.run import Run, Skipped

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
    by_log = runs_by_log(runs)
    if not any(_is_beside(log) for log in by_log) or all(_is_beside(log) for log in by_log):
        return list(runs), []
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
