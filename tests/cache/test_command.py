"""`perflog extract --cache` and `perflog cache`: what is printed is what is printed without."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import perflog
from perflog.cache import place as place_of_cache
from perflog.cache.printed import Listing, Printed
from perflog.cli import app
from perflog.logs.find import find_logs
from tests.cache.support import Place, logs_in
from tests.cache.test_changes import change_a_byte
from tests.support import catalog, options

NAME = "perflog-cache-1.sqlite"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of logs that are old enough to be kept; the cache is in the user's cache folder beside it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv(place_of_cache.VARIABLE, raising=False)
    monkeypatch.setattr("perflog.cache.identity.TICK_NS", -10_000_000_000)
    logs_in(tmp_path / "logs")
    return tmp_path


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def kept_in(folder: Path) -> Path:
    return folder / "caches" / "perflog" / "logs" / NAME


@pytest.mark.parametrize("form", ["table", "json", "csv", "markdown", "latex", "openmetrics"])
def test_every_format_is_what_it_is_without_the_cache(folder: Path, form: str) -> None:
    (folder / "logs" / "notes.txt").write_text("no log\n")
    plain = run("extract", folder / "logs", "-f", form)
    results = [run("extract", folder / "logs", "-f", form, "--cache") for _ in range(3)]
    assert {(r.exit_code, r.stdout_bytes, r.stderr) for r in [plain, *results]} == {
        (plain.exit_code, plain.stdout_bytes, plain.stderr)
    }
    assert plain.exit_code == 0 and (form == "json" or "skipped" in plain.stderr)


def test_what_was_printed_is_printed_again_and_nothing_is_read(folder: Path) -> None:
    """The entry is exchanged for another text: that it comes says where it comes from."""
    printed = _exchanged(folder)
    again = run("extract", folder / "logs", "--cache", "-f", "json")
    assert (again.stdout, again.stderr, again.exit_code) == (printed.content.decode(), "a remark\n", 3)
    assert run("extract", folder / "logs", "--cache", "-f", "json", "--quiet").stderr == ""
    assert run("extract", folder / "logs", "-f", "json").stdout != again.stdout


def _exchanged(folder: Path) -> Printed:
    """What is kept of all logs as JSON is another text from now on."""
    place = Place(folder)
    listing = Listing(
        perflog.cache.cache.Cache(kept_in(folder).parent, place.said.append),
        find_logs([str(folder / "logs")]), options(), catalog(),
    )  # fmt: skip
    printed = Printed(b"what was kept\n", True, ("a remark",), False)
    listing.keep(("json", [], "", (), False, False, None), printed)
    assert place.said == [] and kept_in(folder).exists()
    return printed


@pytest.mark.parametrize("words", [["--warmup", "5"], ["--where", "devices=2"], ["--wide"], ["-f", "csv"]])
def test_other_words_are_printed_anew(folder: Path, words: list[str]) -> None:
    _exchanged(folder)
    assert "what was kept" not in run("extract", folder / "logs", "--cache", "-f", "json", *words).stdout


@pytest.mark.parametrize("change", ["byte", "machine", "scaling", "log", "gone"])
def test_whatever_changes_is_printed_anew(folder: Path, change: str) -> None:
    _exchanged(folder)
    log = folder / "logs" / "1n1g" / "cnn_b16_fp32_0.log"
    if change == "byte":
        change_a_byte(log)
    elif change == "gone":
        log.unlink()
    else:
        names = {"machine": "machine.json", "scaling": "1n1g/scaling.json", "log": "1n1g/another.log"}
        (folder / "logs" / names[change]).write_text('{"cpus": 1, "scaling_factor": 2}')
    plain = run("extract", folder / "logs", "-f", "json")
    assert run("extract", folder / "logs", "--cache", "-f", "json").stdout == plain.stdout


def test_nothing_is_kept_where_it_is_not_asked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("extract", folder / "logs")
    run("table", folder / "logs")
    monkeypatch.setenv("PERFLOG_CACHE", str(folder / "mine"))
    monkeypatch.setenv("CI", "true")
    run("extract", folder / "logs")
    monkeypatch.delenv("CI")
    run("extract", folder / "logs", "--no-cache")
    assert not (folder / "caches" / "perflog" / "logs").exists() and not (folder / "mine").exists()
    run("extract", folder / "logs")
    assert (folder / "mine" / NAME).exists()


def test_ci_may_ask_for_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("PERFLOG_CACHE", str(folder / "mine"))
    assert run("extract", folder / "logs", "--cache").exit_code == 0
    assert (folder / "mine" / NAME).exists()


def test_a_repository_cannot_ask_for_it(folder: Path) -> None:
    """Whoever wrote the logs may have written the file beside them."""
    (folder / "logs" / "perflog.toml").write_text("cache = true\n")
    refused = run("extract", folder / "logs")
    assert refused.exit_code != 0 and "give it as --cache" in str(refused.exception)


def test_the_command_says_how_much_is_kept_and_removes_it(folder: Path) -> None:
    assert run("cache").stdout == f"{kept_in(folder)}: 0 entries, 0.0 MB\n"
    run("extract", folder / "logs", "--cache")
    size = kept_in(folder).stat().st_size / 1e6
    assert run("cache").stdout == f"{kept_in(folder)}: 4 entries, {size:.1f} MB\n"
    assert run("cache", "--clear").stdout.endswith("MB, removed\n")
    assert not kept_in(folder).exists()
    assert run("cache", "--clear").exit_code == 0


def test_a_damaged_cache_is_said_in_one_line(folder: Path) -> None:
    plain = run("extract", folder / "logs")
    run("extract", folder / "logs", "--cache")
    kept_in(folder).write_bytes(b"damaged" * 1000)
    done = run("extract", folder / "logs", "--cache")
    assert (done.exit_code, done.stdout) == (plain.exit_code, plain.stdout)
    assert done.stderr.replace(plain.stderr, "") == (
        f"cache '{kept_in(folder)}': it was damaged (file is not a database): it is made anew\n"
    )


def test_a_share_is_read_with_the_cache(folder: Path) -> None:
    for name in ("one", "two"):
        done = run("extract", folder / "logs", "--shard", "1/1", "--cache", "-q", "-o", folder / f"{name}.parquet")
        assert done.exit_code == 0
    assert run("cache").stdout.startswith(f"{kept_in(folder)}: 3 entries")
    assert (folder / "one.parquet").read_bytes() == (folder / "two.parquet").read_bytes()


def test_python_extracts_with_the_cache_too(folder: Path) -> None:
    plain = perflog.extract(folder / "logs").document()
    assert not kept_in(folder).exists()
    assert [perflog.extract(folder / "logs", cache=True).document() for _ in range(2)] == [plain] * 2
    kept_in(folder).write_bytes(b"damaged" * 1000)
    with pytest.warns(UserWarning, match="it is made anew"):
        assert perflog.extract(folder / "logs", cache=True).document() == plain
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert perflog.extract(folder / "logs", cache=True).document() == plain
