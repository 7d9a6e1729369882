"""Which of a log's tables is the training's, and what else of the log tells its epochs and runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from perflog.formats.line import Said
from perflog.inference.candidate import LEAST_ROWS, Candidate, Sight
from perflog.inference.columns import Columns, columns_of, epoch_times
from perflog.inference.formats import Value, pause_patterns, plain_pattern, with_total
from perflog.inference.measures import Meaning
from perflog.inference.pairs import Pair, pairs_of
from perflog.inference.readings import readings_of, said_reading
from perflog.inference.said import Bar, SaidTable, bars_of, other_bars, other_unit, said_tables, why_none
from perflog.inference.series import Series
from perflog.inference.told import is_round
from perflog.inference.words import EVALUATES, NO_STEPS, PAUSES, SAYS_TRAIN, TRAINS
from perflog.matching.tables import Table, own_words

#: Lines that are so much fewer than the best ones are of another thing.
FEWER = 0.2
#: Lines of which this share are as long as the longest were cut, or are all alike.
MOST_CUT = 0.6
#: Of a bar's rows so many have its total; one of another total is drawn where something short has its name.
MOST_OF_BAR = 0.9
#: Of a line of two records the second begins behind this share of its tokens at most.
MOST_OF_GLUED = 0.65
#: A line that begins a run says so much.
LEAST_WORDS = 8
#: So many lines that begin a program stand once more where another one goes on.
LEAST_REPEATED = 3
#: From so many per cent on a share that is printed whole tells its whole within a tenth.
LEAST_SHARE = 10
#: A number of so many digits is no measured one where it is the same on all lines.
MOST_DIGITS = 4
#: So many lines tell an epoch each.
LEAST_EPOCHS = 3


def candidates_of(
    tables: Sequence[Table], sight: Sight, unclaimed: Callable[[list[Table]], list[Table]]
) -> Iterator[tuple[Candidate, dict[str, Any]]]:
    """The readings that a log's tables allow, the best first, each as a parser's tables.

    Args:
        sight: what is seen on the way; changed here.
        unclaimed: gives of some tables those that no format reads.
    """
    whole = [_of_one_total(table) for table in tables if len(table) >= LEAST_ROWS]
    glued = [table for table in whole if _is_glued(table)]
    if glued:
        whole = [table for table in whole if table not in glued]
        sight.why = f"line {glued[0].lines[0]} holds two records, as where several ranks print to one stream"
    read = [(table, columns_of(table)) for table in whole]
    trains = any(TRAINS.search(table.text) for table in tables) and len(_unnamed_bars(tables)) < 2
    sight.evaluated = max((int(table.lines[-1]) for table, columns in read if columns.evaluates), default=0)
    longest = max((len(bar.table) for bar in bars_of(tables)), default=0)
    able = [
        (table, columns) for table, columns in read
        if columns.step is not None
        and _may_train(table, columns, trains and (not columns.is_bar or len(table) >= longest))
    ]  # fmt: skip
    own = unclaimed([table for table, _ in able]) if able else []
    able = [(table, columns) for table, columns in able if any(table is one for one in own)]
    able.sort(key=lambda both: (not both[1].measures, not both[1].trains, both[1].is_bar, -len(both[0])))
    for table, columns in [both for both in able if len(both[0]) >= FEWER * len(able[0][0])]:
        sight.counted, sight.is_timed = max(sight.counted, len(table)), sight.is_timed or bool(columns.measures)
        yield from _candidates_in(tables, table, columns, sight)
    for pair in pairs_of(read):
        columns = columns_of(pair)
        is_counted = columns.step is not None and columns.step.place < len(pair.upper.kinds)
        is_own = is_counted and len(unclaimed([pair.upper, pair.lower])) == 2
        tells_steps = columns.epoch is not None or any(measure.steps for measure in columns.measures)
        is_of_steps = columns.trains or (trains and tells_steps)
        if is_own and is_of_steps and _may_train(pair, columns, trains):
            sight.is_timed = True
            yield from _candidates_in(tables, pair, columns, sight)


def epoch_candidates(
    tables: Sequence[Table], epoch_steps: int, sight: Sight
) -> Iterator[tuple[Candidate, dict[str, Any]]]:
    """The readings of lines that tell the time of each epoch, as a parser's tables; none where its steps are unknown.

    Args:
        epoch_steps: how many steps an epoch has, 0 where nobody says it.
        sight: what is seen on the way; changed here.
    """
    who = "--set epoch_steps" if epoch_steps else "the counter of the other lines"
    able = [(table, columns_of(table)) for table in tables if len(table) >= LEAST_EPOCHS]
    for table, columns in sorted(able, key=lambda both: both[1].evaluates):
        times = epoch_times(table, columns)
        if columns.epoch is None or not times or not (np.diff(table.column(columns.epoch.place).values) == 1).all():
            continue
        epoch = _Epoch(epoch_steps) if epoch_steps else _epoch_of(tables)
        sight.why = sight.why or _why_no_epochs(table, times, epoch.steps)
        if sight.why:
            return
        value = Value(times[0], "interval_time", "interval")
        said = f"an epoch has {epoch.steps} steps, as {who} says"
        rests = [f"{value.text!r} of each epoch", said]
        if epoch.samples:
            value = Value(
                replace(times[0], unit=f"{times[0].unit}/{epoch.samples} samples"), "time_per_work", "interval"
            )
            rests.append(f"of {epoch.samples} samples")
        candidate = Candidate(
            table, columns, (value,), tuple(rests), "stated", epoch_steps=epoch.steps, assumption=said
        )
        found = candidate.tables([])
        if found is not None:
            yield candidate, found


class _Epoch(NamedTuple):
    """How many steps an epoch has, and how many samples where a counter tells these; 0 for what is not known."""

    steps: int
    samples: int = 0


def _epoch_of(tables: Sequence[Table]) -> _Epoch:
    """An epoch, as a counter of a training's steps or samples goes to its end and begins anew."""
    found = set[_Epoch]()
    for table in [table for table in tables if len(table) >= LEAST_ROWS]:
        columns = columns_of(table)
        if columns.step is None or columns.evaluates or not columns.trains:
            continue
        series = Series(table, columns)
        ends = series.step[np.append(series.fallen, True)]
        total = float(table.column(columns.total).values[0]) if columns.total is not None else 0.0
        if series.falls + 1 < LEAST_EPOCHS or (ends != ends[0]).any():
            continue
        last = float(ends[0])
        if not columns.step.is_named:
            found |= _epoch_of_samples(series, total)
        elif total and total - series.every <= last <= total:
            found.add(_Epoch(int(total)))
        elif not total and series.every == 1:
            found.add(_Epoch(int(last) + (1 if series.step[0] == 0 else 0)))
    return found.pop() if len(found) == 1 else _Epoch(0)


