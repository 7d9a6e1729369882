"""The command line as users meet it: exit statuses, messages, formats, configuration."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import zipfile
from pathlib import Path

import polars as pl
import pytest
import zstandard
from typer.testing import CliRunner

import perflog
from perflog.cli import app
from perflog.extraction import extract_paths
from perflog.settings.config import DEFAULTS
from perflog.settings.options import Options
from tests.forks import perflog as perflog_process
from tests.support import FIXTURES, ROOT

BZ128 = str(FIXTURES / "seed004/logs_fp32/mindspore/resnet50/bz128")
ONE = FIXTURES / "seed001/GPUx8_time2train_ips-bs8.log"


def run(*arguments: str, cwd: Path = ROOT, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """A real process: what it prints is what a user sees."""
    return perflog_process(*arguments, cwd=cwd, env=env)


def test_statuses(tmp_path: Path) -> None:
    assert run("extract", str(ONE)).returncode == 0
    short = run("extract", str(ONE), "--warmup", "100000")
    assert (short.returncode, "400 steps, warm-up 100000" in short.stdout, "no value" in short.stdout) == (
        3,
        True,
        True,
    )
    (tmp_path / "notes.txt").write_text("nothing here\n")
    nothing = run("extract", str(tmp_path))
    assert nothing.returncode == 3
    assert "no line of a known format" in nothing.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["extract", "no/such/place"], "no such file or folder: 'no/such/place'"),
        (["extract", BZ128.replace("bz128", "bz182")], "did you mean"),
        (
            ["extract", BZ128, "--warmup", "many"],
            "--warmup 'many': expected a number of steps (100), or 2epochs, 10records, 30s, 10%",
        ),
        (["extract", BZ128, "--estimator", "best"], "--estimator 'best': expected one of total, mean"),
        (["extract", BZ128, "--format", "xls"], "--format 'xls': expected one of table, markdown"),
        (["extract", BZ128, "--set", "devices"], "--set 'devices': expected key=value"),
        (["extract", BZ128, "--parser", "mindspor"], "did you mean mindspore or"),
        (["extract", BZ128, "--convention", "dlperf-mindsport"], "did you mean dlperf-mindspore"),
        (["extract", BZ128, "--last", "5", "--warmup", "5"], "--last and --warmup exclude each other"),
        (
            ["extract", BZ128, "--convention", "dlperf-mindspore", "--warmup", "5records"],
            "--warmup and --steps must both be in steps, or both in records",
        ),
        (["extract", BZ128, "--warmpu", "5"], "No such option: --warmpu"),
        (["extract", BZ128, "--format", "parquet"], "name a file with --output FILE"),
    ],
)
def test_wrong_usage_names_the_option_and_what_would_be_right(arguments: list[str], message: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    flat = re.sub(r"[│╭╮╰╯─\s]+", " ", done.stderr)
    assert message in done.stderr or message in flat
    assert "Traceback" not in done.stderr


def test_an_option_beside_a_convention_is_said_under_the_table() -> None:
    done = run("extract", BZ128, "--convention", "dlperf-mindspore", "--warmup", "50", "--quiet")
    assert done.returncode == 0, done.stderr
    assert "convention dlperf-mindspore (adjusted: warm-up)" in done.stdout


def test_version_and_help() -> None:
    assert run("--version", env={"PERFLOG_ENGINE": "polars"}).stdout == (
        f"perflog {perflog.__version__}, engine: polars (PERFLOG_ENGINE=polars)\n"
    )
    assert "extract" in run("--help").stdout


def test_every_option_has_help_and_may_stand_in_the_config() -> None:
    text = run("extract", "--help-all", env={"COLUMNS": "200"}).stdout
    for option in set(DEFAULTS) - {"database", "aliases"}:  # of `save` and `history`; of perflog.toml alone
        assert f"--{option.rstrip('_').replace('_', '-')}" in text


def test_no_colour_and_no_progress_off_a_terminal() -> None:
    done = run("extract", BZ128)
    assert "\x1b" not in done.stdout + done.stderr


def test_json_holds_every_run_with_its_source() -> None:
    data = json.loads(run("extract", BZ128, "-w", "100", "-n", "100", "--format", "json").stdout)
    assert data["schema"] == "perflog/extraction/2"
    assert len(data["cases"]) == 6
    first = data["cases"][0]["runs"][0]
    metric = first["metrics"]["throughput"]
    assert (metric["used"], metric["excluded"], metric["unit"], metric["estimator"]) == (
        100,
        {"warm-up": 100},
        "samples/s",
        "total",
    )
    lines = Path(first["source"]["file"]).read_text().splitlines()
    assert lines[metric["first_line"] - 1].startswith("epoch time: ")
    assert lines[metric["first_line"] - 2].startswith("epoch: 101 step: 1")
    assert first["metadata"]["devices"] == {"value": 1, "source": "path"}
    assert data["skipped"][0]["reason"] == "no line of a known format"
    interval = data["cases"][0]["metrics"]["throughput"]["interval"]
    assert interval["level"] == 0.9375


def test_csv_parquet_and_markdown_agree(tmp_path: Path) -> None:
    frames = []
    for form in ("csv", "parquet"):
        out = tmp_path / f"cases.{form}"
        assert run("extract", BZ128, "-w", "100", "-n", "100", "-f", form, "-o", str(out)).returncode == 0
        frames.append(pl.read_csv(out) if form == "csv" else pl.read_parquet(out))
    assert frames[0]["throughput"].to_list() == pytest.approx(frames[1]["throughput"].to_list())
    markdown = run("extract", BZ128, "-w", "100", "-n", "100", "-f", "markdown").stdout
    assert (
        "| MindSpore   | rn50    | fp32        |            128 |       4 |        32 |   5 |     10731.78 |"
        in markdown
    )
    assert "estimator total" in markdown


def test_config_beside_the_logs(tmp_path: Path) -> None:
    logs = tmp_path / "campaign" / "8gpu"
    logs.mkdir(parents=True)
    (logs / "train.log").write_bytes(ONE.read_bytes())
    (tmp_path / "campaign" / "perflog.toml").write_text('warmup = 50\n[set]\nmodel = "hrnet"\ndevices = 4\n')
    shown = run("config", str(logs), "--estimator", "median").stdout
    assert re.search(r"warmup +50 +\S+perflog.toml", shown)
    assert re.search(r"estimator +median +command line", shown)
    data = json.loads(run("extract", str(logs), "-f", "json").stdout)
    (case,) = data["cases"]
    assert case["case"]["model"] == "hrnet"
    assert case["case"]["devices"] == 4
    assert any("devices is 4 by the config, 8 by the path" in note["text"] for note in case["notes"])
    assert data["options"]["warmup"] == "50 steps"
    (tmp_path / "campaign" / "perflog.toml").write_text("warmup_steps = 50\n")
    wrong = run("extract", str(logs))
    assert (wrong.returncode, "unknown option 'warmup_steps'" in wrong.stderr) == (2, True)


def test_compressed_logs(tmp_path: Path) -> None:
    data = ONE.read_bytes()
    (tmp_path / "a_gpu8.log.gz").write_bytes(gzip.compress(data + b"a\n"))  # no two texts alike: copies count once
    (tmp_path / "b_gpu8.log.zst").write_bytes(zstandard.compress(data + b"b\n"))
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as archive:
        archive.writestr("logs/c_gpu8.log", data + b"c\n")
    (tmp_path / "d_gpu8.log.gz").write_bytes(gzip.compress(data)[:-60])
    (tmp_path / "e.log.gz").write_bytes(b"\x1f\x8b garbage")
    done = run("extract", str(tmp_path), "-f", "json")
    found = json.loads(done.stdout)
    values = {
        run["source"]["file"].rsplit("/", 1)[1]: run["metrics"]["throughput"]["value"]
        for case in found["cases"]
        for run in case["runs"]
    }
    assert values["a_gpu8.log.gz"] == values["b_gpu8.log.zst"] == values["c.zip"] == pytest.approx(96.0, abs=1e-3)
    assert any("damaged or cut short" in note["text"] for case in found["cases"] for note in case["notes"])
    assert next(s["reason"] for s in found["skipped"] if s["file"].endswith("e.log.gz")).startswith(
        "the gzip data are damaged"
    )


def test_rubbish_is_skipped_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "empty.log").write_bytes(b"")
    (tmp_path / "nul.log").write_bytes(bytes(5000))
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n" + bytes(range(256)) * 40)
    (tmp_path / "secret.log").write_text("x")
    (tmp_path / "text.md").write_text("# ips: 127.0.0.1\nips: None\n")
    (tmp_path / "good_gpu8.log").write_bytes(ONE.read_bytes())
    os.mkfifo(tmp_path / "pipe")
    done = run("extract", str(tmp_path), "-f", "json")
    assert done.returncode == 0
    reasons = {s["file"].rsplit("/", 1)[1]: s["reason"] for s in json.loads(done.stdout)["skipped"]}
    assert reasons == {
        "empty.log": "empty file", "nul.log": "nothing but blanks or NUL bytes", "picture.png": "binary file", "pipe": "a pipe in a folder, which is not read: name the pipe itself to have it read",
        "secret.log": "no line of a known format", "text.md": "no line of a known format",
    }  # fmt: skip


def test_logs_that_are_refused_alike_are_one_line_that_gives_the_option_once(tmp_path: Path) -> None:
    for number in range(7):
        lines = (f"step {step} | loss {step + number}.5 | 0.{250 + step % 7} s\n" for step in range(10, 400, 10))
        (tmp_path / f"{number}.log").write_text("".join(lines))
    (tmp_path / "empty.log").write_bytes(b"")
    said = run("extract", str(tmp_path)).stderr
    refused = next(line for line in said.splitlines() if "--as" in line)
    assert refused.startswith(f"skipped {tmp_path / '0.log'} and 6 more like it: 's' is printed at one of 10 steps")
    assert f"skipped {tmp_path / 'empty.log'}: empty file" in said
    assert said.count("--as") == 1
    explained = run("explain", str(tmp_path / "3.log")).stdout
    assert (explained.count("--as"), "or: `perflog parsers new NAME" in explained) == (1, True)
    for words in (["table"], ["view", "-o", str(tmp_path / "v.html")], ["noise"], ["compare", str(tmp_path)]):
        done = run(*words, str(tmp_path))
        assert (done.returncode, done.stderr.count("and 6 more like it: 's' is printed")) == (2, 1), words


def test_explain_says_what_was_read_and_why_others_were_rejected() -> None:
    text = run("explain", str(ONE)).stdout
    assert "run: parser paddleseg, lines 6 to 45, warm-up 20 steps" in text
    assert "38 measurements, lines 8 to 45; left out: 2 warm-up" in text
    assert "paddleseg: matched" in text
    assert "other parsers rejected: --why-not NAME or --why-not all says why" in text
    well = run("explain", str(FIXTURES / "parsers/paddleclas/static.log")).stdout
    assert len(well.splitlines()) <= 20, "a log that was read well"
    assert re.search(r"\n  paddleclas: matched \w+ \(\d+ lines, \d+ to \d+\)", well), "a line for its parser"
    asked = run("explain", str(FIXTURES / "parsers/paddleclas/static.log"), "--why-not", "paddleclas").stdout
    assert re.search(r"\n  paddleclas: matched\n    \w+ +\w+ +\d+ lines, first \d+, last \d+", asked)


def test_explain_says_why_a_parser_was_rejected() -> None:
    everything = run("explain", str(ONE), "--why-not", "all").stdout
    assert "rejected because none of their literals occurs" in everything
    one = run("explain", str(ONE), "--why-not", "paddleclas").stdout
    assert [line for line in one.splitlines() if "rejected" in line and "paddleclas" not in line] == []
    assert "paddleclas: rejected" in one or "none of their literals occurs: paddleclas" in one
    done = run("explain", str(ONE), "--why-not", "padleclas")
    assert done.returncode == 2 and "did you mean paddleclas" in done.stderr


def test_explain_says_what_a_refused_log_lacks_and_how_to_say_it(tmp_path: Path) -> None:
    log = tmp_path / "own.log"
    log.write_text("".join(f"round {i} took {i % 7 + 1} wobbles of {3 * i + 1}\n" for i in range(60)))
    lines = run("explain", str(log)).stdout.splitlines()
    assert lines[1].startswith("no training log: ")
    assert "--as 'round 0 took 1 wobbles of 1'" in next(line for line in lines if line.startswith("next: "))
    assert re.fullmatch(r"  \d+ parsers rejected: .*", lines[-1]), "of all, and of no others"


def test_an_internal_error_shows_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from perflog import __main__

    def broken(**_: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr("perflog.cli.app_for", lambda _words: broken)
    monkeypatch.delenv("PERFLOG_DEBUG")
    with pytest.raises(SystemExit) as caught:
        __main__.main()
    assert caught.value.code == 70
    assert "internal error, please report it: RuntimeError: boom" in capsys.readouterr().err


@pytest.mark.long
def test_parsers_commands() -> None:
    runner = CliRunner()
    assert "all as they should be" in runner.invoke(app, ["parsers", "check"]).output
    assert "paddleclas" in runner.invoke(app, ["parsers", "list"]).output
    page = runner.invoke(app, ["parsers", "show", "paddleclas"]).output
    assert "cumulative since the epoch's beginning, of the rank" in page
    assert "dlperf-mindspore" in runner.invoke(app, ["conventions"]).output


def test_own_parser_folder(tmp_path: Path) -> None:
    parsers, log = tmp_path / "parsers", tmp_path / "my.log"
    parsers.mkdir()
    (parsers / "mine.toml").write_text(
        'title = "Mine"\nsource = "here"\nframework = "Mine"\n[[pattern]]\nname = "step"\nrole = "step"\nliteral = "mystep "\n'
        'regex = \'mystep (?P<step>{I}) speed (?P<rate>{N})\'\n[[pattern.value]]\ngroup = "rate"\nquantity = "rate"\nunit = "images/s"\n'
        "[[pattern.sample]]\nline = 'mystep 5 speed 12.5'\nexpect = { step = 5, rate = 12.5 }\n"
    )
    log.write_text("".join(f"mystep {i} speed {100 + i % 2}\n" for i in range(1, 61)))
    (case,) = json.loads(run("extract", str(log), "--parsers", str(parsers), "-f", "json").stdout)["cases"]
    assert case["metrics"]["throughput"]["value"] == pytest.approx(2 / (1 / 100 + 1 / 101))
    (parsers / "mine.toml").write_text((parsers / "mine.toml").read_text().replace("rate = 12.5", "rate = 13"))
    done = run("extract", str(log), "--parsers", str(parsers))
    assert done.returncode == 2
    assert "sample expects rate = 13" in done.stderr


def test_python_interface() -> None:
    result = perflog.extract(BZ128, warmup=100, steps=100)
    assert result.cases["throughput"].round(2).to_list() == [369.81, 710.68, 1418.66, 2773.82, 5483.22, 10731.78]
    assert result.runs.height == 30
    assert result.skipped["file"].to_list() == [f"{BZ128}/SOURCE.toml"]


def test_json_of_very_many_runs_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    from perflog.show import document

    extraction = extract_paths([BZ128], Options())
    indented = document.to_json(extraction)
    monkeypatch.setattr(document, "INDENTED_RUNS", 1)
    assert document.to_json(extraction).count("\n") < indented.count("\n") / 10
    assert json.loads(document.to_json(extraction)) == json.loads(indented)
