"""A password in the name of a database, as the user's shell or a workflow gives it, stands in no output."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflog.history.place import without_password
from tests.forks import perflog
from tests.security.hostile import LOGS
from tests.support import mostly_long

SECRET = "top_secret1"
#: With an underscore: Markdown would write it with a backslash, which who masks secrets in logs does not look for.
DATABASES = (
    f"postgresql://u:{SECRET}@127.0.0.1:1/x",
    f"postgresql://u:{SECRET}@127.0.0.1:port/x",
    f"postgresql://127.0.0.1:1/x?user=u&password={SECRET}",
    f"postgresql://127.0.0.1:1/x?sslpassword={SECRET}&user=u",
    f"postgresqll://u:{SECRET}@h/x",
    f"mysql://u:{SECRET}@h/x",
    f"host=127.0.0.1 port=1 password={SECRET}",
)


@pytest.mark.parametrize("database", mostly_long(DATABASES, 3))
def test_no_password_of_a_database_is_printed(database: str, tmp_path: Path) -> None:
    (tmp_path / "logs").symlink_to(LOGS)
    commands = (
        ["config", "logs"], ["config", "logs", "-f", "json"], ["doctor", "logs"], ["history"], ["save", "logs", "--label", "x"],
        ["compare", "a", "b"], ["noise", "logs", "--history"],
    )  # fmt: skip
    for words in commands:
        done = perflog(*words, cwd=tmp_path, env={"PERFLOG_DATABASE": database, "PGCONNECT_TIMEOUT": "2"})
        assert "secret1" not in done.stdout + done.stderr, words
    assert [file.name for file in tmp_path.iterdir()] == ["logs"], "a list of keywords is no name of a file"


def test_what_is_hidden_of_a_name() -> None:
    for name, shown in (
        ("history.sqlite", "history.sqlite"), ("sqlite:///a@b", "sqlite:///a@b"), ("postgresql://h/x?user=u", "postgresql://h/x?user=u"),
        ("postgresql://u:p@q@h/x", "postgresql://u:***@h/x"), ("x://h?sslPassword=p&a=b", "x://h?sslPassword=***&a=b"),
        ("host=h password='p q' user=u", "host=h password=*** user=u"),
    ):  # fmt: skip
        assert without_password(name) == shown
