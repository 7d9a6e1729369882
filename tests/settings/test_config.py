"""``perflog.toml``, the command line and conventions: which value is in force, and where it comes from."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from perflog.api.options import ExtractionOptions
from perflog.errors import UsageError
from perflog.settings.config import DATABASE, DEFAULTS, Settings, find_config, pairs, settings
from perflog.settings.config_file import _ConfigFile, read_config
from perflog.settings.options import Amount, Window
from perflog.show.options import EXTRACTION, REPEATED

CONVENTION = "dlperf-tf-timehistory"  # warm-up 1 record, 5 records, mean; says nothing of the aggregate


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No database and no perflog.toml from outside."""
    monkeypatch.delenv(DATABASE, raising=False)
    monkeypatch.chdir(tmp_path)


def config(folder: Path, text: str) -> Path:
    file = folder / "perflog.toml"
    file.write_text(text, encoding="utf-8")
    return file


def in_force(chosen: Settings, *keys: str) -> dict[str, tuple[Any, str]]:
    return {key: (chosen.values[key], chosen.sources[key]) for key in keys}


def test_the_defaults() -> None:
    chosen = settings({})
    assert chosen.values == dict(DEFAULTS)
    assert set(chosen.sources.values()) == {"default"}
    options = chosen.options()
    assert (options.window, options.estimator, options.aggregate, options.convention) == (
        Window(Amount(20)),
        "total",
        "median",
        "",
    )


def test_the_command_line_counts_before_the_file(tmp_path: Path) -> None:
    file = config(tmp_path, 'warmup = 100\nestimator = "mean"\n[set]\ndevices = 8\n')
    chosen = settings({"warmup": "50", "steps": None, "set": {"nodes": "2"}, "parser": []}, [tmp_path])
    assert in_force(chosen, "warmup", "estimator", "steps", "set") == {
        "warmup": ("50", "command line"), "estimator": ("mean", str(file)), "steps": (None, "default"), "set": ({"nodes": "2"}, "command line")
    }  # fmt: skip
    options = chosen.options()
    assert (options.window, options.set, options.config_set) == (Window(Amount(50)), {"nodes": "2"}, {"devices": "8"})


def test_a_convention_of_the_file_is_in_force(tmp_path: Path) -> None:
    file = config(tmp_path, f'convention = "{CONVENTION}"\n')
    chosen = settings({}, [tmp_path])
    from_convention = f"convention {CONVENTION}"
    assert in_force(chosen, "convention", "warmup", "steps", "last", "estimator", "aggregate", "values") == {
        "convention": (CONVENTION, str(file)),
        "warmup": ("1records", from_convention),
        "steps": ("5records", from_convention),
        "last": (None, from_convention),
        "estimator": ("mean", from_convention),
        "aggregate": ("median", "default"),
        "values": ("printed", from_convention),
    }
    options = chosen.options()
    assert options.window == Window(Amount(1, "records"), Amount(5, "records"))
    assert (options.estimator, options.aggregate, options.as_printed, options.digits, options.convention) == (
        "mean", "median", True, "%.2f", CONVENTION
    )  # fmt: skip


def test_a_convention_of_the_command_line_is_in_force(tmp_path: Path) -> None:
    """The options of a file do not adjust a convention that is named on the command line: they are farther."""
    config(tmp_path, 'convention = "mlperf"\nwarmup = 100\nlast = "25records"\nvalues = "differenced"\n')
    chosen = settings({"convention": CONVENTION}, [tmp_path])
    assert in_force(chosen, "convention", "warmup", "last", "values") == {
        "convention": (CONVENTION, "command line"),
        "warmup": ("1records", f"convention {CONVENTION}"),
        "last": (None, f"convention {CONVENTION}"),
        "values": ("printed", f"convention {CONVENTION}"),
    }
    assert chosen.options().window.last is None
    assert chosen.options().convention == CONVENTION


def test_the_aggregate_of_a_convention_gives_way_to_the_command_line() -> None:
    chosen = settings({"convention": "mlperf"})
    assert in_force(chosen, "aggregate") == {"aggregate": ("olympic", "convention mlperf")}
    chosen = settings({"convention": "mlperf", "aggregate": "mean"})
    assert in_force(chosen, "aggregate") == {"aggregate": ("mean", "command line")}
    assert chosen.options().aggregate == "mean"


