"""init, doctor, explain of an unknown format, parsers new, config and the others as JSON."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from perflog.extras import EXTRAS
from perflog.inference.infer import frequent_tables
from perflog.logs.find import LogFile
from tests.forks import perflog
from tests.support import FIXTURES, ROOT

ONE = FIXTURES / "seed001/GPUx8_time2train_ips-bs8.log"
UNKNOWN = "start\n" + "".join(f"[zeph] tick {i} | went 0.{250 + i % 3} secs | 512 done\n" for i in range(1, 61))


def test_init_writes_what_was_found_and_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "gpu8.log").write_bytes(ONE.read_bytes())
    done = perflog("init", str(tmp_path), "--warmup", "30")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "perflog.toml").read_text()
    assert tomllib.loads(text) == {"warmup": 30, "set": {}}
    assert "1 run in 1 case; 0 files skipped." in text
    assert "# Formats: paddleseg (1 run)." in text
    assert "# model = " in text and "no run says it: cases of different models could not be told apart" in text
    assert "# batch_size = " not in text, "the log says it"
    assert "# devices: known from names of files and folders alone (8)" in text
    assert "warm-up 30 steps" in perflog("extract", str(tmp_path), "-q").stdout


def test_init_keeps_the_options_that_it_was_given(tmp_path: Path) -> None:
    """The command line's ``--as`` and others were not in the file that was to keep them."""
    (tmp_path / "a.log").write_text("".join(f"tick {step} | pace {400 + step % 7}.5\n" for step in range(1, 90)))
    given = ["--as", "tick {step} | pace {rate:samples/s:last}", "--baseline", "devices=2", "--set", "devices=2"]
    done = perflog("init", str(tmp_path), *given, "--without-slow")
    assert done.returncode == 0, done.stderr
    assert tomllib.loads((tmp_path / "perflog.toml").read_text()) == {
        "as": [given[1]], "baseline": {"devices": "2"}, "without_slow": True, "set": {"devices": 2},
    }  # fmt: skip
    assert "403" in perflog("extract", str(tmp_path)).stdout


def test_init_writes_down_what_refusals_offer(tmp_path: Path) -> None:
    for number in range(3):
        lines = (f"step {step} | loss {step + number}.5 | 0.{250 + step % 7} s 'a'\n" for step in range(10, 400, 10))
        (tmp_path / f"{number}.log").write_text("".join(lines))
    done = perflog("init", str(tmp_path))
    assert done.returncode == 0, done.stderr
    file = tmp_path / "perflog.toml"
    (offered,) = (line for line in file.read_text().splitlines() if line.startswith("# as = "))
    assert offered.endswith("# 3 logs without a number: if this is so")
    assert tomllib.loads(file.read_text()) == {"set": {}}, "what only the user knows stays a comment"
    file.write_text(file.read_text().replace("# as = ", "as = "))
    assert "3 runs, 0 files skipped" in perflog("extract", str(tmp_path)).stdout


def test_init_never_overwrites_and_needs_a_log(tmp_path: Path) -> None:
    (tmp_path / "perflog.toml").write_text("warmup = 5\n")
    (tmp_path / "a.log").write_bytes(ONE.read_bytes())
    again = perflog("init", str(tmp_path))
    assert (again.returncode, (tmp_path / "perflog.toml").read_text()) == (2, "warmup = 5\n")
    assert "is there already, and is never overwritten" in again.stderr
    (tmp_path / "none").mkdir()
    (tmp_path / "none/a.txt").write_text("nothing\n")
    none = perflog("init", str(tmp_path / "none"))
    assert none.returncode == 2
    assert none.stderr.splitlines() == [
        f"perflog: {tmp_path / 'none'}: no training log found",
        f"  skipped {tmp_path / 'none/a.txt'}: no line of a known format",
    ]
    assert not (tmp_path / "none/perflog.toml").exists()


def test_doctor_says_what_is_installed_and_in_force(tmp_path: Path) -> None:
    file = tmp_path / "perflog.toml"
    file.write_text("warmup = 50\n[set]\nmodel = 'm'\n")
    environment = {"PERFLOG_DATABASE": "postgresql://me:secret@db/x"}
    data = json.loads(perflog("doctor", str(tmp_path), "--format", "json", env=environment).stdout)
    assert data["schema"] == "perflog/doctor/1"
    assert data["config"] == {"file": str(file), "sets": {"warmup": 50, "set.model": "m"}, "fault": None}
    assert [extra["name"] for extra in data["extras"]] == list(dict.fromkeys(e.name for e in EXTRAS.values()))
    assert data["variables"]["PERFLOG_DATABASE"] == "postgresql://me:***@db/x"
    text = perflog("doctor", str(tmp_path), env=environment).stdout
    assert f"config file: {file}\n  warmup = 50\n  set.model = m\n" in text
    assert "secret" not in text
    file.write_text("warmup = 'x'\n")
    assert f"wrong: {file}:1: warmup 'x': expected" in perflog("doctor", str(tmp_path)).stdout


def test_doctor_knows_every_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(extras) - {"all", "dev"} - {e.name for e in EXTRAS.values()} <= {"docs"}


