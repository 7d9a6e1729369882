"""``perflog.toml``: a campaign's rule beside its logs.

Every option of extraction may stand there. The file is looked for from the logs upwards, then from the
working folder upwards; the command line always wins. Others may have written the file, as they may have written the
logs: the paths in it lead to its own repository alone, and a database is taken from the working folder's file only.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from perflog.border import GIT, border
from perflog.errors import ForeignConfigWarning, UsageError
from perflog.escaping import named
from perflog.spelling import did_you_mean

if TYPE_CHECKING:
    from perflog.formats.catalog import Catalog
    from perflog.settings.confinement import Confinement
    from perflog.settings.convention import Convention
    from perflog.settings.options import Options, Window


# ----------------------------------------------------------------------------------------------------
# The nearest ``perflog.toml``: where it is looked for, and which of those that are found are obeyed.
#
# A folder such as ``/tmp`` belongs to everybody, and so may the config file that somebody put there, above the logs of
# others. So git's rule for repositories (``safe.directory``) holds: above a repository, or above the folder of logs
# that was named, a file counts only where the user or root owns it.

FILE = "perflog.toml"


def find_config(paths: Sequence[str | os.PathLike[str]], confinement: Confinement | None = None) -> Path | None:
    """The config file in force; arguments as of :func:`look_for_config`."""
    return look_for_config(paths, confinement)[0]


def look_for_config(
    paths: Sequence[str | os.PathLike[str]], confinement: Confinement | None = None
) -> tuple[Path | None, list[str]]:
    """The nearest config file that counts, from the first path upwards, then from the working folder upwards; and of
    each nearer one that does not count, in a sentence, why.

    Args:
        confinement: where it is given, the search from the first path upwards ends at its roots; in a confined run
            each search ends at that run's folder.
    """
    from perflog.logs.addresses import is_address

    run = border()
    of_run = set() if run is None else {run}
    starts = [(Path(path).absolute(), of_run | set(confinement.roots if confinement else ())) for path in paths[:1]
              if not is_address(path)]  # fmt: skip
    ignored: list[str] = []
    for start, ends in [*starts, (Path.cwd(), of_run)]:
        home = _home_of(start, is_named=bool(starts) and start is starts[0][0])
        for file in _files_above(start, ends):
            reason = "" if home is not None and file.is_relative_to(home) else _why_foreign(file)
            if not reason:
                return file, ignored
            ignored = list(dict.fromkeys((*ignored, reason)))
    return None, ignored


def _files_above(start: Path, ends: set[Path]) -> Iterator[Path]:
    """The config files in a folder and above it, up to the first of the folders at which the search ends."""
    for folder in (start, *start.parents):
        with suppress(OSError):  # in a folder that the user may not look into
            if (folder / FILE).is_file():
                yield folder / FILE
        if ends and Path(os.path.realpath(folder)) in ends:
            return


def _home_of(start: Path, is_named: bool) -> Path | None:
    """The folder in which every config file counts: the repository that holds a path, else the folder that was named.

    A repository that somebody else put above the path, as anybody can in ``/tmp``, is none.
    """
    owners = _trusted()
    with suppress(OSError):
        owners |= {start.stat().st_uid}
    for folder in (start, *start.parents):
        with suppress(OSError):
            if (folder / GIT).lstat().st_uid in owners or not hasattr(os, "geteuid"):
                return folder
    return start if is_named and start.is_dir() else None


def _why_foreign(file: Path) -> str:
    """Why a config file does not count; empty where the user or root owns it, and the link that it may be."""
    if not hasattr(os, "geteuid"):  # no owners in the sense of Unix
        return ""
    try:
        owners = {file.lstat().st_uid, file.stat().st_uid}
    except OSError:
        owners = {-1}
    others = owners - _trusted()
    if not others:
        return ""
    return (
        f"{named(str(file))} is not used: it lies above the logs, and neither you nor root owns it (user "
        f"{min(others)} does); to use it, copy it into the folder of the logs, or make it yours"
    )


def _trusted() -> set[int]:
    """The users whose config files count: this one and root; under sudo, as git has it, the one who called it too."""
    if not hasattr(os, "geteuid"):
        return set()
    caller = os.environ.get("SUDO_UID", "") if os.geteuid() == 0 else ""
    return {os.geteuid(), 0, *({int(caller)} if caller.isdecimal() else ())}


#: The environment variable that names the history's database.
DATABASE = "PERFLOG_DATABASE"
FormatName = Literal[
    "table", "markdown", "csv", "json", "parquet", "xlsx", "latex", "openmetrics", "tensorboard", "dlperf"
]  # fmt: skip
FORMATS: tuple[str, ...] = get_args(FormatName)

#: Where a value comes from that the user gave with the command.
_COMMAND_LINE = "command line"
#: Options and their defaults, in the order they are shown.
DEFAULTS: Mapping[str, Any] = {
    "warmup": "20", "steps": None, "last": None, "estimator": "total", "aggregate": "median", "baseline": {}, "set": {},
    "aliases": {}, "as_": [], "values": "differenced", "without_slow": False, "sampled": False, "convention": None,
    "parser": [], "parsers": [], "format": "table", "database": None,
}  # fmt: skip
#: The options that a convention decides on, each with its name in words.
_OF_CONVENTIONS: Mapping[str, str] = {
    "warmup": "warm-up", "steps": "steps", "last": "last", "estimator": "estimator", "aggregate": "aggregate",
    "values": "values",
}  # fmt: skip
#: What messages give as an example of an option's ``key=value``, where it is no fact.
_EXAMPLES: Mapping[str, str] = {
    "digits": "throughput=%.2f", "title": "throughput='samples/s'", "name": "fp16=AMP", "where": "model=rn50",
    "only": "precision=amp", "alias": "rn50=resnet50",
}  # fmt: skip
#: Options that choose a window in another way than those named with them: giving one takes the others' place.
_INSTEAD: Mapping[str, tuple[str, ...]] = {"last": ("warmup", "steps"), "warmup": ("last",), "steps": ("last",)}


@dataclass(frozen=True, slots=True)
class Settings:
    """Every option in force, and where it comes from.

    What a convention fixes comes from the convention, but for the options that are given beside it: on the command
    line, or in the config file that names the convention. Those adjust it, and :meth:`options` says which.

    Attributes:
        refused_database: why the database of a config file is not taken, as a whole message; empty where none is named
            or one was given otherwise. Commands that need a database raise it; all others need not know.
        config_file: the file whose options are in force; empty for none.
        parts: the files and folders whose parts are read, with all links resolved; None for all. A recipe and a
            confined run read those alone that the command line itself names: a part is whatever its writer says.
    """

    values: dict[str, Any]
    sources: dict[str, str]
    config_set: dict[str, str] = field(default_factory=dict)
    refused_database: str = ""
    config_file: str = ""
    parts: tuple[Path, ...] | None = None

    def options(self) -> Options:
        """The options of extraction.

        Raises:
            UsageError: for a value that is not right, naming the option.
        """
        from perflog.settings.options import AGGREGATES, ESTIMATORS, VALUES, Options

        values = self.values
        one_of("estimator", values["estimator"], ESTIMATORS)
        one_of("aggregate", values["aggregate"], AGGREGATES)
        one_of("values", values["values"], VALUES)
        self._check_facts()
        options = Options(
            self._window(),
            values["estimator"],
            values["aggregate"],
            dict(values["baseline"]),
            dict(values["set"]),
            dict(self.config_set),
            as_printed=values["values"] == "printed",
            aliases=dict(values["aliases"]),
            without_slow=bool(values["without_slow"]),
            said=self._said(),
            sampled=bool(values["sampled"]),
            decided=bool(values["without_slow"] or values["convention"] or self.sources["estimator"] != "default"),
        )
        if not values["convention"]:
            return options
        from perflog.settings.convention import with_adjustments

        rule = _convention(values["convention"])
        adjusted = [_OF_CONVENTIONS[key] for key in rule.fixed if self.sources[key] != _source_of(rule.name)]
        return replace(options, digits=rule.options.get("digits", ""), convention=with_adjustments(rule.name, adjusted))

    def catalog(self) -> Catalog:
        """The parsers in force: perflog's and the user's, or those alone that ``parser`` names.

        Raises:
            ParserError: for a parser's file that is not well formed.
            UsageError: for a folder of parsers that is not there, or a parser that is not known.
        """
        from perflog.formats.catalog import load_catalog

        catalog = load_catalog(self.values["parsers"])
        return catalog.only(self.values["parser"], self._place("parser")) if self.values["parser"] else catalog

    def _window(self) -> Window:
        """The window that is asked for; of all steps since the start nothing is left out."""
        from perflog.settings.options import Amount, Window, window_of

        values = self.values
        if values["last"] is not None and self.sources["warmup"] == _COMMAND_LINE:
            raise UsageError(
                f"{self._place('last')} and --warmup exclude each other: the last steps are taken whatever the "
                "warm-up; leave one of them out"
            )
        window = window_of(values["warmup"], values["steps"], values["last"], self._place)
        if values["estimator"] != "since_start":
            return window
        given = next((name for name in ("warmup", "steps", "last") if self.sources[name] == _COMMAND_LINE), "")
        if given:
            place = self._place(given)
            raise UsageError(f"{place} and --estimator since_start exclude each other: leave one of them out")
        return Window(Amount(0))

    def _said(self) -> tuple[str, ...]:
        """What is said of the logs' lines, as it was given."""
        said = tuple(self.values["as_"])
        if not said:
            return ()
        from perflog.formats.line import said_of

        for option in ("convention", "values"):
            if self.values[option] not in (None, DEFAULTS[option]):
                raise UsageError(
                    f"{self._place('as_')} and {self._place(option)} exclude each other: published reports took the "
                    "numbers of formats; leave one of them out"
                )
        try:
            said_of(said)
        except UsageError as error:
            raise UsageError(str(error).replace("--as", self._place("as_"), 1)) from None
        return said

    def _place(self, option: str) -> str:
        """An option as messages name it: where it was given."""
        return place_of(self.sources[option], option)

    def _check_facts(self) -> None:
        """Let facts pass whose names are right and whose counts are whole numbers; raise UsageError for others."""
        for option in ("set", "baseline"):
            in_file = Path(self.sources[option]).name == FILE
            for key, value in self.values[option].items():
                self._check_fact(option, key, value, in_file)
        for key, value in self.config_set.items():
            self._check_fact("set", key, value, in_file=True)

    def _check_fact(self, table: str, key: str, value: Any, in_file: bool) -> None:
        from perflog.settings.convention import require_fact

        try:
            require_fact(f"--{table} {key}={value}", key, value)
        except UsageError:
            if not in_file:
                raise
            require_fact(self._fact(table, key, value), key, value)  # its line is looked for where it is needed alone

    def _fact(self, table: str, key: str, value: Any) -> str:
        """A fact of the config file, as messages name it."""
        from perflog.settings.config_file import place_of as place_in_file

        return f"{place_in_file(Path(self.config_file), table, key)} = {value}"