@pytest.mark.parametrize(
    ("given", "window", "estimator", "printed", "named"),
    [
        ({"warmup": "5records"}, Window(Amount(5, "records"), Amount(5, "records")), "mean", True, "warm-up"),
        ({"estimator": "median"}, Window(Amount(1, "records"), Amount(5, "records")), "median", True, "estimator"),
        ({"last": "25records"}, Window(Amount(20), None, Amount(25, "records")), "mean", True, "last"),
        (
            {"values": "differenced"},
            Window(Amount(1, "records"), Amount(5, "records")),
            "mean",
            False,
            "values",
        ),
    ],
)
@pytest.mark.parametrize("in_file", [True, False])
def test_an_option_beside_a_convention_adjusts_it(
    given: dict[str, str], window: Window, estimator: str, printed: bool, named: str, in_file: bool, tmp_path: Path
) -> None:
    """Beside it: on the command line, wherever the convention is named, or in the file that names it."""
    lines = [f'convention = "{CONVENTION}"'] + [f'{key} = "{value}"' for key, value in given.items() if in_file]
    file = config(tmp_path, "\n".join(lines) + "\n")
    chosen = settings({} if in_file else given, [tmp_path])
    (key,) = given
    assert chosen.sources[key] == (str(file) if in_file else "command line")
    options = chosen.options()
    assert (options.window, options.estimator, options.as_printed) == (window, estimator, printed)
    assert options.convention == f"{CONVENTION} (adjusted: {named})"
    assert options.digits == "%.2f", "what is not adjusted stays"


def test_all_that_is_adjusted_is_named() -> None:
    options = settings({"convention": CONVENTION, "estimator": "median", "warmup": "3records"}).options()
    assert options.convention == f"{CONVENTION} (adjusted: warm-up, estimator)"


def test_values_as_printed_without_a_convention(tmp_path: Path) -> None:
    options = settings({"values": "printed"}).options()
    assert (options.as_printed, options.convention) == (True, "")
    config(tmp_path, 'values = "printed"\n')
    assert settings({}, [tmp_path]).options().as_printed
    assert not settings({"values": "differenced"}, [tmp_path]).options().as_printed


def test_last_and_warmup_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--last and --warmup exclude each other"):
        settings({"last": "5", "warmup": "5"}).options()
    config(tmp_path, "warmup = 100\n")
    assert settings({"last": "5"}, [tmp_path]).options().window.last == Amount(5), "a file's warm-up gives way"
    config(tmp_path, "last = 5\nsteps = 3\n")
    file = tmp_path / "perflog.toml"
    with pytest.raises(UsageError, match=f"^{file}:1: last and {file}:2: steps exclude each other: the last steps "):
        settings({}, [tmp_path]).options()
    config(tmp_path, "last = 5\n")
    with pytest.raises(UsageError, match=f"^{file}:1: last and --warmup exclude each other"):
        settings({"warmup": "5"}, [tmp_path]).options()