def test_a_missing_extra_has_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    from perflog.cli import setup

    monkeypatch.setattr(setup, "find_spec", lambda name: None if name == "obstore" else object())
    found = setup.examined([])
    (missing,) = (extra for extra in found["extras"] if not extra["installed"])
    assert (missing["name"], missing["missing"]) == ("s3", ["obstore"])
    assert missing["command"].endswith("-m pip install 'perflog[s3]'")
    assert f"s3          not installed (reading logs from a server): {missing['command']}" in setup.text_of(found)


def test_explain_shows_the_most_frequent_lines_of_an_unknown_format(tmp_path: Path) -> None:
    log = tmp_path / "z.log"
    log.write_text(UNKNOWN)
    done = perflog("explain", str(log))
    assert done.returncode == 3
    assert (
        "      60 × [zeph] tick # | went # secs | # done\n           line 2: [zeph] tick 1 | went 0.251" in done.stdout
    )
    said = f"next: `perflog extract {log} --as '[zeph] tick 1 | went 0.251 secs | 512 done'`, with {{step}}"
    assert said in done.stdout, "first the line to say what it means in"
    assert f"or: `perflog parsers new NAME --from {log}` writes a parser to correct" in done.stdout
    (data,) = json.loads(perflog("explain", str(log), "-f", "json").stdout)["logs"]
    assert (data["reason"], data["runs"], data["complete"]) == ("no line of a known format", [], False)
    assert data["frequent_lines"][0] == {
        "count": 60, "line": 2, "outline": "[zeph] tick # | went # secs | # done",
        "text": "[zeph] tick 1 | went 0.251 secs | 512 done",
    }  # fmt: skip


def test_explain_as_json_of_a_known_log() -> None:
    (data,) = json.loads(perflog("explain", str(ONE), "-f", "json").stdout)["logs"]
    (run,) = data["runs"]
    assert (data["complete"], run["metrics"]["throughput"]["value"]) == (True, pytest.approx(96.0, abs=1e-3))


def test_a_draft_offers_the_number_of_the_epoch_as_any_other(tmp_path: Path) -> None:
    """The word before a number may be that of a position, which no value is called."""
    lines = (f"Epoch: [0][{step}/90] speed {rate}" for step, rate in ((10, "0.251"), (20, "0.252"), (30, "0.250")))
    (tmp_path / "own.log").write_text("\n".join(lines) + "\n")
    done = perflog("parsers", "new", "own", "--from", "own.log", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    draft = (tmp_path / "own.toml").read_text()
    assert [f"# {seen} …" in draft for seen in ("0, 0, 0", "90, 90, 90", "0.251, 0.252, 0.250")] == [True] * 3


def test_a_draft_of_an_unknown_format_is_no_parser_until_a_person_says_what_it_means(tmp_path: Path) -> None:
    log, folder = tmp_path / "z.log", tmp_path / "own"
    log.write_text(UNKNOWN)
    folder.mkdir()
    done = perflog("parsers", "new", "zeph", "--from", str(log), "-o", str(folder))
    assert "It knows the steps alone." in done.stdout
    file = folder / "zeph.toml"
    checked = perflog("parsers", "check", "zeph", "--parsers", str(folder))
    assert (checked.returncode, "no value measures" in checked.stderr) == (2, True)
    draft = file.read_text()
    choice = draft[draft.index("# 0.251, 0.252, 0.250 …") :].split("\n#\n")[0]
    lines = [line.removeprefix("#").strip() for line in choice.splitlines()]
    regex = next(line for line in lines if line.startswith("regex = "))
    value = "\n".join(lines[lines.index("[[pattern.value]]") :])
    filled = "\n".join(regex if line.startswith("regex = ") else line for line in draft.splitlines())
    file.write_text(f"{filled}\n{value}\n")
    assert perflog("parsers", "check", "zeph", "--parsers", str(folder)).stdout.startswith("1 parser, 1 sample: all")
    table = json.loads(
        perflog("extract", str(log), "--parsers", str(folder), "-s", "batch_size=1", "-f", "json").stdout
    )
    step_time = table["cases"][0]["metrics"]["step_time"]["value"]
    assert step_time == pytest.approx(0.251, abs=1e-4), "the mean of 0.250, 0.251, 0.252 in turn"


def test_frequent_lines_leave_out_what_is_rare_or_has_no_number(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("x\n" * 9 + "a 1\nb 2\n" * 3 + "c 1\n" * 2 + "a 9 \n")
    tables = frequent_tables(LogFile(str(log), log.stat().st_size))
    assert [(len(t), t.outline, t.lines[0]) for t in tables] == [(4, "a #", 10), (3, "b #", 11)]


@pytest.mark.parametrize(
    ("words", "schema"),
    [
        (["config"], "perflog/config/1"), (["conventions"], "perflog/conventions/1"),
        (["parsers", "list"], "perflog/parsers/1"), (["parsers", "check", "keras"], "perflog/check/1"),
    ],
)  # fmt: skip
def test_lists_as_json(words: list[str], schema: str) -> None:
    assert json.loads(perflog(*words, "--format", "json").stdout)["schema"] == schema


def test_messages_count_what_they_mean() -> None:
    assert perflog("parsers", "check", "paddleclas").stdout == "1 parser, 19 samples: all as they should be\n"
