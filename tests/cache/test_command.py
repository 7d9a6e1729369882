"""`perflog extract --cache` and `perflog cache`: what is printed is what is printed without."""

from __future__ import annotations

import functools
import shutil
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import perflog
from perflog import extraction
from perflog.cache import place as place_of_cache
from perflog.cache.printed import Listing, Printed
from perflog.cli import app
from perflog.cli.cases import View
from perflog.cli.output import table_width
from perflog.logs.find import LogFile, find_logs
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
    monkeypatch.setattr("perflog.cache.place.TICK_NS", -10_000_000_000)
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
    listing.keep(("json", [], *View()[1:], False, table_width(False)), printed)
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


def _written(folder: Path, words: list[str], *more: object) -> tuple[int, str, list[tuple[str, bytes]]]:
    """What a command gives in a folder of its own, as (exit status, what it prints, the files that it writes)."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    places = {"LOGS": str(folder / "logs"), "OLD": str(folder / "old"), "OUT": str(out)}
    done = run(*[functools.reduce(lambda w, place: w.replace(*place), places.items(), word) for word in words], *more)
    files = [(str(file.relative_to(out)), file.read_bytes()) for file in sorted(out.rglob("*")) if file.is_file()]
    return done.exit_code, done.output, files


#: Of these `make test` tries the functions of Python below.
IN_PYTHON_TOO = (
    ["table", "LOGS", "--rows", "devices", "-o", "OUT/table.csv"],
    ["plot", "LOGS", "-o", "OUT/scaling.svg"],
    ["report", "LOGS", "-o", "OUT/README.md"],
    ["compare", "OLD", "LOGS", "--format", "json"],
)


@pytest.mark.parametrize(
    "words",
    [
        ["table", "LOGS", "--rows", "devices", "--value", "throughput,speedup"],
        ["plot", "LOGS", "--kind", "steps", "-o", "OUT/steps.svg"],
        ["report", "LOGS", "-o", "OUT/report.html"],
        ["compare", "OLD", "LOGS", "-o", "OUT/page.html"],
        ["noise", "LOGS", "--format", "json"],
        *(pytest.param(words, marks=pytest.mark.long) for words in IN_PYTHON_TOO),
    ],
    ids=" ".join,
)
def test_every_command_gives_what_it_gives_without(folder: Path, words: list[str]) -> None:
    logs_in(folder / "old")
    plain = _written(folder, words)
    assert not kept_in(folder).exists()
    assert plain[0] == 0 and (plain[2] or "devices" in plain[1])
    assert [_written(folder, words, "--cache") for _ in range(2)] == [plain] * 2


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        ["table", "LOGS", "--rows", "devices"],
        ["plot", "LOGS", "-o", "OUT/scaling.svg"],
        ["plot", "LOGS", "--kind", "steps", "-o", "OUT/steps.svg"],
        ["report", "LOGS", "-o", "OUT/README.md"],
        ["report", "LOGS", "-o", "OUT/report.html"],
        ["compare", "LOGS", "LOGS", "--format", "json"],
        ["plan", "LOGS", "--format", "json"],
        ["save", "LOGS", "--label", "v1", "--database", "OUT/history.sqlite"],
    ],
    ids=" ".join,
)
def test_every_command_reads_no_log_again_that_has_not_changed(
    folder: Path, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _written(folder, words, "--cache")[0] == 0
    monkeypatch.setattr(extraction, "_outcomes", _refuse)
    assert _written(folder, words, "--cache")[0] == 0
    assert _written(folder, words, "--no-cache")[0] == 1  # by the exception of _refuse


def _refuse(logs: Sequence[LogFile], *_: object) -> None:
    raise AssertionError(f"{len(logs)} logs are read again")


def test_what_is_seen_of_a_changed_log_alone_is_seen_anew(folder: Path) -> None:
    """A trace kept of another state of a log would be drawn without a sign."""
    words = ["plot", "LOGS", "--kind", "steps", "-o", "OUT/steps.svg"]
    before = _written(folder, words, "--cache")
    change_a_byte(folder / "logs" / "1n1g" / "cnn_b16_fp32_0.log")
    plain = _written(folder, words)
    assert plain != before
    assert _written(folder, words, "--cache") == plain


def test_what_is_saved_is_what_is_saved_without(folder: Path) -> None:
    """A history refuses the same results under a second label."""
    words = ["save", folder / "logs", "--database", folder / "history.sqlite", "--label"]
    assert run(*words, "plain").exit_code == 0
    assert not kept_in(folder).exists()
    for label in ("first", "second"):
        refused = run(*words, label, "--cache")
        assert "these results are already saved as 'plain'" in str(refused.exception)
    assert run(*words, "other", "--cache", "--warmup", "5").exit_code == 0


def test_a_readme_is_made_anew_with_the_cache(folder: Path) -> None:
    file = folder / "README.md"
    recipe = "<!-- perflog: table logs --rows devices -->\n<!-- /perflog -->\n"
    file.write_text(recipe)
    (folder / ".git").mkdir()
    assert run("readme", file).exit_code == 0
    plain = file.read_text()
    assert not kept_in(folder).exists() and "| devices " in plain
    for _ in range(2):
        file.write_text(recipe)
        assert run("readme", file, "--cache").exit_code == 0
        assert file.read_text() == plain
    assert kept_in(folder).exists()


def test_python_functions_take_the_cache_too(folder: Path) -> None:
    logs, database = folder / "logs", folder / "history.sqlite"
    made: list[Callable[[bool], object]] = [
        lambda cache: perflog.table(logs, "devices", cache=cache).text,
        lambda cache: perflog.plot(logs, cache=cache).data,
        lambda cache: perflog.report(logs, folder / "README.md", cache=cache).files,
        lambda cache: perflog.compare(logs, logs, cache=cache).document(),
        lambda cache: perflog.save(logs, "v1", database=database, cache=cache).cases,
    ]
    plain = [make(False) for make in made]
    assert not kept_in(folder).exists() and plain[-1] == 3
    assert [make(True) for make in made] == plain
    assert kept_in(folder).exists()
