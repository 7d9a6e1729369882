"""All cases that changed level, worst first; since when; what the gate says of them."""

from __future__ import annotations

import csv
import io
import json
import re
import tempfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path

import pytest

from perflog.cases.build import build_cases
from perflog.errors import UsageError
from perflog.extraction import Extraction
from perflog.history.changed_cases import document, render_regressions
from perflog.history.level_changes import Regressions, State, regressions
from perflog.history.saving import save
from perflog.runs.machine import Machine
from perflog.settings.options import Options
from tests.extractions import campaign
from tests.test_hostile_text import perflog

BEGIN = datetime(2025, 1, 1, tzinfo=UTC)
#: By which factor a model runs on from which day: made good after nine days, worse, better; all others are steady.
FACTORS = {"rn50": {6: 0.90, 15: 1.0}, "bert-base": {12: 0.93}, "gpt2": {8: 1.06}}


def scaled(extraction: Extraction, day: int, machine: str = "V100") -> Extraction:
    """The extraction with the levels of a day, on a machine."""
    for case in extraction.cases:
        steps = FACTORS.get(str(case.key["model"]), {})
        factor = next((steps[begin] for begin in sorted(steps, reverse=True) if day >= begin), 1.0)
        for run in case.runs:
            rate = run.metrics["throughput"]
            assert rate.value is not None
            run.metrics["throughput"] = replace(rate, value=rate.value * factor)
            run.machine = Machine("machine.json", {"gpu": {"name": machine}})
    return Extraction(build_cases(extraction.runs, extraction.options), [], extraction.options)


def saved(database: Path, days: int = 24, cases: int = 4, moved: int = 99) -> str:
    """A campaign a day for so many days; from the day ``moved`` on, on another machine."""
    database.write_bytes(_saved(days, cases, moved))
    return str(database)


