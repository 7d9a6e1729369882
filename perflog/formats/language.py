"""The keys of the format language: what may stand in a parser's file, each declared once.

A key's declaration is its type and default, the patterns that read it, the check of what it says, and below it what it
is for, in Markdown: ``python -m tests.tools.make_keys`` makes the tables of ``docs/parsers.md`` of it. A key that is
set where nothing reads it is refused. The rest of perflog reads it from the same record:
:class:`perflog.formats.parser.Pattern` is a :class:`PatternKeys` with what follows from the keys of its file.
"""

# no `from __future__ import annotations`: as texts, all of these would be compiled at each start of perflog

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from msgspec import Meta, Struct, field
from msgspec.structs import fields

from perflog.formats import meaning
from perflog.formats.toml import Scalar

Text = Annotated[str, Meta(min_length=1)]
Count = Annotated[int, Meta(ge=0)]
Facts = Mapping[str, Scalar]
Role = Literal["step", "position", "summary", "event", "metadata", "ignore"]
Quantity = Literal[
    "step_time", "rate", "time_per_work", "interval_time", "elapsed", "samples", "timestamp", "time_to_train",
    "accuracy", "metric",
]  # fmt: skip


class Key(NamedTuple):
    """What is known of a key beside its type.

    Attributes:
        of: the roles of the patterns that read it; empty: all.
        quantities: of a value's key, the quantities that read it; empty: all.
        why: why others do not read it; empty: that only those do.
        hidden: why a pattern of these roles does not read it all the same, as its table says; empty where it does.
        check: what is wrong in a pattern (or a value of one) as far as this key goes.
    """

    of: tuple[Role, ...] = ()
    quantities: tuple[Quantity, ...] = ()
    why: str = ""
    hidden: Callable[[Any], str] | None = None
    check: Callable[[Any, Any], meaning.Faults] | None = None


_STEP, _PLACED = ("step",), ("step", "position")
_FACTS: dict[str, Any] = {"of": ("metadata",), "why": "only a pattern with role metadata gives facts"}