def settings(
    given: Mapping[str, Any],
    paths: Sequence[str | os.PathLike[str]] = (),
    confinement: Confinement | None = None,
) -> Settings:
    """Put the command line over the convention over the nearest config file over the defaults.

    Args:
        given: options from the command line; None or empty means not given.
        paths: the logs; the config file is looked for from each one upwards, and is one for all.
        confinement: what ``given`` and ``paths`` must keep to, where a file that others may have written names them.

    Raises:
        UsageError: for a config file that is not well formed, an unknown option in it, an unknown convention, paths
            of which one alone would be read by another config file, or a path that leads out of the repository of the
            file that names it.
    """
    if confinement is not None:
        _admit(given, paths, confinement)
    values: dict[str, Any] = dict(DEFAULTS)
    sources = dict.fromkeys(values, "default")
    config_set: dict[str, str] = {}
    in_file: dict[str, Any] = {}
    refused = ""
    file, foreign = look_for_config(paths, confinement)
    for reason in foreign:
        warnings.warn(reason, ForeignConfigWarning, stacklevel=2)
    _require_one_config(file, paths, confinement)
    if given.get("parsers") and confinement is None:
        from perflog.settings.config_file import admit_logs_for

        admit_logs_for(given["parsers"], paths)
    if file is not None:
        in_file, refused = _of_config(file, paths, bool(given.get("parsers")), confinement)
        sources |= dict.fromkeys(in_file, str(file))
        config_set = in_file.pop("set", {})
        values |= in_file
    if os.environ.get(DATABASE):
        values["database"], sources["database"] = os.environ[DATABASE], "environment"
    on_command_line = {key: value for key, value in given.items() if value is not None and value != [] and value != {}}
    values |= on_command_line
    sources |= dict.fromkeys(on_command_line, _COMMAND_LINE)
    if values["convention"]:
        beside = on_command_line if "convention" in on_command_line else {**in_file, **on_command_line}
        rule = _convention(values["convention"], place_of(sources["convention"], "convention"))
        fixed = _fixed_but_for(rule, beside)
        values |= fixed
        sources |= dict.fromkeys(fixed, _source_of(rule.name))
    parts = _places_of_parts(paths) if confinement is None else confinement.parts
    return Settings(values, sources, config_set, "" if values["database"] else refused, str(file or ""), parts)


