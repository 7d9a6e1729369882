"""A perflog.toml that others may have written: it chooses no database, and leads to its repository alone (H3)."""

from __future__ import annotations

import shutil
import socket
import threading
from pathlib import Path

import pytest
import zstandard
from typer.testing import Result

import perflog
from perflog.errors import PerflogError, UsageError
from tests.security.hostile import INSIDE, SECRET, PullRequest, run


def save(logs: str = "logs", *words: str) -> Result:
    return run("save", logs, "--label", "x", "-s", "devices=1", *words)


class Server:
    """A server that asks for a password, as PostgreSQL's do, and keeps what it is sent."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.received = b""
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        try:
            client, _ = self._listener.accept()
        except OSError:
            return
        with client:
            client.settimeout(5)
            data = client.recv(4096)
            if data[4:8] in (b"\x04\xd2\x16\x2f", b"\x04\xd2\x16\x30"):  # asks for encryption
                client.send(b"N")
                data += client.recv(4096)
            client.send(b"R\0\0\0\x08\0\0\0\x03")  # a password in clear text, please
            self.received = data + client.recv(4096)

    def close(self) -> bytes:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)
        return self.received


@pytest.mark.parametrize("place", ["logs", "."])
def test_no_password_goes_to_a_server_of_a_perflog_toml(
    place: str, request_: PullRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither of one beside the logs nor of the working folder's, which in CI is the pull request's too."""
    monkeypatch.setenv("PGPASSWORD", SECRET)
    server = Server()
    (request_.tree / place / "perflog.toml").write_text(
        f'warmup = 5\ndatabase = "postgresql://evil@127.0.0.1:{server.port}/x"\n'
    )
    done = save()
    assert isinstance(done.exception, UsageError)
    assert f"{place}/perflog.toml:2: database".removeprefix("./") in str(done.exception)
    assert "--database or in the environment, PERFLOG_DATABASE" in str(done.exception)
    assert server.close() == b""