def test_parsers_that_are_not_there_are_told_with_their_place(tmp_path: Path) -> None:
    config(tmp_path, 'warmup = 5\nparser = "hf_trainr"\n')
    file = tmp_path / "perflog.toml"
    with pytest.raises(UsageError, match=f"^{file}:2: parser 'hf_trainr': there is no such parser; did you mean hf_tr"):
        settings({}, [tmp_path]).catalog()
    with pytest.raises(UsageError, match=r"^--parser 'hf_trainr': there is no such parser"):
        settings({"parser": ["hf_trainr"]}, [tmp_path]).catalog()
    config(tmp_path, 'parsers = "nowhere"\n')
    with pytest.raises(UsageError, match=f"^{file}:1: parsers: '{tmp_path}/nowhere': expected a folder of parsers"):
        settings({}, [tmp_path])
    assert settings({"parsers": ["elsewhere"]}, [tmp_path]).values["parsers"] == ["elsewhere"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"estimator": "best"},
            "--estimator 'best': expected one of total, mean, median, trimmed, last, reported, since_start",
        ),
        ({"aggregate": "mode"}, "--aggregate 'mode': expected one of median, mean, olympic"),
        ({"values": "raw"}, "--values 'raw': expected one of differenced, printed"),
        ({"steps": "0"}, "--steps '0': expected 1 or more"),
        (
            {"estimator": "medan"},
            "--estimator 'medan': expected one of total, mean, median, trimmed, last, reported, since_start; did",
        ),
        ({"set": {"device": "1"}}, "--set device=1: there is no fact 'device'; did you mean devices?"),
        ({"baseline": {"bs": "1"}}, "--baseline bs=1: there is no fact 'bs'; did you mean batch_size?"),
        ({"steps": "30s"}, "--steps '30s': expected steps (100) or records (100records)"),
        ({"set": {"batch_size": "²"}}, "--set batch_size=²: expected a whole number above 0 of at most 9 digits"),
        ({"set": {"devices": "0"}}, "--set devices=0: expected a whole number above 0 of at most 9 digits"),
        ({"baseline": {"devices": "all"}}, "--baseline devices=all: expected a whole number above 0"),
        ({"convention": "mlprf"}, "--convention 'mlprf': there is no such convention; did you mean mlperf"),
    ],
)
def test_an_option_that_is_wrong(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        settings(given).options()
    assert str(error.value).startswith(message)


def test_paths_in_a_file_are_relative_to_it(tmp_path: Path) -> None:
    file = config(
        tmp_path, 'parser = "keras"\nparsers = ["mine", "./b"]\ndatabase = "h.sqlite"\nbaseline = { devices = 1 }\n'
    )
    assert read_config(file) == {
        "parser": ["keras"], "parsers": [str(tmp_path / "mine"), str(tmp_path / "b")],
        "database": str(tmp_path / "h.sqlite"), "baseline": {"devices": "1"},
    }  # fmt: skip
    assert read_config(config(tmp_path, 'parsers = "mine"\n')) == {"parsers": [str(tmp_path / "mine")]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "warmup_steps = 5",
            "unknown option 'warmup_steps'; did you mean 'warmup'? (known: aggregate, aliases, as, baseline,",
        ),
        ("warmup = [5]", "warmup = [5]: expected an amount such as 100"),
        (
            'estimator = "totl"',
            "estimator = 'totl': expected one of total, mean, median, trimmed, last, reported, since_start; did you mean 'total'?",
        ),
        ("set = 5", "set = 5: expected a table, such as { devices = 8 }"),
        (
            "[set]\ndevices = [8]",
            "set.devices = [8]: expected a text in quotes or a whole number or a number or true or false",
        ),
        ("parser = 5", "parser = 5: expected a name, or a list of names"),
        ('format = "xls"', "format = 'xls': expected one of table, markdown, csv, json, parquet"),
        ("database = 5", "database = 5: expected a file's name in quotes"),
        ("warmup = ", "not a readable TOML file: "),
    ],
)
def test_a_file_that_is_wrong(text: str, message: str, tmp_path: Path) -> None:
    file = config(tmp_path, text)
    with pytest.raises(UsageError) as error:
        settings({}, [tmp_path])
    line = {"[set]\ndevices = [8]": ":2", "warmup = ": ""}.get(text, ":1")
    assert str(error.value).startswith(f"{file}{line}: {message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('# ours\nwarmup = "abc"', ":2: warmup 'abc': expected a number of steps (100), or 2epochs"),
        ("steps = 0", ":1: steps '0': expected 1 or more"),
        ('warmup = 5\n\n[set]\nmodel = "a"\ndevices = "eight"', ":5: set.devices = eight: expected a whole number"),
        ("[set]\ndevice = 8", ":2: set.device = 8: there is no fact 'device'; did you mean devices?"),
        ("set = { gpus = 8 }", ":1: set.gpus = 8: there is no fact 'gpus'; did you mean devices?"),
        ("[baseline]\ndevices = 0", ":2: baseline.devices = 0: expected a whole number above 0"),
        ('convention = "mlprf"', ":1: convention 'mlprf': there is no such convention; did you mean mlperf"),
        ('\nstyle = "plain"', ":2: 'style' is an option of commands, and has no place in a perflog.toml"),
    ],
)
def test_a_value_in_a_file_is_told_with_its_line(text: str, message: str, tmp_path: Path) -> None:
    file = config(tmp_path, text + "\n")
    with pytest.raises(UsageError) as error:
        settings({}, [tmp_path]).options()
    assert str(error.value).startswith(f"{file}{message}")


