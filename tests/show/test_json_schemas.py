"""Every JSON document that is printed is as its schema says, to the last key; every error is one where JSON is asked."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import perflog
from perflog.cli import app
from perflog.cli.output import asks_for_json
from perflog.errors import UsageError
from perflog.history import delete
from perflog.show.document import OTHER, json_schema, schema_names
from tests.campaigns import write_run
from tests.forks import perflog as perflog_process
from tests.support import FIXTURES, mostly_long

LOGS = FIXTURES / "seed004/logs_fp32/mindspore/resnet50/bz128"
PARSERS = FIXTURES / "parsers"


def strict(schema: Any) -> Any:
    """A schema in which objects have no keys but those that it names: what is printed must all be described."""
    if isinstance(schema, list):
        return [strict(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: strict(value) for key, value in schema.items()}
    return (
        {"additionalProperties": False, **inner} if "properties" in schema and schema.get("type") == "object" else inner
    )


@cache
def validator_of(name: str) -> Any:
    """What holds documents against a schema, in which no key may be left undescribed."""
    import jsonschema  # takes two seconds, of each process that collects tests

    return jsonschema.Draft202012Validator(strict(json_schema(name)), format_checker=jsonschema.FormatChecker())


def check(document: Any) -> str:
    """Hold a document against the schema that it names, and give the schema's name."""
    name = str(document["schema"]).split("/")[1]
    errors = [
        f"{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}"
        for error in validator_of(name).iter_errors(document)
    ]
    assert errors == []
    return name


def printed(*words: object) -> Any:
    """What a command prints as JSON, whatever its exit status."""
    done = CliRunner().invoke(app, [*map(str, words), "--format", "json"])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", schema_names())
def test_schemas_are_schemas(name: str) -> None:
    schema = perflog.json_schema(name)
    validator_of(name).check_schema(schema)
    version = 2 if name in ("extraction", "explanation") else 1
    assert schema["$id"] == f"urn:perflog:{name}:{version}"
    assert schema["properties"]["schema"] == {"const": f"perflog/{name}/{version}"}


def test_an_unknown_schema_is_refused() -> None:
    with pytest.raises(UsageError, match="schema 'extractoin': expected one of audit, check, comparison"):
        perflog.json_schema("extractoin")


@pytest.mark.parametrize("first", mostly_long(range(5), 5))
def test_extractions_of_every_parser(first: int) -> None:
    """Metrics, evidence, reasons and skipped files of all formats that there are samples of."""
    for logs in sorted(PARSERS.iterdir(), key=str)[first::5]:
        document: Any = perflog.extract(logs).document()
        assert check(document) == "extraction", logs
        metrics = [metric for case in document["cases"] for run in case["runs"] for metric in run["metrics"].values()]
        assert OTHER not in {entry["reason_code"] for entry in [*metrics, *document["skipped"]]}, logs


def test_extractions_with_speedups_and_what_is_printed() -> None:
    document = printed("extract", LOGS, "--warmup", 100)
    assert check(document) == "extraction"
    assert any(case["speedup_interval"] for case in document["cases"])