@lru_cache
def _saved(days: int, cases: int, moved: int) -> bytes:
    """The file of such a history, which several modules of tests begin with."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "h.sqlite"
        for day in range(days):
            made = scaled(campaign(cases, 5, day, f"2.{day}"), day, "V100" if day < moved else "A100")
            save(str(file), made, f"v2.{day}", BEGIN + timedelta(days=day))
        return file.read_bytes()


def steady(database: Path, days: int) -> str:
    """A campaign a day of one case that changes nothing but its noise."""
    for day in range(days):
        save(str(database), campaign(1, 5, day, f"2.{day}"), f"v2.{day}", BEGIN + timedelta(days=day))
    return str(database)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> str:
    return saved(tmp_path_factory.mktemp("history") / "h.sqlite")


def told(found: Regressions) -> list[tuple[str, str, bool | None, bool]]:
    """(model, the campaign that a change is first seen at, whether it is for the worse, whether it lasts)."""
    return [
        (str(change.series.key["model"]), change.shift.point.campaign, change.is_worse, change.lasts)
        for change in found.changes
    ]


def test_all_changes_worst_first(history: str) -> None:
    found = regressions(history)
    assert told(found) == [
        ("rn50", "v2.6", True, False), ("bert-base", "v2.12", True, True), ("gpt2", "v2.8", False, False),
        ("rn50", "v2.15", False, False),
    ]  # fmt: skip
    ratios = [change.shift.change.ratio for change in found.changes]
    assert ratios == pytest.approx([0.90, 0.93, 1.06, 1 / 0.9], abs=0.01)
    assert [str(change.series.key["model"]) for change in found.worse] == ["bert-base"], "made good since is not worse"
    assert [change.lasting for change in found.changes][:2] == pytest.approx([1.0, 0.93], abs=0.01)


@pytest.mark.parametrize(
    ("since", "models"),
    [
        ("v2.12", ["rn50"]), ("v2.11", ["bert-base", "rn50"]), ("2025-01-13", ["bert-base", "rn50"]),
        ("2025-01-14", ["rn50"]), ("v2.23", []), ("2026-01-01", []),
    ],
)  # fmt: skip
def test_since_a_campaign_is_after_it_and_since_a_day_from_it_on(history: str, since: str, models: list[str]) -> None:
    assert [model for model, *_ in told(regressions(history, since))] == models


def test_times_are_worse_where_they_grow(tmp_path: Path) -> None:
    database = tmp_path / "h.sqlite"
    for day in range(12):
        made = campaign(1, 5, day, "2.0")
        for run in made.runs:
            time = run.metrics["step_time"]
            assert time.value is not None
            run.metrics["step_time"] = replace(time, value=time.value * (1.1 if day >= 6 else 1.0))
        save(
            str(database),
            Extraction(build_cases(made.runs, made.options), [], made.options),
            f"c{day}",
            BEGIN + timedelta(days=day),
        )
    assert told(regressions(str(database), metric="step_time")) == [("rn50", "c6", True, True)]


def test_an_unknown_campaign_is_an_error_that_names_those_near_it(history: str) -> None:
    with pytest.raises(
        UsageError, match=r"--since 'v2\.120': no campaign 'v2\.120' .* did you mean v2\.20 or .*or give a day"
    ):
        regressions(history, "v2.120")


def test_a_new_machine_hides_nothing_and_says_what_it_is_too_new_for(tmp_path: Path) -> None:
    found = regressions(saved(tmp_path / "h.sqlite", moved=20))
    assert ("bert-base", "v2.12", True, True) in told(found)
    assert len(found.unseen) == 4 and found.looked_at == 4
    assert [change.state for change in found.changes if change.is_worse] == [State.MADE_GOOD, State.ENDED]
    gate = found.gate(["slower", "nothing-compared"])
    assert not found.worse and gate.status == 0, "what has ended is no news"
    assert "1 of 4 cases worse when its machine, rule or unit changed" in gate.sentence
    refused = found.gate(["inconclusive"])
    assert refused.status == 3
    assert refused.sentence == (
        "The gate failed (exit status 3): 4 of 4 cases with too few comparable campaigns to look for a change."
    )


def test_what_came_with_a_new_driver_is_said_of_all_cases_in_one_line(tmp_path: Path) -> None:
    """A driver that takes 6 % of every case was in no list: its values are compared with none before."""
    database = str(tmp_path / "h.sqlite")
    for day in range(14):
        made = campaign(4, 5, day, f"2.{day}")
        for run in made.runs:
            rate = run.metrics["throughput"]
            assert rate.value is not None
            run.metrics["throughput"] = replace(rate, value=rate.value * (0.94 if day >= 12 else 1.0))
            run.machine = Machine("machine.json", {"driver": "470" if day >= 12 else "460"})
        cases = Extraction(build_cases(made.runs, made.options), [], made.options)
        save(database, cases, f"w{day}", BEGIN + timedelta(days=day))
    found = regressions(database)
    (border,) = found.new_parts
    assert not found.changes and border.point.campaign == "w12" and len(border.cases) == 4
    assert [ratio for _, ratio in border.cases] == pytest.approx([0.94] * 4, abs=0.01)
    text = render_regressions(found, "table")
    line = r"4 cases began a new part at w12 \(the machine: driver 460 → 470\): −[67]\.\d to −5\.\d %; no verdict"
    assert re.search(line, text), text
    assert [len(part["cases"]) for part in document(found)["new_parts"]] == [4]
    assert not regressions(database, since="w12").new_parts, "it began there, not after"


def test_values_of_two_rules_have_no_step(tmp_path: Path) -> None:
    database = str(tmp_path / "h.sqlite")
    for day, options in enumerate([Options(estimator="total"), Options(estimator="median")]):
        made = campaign(1, 5, day, "2.0")
        for run in made.runs:
            run.metrics["throughput"] = replace(run.metrics["throughput"], estimator=options.estimator)
        save(database, Extraction(build_cases(made.runs, options), [], options), f"w{day}", BEGIN + timedelta(days=day))
    (border,) = regressions(database).new_parts
    assert "the rule" in border.changed and [ratio for _, ratio in border.cases] == [None] and border.span == ""


def test_a_short_history_compares_nothing(tmp_path: Path) -> None:
    found = regressions(saved(tmp_path / "h.sqlite", days=4))
    assert not found.changes and found.gate().status == 3
    assert found.gate().sentence == (
        "The gate failed (exit status 3): no case has enough comparable campaigns to look for a change."
    )


def test_a_case_that_is_gone_is_missing(tmp_path: Path) -> None:
    database = saved(tmp_path / "h.sqlite", days=12)
    save(database, scaled(campaign(3, 5, 12, "2.12"), 12), "v2.12", BEGIN + timedelta(days=12))
    found = regressions(database)
    assert [line.key["model"] for line in found.missing] == ["vit-b16"]
    assert found.gate(["missing"]).status == 3 and found.gate(["slower"]).status in (0, 1)


def test_an_unexpected_last_value_is_said_and_is_no_change_of_level(tmp_path: Path) -> None:
    database = steady(tmp_path / "h.sqlite", days=11)
    save(database, campaign(1, 5, 11, "2.11", level=0.8), "last", BEGIN + timedelta(days=11))
    found = regressions(database, since="v2.10")
    assert not found.changes and [line.key["model"] for line, _ in found.unexpected] == ["rn50"]
    assert "at last, lies outside of [" in render_regressions(found, "table")


# ---------------------------------------------------------------- the command


def test_the_command_says_it_in_a_sentence_and_its_exit_status_in_another(history: str) -> None:
    words = ["history", "--database", history, "--regressions"]
    status, text, said = perflog([*words, "--gate"])
    lines = text.splitlines()
    assert status == 1
    first = (
        "4 cases: 1 got worse, 1 made good since, 1 got better, 1 without a change of level. Worse: PyTorch bert-base"
    )
    assert lines[0].startswith(f"{first} fp32 bs32 1 device −") and lines[0].endswith(" % at v2.12."), lines[0]
    assert said == "The gate failed (exit status 1): 1 of 4 cases got worse.\n"
    assert "made good since" in text and "unit" in text
    assert perflog([*words, "--gate", "--since", "v2.12"])[0] == 0
    assert perflog([*words, "--fail-on", "missing"])[0] == 0
    assert perflog(words)[0] == 0, "without a gate nothing fails"
    assert perflog([*words, "--case", "model=gpt2", "--gate"])[0] == 0


def test_json_csv_and_markdown_hold_the_same_changes(history: str, tmp_path: Path) -> None:
    words = ["history", "--database", history, "--regressions", "--since", "v2.7"]
    plain = json.loads(perflog([*words, "-f", "json"])[1])
    assert (plain["schema"], plain["since"], plain["cases"]) == ("perflog/regressions/1", "v2.7", 4)
    assert plain == json.loads(json.dumps(document(regressions(history, "v2.7"))))
    rows = list(csv.DictReader(io.StringIO(perflog([*words, "-f", "csv"])[1])))
    assert (
        [row["campaign"] for row in rows]
        == [change["campaign"] for change in plain["changes"]]
        == ["v2.12", "v2.8", "v2.15"]
    )
    assert [float(row["ratio"]) for row in rows] == [change["ratio"] for change in plain["changes"]]
    assert perflog([*words, "-o", str(tmp_path / "r.md")])[0] == 0
    markdown = (tmp_path / "r.md").read_text()
    assert markdown.startswith("4 cases since v2.7: ") and markdown.count("\n| PyTorch ") == 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--gate"], "--gate goes with --regressions"), (["--since", "v2.3"], "--since goes with --regressions"),
        (["--regressions", "--fail-on", "slow"], "did you mean slower?"),
        (["--regressions", "-o", "x.svg"], "expected an ending"),
        (["--regressions", "--value", "sped"], "has the metric 'sped'"),
    ],
)  # fmt: skip
def test_wrong_usage(history: str, options: list[str], words: str) -> None:
    status, _, said = perflog(["history", "--database", history, *options])
    assert status == 2 and words in said
