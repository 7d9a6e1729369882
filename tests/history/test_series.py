"""Cases followed over campaigns: which points belong together, what breaks a series, what changed along it; the commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from perflog.cases.build import build_cases
from perflog.cli import app
from perflog.errors import PerflogError, UsageError
from perflog.extraction import Extraction
from perflog.history import campaigns
from perflog.history import following as doubts
from perflog.history.following import Series, series
from perflog.history.pictures import MOST, draw_series
from perflog.history.rendering import render_campaigns, render_series
from perflog.history.saving import save
from perflog.runs.machine import differences, identity
from perflog.settings.options import Amount, Options, Window
from tests.cli.test_cli import run
from tests.extractions import campaign
from tests.support import FIXTURES, ROOT, extracted

BEGIN = datetime(2025, 1, 1, tzinfo=UTC)
RN50 = {"model": "rn50", "devices": "1"}
Change = Callable[[Extraction], Extraction]


def saved(
    database: str | Path,
    levels: list[float],
    cases: int = 6,
    change: Callable[[int, Extraction], Extraction] = lambda _, e: e,
) -> str:
    """One campaign a day, each on a level of its own."""
    for day, level in enumerate(levels):
        made = change(day, campaign(cases, 5, day, f"2.{day}", level))
        save(str(database), made, f"v2.{day}", BEGIN + timedelta(days=day))
    return str(database)


def rebuilt(extraction: Extraction, options: Options | None = None, **changed: object) -> Extraction:
    """The same runs with other metadata, or made by other options."""
    for one in extraction.runs:
        one.metadata.values |= {k: v for k, v in changed.items() if isinstance(v, (str, int))}
        one.window = str((options or extraction.options).window)
    return Extraction(build_cases(extraction.runs, options or extraction.options), [], options or extraction.options)


def one(found: list[Series]) -> Series:
    assert len(found) == 1
    return found[0]


# ---------------------------------------------------------------- which points


def test_campaigns_of_one_day_are_shown_with_their_time(tmp_path: Path) -> None:
    """A day alone would be the same in every line; where each campaign has its own, the day is enough."""
    database = str(tmp_path / "h.sqlite")
    for hour in (9, 13):
        save(database, campaign(1, 2, hour, "2.0"), f"at {hour}", datetime(2025, 1, 1, hour, 30, tzinfo=UTC))
    tables = (
        render_campaigns(campaigns(database), "table"),
        render_series(series(database, RN50), 0.02, "table"),
    )
    for table in tables:
        title, _, first, second = table.splitlines()[:4]
        assert "date (UTC)" in title and "2025-01-01 09:30" in first and "2025-01-01 13:30" in second
    apart = saved(tmp_path / "apart.sqlite", [1.0, 1.0])
    assert ":" not in render_series(series(apart, RN50), 0.02, "table").splitlines()[2]


def test_a_series_goes_through_versions(database: str) -> None:
    saved(database, [1.0, 1.0, 1.02])
    found = one(series(database, RN50))
    assert found.name == "PyTorch rn50 fp32 bs32 1 device"
    assert [(p.campaign, p.version, p.summary.n) for p in found.points] == [
        ("v2.0", "2.0", 5),
        ("v2.1", "2.1", 5),
        ("v2.2", "2.2", 5),
    ]
    wanted = next(c for c in campaign(6, 5, 2, "2.2", 1.02).cases if c.key["model"] == "rn50" and c.key["devices"] == 1)
    assert found.points[2].summary == wanted.throughput


def test_several_cases_are_several_series(database: str) -> None:
    saved(database, [1.0, 1.0], cases=10)
    assert [s.name for s in series(database, {"model": "RN50"})] == [
        "PyTorch rn50 fp32 bs32 1 device",
        "PyTorch rn50 fp32 bs32 2 devices",
    ]
    assert len(series(database, {"framework": "pytorch", "precision": "float32", "devices": "2"})) == 5
    assert one(series(database, {**RN50, "framework_version": "2.1"})).points[0].campaign == "v2.1"


def test_other_metrics(database: str) -> None:
    saved(database, [1.0, 1.0])
    memory = one(series(database, RN50, "memory"))
    assert [(p.summary.value, p.summary.unit, p.rule) for p in memory.points] == [(12348.0, "MB", "estimator last")] * 2


def test_labels_tell_series_apart(database: str) -> None:
    for day, sites in enumerate((("a", "b"), ("a",))):
        runs = [r for site in sites for r in rebuilt(campaign(1, seed=f"{day}{site}"), site=site).runs]
        save(database, Extraction(build_cases(runs, Options()), [], Options()), f"v{day}", BEGIN + timedelta(days=day))
    assert [(s.name, len(s.points)) for s in series(database, RN50)] == [
        ("PyTorch rn50 fp32 bs32 1 device site=a", 2), ("PyTorch rn50 fp32 bs32 1 device site=b", 1)]  # fmt: skip
    assert one(series(database, {"site": "B"})).points[0].summary.n == 5


def test_versions_and_folders_tell_apart_what_nothing_else_does(database: str) -> None:
    both = [r for version in ("1.0", "2.0") for r in campaign(1, seed=version, version=version).runs]
    save(database, Extraction(build_cases(both, Options()), [], Options()), "v1", BEGIN)
    assert [s.name for s in series(database, RN50)] == [
        "PyTorch rn50 fp32 bs32 1 device 1.0",
        "PyTorch rn50 fp32 bs32 1 device 2.0",
    ]
    folders = []
    for folder in ("conv", "attention"):
        made = campaign(2, seed=folder).runs
        for each in made:
            each.label = f"here/{folder}"
        folders += made
    save(database, Extraction(build_cases(folders, Options()), [], Options()), "v2", BEGIN + timedelta(days=1))
    assert [s.name for s in series(database, {"model": "bert-base"})] == [
        f"PyTorch bert-base fp32 bs32 1 device {f}" for f in ("attention", "conv")
    ]


@pytest.mark.parametrize(
    ("wanted", "metric", "message"),
    [
        ({"model": "rn51"}, "throughput", "no saved case has model=rn51; there are bert-base, gpt2, rn50"),
        ({"devices": "many"}, "throughput", "--case devices=many: expected a whole number"),
        ({"modl": "rn50"}, "throughput", "no saved case has a key 'modl'; did you mean model?"),
        ({"site": "a"}, "throughput", "no saved case has a key 'site'; there are framework, "),
        ({"model": "rn50", "devices": "2"}, "throughput", "there are 1$"),
        (
            {"model": "rn50"},
            "acuracy",
            "no case model=rn50 has the metric 'acuracy'; metrics saved are memory, step_time, throughput",
        ),
    ],
)
def test_what_is_not_there(tmp_path: Path, wanted: dict[str, str], metric: str, message: str) -> None:
    database = saved(tmp_path / "h.sqlite", [1.0], cases=3)
    with pytest.raises(UsageError, match=message):
        series(database, wanted, metric)
    with pytest.raises(UsageError, match="no history in"):
        series(str(tmp_path / "none.sqlite"), wanted)


# ---------------------------------------------------------------- what changed


def test_a_change_of_level_and_an_unexpected_last_value(tmp_path: Path) -> None:
    steady = [1.0] * 6 + [1.08] * 10
    part = doubts.parts(one(series(saved(tmp_path / "a.sqlite", [*steady, 1.08]), RN50)))[0]
    assert [shift.point.campaign for shift in part.shifts] == ["v2.6"]
    assert part.shifts[0].change.ratio == pytest.approx(1.08, rel=0.005)
    assert part.outlook is not None
    assert (part.outlook.holds, part.outlook.prediction.n) == (True, 10)
    part = doubts.parts(one(series(saved(tmp_path / "b.sqlite", [*steady, 1.0]), RN50)))[0]
    assert part.outlook is not None
    assert (part.outlook.holds, part.outlook.point.campaign) == (False, "v2.16")


def test_changes_within_the_margin_are_left_out(tmp_path: Path) -> None:
    found = one(series(saved(tmp_path / "a.sqlite", [1.0] * 8 + [1.015] * 8), RN50))
    assert doubts.parts(found)[0].shifts == ()
    assert len(doubts.parts(found, 0.01)[0].shifts) == 1


def test_a_short_history_says_what_it_is_too_short_for(tmp_path: Path) -> None:
    part = doubts.parts(one(series(saved(tmp_path / "a.sqlite", [1.0] * 4), RN50)))[0]
    assert part.unseen == "4 points, change points need 10"
    assert part.outlook is not None
    assert part.outlook.prediction.reason == "3 points, a prediction needs 8"


def test_another_rule_breaks_a_series(database: str) -> None:
    other = Options(Window(Amount(100)))
    saved(database, [1.0] * 4, change=lambda day, e: rebuilt(e, other) if day >= 2 else e)
    made = doubts.parts(one(series(database, RN50)))
    assert [(len(p.points), p.broken) for p in made] == [
        (2, ""), (2, "the rule: estimator total; warm-up 20 steps → estimator total; warm-up 100 steps")]  # fmt: skip
    assert len(doubts.parts(one(series(database, RN50, "memory")))) == 1


def test_another_unit_breaks_a_series(database: str) -> None:
    def tokens(day: int, extraction: Extraction) -> Extraction:
        for each in extraction.runs:
            each.throughput.unit = "tokens/s" if day else "samples/s"
        return rebuilt(extraction)

    saved(database, [1.0] * 2, change=tokens)
    assert [p.broken for p in doubts.parts(one(series(database, RN50)))] == ["", "the unit: samples/s → tokens/s"]


def test_a_campaign_without_a_value_is_a_point_with_a_reason(database: str) -> None:
    def broken(day: int, extraction: Extraction) -> Extraction:
        for each in extraction.runs if day == 1 else []:
            each.throughput.value, each.throughput.reason, each.throughput.unit = None, "18 steps, warm-up 20", ""
        return rebuilt(extraction)

    saved(database, [1.0] * 3, change=broken)
    found = one(series(database, RN50))
    assert [p.summary.n for p in found.points] == [5, 0, 5]
    part = doubts.parts(found)[0]
    assert (len(part.points), part.outlook and part.outlook.prediction.n) == (3, 1)


def logs_on(folder: Path, facts: dict[str, object] | None) -> Extraction:
    """The logs of one case, with such a machine.json above them."""
    for number, log in enumerate(sorted((FIXTURES / "seed004/logs_fp32/mindspore/resnet50/bz128/1n8g").iterdir())):
        target = folder / "1n8g" / log.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(
            log.read_text(encoding="utf-8").replace("loss is", f"loss is {folder.name[-1]}{number}"), encoding="utf-8"
        )
    if facts is not None:
        (folder / "machine.json").write_text(json.dumps(facts))
    return extracted(folder, warmup=100)


def test_another_machine_breaks_a_series(tmp_path: Path, database: str) -> None:
    """One that is not known breaks nothing and hides nothing."""
    drivers = ["1", "1", None, "1", None, "2", "2"]
    for day, driver in enumerate(drivers):
        facts: dict[str, object] | None = (
            None
            if driver is None
            else {"driver": driver, "host": f"node{day}", "date": f"day {day}", "clocks": {"before": day}}
        )
        made = logs_on(tmp_path / f"campaign-{'abcdefg'[day]}", facts)
        for each in made.runs:
            each.lines += day  # or they were the same campaign
        save(database, made, f"v{day}", BEGIN + timedelta(days=day))
    broken = [
        (p.points[0].campaign, p.broken)
        for p in doubts.parts(one(series(database, {"devices": "8"}, ignored=["host"])))
    ]
    assert broken == [("v0", ""), ("v5", "the machine: driver 1 → 2")]
    strict = doubts.parts(one(series(database, {"devices": "8"})))
    assert [p.points[0].campaign for p in strict] == ["v0", "v1", "v3", "v5", "v6"]
    assert strict[1].broken == "the machine: host node0 → node1"


def test_what_tells_machines_apart() -> None:
    facts = {
        "gpus": [{"name": "V100", "temperature": 40}],
        "driver": {"version": "535"},
        "framework": {"torch": "2.5"},
        "none": None,
    }
    assert identity(facts) == {"gpus.0.name": "V100", "driver.version": "535", "none": ""}
    assert identity(facts, ["driver"]) == identity(facts, ["driver.version"]) == {"gpus.0.name": "V100", "none": ""}
    many = {str(n): "a" * 50 for n in range(5)}
    assert (
        differences(many, dict.fromkeys(many, "b"))
        == ", ".join(f"{n} {'a' * 39}… → b" for n in range(3)) + " and 2 more"
    )
    assert differences({}, {"x": "1"}) == "x unknown → 1"


# ---------------------------------------------------------------- pictures and commands


@pytest.mark.long
def test_pictures_show_the_change_and_have_the_same_bytes(tmp_path: Path) -> None:
    found = series(saved(tmp_path / "a.sqlite", [1.0] * 6 + [1.08] * 10), {"model": "rn50"})
    drawn = draw_series(found, 0.02, "svg")
    ElementTree.fromstring(drawn)
    text = drawn.decode()
    assert [
        word
        for word in ("PyTorch rn50 fp32 bs32 1 device", "throughput (samples/s)", "+8.", "v2.0")
        if word not in text
    ] == []
    assert draw_series(found, 0.02, "svg") == drawn
    chinese = draw_series(found, 0.02, "svg", "zh").decode()
    assert "吞吐 (samples/s)" in chinese and "灰色：最近值的预期范围" in chinese and "throughput" not in chinese
    assert draw_series(found, 0.02, "png").startswith(b"\x89PNG")
    with pytest.raises(UsageError, match=f"one picture holds {MOST}"):
        draw_series(found * 13, 0.02, "svg")
    empty = Series(
        "x", {}, "throughput", tuple(replace(p, summary=replace(p.summary, value=None)) for p in found[0].points)
    )
    with pytest.raises(UsageError, match="no point has a value"):
        draw_series([empty], 0.02, "svg")


def perflog(*arguments: str, place: Path, status: int = 0, answer: str = "") -> Result:
    """A command as ``main`` runs it, in this process."""
    environment = {"PERFLOG_DATABASE": "", "XDG_DATA_HOME": str(place), "COLUMNS": "300"}
    done = CliRunner().invoke(app, list(arguments), env=environment, input=answer)
    if isinstance(done.exception, PerflogError):
        done.exit_code, done.stderr_bytes = 2, f"perflog: {done.exception}\n".encode()
    assert done.exit_code == status, (done.output, done.exception)
    return done


def test_the_commands(tmp_path: Path) -> None:
    first, second = (str(FIXTURES / "history" / month) for month in ("2025-01", "2025-02"))
    assert perflog("history", place=tmp_path).stderr == f"no campaign yet in {tmp_path}/perflog/history.sqlite\n"
    done = perflog("save", first, "--label", "v1", "--date", "2025-01-03", place=tmp_path)
    assert (done.stdout, done.stderr) == (
        "saved: v1 (2025-01-03), 1 case, 3 runs\n",
        f"in {tmp_path}/perflog/history.sqlite\n",
    )
    assert (
        perflog("save", first, "--label", "v1", "-q", place=tmp_path).stdout
        == "already saved: v1 (2025-01-03), 1 case, 3 runs\n"
    )
    perflog("save", second, "--label", "v2", "--date", "2025-02-03T08:00+01:00", "-q", place=tmp_path)
    assert "saved on 20" in perflog("save", second, "--label", "v1", place=tmp_path, status=2).stderr
    assert "v2         2025-02-03       1      3   MindSpore" in perflog("history", "-q", place=tmp_path).stdout
    assert (
        perflog("history", "-f", "csv", place=tmp_path)
        .stdout.splitlines()[1]
        .startswith("v1,2025-01-03T00:00:00+00:00,")
    )
    assert [
        c["campaign"] for c in json.loads(perflog("history", "-f", "json", place=tmp_path).stdout)["campaigns"]
    ] == ["v1", "v2"]
    assert perflog("history", "-f", "markdown", place=tmp_path).stdout.startswith("| campaign")
    case = ("--case", "model=rn50,devices=8")
    assert "[2765.37, 2793.33] 75%" in perflog("history", *case, place=tmp_path).stdout
    data = json.loads(perflog("history", *case, "-f", "json", place=tmp_path).stdout)
    assert (data["schema"], [p["n"] for p in data["series"][0]["parts"][0]["points"]]) == ("perflog/history/1", [3, 3])
    assert len(perflog("history", *case, "-f", "csv", place=tmp_path).stdout.splitlines()) == 3
    assert "| v1" in perflog("history", *case, "-f", "markdown", place=tmp_path).stdout
    perflog("history", *case, "-o", str(tmp_path / "s.svg"), place=tmp_path)
    ElementTree.parse(tmp_path / "s.svg")
    assert "nothing deleted" not in perflog("history", "delete", "v1", "--yes", place=tmp_path).stdout
    assert "there are v2" in perflog("history", "delete", "other", "--yes", place=tmp_path, status=2).stderr


def test_the_documentations_picture_is_true(tmp_path: Path) -> None:
    database = str(tmp_path / "h.sqlite")
    for month in sorted((FIXTURES / "history").iterdir()):
        save(database, extracted(month), month.name, datetime.fromisoformat(f"{month.name}-03").replace(tzinfo=UTC))
    drawn = draw_series(series(database, {"model": "rn50", "devices": "8"}), 0.02, "svg")
    assert (ROOT / "docs/history.svg").read_bytes() == drawn, (
        "perflog history --case model=rn50,devices=8 -o docs/history.svg"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["history", "-o", "x.svg"], "a picture needs cases"),
        (["history", "--case", "rn50"], "--case 'rn50': expected key=value"),
        (["history", "--case", "model=rn50", "--margin", "a lot"], "expected a share such as 2%"),
        (["history", "-f", "xls"], "expected one of table, markdown, csv, json"),
        (
            ["save", "fixtures/history/2025-01", "--label", "v1", "--date", "yesterday"],
            "expected a day such as 2025-01-31",
        ),
        (
            ["save", "fixtures/history/2025-01", "--label", "v1", "--database", "mysql://x"],
            "expected a file, or postgresql://",
        ),
        (["save", "templates", "--label", "v1"], "nothing is saved"),
        (["save", "fixtures/history/2025-01"], "Missing option"),
        (["history", "delete", "v1"], "no campaign 'v1'"),
    ],
)
def test_wrong_commands(tmp_path: Path, arguments: list[str], message: str) -> None:
    assert message in perflog(*arguments, place=tmp_path, status=2).stderr


def test_deleting_asks(tmp_path: Path) -> None:
    database = saved(tmp_path / "h.sqlite", [1.0])
    for answer, status, said in (("n\n", 1, "nothing deleted"), ("y\n", 0, "deleted: v2.0")):
        assert (
            said
            in perflog(
                "history", "delete", "v2.0", "--database", database, place=tmp_path, status=status, answer=answer
            ).stdout
        )


def test_where_the_database_is_said(tmp_path: Path) -> None:
    """The option counts before the environment, that before the working folder's perflog.toml, that before the default."""
    from perflog.settings.config import settings

    (tmp_path / "perflog.toml").write_text('database = "team.sqlite"\n')
    logs = [str(tmp_path)]
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PERFLOG_DATABASE", raising=False)
        assert settings({}).values["database"] is None
        beside = settings({}, logs)
        assert beside.values["database"] is None and "is not used, since whoever wrote" in beside.refused_database
        patch.chdir(tmp_path)
        assert settings({}, logs).values["database"] == str(tmp_path / "team.sqlite")
        patch.setenv("PERFLOG_DATABASE", "mine.sqlite")
        assert settings({}, logs).values["database"] == "mine.sqlite"
        assert settings({"database": "x"}, logs).values["database"] == "x"
    (tmp_path / "perflog.toml").write_text("database = 3\n")
    with pytest.raises(UsageError, match="database = 3: expected a file's name in quotes"):
        settings({}, logs)


def test_a_value_that_is_missing_is_status_3(tmp_path: Path) -> None:
    """As a process of its own, as users have it."""
    place = {"PERFLOG_DATABASE": str(tmp_path / "h.sqlite"), "COLUMNS": "300"}
    done = run("save", "fixtures/history/2025-01", "-w", "100", "--label", "v1", "-q", env=place)
    assert (done.returncode, done.stdout.endswith("1 case, 3 runs, 3 without a value\n")) == (3, True)
    assert "30 steps, warm-up 100" in run("history", "--case", "devices=8", env=place).stdout
    assert run("history", "delete", "v2", env=place).stderr.endswith("did you mean v1?\n")