def test_explanations(tmp_path: Path) -> None:
    (tmp_path / "unknown.log").write_text("".join(f"zephyr tick {n} rate 3.25\n" for n in range(40)))
    document = printed("explain", LOGS / "1n8g", tmp_path / "unknown.log", tmp_path / "unknown.log")
    assert check(document) == "explanation"


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two sides, the new one faster by a tenth, one case of which is on one side alone."""
    folder = tmp_path_factory.mktemp("sides")
    for side, factor in (("old", 1.0), ("new", 1.1)):
        for number, rate in enumerate((100.0, 101.0, 102.0, 103.0, 104.0), 1):
            write_run(folder / side / "1n8g" / f"rn50_b128_fp32_{number}.log", [round(rate * factor, 2)] * 60)
    write_run(folder / "old" / "1n4g" / "rn50_b128_fp32_1.log", [55.0] * 60)
    return folder / "old", folder / "new"


def test_comparisons(sides: tuple[Path, Path]) -> None:
    document = printed("compare", *sides)
    assert check(document) == "comparison"
    (comparison,) = document["comparisons"]
    assert comparison["rows"] and comparison["not_compared"]


@pytest.mark.parametrize("command", [["noise"], ["plan", "--detect", "5%"]])
def test_noise_and_plans(command: list[str], sides: tuple[Path, Path]) -> None:
    assert check(printed(*command, sides[0])) == "noise"


def test_audits_and_readmes(sides: tuple[Path, Path]) -> None:
    page = sides[0].parent / "README.md"
    page.write_text(
        "| model | devices | batch size | precision | images/s |\n|---|---|---|---|---|\n"
        "| rn50 | 8 | 128 | fp32 | 555.55 |\n| rn50 | 8 | 128 | fp32 | 102.0 |\n| rn50 | 64 | 128 | fp32 | - |\n"
        "\n<!-- perflog: table old -r devices -->\nstale\n<!-- /perflog -->\n"
        "\n<!-- perflog: plot old -o scaling.svg -->\n<!-- /perflog -->\n"
    )
    document = printed("audit", page, "--logs", sides[0])
    assert check(document) == "audit" and document["counts"]["differs"] + document["counts"]["slip"]
    stale = printed("readme", "--check", page)
    assert check(stale) == "readme" and stale["files"][0]["changes"] and stale["pictures"]


def test_histories(tmp_path: Path) -> None:
    database = tmp_path / "history.sqlite"
    for day in range(1, 17):
        for number in range(1, 4):
            rate = (100.0 if day < 9 else 110.0) + 0.1 * number + 0.01 * day
            write_run(tmp_path / f"v{day}" / "1n8g" / f"rn50_b128_fp32_{number}.log", [rate] * 60)
        perflog.save(tmp_path / f"v{day}", f"v{day}", date=datetime(2026, 1, day, tzinfo=UTC), database=database)
    assert check(printed("history", "--database", database)) == "history"
    series = printed("history", "--case", "devices=8", "--database", database)
    assert check(series) == "history" and series["series"][0]["parts"][0]["changes"]
    assert check(printed("history", "--regressions", "--database", database)) == "regressions"
    said = ["--by", "Ada", "--database", str(database)]
    assert CliRunner().invoke(app, ["history", "note", "v3", "a rack", *said]).exit_code == 0
    for day in range(9, 17):
        delete(database, f"v{day}")
    found = printed("history", "--regressions", "--database", database)
    assert check(found) == "regressions" and found["notes"] and len(found["gone"]) == 1
    assert check(printed("history", "events", "--database", database)) == "events"


@pytest.mark.parametrize("command", ["doctor", "config", "conventions"])
def test_what_is_installed_and_in_force(command: str) -> None:
    assert check(printed(command)) == command


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("words", "code", "status", "text"),
    [
        (["extract", "nosuch", "-f", "json"], "no-such-path", 2, "no such file or folder: 'nosuch'"),
        (["compare", "nosuch", "nowhere", "--format=json"], "no-such-path", 2, "no such file or folder: 'nosuch'"),
        (["audit", "nosuch.md", "-fjson"], "no-such-path", 2, "nosuch.md: no such file or folder"),
        (["extract", ".", "--estimator", "avg", "-f", "json"], "usage", 2, "--estimator 'avg'"),
        (["extract", ".", "--no-such-option", "-f", "json"], "usage", 2, "--no-such-option"),
        (["extract", ".", "--parsers", "{parsers}", "-f", "json"], "parser", 2, "mine.toml"),
        (["readme", "--check", "{readme}", "-f", "json"], "failed", 2, "closes no region"),
    ],
)
def test_errors_where_json_is_asked_for(words: list[str], code: str, status: int, text: str, tmp_path: Path) -> None:
    """The document on standard output, the message on standard error as ever."""
    (tmp_path / "mine.toml").write_text("name = 'mine'\nnonsense = 1\n")
    (tmp_path / "README.md").write_text("<!-- /perflog -->\n")
    named = [word.format(parsers=tmp_path, readme=tmp_path / "README.md") for word in words]
    done = perflog_process(*named, cwd=tmp_path)
    document = json.loads(done.stdout)
    assert check(document) == "error"
    error = document["error"]
    assert (error["code"], error["exit_status"], done.returncode) == (code, status, status)
    assert text in error["message"] and text in done.stderr


def test_errors_elsewhere_are_sentences_alone(tmp_path: Path) -> None:
    done = perflog_process("extract", "nosuch", "-f", "csv", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr == "perflog: no such file or folder: 'nosuch'\n"
    done = perflog_process("extract", "nosuch", "-o", "cases.json", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, ""), "the file was asked for, not standard output"


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ("extract logs -f json", True),
        ("extract logs -fjson", True),
        ("extract logs --format JSON", True),
        ("extract logs --format=json -o x.csv", True),
        ("extract logs -o out.json", False),
        ("extract logs -oout.json", False),
        ("extract logs -o out.csv -f json", True),
        ("extract logs -o out.json -f csv", False),
        ("extract json", False),
        ("extract -- -f json", False),
        ("extract logs -f", False),
    ],
)
def test_what_asks_for_json(words: str, asked: bool) -> None:
    assert asks_for_json(words.split()) is asked


def test_parsers_and_their_check() -> None:
    file = str(FIXTURES.parent / "parsers" / "paddleclas.toml")
    assert check(printed("parsers", "list")) == "parsers"
    shown = printed("parsers", "show", file)
    assert check(shown) == "parser" and shown["parser"]["name"] == "paddleclas"
    checked = printed("parsers", "check", file)
    assert check(checked) == "check" and checked["check"]["parsers"] == 1 and checked["check"]["faults"] == []


def test_what_is_saved_and_what_is_watched(sides: tuple[Path, Path], tmp_path: Path) -> None:
    saved = printed("save", sides[1], "--label", "v2", "--database", tmp_path / "h.db", "--quiet")
    assert check(saved) == "saved"
    assert (saved["campaign"]["runs"], saved["campaign"]["done"]) == (5, "saved")
    watched = printed("watch", sides[1])
    assert check(watched) == "watch"
    assert [entry["finished"] for entry in watched["configurations"]] == [0], "the logs say no last words"


def test_noise_as_csv(sides: tuple[Path, Path], tmp_path: Path) -> None:
    """The numbers of the document, read back by Python's csv; the ending of the file's name gives the form."""
    file = tmp_path / "noise.csv"
    done = CliRunner().invoke(app, ["noise", str(sides[1]), "-o", str(file), "--quiet"])
    assert done.exit_code == 0, done.output
    (row,) = csv.DictReader(file.read_text(encoding="utf-8").splitlines())
    (case,) = printed("noise", sides[1])["cases"]
    assert (row["devices"], row["n"], row["median"], row["unit"]) == ("8", "5", "112.2", "images/s")
    assert float(row["spread"]) == case["spread"] and float(row["low"]) == case["interval"]["low"]
    assert row["pooled"] == "false" and row["runs_needed"] == ""