def _epoch_of_samples(series: Series, total: float) -> set[_Epoch]:
    """An epoch whose counter goes to all samples by whole batches and a last part of one, each of which is printed;
    empty where it may count steps.
    """
    batch, rest = series.every, total % series.every if series.every else 0.0
    changes = np.diff(series.step)
    is_last = series.step[1:] == total
    usual = changes[~series.fallen & ~is_last]
    if not (rest and (usual == batch).all() and (changes[is_last] == rest).all() and series.step[0] == batch):
        return set()
    return set() if is_round(batch) else {_Epoch(int(total // batch) + 1, int(total))}


#: Why the time of epochs gives no number where nothing says that it is their training's.
EPOCHS_ALONE = "the log tells the time of whole epochs alone, which may hold their evaluation"


def _why_no_epochs(table: Table, times: Sequence[Meaning], epoch_steps: int) -> str:
    """Why the times of epochs give no number; empty where they do."""
    if len(times) > 1 or (
        (EVALUATES.search(table.text) or table.others(PAUSES.search)) and not SAYS_TRAIN.search(times[0].key)
    ):
        return EPOCHS_ALONE
    if not epoch_steps:
        return "the log tells the time of whole epochs alone: give --set epoch_steps=N, the steps of an epoch"
    return ""


def said_candidates(tables: Sequence[Table], said: Said, sight: Sight) -> Iterator[tuple[Candidate, dict[str, Any]]]:
    """The readings of the tables that fit what a user says, those with most rows first, each as a parser's tables.

    Args:
        sight: what is seen on the way; changed here.
    """
    fitting = said_tables(tables, said)
    if not fitting:
        sight.why = why_none(tables, said)
        return
    for one in fitting:
        least = 1 if said.bar else LEAST_ROWS
        why = one.why or ("" if len(one.table) >= least else f"fewer than {LEAST_ROWS} lines fit what --as says")
        sight.why = sight.why or why
        if not why and said.bar:
            yield from _bar_in(tables, one)
        elif not why:
            yield from _candidates_in(tables, one.table, one.columns, sight, one.values)


def _bar_in(tables: Sequence[Table], one: SaidTable) -> Iterator[tuple[Candidate, dict[str, Any]]]:
    """The reading of the bar that a user says is the training's, where its lines can be told from those of others."""
    candidate = said_reading(Series(one.table, one.columns), one.values)
    found = _of_bar(tables, candidate, one.total, pause_patterns(one.table))
    if found is not None:
        yield candidate, found


def _of_bar(
    tables: Sequence[Table], candidate: Candidate, total: str, beside: Sequence[dict[str, Any]]
) -> dict[str, Any] | None:
    """The parser's tables of a bar of so many steps, apart from the log's other bars; None where it cannot be told."""
    others = [
        bar for bar in other_bars(tables, candidate.table, total)
        if not any(re.search(one["regex"], bar["sample"][0]["line"]) for one in beside)
    ]  # fmt: skip
    found = candidate.tables([*others, *beside])
    if found is not None and total:
        step = found["pattern"][-1]
        step["regex"] = with_total(step["regex"], total)
    return found


def _candidates_in(
    tables: Sequence[Table], table: Table, columns: Columns, sight: Sight, values: tuple[Value, ...] = ()
) -> Iterator[tuple[Candidate, dict[str, Any]]]:
    """The readings of one table; ``values``: what its numbers are, where a user says it."""
    table, repeats = _without_repeats(table, columns)
    columns = columns if values else _measured(table, columns, sight)
    series = Series(table, columns, repeats=repeats)
    beside = _beside(tables, series, sight)
    if beside is None:
        return
    for candidate in [said_reading(series, values)] if values else readings_of(series, sight):
        if isinstance(table, Pair) and table.is_shifted and any(_is_mean(value) for value in candidate.values):
            continue  # the steps that it is a mean of are another line's
        used = {*(value.meaning.place for value in candidate.values), columns.step.place if columns.step else -1}
        if _is_cut(table, used):
            sight.why = sight.why or "its lines are all as long as the longest: they were cut there"
            continue
        if columns.is_bar and columns.total is not None:
            found = _of_bar(tables, candidate, table.column(columns.total).texts[0], beside)
        else:
            found = candidate.tables(beside)
        if found is not None:
            yield candidate, found


def _measured(table: Table, columns: Columns, sight: Sight) -> Columns:
    """The columns without the times and rates that are set: the same on all lines, to the last of many digits."""
    still = [one for one in columns.measures if one.kind in ("rate", "duration") and _stands_still(table, one)]
    if still:
        key, text = still[0].key or still[0].unit, table.column(still[0].place).texts[0]
        sight.why = sight.why or f"{key!r} is {text} on each of {len(table)} lines, as no measured number is"
    return replace(columns, measures=tuple(one for one in columns.measures if one not in still))


def _stands_still(table: Table, meaning: Meaning) -> bool:
    texts = table.column(meaning.place).texts
    digits = re.sub("[^0-9]", "", texts[0]).lstrip("0")
    return len(texts) >= LEAST_ROWS and len(digits) >= MOST_DIGITS and len(set(texts)) == 1


def _is_mean(value: Value) -> bool:
    return value.span == "cumulative" and value.quantity in ("rate", "step_time")


def _without_repeats(table: Table, columns: Columns) -> tuple[Table, bool]:
    """(the rows of the training, whether others are left out): of two rows of one step behind each other with a line
    between that says that something else happens, the second is an evaluation's.
    """
    if columns.step is None or columns.is_bar:
        return table, False
    same = np.append(False, np.diff(table.column(columns.step.place).values) == 0)
    if not same.any():
        return table, False
    pauses = np.array(table.others(lambda line: PAUSES.search(line) or EVALUATES.search(line)), dtype=np.int64)
    passed = np.append(False, np.diff(np.searchsorted(pauses, table.lines)) > 0)
    return (table.where(~same), True) if passed[same].all() else (table, False)


def _beside(tables: Sequence[Table], series: Series, sight: Sight) -> list[dict[str, Any]] | None:
    """The patterns of lines between the training's own: pauses, headings, beginnings of runs.

    None where the steps begin anew and no line says what begins there, or where a bar says that they are none.
    """
    table, columns = series.table, series.columns
    if not columns.is_bar and any(_goes_with(series, bar) for bar in bars_of(tables) if other_unit(bar.table)):
        sight.why = sight.why or "its lines count as a bar of other things than steps does"
        return None
    begins_anew = bool(series.falls) and not columns.is_bar
    alike = begins_anew and _falls_alike(series)
    heading = _start_of_runs(series) if begins_anew and not alike else None
    if begins_anew and columns.epoch is None and heading is None:
        heading = _heading(tables, table, series)
        if heading is None and not alike:
            sight.why = sight.why or (
                f"the steps of its lines begin anew {series.falls} times, and no line tells the epoch"
            )
            return None
    resumed = _resumption(series) if heading is None or heading["role"] != "ignore" else None
    evaluations = _evaluations(table)
    literals = {one["literal"] for one in evaluations}
    pauses = [one for one in pause_patterns(table) if one["literal"] not in literals]
    return [*pauses, *(one for one in (heading, resumed) if one is not None), *evaluations]


def _goes_with(series: Series, bar: Bar) -> bool:
    """Whether lines tell steps at the counts of a bar alone."""
    return bool(np.isin(series.step, bar.table.column(bar.step).values).all())


def _evaluations(table: Table) -> list[dict[str, Any]]:
    """The patterns of lines that count an evaluation's steps above lines that measure as the training's do."""
    found = list[dict[str, Any]]()
    for number, one in enumerate(table.evaluations if isinstance(table, Pair) else (), 1):
        step = columns_of(one).step
        assert step is not None
        pattern = plain_pattern(one, {step.place: "step"}, f"evaluation_{number}", "ignore")
        found += [] if pattern is None else [pattern | {"evaluates": True, "pauses": True}]
    return found


def _is_cut(table: Table, used: Collection[int]) -> bool:
    """Whether a table's rows were cut inside a number that is used: it ends them, most are as long as the longest line
    of the text, and it is printed with now more and now fewer decimals.
    """
    last = len(table.kinds) - 1
    if last not in used or table.words[-1].strip():
        return False
    is_longest = table.lengths() == table.longest
    if float(is_longest.mean()) < MOST_CUT:
        return False
    texts = [text for text, longest in zip(table.column(last).texts, is_longest.tolist(), strict=True) if longest]
    decimals = {len(text.partition(".")[2]) for text in texts}
    return len(decimals) > 1 or (decimals == {0} and len(set(map(len, texts))) > 1)


def _says_training(table: Table, columns: Columns) -> bool:
    """Whether lines that count steps and tell no time of them are a training's: by their words, because they tell the
    epoch too, or as rows of a table.
    """
    return columns.trains or columns.epoch is not None or table.words[0].startswith("row ")


def _tells_share(table: Table, columns: Columns) -> bool:
    """Whether the per cent of a whole stand behind the counter: ``3m 53s (2100 52%)``."""
    place = -1 if columns.step is None else columns.step.place
    if place < 0 or not columns.measures or not re.match(r"\s*%", "".join(table.words[place + 2 : place + 3])):
        return False
    steps, shares = table.column(place).values, table.column(place + 1).values
    late = shares >= LEAST_SHARE
    wholes = steps[late] / shares[late]
    return len(wholes) >= LEAST_ROWS and bool(np.ptp(wholes) <= wholes.mean() * 2 / LEAST_SHARE)


def _of_one_total(table: Table) -> Table:
    """The rows of a bar with a name that has as many steps as nearly all of its rows; another table as it is."""
    bar = next(iter(bars_of([table])), None)
    if bar is None or not re.search("[A-Za-z]", bar.name) or len(bar.totals) == 1:
        return table
    totals = table.column(bar.total).texts
    total, rows = Counter(totals).most_common(1)[0]
    return table.where(np.array([text == total for text in totals])) if rows >= MOST_OF_BAR * len(totals) else table


def _is_glued(table: Table) -> bool:
    """Whether a line is two of one form, one behind the other, the second with its stamp before it perhaps."""
    words, count = [word.strip() for word in table.words], len(table.kinds)
    if not re.search("[A-Za-z]{2}", words[0]):
        return False
    return any(
        words[place].endswith(words[0]) and words[place + 1 : count] == words[1 : count - place]
        for place in range(count // 2, int(count * MOST_OF_GLUED) + 1) if 0 < place < count
    )  # fmt: skip


def _unnamed_bars(tables: Sequence[Table]) -> set[float]:
    """The totals of the bars without a name."""
    totals = set[float]()
    for table in tables:
        columns = columns_of(table)
        if not columns.is_bar or re.search("[A-Za-z]", table.words[0]):
            continue
        if columns.total is not None:
            totals |= set(table.column(columns.total).values.tolist())
        elif "bar" not in table.kinds and len(table) >= LEAST_ROWS:
            totals.add(float("inf"))  # one that knows no total
    return totals


def _may_train(table: Table, columns: Columns, trains: bool) -> bool:
    """Whether lines may be a training's: an evaluation's are none, and bars of files and epochs count no steps.

    ``trains``: whether any lines of the log speak of a training, and a bar without a name can be no other's.
    """
    if columns.evaluates:
        return False
    told = [meaning for meaning in columns.measures if meaning.is_named or meaning.kind != "elapsed"]
    if columns.holds_evaluation and not any(one.steps or one.kind == "rate" for one in told):
        return False
    if EVALUATES.search(table.words[0]) or (
        not told
        and (
            not (_says_training(table, columns) or (trains and _tells_share(table, columns)))
            or PAUSES.search(table.row(0))
        )
    ):
        return False
    if columns.is_bar:
        named = table.words[0]
        if NO_STEPS.search(re.sub(r"epochs?[ :#]*$", "", named, flags=re.I) if columns.epoch is not None else named):
            return False
        if re.search(
            r"(?<![A-Za-z])(?:epoch|file|shard|ep|B|fold|episode)s?(?:/s|\])|s/(?:epoch|ep|file|shard|fold|episode)",
            table.text,
        ):
            return False
        if columns.trains or columns.epoch is not None or "epoch" in table.text:
            return True
        of_steps = re.search(r"(?:step|batch|iter)(?:e?s)?/s|s/(?:step|batch)", table.text)
        return (trains or bool(of_steps)) and not re.search("[a-z]", named, re.I)
    return True


def _start_of_runs(series: Series) -> dict[str, Any] | None:
    """The pattern of a line that begins a run: it stands before the first row, and wherever the steps begin anew.

    None where another epoch begins there.
    """
    table, epoch = series.table, series.columns.epoch
    begun = series.fallen
    if epoch is not None:
        begun = begun & (np.diff(table.column(epoch.place).values) <= 0)
    if not begun.any():
        return None
    able = {own_words(line) for line in table.lines_within(0, int(table.lines[0]))}
    for row in np.flatnonzero(begun).tolist():
        between = table.lines_within(int(table.lines[row]), int(table.lines[row + 1]))
        able &= {own_words(line) for line in between}
    words = [_longest_words(line) for line in able]
    words = [word for word in words if not EVALUATES.search(word) and not re.search("epoch", word, re.I)]
    said = max((word for word in words if len(word) >= LEAST_WORDS and word not in table.row(0)), key=len, default="")
    if not said:
        return None
    return _beginning("start", said, table.lines_within(0, int(table.lines[0]))) | {"starts_run": True}


def _resumption(series: Series) -> dict[str, Any] | None:
    """The pattern of a line that stands before the first row and, with others of those, once more where the steps go
    on: the program died there, and another one took its place.
    """
    table = series.table
    again = Counter(own_words(line) for line in table.other_lines())
    begun = [line for line in table.lines_within(0, int(table.lines[0])) if own_words(line) in again]
    able = [
        line for line in begun if again[own_words(line)] <= FEWER * len(table) and not re.search("epoch", line, re.I)
    ]
    said = max((_longest_words(own_words(line)) for line in able), key=len, default="")
    if len(able) < LEAST_REPEATED or len(said) < LEAST_WORDS or said in table.row(0):
        return None
    return _beginning("resumed", said, able) | {"pauses": True}


def _beginning(name: str, said: str, lines: Sequence[str]) -> dict[str, Any]:
    """The pattern of a program's line that says so much; the first of some that does is its sample."""
    line = next(line for line in lines if said in line)
    regex = re.sub(" +", "[ \\t]+", said)
    return {"name": name, "role": "ignore", "literal": said, "regex": regex, "sample": [{"line": line}]}


def _longest_words(own: str) -> str:
    """The longest text of letters and blanks in a line's own words."""
    return max(re.findall(r"[A-Za-z][A-Za-z ]+", own), key=len, default="").strip()


def _falls_alike(series: Series) -> bool:
    """Whether the counter begins anew as with epochs: behind one and the same step, or at a whole that lines tell."""
    lasts = series.step[:-1][series.fallen]
    firsts = series.step[1:][series.fallen]
    alike = series.falls > 1 and bool((np.abs(lasts - lasts[0]) <= series.every).all())
    total = series.columns.total
    at_whole = total is not None and bool((series.table.column(total).values[0] - lasts <= series.every).all())
    return (alike or at_whole) and bool((firsts <= series.every).all())


def _heading(tables: Sequence[Table], training: Table, series: Series) -> dict[str, Any] | None:
    """The pattern of lines that tell the epoch, one of them before each row where the steps begin anew."""
    begins = training.lines[1:][series.fallen]
    for table in tables:
        if table is training or len(table) < len(begins):
            continue
        columns = columns_of(table)
        if columns.epoch is None:
            continue
        epochs = table.column(columns.epoch.place).values
        places = np.searchsorted(table.lines, begins)
        if (
            len(epochs) > 1
            and (np.diff(epochs) == 1).all()
            and (places > 0).all()
            and len(set(places.tolist())) == len(begins)
        ):
            heading = plain_pattern(table, {columns.epoch.place: "epoch"}, "heading", "position")
            return None if heading is None else {**heading, "step_per": "epoch"}
    return None