@pytest.mark.usefixtures("request_")
def test_a_server_that_the_user_names_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the test above could pass because nothing is ever sent."""
    pytest.importorskip("psycopg")
    monkeypatch.setenv("PGPASSWORD", SECRET)
    server = Server()
    done = save("logs", "--database", f"postgresql://me@127.0.0.1:{server.port}/x")
    assert done.exception is not None
    assert SECRET.encode() in server.close()


@pytest.mark.parametrize(
    ("place", "database", "message"),
    [
        ("logs", "../outside/stray.db", "logs/perflog.toml:1: database is not used, since whoever wrote the logs"),
        ("logs", "h.db", "logs/perflog.toml:1: database is not used, since whoever wrote the logs"),
        (".", "../outside/stray.db", "perflog.toml:1: database '"),
        (".", "{outside}/stray.db", "perflog.toml:1: database '"),
        (".", "sqlite:///../outside/stray.db", "perflog.toml:1: database: expected a file's name here"),
        (".", "link.db", "perflog.toml:1: database '"),
        (".", ".git/h.db", "perflog.toml:1: database '"),
    ],
)
def test_no_file_is_made_where_a_perflog_toml_says(
    place: str, database: str, message: str, request_: PullRequest, tmp_path: Path
) -> None:
    (request_.tree / "link.db").symlink_to("../outside/stray.db")
    text = database.format(outside=request_.outside)
    (request_.tree / place / "perflog.toml").write_text(f'database = "{text}"\n')
    for done in (save(), run("compare", "a", "logs", "--database", "") if place == "." else save()):
        assert message in str(done.exception)
    assert request_.outside_now() == request_.files
    assert list((tmp_path / "home").iterdir()) == [], "nor is another database taken in its place without a word"
    assert not list(request_.tree.glob("*.db-*"))


def test_the_database_of_the_working_folder_is_its_own_file(request_: PullRequest) -> None:
    (request_.tree / "perflog.toml").write_text('database = "saved/h.sqlite"\n')
    (request_.tree / "saved").mkdir()
    assert save("../tree/logs").exit_code == 0  # the same file by another way
    assert (request_.tree / "saved/h.sqlite").is_file()


def test_a_refused_database_disturbs_no_other_command(request_: PullRequest, tmp_path: Path) -> None:
    (request_.tree / "logs/perflog.toml").write_text('warmup = 5\ndatabase = "postgresql://evil@127.0.0.1:1/x"\n')
    assert "warm-up 5 steps" in run("extract", "logs").output
    assert save("logs", "--database", str(tmp_path / "mine.sqlite")).exit_code == 0


@pytest.mark.parametrize("folder", ["../../outside/parsers", "{outside}/parsers", "../linked"])
def test_parsers_of_a_perflog_toml_lie_in_its_repository(folder: str, request_: PullRequest) -> None:
    (request_.tree / "linked").mkdir()
    (request_.tree / "linked/theirs.toml").symlink_to("../../outside/parsers/theirs.toml")
    text = folder.format(outside=request_.outside)
    (request_.tree / "logs/perflog.toml").write_text(f'warmup = 5\nparsers = "{text}"\n')
    done = run("extract", "logs")
    assert "logs/perflog.toml:2: parsers '" in str(done.exception) and INSIDE in str(done.exception)
    assert SECRET not in done.output + str(done.exception)
    with pytest.raises(UsageError, match=INSIDE):
        perflog.extract("logs")


def test_formats_of_a_perflog_toml_read_no_logs_elsewhere(request_: PullRequest) -> None:
    """A link among the logs and a parser beside them would print any file that a runner may read."""
    (request_.tree / "perflog.toml").write_text('parsers = "evil"\n')
    (request_.tree / "logs/x.log").symlink_to("../../outside/secret.log")
    (request_.tree / "logs/y.log").symlink_to("/proc/self/environ")
    for words in (
        ["extract", "logs"],
        ["explain", "logs"],
        ["table", "logs", "--rows", "model"],
        ["plot", "logs", "-o", "a.svg"],
    ):
        done = run(*words)
        assert isinstance(done.exception, PerflogError), words
        assert INSIDE in str(done.exception) and "perflog.toml:1" in str(done.exception)
        assert SECRET not in done.output + str(done.exception)


def test_a_side_that_the_pull_request_made_a_link_is_not_read(request_: PullRequest) -> None:
    """The path that the workflow names is the user's word, and what it is the pull request's (G2)."""
    tree = request_.tree
    (tree / "perflog.toml").write_text('parsers = "evil"\n')
    (tree / "first").symlink_to("../outside")
    (tree / "new").symlink_to("first")  # by another link
    (tree / "below").symlink_to("../outside")
    for new in ("new", "below/logs", str(tree / "new"), "below/../outside/secret.log", "new/secret.log"):
        for words in (["compare", "logs", new], ["extract", new], ["save", new, "--label", "x"]):
            done = run(*words)
            assert isinstance(done.exception, UsageError) and INSIDE in str(done.exception), words
            assert SECRET not in done.output + str(done.exception)
    (tree / "perflog.toml").unlink()
    for words in (
        ["compare", "logs", "new", "--parsers", "evil"],
        ["extract", "below/logs", "--parsers", "evil/leak.toml"],
    ):
        assert INSIDE in str(run(*words).exception)


def test_what_is_allowed_is_no_link_of_the_repository(request_: PullRequest) -> None:
    (request_.tree / "data").symlink_to("../outside")
    request_.readme("table data/secret.log --parsers evil --rows model")
    done = run("readme", "--check", "--allow", "data", "README.md")
    assert "--allow 'data': " + INSIDE in str(done.exception) and SECRET not in done.output
    assert SECRET in run("readme", "--check", "--allow", "../outside", "README.md").output


@pytest.mark.parametrize(
    ("variables", "confined"),
    [
        ({"PERFLOG_CONFINED": "."}, True),
        ({"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": "."}, True),
        ({"GITLAB_CI": "true", "CI_PROJECT_DIR": "."}, True),
        ({"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": ".", "PERFLOG_CONFINED": ""}, False),
        ({"GITHUB_WORKSPACE": "."}, False),
    ],
)
def test_a_run_is_confined_to_the_folder_that_the_environment_names(
    variables: dict[str, str], confined: bool, request_: PullRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PERFLOG_CONFINED", "GITHUB_ACTIONS", "GITLAB_CI"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    (request_.tree / "new").symlink_to("../outside/secret.log")
    done = run("explain", "new")
    assert (INSIDE in str(done.exception), done.exit_code == 3) == (confined, not confined)
    assert run("explain", "../outside/secret.log").exit_code == 3, "what the user names elsewhere is the user's own"


@pytest.mark.usefixtures("request_")
def test_a_run_that_is_to_be_confined_to_nothing_does_not_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERFLOG_CONFINED", "not-there")
    assert "PERFLOG_CONFINED='not-there': expected the folder" in str(run("extract", "logs").exception)


def test_what_the_user_names_is_read_wherever_it_lies(request_: PullRequest) -> None:
    """A path of the command line is the user's own, and so are formats that the command line names; but for links of
    the repository that holds the formats: whoever wrote one wrote the other."""
    (request_.tree / "perflog.toml").write_text('parsers = "evil"\n')
    assert SECRET in run("extract", "../outside/secret.log", "--format", "csv").output
    (request_.tree / "perflog.toml").unlink()
    (request_.tree / "logs/x.log").symlink_to("../../outside/secret.log")
    refused = run("extract", "logs", "--parsers", "evil", "--format", "csv")
    assert INSIDE in str(refused.exception) and SECRET not in refused.output + str(refused.exception)
    shutil.copytree("evil", "../mine")
    assert SECRET in run("extract", "logs", "--parsers", "../mine", "--format", "csv").output


def test_a_perflog_toml_that_is_a_link_out_is_refused(request_: PullRequest) -> None:
    (request_.outside / "theirs.toml").write_text(f'{SECRET} = "{SECRET}"\n')
    (request_.tree / "logs/perflog.toml").symlink_to("../../outside/theirs.toml")
    done = run("extract", "logs")
    assert INSIDE in str(done.exception) and SECRET not in done.output + str(done.exception)


def test_the_parsers_of_a_perflog_toml_count_in_recipes(request_: PullRequest) -> None:
    """``perflog table`` and a recipe of the same words see the same options (M5)."""
    (request_.tree / "perflog.toml").write_text('parser = "keras"\n')
    request_.readme("table logs --rows devices")
    messages = [
        str(run(*words).exception) for words in (["table", "logs", "--rows", "devices"], ["readme", "README.md"])
    ]
    assert messages[1] == f"README.md:1: {messages[0]}"


@pytest.mark.parametrize(
    "name",
    ["PERFLOG_UNPACK_RATIO", "PERFLOG_ARCHIVE_MEMBERS", "PERFLOG_NOTEBOOK_MIB", "unpack_ratio", "archive_members"],
)
def test_no_perflog_toml_raises_what_a_file_may_unpack_to(name: str, request_: PullRequest) -> None:
    bomb = request_.tree / "logs" / "bomb.zst"
    bomb.write_bytes(zstandard.compress(b"x" * (256 << 20)))
    limited = "the file unpacks to more than 100 MiB and 1,000 times its own size"
    assert limited in run("extract", "logs").output
    (request_.tree / "perflog.toml").write_text(f"{name} = 1000000000\n", encoding="utf-8")
    refused = run("extract", "logs")
    assert refused.exit_code != 0 and "unknown option" in str(refused.exception) + refused.output
