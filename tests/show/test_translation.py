"""Notes below tables in Chinese."""

from __future__ import annotations

import re
import tomllib

import pytest
from typer.testing import CliRunner

from perflog.cli import app
from perflog.show.words import LEFT_IN_ENGLISH, LONGEST, told, translated
from tests.support import FIXTURES, ROOT

FILE = ROOT / "templates/reports/notes.zh.toml"
NOTES = tomllib.loads(FILE.read_text(encoding="utf-8"))["note"]


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("warm-up 100 steps, then 25 steps", "预热 100 步，之后取 25 步"),
        (
            "line 9 alone holds 20% of the measured time; without it the throughput is 588.46",
            "仅第 9 行就占测量时间的 20%；不计该行时吞吐为 588.46",
        ),
        ("no speedup: the baseline (one device) is not among the logs", "没有加速比：日志中没有基准（one device）"),
        ("1 of 5 runs has no value: OOM: {line} 3", "5 次重复中有 1 次没有数值：OOM: {line} 3"),
        ("warm-up 10 records, then 25 steps", None),  # half a translation would say something else
        ("a doubt that nobody has translated", None),
        (f"n {'x' * LONGEST} varies: 1", None),
    ],
)
def test_a_note(english: str, chinese: str | None) -> None:
    assert translated(english, "zh") == chinese


def test_what_stays_english_is_said() -> None:
    made, notes = told("median over n runs; a rule; n = 3.", ["model varies: a, b", "a doubt"], "zh")
    assert (made, notes) == (
        "n 次重复的中位数；a rule；n = 3。",
        ["model 不一致：a, b", "a doubt", LEFT_IN_ENGLISH["zh"]],
    )
    assert told("n = 3.", ["a doubt"], "en") == ("n = 3.", ["a doubt"])


def test_each_form_keeps_all_that_varies() -> None:
    for note in NOTES:
        assert sorted(re.findall(r"\{\*?(\w+)\}", note["en"])) == sorted(re.findall(r"\{(\w+)\}", note["zh"]))


@pytest.mark.parametrize(
    "words", [(), ("--warmup", "100", "--steps", "100"), ("--last", "50"), ("--where", "devices=8")]
)
def test_usual_tables_are_chinese_throughout(words: tuple[str, ...]) -> None:
    """What the program says today is what the forms are of."""
    table = ["table", str(FIXTURES / "seed004/logs_fp32"), "--rows", "devices", "--value", "throughput,speedup"]
    brief = CliRunner().invoke(app, [*table, *words, "--lang", "zh"]).stdout.partition("\n\n")[2]
    assert not re.search(r"[a-z]+ [a-z]+ [a-z]+", brief), brief
    done = CliRunner().invoke(app, [*table, *words, "--lang", "zh", "--notes"])
    below = done.stdout.partition("\n\n")[2]
    assert done.exit_code == 0 and "次重复的中位数；估计方法 total；" in below and "卡数仅由文件名" in below
    assert LEFT_IN_ENGLISH["zh"] not in below and not re.search(r"[a-z]+ [a-z]+ [a-z]+", below), below