class ValueKeys(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """``[[pattern.value]]``: what one named group of a line means."""

    group: Annotated[Text, Key(check=meaning.of_group)]
    """The named group."""
    quantity: Quantity
    """`step_time` (time per step) · `rate` (work per second) · `time_per_work` (its inverse: `s/kimg`) ·
    `interval_time` (time for all the steps that this line covers) · `elapsed` (time since the start) · `samples` (work
    per step; with `span = "cumulative"` a counter of work) · `timestamp` · `time_to_train` · `accuracy` · `metric`
    (anything else; `metric = "its_name"`).
    """
    unit: Annotated[str, Key(check=meaning.of_unit)] = ""
    """Time: `s` (default), `ms`, `us`, `ns`, `min`, `h`, `clock` (`04:00`, `1 day, 2:03:11`, `18m 42s`, `14 minutes and
    44.12 seconds`). A rate needs one unless a group `unit` reads it from the line: work and `/s`: `images/s`,
    `samples/s`, `sequences/s`, `tokens/s`, `words/s`, `records/s`, `videos/s`, `steps/s`, `iters/s`, `env_steps/s` (of
    simulated environments); `Ktokens/s` for thousands. Aliases as programs print them (`img/s`, `imgs/sec`, `seq/s`)
    are understood.
    """
    span: Annotated[Literal["last", "interval", "window", "cumulative", "run"], Key(check=meaning.of_span)] = "interval"
    """Over what the number is a mean: `last` (the last step only) · `interval` (since the last print; default) ·
    `window` (the last steps, see the next key) · `cumulative` (since the beginning that `since` names) · `run` (the
    whole run; in summaries only). `interval_time` is `interval` or `last`, `elapsed` and `timestamp` are `interval` or
    `cumulative`.
    """
    window: Count = 0
    """Of `span = "window"`, how many steps it is a mean over. A time until the window is full for the second time
    counts by the differences of its totals, so that slow first steps count once.
    """
    window_from: Annotated[str, Key(check=meaning.of_window)] = ""
    """`"window_size"`: as many steps as the log says in a metadata group of this name."""
    since: Annotated[Literal["run", "epoch", "start"], Key(check=meaning.of_since)] = "run"
    """When a mean began: with the `"run"` (default), the `"epoch"`, or the process: `"start"`, where a resumed training
    begins anew.
    """
    offset: Annotated[Count, Key(check=meaning.of_offset)] = 0
    """Of `span = "cumulative"`, how many first steps the mean leaves out."""
    plus: Annotated[tuple[str, ...], Key(check=meaning.of_plus)] = ()
    """`["data"]`: groups of the same unit that are added; where one is missing there is no value."""
    amount: Annotated[
        str,
        Key(
            quantities=("time_per_work",),
            why="only a time per work (quantity 'time_per_work') is of an amount of it",
            check=meaning.of_amount,
        ),
    ] = ""
    """The group that tells of how much work the time is: `101 ms per 64 images` has `unit = "ms/image"` and `amount =
    "images"`; where the program always prints one number, `unit = "ms/64 images"`. The value is a rate; the time per
    step follows from the log's batch size.
    """
    same: str = ""
    """A name that several values share: one number in several units (`ms`, `s` or `it/s`), of which a line has one."""
    partial: Annotated[
        bool,
        Key(quantities=("samples",), why="only work of a step (quantity 'samples') tells whether a record is whole"),
    ] = False
    """`true`: a record with less work than the others is the mean of fewer steps than it claims, and is left out."""
    holds_pauses: Annotated[
        bool,
        Key(
            quantities=("step_time", "interval_time", "rate", "time_per_work"),
            why="a step or a mean holds them; of a mean over a window or the run they cannot be taken out",
            check=meaning.of_pauses,
        ),
    ] = False
    """`true`: the pauses that `pauses` lines mark are in this time or rate; a record with one is left out."""
    scope: Annotated[
        Literal["rank", "device", "node", "job", "unknown"],
        Key(quantities=("step_time", "rate", "time_per_work", "interval_time", "elapsed", "samples", "timestamp")),
    ] = "job"
    """Whose work it is: `rank`, `device`, `node` (perflog multiplies by their number), `job` (already everything;
    default) or `unknown` (no line says it: the number stands where the log knows of one device or of none, else none is
    given).
    """
    pick: Annotated[Literal["last", "first", "max", "min"], Key(of=("summary",))] = "last"
    """Where the value is printed several times: `last` (default), `first`, `max`, `min`."""
    metric: Annotated[str, Key(check=meaning.of_metric)] = ""
    """The name of a metric; of a summary's other values, the name under which they are shown."""
    definition: Annotated[str, Key(check=meaning.of_definition)] = ""
    """Of a metric that programs define differently (TFLOP/s, MFU): what this one counts, in words; it stands beside the
    number.
    """


class Sample(Struct, frozen=True, forbid_unknown_fields=True):
    """``[[pattern.sample]]``: a line, and what its pattern must read from it."""

    line: Text
    """A whole line as it appears in a log."""
    expect: Facts = {}
    """The values of some groups."""
    facts: Annotated[Facts | None, Key(**_FACTS)] = None
    """All that the line must say, in perflog's words (`facts = { precision = "fp32" }`; `facts = {}` for a line that
    says nothing, such as that of a feature which is off).
    """


class PatternKeys(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """``[[pattern]]``: one kind of line."""

    name: Text
    """Unique in the file."""
    role: Role
    """What the line is: the table above."""
    literal: Annotated[Text, Key(check=meaning.of_literal)]
    """Text that must occur in the line before the regex is tried."""
    regex: Annotated[Text, Key(check=meaning.of_regex)]
    """The line, with a named group for each number."""
    step_base: Annotated[Literal[0, 1, "first"], Key(of=_PLACED, hidden=meaning.numbered_by_position)] = 1
    """The number of the first step: 0, 1 (default) or `"first"`: what the first line shows."""
    step_per: Annotated[Literal["run", "epoch", "unnamed"], Key(of=_PLACED, hidden=meaning.counted_by_position)] = "run"
    """The counter counts the whole `"run"` (default), or begins anew with each `"epoch"`; `"unnamed"`: with each epoch,
    which no line tells, so that a step that falls begins the next.
    """
    step_repeats: Annotated[bool, Key(of=_PLACED)] = False
    """A step is printed again and again while the clock goes on (gradient accumulation)."""
    step_counts: Annotated[Literal["steps", "samples"], Key(of=_STEP, check=meaning.of_step_counts)] = "steps"
    """`"samples"`: steps follow from a counter of samples: its first value, or the batch size of the log; a bar may
    count samples too (`480/4000 [00:20<02:20, 24.9img/s]`), and is refused where neither tells.
    """
    step_rounded: Annotated[bool, Key(of=_STEP, check=meaning.of_step_rounded)] = False
    """The counter of steps is printed in whole thousands (`3K`): the true steps follow from the interval between the
    lines, which a metadata group `print_interval` or the lines tell.
    """
    scaled: Annotated[tuple[str, ...], Key(check=meaning.of_scaled)] = ()
    """`["step", "tokens"]`: groups printed with commas or a suffix K, M, B, G or T."""
    redrawn: Annotated[bool, Key(of=_STEP)] = False
    """Of lines with the same step the first counts (a bar is drawn again when it closes)."""
    irregular: Annotated[bool, Key(of=_STEP)] = False
    """Lines come when time has passed, not at every k-th step, so that no interval is learned."""
    restarts: Annotated[bool, Key(of=_STEP, check=meaning.of_clock)] = False
    """The elapsed time may fall below half and begin anew. Where the step falls with it, or another epoch is printed,
    that is the next epoch (or data file) of the same training; another run only behind a line with `starts_run`, or
    where the printed epoch falls. Where the step goes on, the training was resumed. The time counts since then.
    """
    first_is_start: Annotated[bool, Key(of=_STEP)] = False
    """The first line of a clock only sets it."""
    track: Annotated[str, Key(of=_STEP, check=meaning.of_track)] = ""
    """`"run_steps"`: lines with different numbers in this group are different bars; those that enclose the lines of
    `only_with` are the training's.
    """
    only_with: Annotated[tuple[str, ...], Key(of=_STEP, check=meaning.of_only_with)] = ()
    """Metadata or ignore patterns whose lines the training's bars enclose, where `track` tells bars apart."""
    told_by: Annotated[tuple[str, ...], Key(of=_STEP, check=meaning.names_lines("told_by"))] = ()
    """`["header", "a+b"]`: the lines count where the log holds a line of one of these metadata or ignore patterns
    (`a+b`: of both).
    """
    ticks_told_by: Annotated[tuple[str, ...], Key(of=_STEP, check=meaning.of_ticks_told_by)] = ()
    """`["header"]`: a bar may count samples: where all its counts are multiples of one number (and not by chance), the
    lines count only where the log holds a line of one of these patterns; where most epochs print two bars of one name
    they never count.
    """
    never_with: Annotated[tuple[str, ...], Key(of=("step", "summary", "metadata"), check=meaning.of_never_with)] = ()
    """Metadata or ignore patterns. Of a *step*: `["test"]`: the lines count where the log holds no line of them. Of a
    *summary*: `["resumed"]`: its rate is not given where such a line stands before it and behind the pattern's summary
    before: the program counts other work then. Behind a line of a pattern that `evaluates`, with no measured step
    between, it is an evaluation's and is left out. Of *metadata*: `["amp_off"]`: its facts do not count where a line of
    one of these metadata patterns stands in the same start of the run, or in a later one: a level (`level : O1`) is
    printed whether or not its switch (`use_amp : False`) is on, and the switch decides ([what formats print with a
    feature off](formats.md)).
    """
    pauses: bool = False
    """Something else than training happens here (evaluation, saving): a clock's record with such a line inside is left
    out, and so is a step or mean whose value says `holds_pauses = true`. Where a bar of another length begins is a
    pause too; an ignored line with groups `step` and `run_steps` is such a bar's.
    """
    evaluates: Annotated[bool, Key(of=("ignore", "metadata"))] = False
    """Measurements behind such a line count again only behind the next position line."""
    position: Annotated[
        str,
        Key(
            of=_PLACED,
            why="a pattern with role {role} has no measurements to place",
            check=meaning.of_position,
        ),
    ] = ""
    """The position pattern whose lines tell the epoch, the step or both of lines that lack them."""
    position_once: Annotated[bool, Key(of=_STEP, check=meaning.of_position_once)] = False
    """The first measurement after each position line only (Keras prints evaluations like epochs); of a bar (`redrawn`,
    `restarts`) the first bar after it, where a test draws the same bar.
    """
    block: Annotated[
        str, Key(of=_STEP, why="a pattern with role {role} is no part of a record", check=meaning.of_block)
    ] = ""
    """`"head"`: lines below one line of the position pattern `head` are one record with its step, epoch and time; each
    part has the values of all.
    """
    total: Annotated[Literal["", "epoch"], Key(of=_STEP)] = ""
    """`"epoch"`: lines of whole epochs: a witness, or the measurements where the step lines tell one step in k. Steps
    of the epoch: `covers`, `epoch_steps`, those of the step lines, or rate times time.
    """
    assumed_covers: Annotated[Count, Key(of=_STEP)] = 0
    """`250`: the steps of a line that no line tells."""
    assumption: Annotated[str, Key(of=_STEP, check=meaning.of_assumption)] = ""
    """`"250 steps an epoch are the program's default"`: why that many are assumed; it becomes a note."""
    drops_first: Annotated[Literal["", "epoch"], Key(of=_STEP)] = ""
    """`"epoch"`: the first record of each epoch is left out: the program prints it wrong."""
    ends_epoch: Annotated[bool, Key(of=_STEP, check=meaning.of_ends_epoch)] = False
    """Each line ends the epoch that it prints. Where it prints a step of the run too and the epoch rises by two, a line
    is missing, and the time is of one epoch's steps; an epoch that ends twice with different numbers refuses the run.
    """
    starts_run: bool = False
    """The line is printed at the start of a training: where steps go back, it shows that a second run begins there."""
    also: Annotated[
        str,
        Key(of=_STEP, why="it reads loss and memory of a pattern with role step, nothing else", check=meaning.of_also),
    ] = ""
    """`'loss: +(?P<loss>{NN})'`: a second regex that reads the loss and the memory of each log's last lines only; it
    says nothing about which lines match.
    """
    memory_unit: Annotated[Literal["MiB", "GiB", "MB"], Key(of=_STEP)] = "MiB"
    """Of the group `memory`, the peak of a device: `MiB` (default), `GiB`, or `MB` of 10⁶ bytes."""
    event: Annotated[
        Literal["", "run_start", "run_stop", "run_failed"],
        Key(of=("event",), why="only a pattern with role event has one", check=meaning.of_event),
    ] = ""
    """The moment that the line's `timestamp` is of."""
    set: Annotated[Facts, Key(**_FACTS, check=meaning.of_set)] = {}
    """`{ mode = "benchmark" }`: fixed facts where the line occurs."""
    map: Annotated[Mapping[str, Facts], Key(**_FACTS, check=meaning.of_map)] = {}
    """`map.precision = { True = "amp", False = "fp32" }`: printed values in perflog's words; a printed value that is
    not in the map is left out.
    """
    note: Annotated[str, Key(**_FACTS)] = ""
    """A note to the numbers."""
    weak: Annotated[bool, Key(**_FACTS)] = False
    """Counts where no other pattern gives the key, and contradicts none."""
    own: Annotated[bool, Key(**_FACTS)] = False
    """Counts in logs that only this parser measures."""
    section: Annotated[str, Key(**_FACTS, check=meaning.of_section)] = ""
    """`"train"`: counts inside the section of this name, which a metadata pattern with a group `section` opens."""
    values: Annotated[tuple[ValueKeys, ...], Key(check=meaning.of_values)] = field(default=(), name="value")
    """The table below."""
    samples: tuple[Sample, ...] = field(default=(), name="sample")
    """Lines that it must match."""
    rejects: tuple[str, ...] = ()
    """Lines that it must not match."""


class ParserKeys(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A parser's whole file."""

    title: Text
    """The name of the program or format."""
    source: Text
    """The address of the source that prints the lines."""
    patterns: Annotated[tuple[PatternKeys, ...], Meta(min_length=1, description="one [[pattern]] or more")] = field(
        name="pattern"
    )
    framework: str = ""
    """A fact of the case, unless the log or the user says otherwise."""
    priority: Annotated[int, Meta(ge=0, le=1000, description="a whole number from 0 to 1000")] = 50
    """Who gets a line that two parsers match: 60 specific, 50 usual, 20 generic."""
    traps: tuple[str, ...] = ()
    """What misleads in these logs; `parsers show` and `explain` print it."""
    default: Facts = {}
    """Facts that the format itself fixes (rare)."""


def keys_of(table: type[Struct]) -> dict[str, Key]:
    """What is known of a table's keys, by their names in a file."""
    hints = get_type_hints(table, include_extras=True)
    notes = {each: get_args(hint)[1:] if get_origin(hint) is Annotated else () for each, hint in hints.items()}
    return {
        each.encode_name: next((note for note in notes[each.name] if isinstance(note, Key)), Key())
        for each in fields(table)
    }
