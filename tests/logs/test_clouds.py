"""Logs in Azure's and Google's stores: Azure's own emulator where it is installed, and Google's requests by a server of S3's.

Google's client reads by the XML interface of its store, whose requests and answers are S3's: a small server of these
stands in for it. It cannot show Google's credentials.
"""

from __future__ import annotations

import base64
import email.utils
import hashlib
import hmac
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from perflog.extraction import extract_paths
from perflog.logs.find import find_logs
from perflog.logs.stored import StoredObject
from perflog.logs.stores import StoreError, Version
from perflog.settings.config import settings
from perflog.show.document import json_pieces
from tests.forks import perflog
from tests.logs.stores import use
from tests.support import FIXTURES
from tests.tools.objects import server_of

pytest.importorskip("obstore")

LOGS = FIXTURES / "campaign" / "short" / "pytorch"
#: The account of every emulator of Azure's store, and its key, which Microsoft has published.
ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
_EMULATOR = shutil.which("azurite-blob")
_PATIENCE = 60


@contextmanager
def azure_server(folder: Path) -> Iterator[str]:
    """The address of Azure's emulator with an empty container ``logs``."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ("--silent", "--disableTelemetry", "--skipApiVersionCheck", "--inMemoryPersistence")
    words = [str(_EMULATOR), *options, "--blobPort", str(port)]
    with (folder / "azurite.log").open("wb") as log:
        server = subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        until = time.monotonic() + _PATIENCE
        while not _answers(port):
            assert server.poll() is None and time.monotonic() < until, (folder / "azurite.log").read_text()
        url = f"http://127.0.0.1:{port}/{ACCOUNT}"
        _make_container(url, "logs")
        yield url
    finally:
        server.terminate()
        server.wait()


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def _make_container(url: str, name: str) -> None:
    """Make a container, by a request that is signed as Azure's documentation says (shared key)."""
    headers = {"x-ms-date": email.utils.formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    lines = ["PUT", *[""] * 11, *(f"{key}:{value}" for key, value in headers.items())]
    text = "\n".join([*lines, f"/{ACCOUNT}/{ACCOUNT}/{name}", "restype:container"])
    digest = hmac.new(base64.b64decode(ACCOUNT_KEY), text.encode(), hashlib.sha256).digest()
    signed = {"Authorization": f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}", "Content-Type": ""}
    request = urllib.request.Request(f"{url}/{name}?restype=container", b"", {**headers, **signed}, method="PUT")
    urllib.request.urlopen(request).close()


def azure_client(url: str) -> Any:
    return pytest.importorskip("obstore.store").AzureStore(
        "logs", account_name=ACCOUNT, account_key=ACCOUNT_KEY, endpoint=url, client_options={"allow_http": True}
    )


@pytest.fixture(scope="module")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if _EMULATOR is None:
        pytest.skip("azurite-blob (npm install -g azurite) is not installed: Azure's store is not tried")
    with azure_server(tmp_path_factory.mktemp("azurite")) as url:
        client = azure_client(url)
        for file in sorted(LOGS.rglob("*")):
            if file.is_file():
                client.put(f"the logs/{file.relative_to(LOGS).as_posix()}", file.read_bytes())
        yield url


@pytest.fixture
def azure(azurite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    use(
        monkeypatch, "", tmp_path, AZURE_STORAGE_ENDPOINT=azurite, AZURE_STORAGE_ACCOUNT_NAME=ACCOUNT,
        AZURE_STORAGE_ACCOUNT_KEY=ACCOUNT_KEY,
    )  # fmt: skip
    return azurite


def document(place: str | Path) -> str:
    pieces = json_pieces(extract_paths([str(place)], settings({}, ()).options()))
    return "".join(piece if isinstance(piece, str) else piece.decode() for piece in pieces)


@pytest.mark.long
@pytest.mark.usefixtures("azure")
def test_azure_gives_the_numbers_of_the_disk(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(LOGS, tmp_path / "logs" / "the logs"))
    stored, disk = document("az://logs/the logs/"), document(folder)
    assert stored.count('"value":') > 20
    assert stored.replace("az://logs/the logs/", f"{folder}/") == disk


def test_a_large_object_of_azure_is_read_by_ranges_and_told_where_it_changes(azure: str) -> None:
    """Its listing gives entity tags without the quotes that its answers have: they are the same tags."""
    client, content = azure_client(azure), bytes(range(256)) * 12_288
    client.put("large/a.log", content)
    (log,) = find_logs(["az://logs/large/"])
    assert log.stored is not None and log.stored.version.tag.startswith('"0x')
    stream = log.stored.stream()
    assert b"".join(iter(lambda: stream.read(1 << 20), b"")) == content
    client.put("large/a.log", content)
    with pytest.raises(StoreError, match="written anew after it was found"):
        StoredObject(log.stored.store, log.stored.key, log.stored.version).body()


def test_what_azure_refuses_is_said_without_its_key(azure: str, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    missing = perflog("extract", "az://nowhere/logs/")
    assert (missing.returncode, "no such bucket or container" in missing.stderr) == (2, True)
    wrong = base64.b64encode(b"another key").decode()
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", wrong)
    denied = perflog("extract", "az://logs/the logs/")
    assert (denied.returncode, "denies the permission to read it" in denied.stderr) == (2, True)
    assert wrong not in denied.stderr + missing.stderr and ACCOUNT_KEY not in denied.stderr + missing.stderr


def test_google_gives_the_numbers_of_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(shutil.copytree(LOGS, tmp_path / "bucket" / "logs"))
    with server_of("-m", "tests.tools.objects", "--serve", str(folder)) as environment:
        use(monkeypatch, "", tmp_path, GOOGLE_BASE_URL=environment["AWS_ENDPOINT_URL"], PERFLOG_ANONYMOUS="1")
        stored = document("gs://bucket/logs/")
    assert stored.count('"value":') > 20
    assert stored.replace("gs://bucket/logs/", f"{folder}/") == document(folder)


@pytest.mark.parametrize(
    ("listed", "answered", "same"),
    [
        ("0x8DAB", '"0x8DAB"', True), ('"abc"', '"abc"', True), ("0x8DAB", '"0x8DAC"', False),
        ('W/"abc"', 'W/"abc"', True), ("abc", 'W/"abc"', False),
    ],
)  # fmt: skip
def test_an_entity_tag_is_the_same_with_and_without_quotes(listed: str, answered: str, same: bool) -> None:
    version = Version.of({"size": 5, "e_tag": listed})
    assert version.is_of({"size": 5, "e_tag": answered}) is same
    assert version.conditions == ({} if listed.startswith("W/") else {"if_match": f'"{listed.strip(chr(34))}"'})