def _places_of_parts(paths: Sequence[str | os.PathLike[str]]) -> tuple[Path, ...] | None:
    """In a confined run the files that the command line names, and not what lies in its folders; None in any other."""
    if border() is None:
        return None
    return tuple(Path(os.path.realpath(path)) for path in paths if not os.path.isdir(path))  # noqa: PTH112 - or address


def _require_one_config(
    file: Path | None, paths: Sequence[str | os.PathLike[str]], confinement: Confinement | None
) -> None:
    """Raise UsageError where the options and facts in the first path's config file would be taken for other logs."""
    from perflog.logs.addresses import is_address

    places = {
        path if is_address(path) or os.path.isdir(path) else Path(path).parent: path  # noqa: PTH112 - may not be read
        for path in reversed(paths[1:])
    }
    for path in places.values():
        other = find_config([path], confinement)
        if other != file and not _say_the_same(file, other):
            of_first, of_other = (f"{config or f'no {FILE}'}" for config in (file, other))
            raise UsageError(
                f"{of_first} holds for {paths[0]} and {of_other} for {path}, and a command takes the options of one "
                f"file: name the logs of one at a time, or keep one {FILE}, above all of them"
            )


def _say_the_same(one: Path | None, other: Path | None) -> bool:
    """Whether two config files set the same."""
    if one is None or other is None:
        return False
    from perflog.settings.config_file import read_config

    return read_config(one) == read_config(other)


