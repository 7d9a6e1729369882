"""Conventions: what their files may say, and what they fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflog.errors import ParserError, UsageError
from perflog.settings.convention import convention, load_convention, load_conventions
from perflog.settings.options import Amount, Options, Window


def written(folder: Path, text: str) -> Path:
    file = folder / "mine.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_what_a_convention_fixes(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        'title = "T"\nsource = "S"\nparsers = ["keras"]\nwarmup = "1records"\nsteps = "5records"\nestimator = "mean"\n'
        'aggregate = "olympic"\nvalues = "printed"\ndigits = "%.2f"\n',
    )
    rule = load_convention(file)
    assert (rule.name, rule.title, rule.source, rule.parsers) == ("mine", "T", "S", ("keras",))
    assert rule.fixed == {
        "warmup": "1records",
        "steps": "5records",
        "last": None,
        "estimator": "mean",
        "aggregate": "olympic",
        "values": "printed",
    }
    made = rule.apply(Options(set={"devices": "8"}))
    assert made == Options(
        Window(Amount(1, "records"), Amount(5, "records")), "mean", "olympic", {}, {"devices": "8"}, {}, True, "mine", "%.2f", decided=True
    )  # fmt: skip


def test_what_a_convention_leaves_out_is_the_users(tmp_path: Path) -> None:
    rule = load_convention(written(tmp_path, 'last = "25records"\n'))
    assert rule.fixed == {"warmup": 0, "steps": None, "last": "25records", "values": "differenced"}
    made = rule.apply(Options(Window(Amount(100)), "trimmed", "mean"))
    assert made == Options(
        Window(Amount(0), None, Amount(25, "records")), "trimmed", "mean", convention="mine", decided=True
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('warmupp = "5"', "unknown key 'warmupp'; did you mean 'warmup'? (known: aggregate, digits,"),
        ('estimator = "men"', "estimator = 'men': expected one of total, mean, median, trimmed, last, reported"),
        ('aggregate = "mode"', "aggregate = 'mode': expected one of median, mean, olympic"),
        ('values = "as printed"', "values = 'as printed': expected one of differenced, printed"),
        ("warmup = true", "warmup = true: expected an amount such as 100, '10records' or '2epochs'"),
        ('warmup = "many"', "warmup 'many': expected a number of steps (100)"),
        ('warmup = "5"\nsteps = "5records"', "warmup and steps must both be in steps, or both in records"),
        ('digits = "2"', "digits = '2': expected a form such as '%.2f' or '%.6g'"),
        ('digits = "%s"', "digits = '%s': expected a form such as '%.2f' or '%.6g'"),
        ('parsers = "keras"', "parsers = 'keras': expected a list of parsers, such as"),
        ("warmup", "not a readable TOML file: "),
    ],
)
def test_a_file_that_is_wrong(text: str, message: str, tmp_path: Path) -> None:
    file = written(tmp_path, text)
    with pytest.raises(ParserError) as error:
        load_conventions(tmp_path)
    assert message in str(error.value)
    assert str(error.value).startswith(f"{file}: ")


def test_names_that_are_near() -> None:
    with pytest.raises(UsageError, match="--convention 'mlprf': there is no such convention; did you mean mlperf"):
        convention("mlprf")
    assert convention("mlperf").fixed["aggregate"] == "olympic"