def test_the_nearest_file_counts(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    outer_file = config(tmp_path, "warmup = 1\n")
    assert find_config([inner]) == outer_file
    inner_file = config(inner, "warmup = 2\n")
    assert find_config([inner / "x.log"]) == inner_file
    assert find_config([]) == outer_file, "the working folder's"


@pytest.mark.parametrize("first", ["with", "without"])
def test_a_file_is_not_taken_for_logs_that_it_does_not_stand_above(first: str, tmp_path: Path) -> None:
    """The facts of the first path's file would make a wrong number of the second path's logs."""
    (tmp_path / "with").mkdir()
    (tmp_path / "without").mkdir()
    config(tmp_path / "with", "[set]\nbatch_size = 8\n")
    (tmp_path / "without/train.log").touch()
    paths = [tmp_path / "with", tmp_path / "without/train.log"]
    if first == "without":
        paths.reverse()
    with pytest.raises(UsageError, match=r"with/perflog\.toml") as told:
        settings({}, paths)
    assert f"no perflog.toml for {tmp_path}/without/train.log" in str(told.value) or first == "without"
    other = config(tmp_path / "without", "[set]\nbatch_size = 256\n")
    with pytest.raises(UsageError, match="a command takes the options of one file: name the logs of one at a time"):
        settings({}, paths)
    other.write_text("[set]\nbatch_size = 8  # the same\n", encoding="utf-8")
    assert settings({}, paths).config_set == {"batch_size": "8"}


def test_one_file_above_all_paths_counts_for_them(tmp_path: Path) -> None:
    config(tmp_path, "warmup = 50\n")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.log").touch()
    assert settings({}, [tmp_path / "a", tmp_path / "b/train.log", tmp_path / "b"]).values["warmup"] == 50


def test_the_database_of_the_environment_counts_before_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config(tmp_path, 'database = "h.sqlite"\n')
    monkeypatch.setenv(DATABASE, "env.sqlite")
    assert in_force(settings({}, [tmp_path]), "database") == {"database": ("env.sqlite", "environment")}
    assert in_force(settings({"database": "x"}, [tmp_path]), "database") == {"database": ("x", "command line")}
    assert os.environ[DATABASE] == "env.sqlite"


def test_pairs() -> None:
    assert pairs(["devices=8", "my-label = a=b "], "set") == {"devices": "8", "my_label": "a=b"}
    for wrong in ("devices", "=8", "devices="):
        with pytest.raises(UsageError, match=f"--set '{wrong}': expected key=value, such as --set devices=8"):
            pairs([wrong], "set")
    with pytest.raises(UsageError, match=re.escape("such as --digits throughput=%.2f")):
        pairs(["foo"], "digits")


def test_a_label_of_the_users_own_is_a_fact() -> None:
    assert settings({"set": {"site": "a", "driver": "470"}}).options().set == {"site": "a", "driver": "470"}


def test_aliases_stand_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/perflog.toml").write_text('[aliases]\nrn50 = "resnet50"\n', encoding="utf-8")
    assert settings({}, [tmp_path / "logs"]).options().aliases == {"rn50": "resnet50"}
    assert settings({}, []).options().aliases == {}


def test_an_option_of_extraction_is_one_everywhere() -> None:
    """On the command line and in recipes, in a config file, as an argument in Python; its help says its default."""
    assert set(EXTRACTION) == set(ExtractionOptions.__annotations__)
    assert set(DEFAULTS) == set(_ConfigFile.__struct_fields__) > set(EXTRACTION)
    for name, option in EXTRACTION.items():
        assert f"--{name.rstrip('_').replace('_', '-')}" in option.flags and option.help
        assert (name in REPEATED) is isinstance(DEFAULTS[name], list | dict), name
        assert bool(option.value) is not isinstance(DEFAULTS[name], bool), name
        if isinstance(DEFAULTS[name], str):
            assert option.help.endswith(f"[default: {DEFAULTS[name]}]")