def _admit(given: Mapping[str, Any], paths: Sequence[str | os.PathLike[str]], confinement: Confinement) -> None:
    """Raise UsageError for a folder of parsers or a log that leads out of the confinement."""
    for folder in given.get("parsers") or ():
        confinement.admit_files(folder, "*.toml", "--parsers")
    confinement.admit_logs(paths)


def _of_config(
    file: Path, paths: Sequence[str | os.PathLike[str]], parsers_given: bool, confinement: Confinement | None
) -> tuple[dict[str, Any], str]:
    """(the options in a config file that are taken, why its database is not).

    Args:
        parsers_given: whether the command line names folders of parsers, so that the file's are not used.

    Raises:
        UsageError: as :func:`settings` does.
    """
    from perflog.settings.config_file import admit_logs, read_config, refused_database, require_parsers

    options = read_config(file)
    if "parsers" in options and not parsers_given:
        require_parsers(file, options["parsers"])
        admit_logs(file, paths, confinement.roots if confinement else ())
    refused = ""
    if "database" in options:
        here = find_config(())
        refused = refused_database(file, options["database"], here is not None and here.samefile(file))
        if refused:
            del options["database"]
    return options, refused


def _fixed_but_for(rule: Convention, beside: Mapping[str, Any]) -> dict[str, Any]:
    """What a convention fixes, without the options that are given beside it.

    A window that is given in another way than the convention's (its last records, say) takes the place of all of it.
    """
    fixed = {key: value for key, value in rule.fixed.items() if key not in beside}
    for key in beside:
        for other in _INSTEAD.get(key, ()):
            if other in fixed:
                fixed[other] = DEFAULTS[other]
    return fixed


def _source_of(convention_name: str) -> str:
    """Where an option comes from that a convention fixes."""
    return f"convention {convention_name}"


def _convention(name: str, place: str = "--convention") -> Convention:
    """The convention of that name, by a module that is imported where one is named."""
    from perflog.settings.convention import convention

    return convention(name, place)


def place_of(source: str, option: str) -> str:
    """An option as messages name it: ``--warmup``, or the place in the config file that gives it."""
    name = option.rstrip("_")  # Python's as_ is `as` elsewhere
    if Path(source).name != FILE:
        return f"--{name}"
    from perflog.settings.config_file import place_of as place_in_file

    return place_in_file(Path(source), name)


def one_of(option: str, value: Any, allowed: Sequence[str]) -> None:
    """Raise UsageError unless ``value`` is one of ``allowed``."""
    if value not in allowed:
        hint = did_you_mean(str(value), allowed)
        raise UsageError(f"--{option} {value!r}: expected one of {', '.join(allowed)}{hint}")


def names_in(text: str) -> tuple[str, ...]:
    """``a,b`` as names."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """``key=value`` texts as a dict. Raises UsageError for one without ``=``."""
    out = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip() or not value.strip():
            example = _EXAMPLES.get(option, "devices=8")
            raise UsageError(f"--{option} {text!r}: expected key=value, such as --{option} {example}")
        out[key.strip().replace("-", "_")] = value.strip()
    return out
