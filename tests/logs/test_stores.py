"""Logs on servers: what is read from an object store is what is read from disk, and a fault is its own object's."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from perflog.errors import PerflogError, UsageError
from perflog.extraction import Extraction, extract_paths
from perflog.logs import stores
from perflog.logs.addresses import Address, as_path, is_address
from perflog.logs.find import LogFile, find_logs
from perflog.logs.stores import StoreError
from perflog.logs.streams import UnreadableError
from perflog.settings.config import settings
from perflog.show.document import json_pieces
from tests.forks import perflog
from tests.logs.stores import KEY, SECRET, RangesOf, delete, put, put_folder, put_raw, s3_server, served, use
from tests.logs.test_containers import tarred, zipped
from tests.support import FIXTURES, ROOT
from tests.tools.faulty_proxy import Fault, FaultyProxy

pytest.importorskip("obstore")

PARSERS = FIXTURES / "parsers"
LOG = (PARSERS / "paddleclas" / "elapse.log").read_bytes()
#: The logs of the proxy's server.
ONE = {"s3://bucket/logs/a.log", "s3://bucket/logs/b.log", "s3://bucket/logs/c.log"}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with s3_server() as url:
        yield url


@pytest.fixture
def proxy(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyProxy]:
    """A proxy before a server with three logs, of which each names another number of devices."""
    for name in "abc":
        put(server, "bucket", f"logs/{name}.log", LOG + b"# " + name.encode())
    with FaultyProxy(server) as proxy:
        use(monkeypatch, proxy.url, tmp_path)
        yield proxy


def extracted(*paths: str | Path) -> Extraction:
    return extract_paths([str(path) for path in paths], settings({}, ()).options())


def document(extraction: Extraction) -> Any:
    return json.loads(
        b"".join(piece.encode() if isinstance(piece, str) else piece for piece in json_pieces(extraction))
    )


def values(extraction: Extraction) -> dict[str, float | None]:
    return {run.log.path: run.throughput.value for run in extraction.runs}


def reasons(extraction: Extraction) -> dict[str, str]:
    return {left_out.log.path: left_out.reason for left_out in extraction.skipped}


@pytest.mark.long
def test_the_numbers_are_those_from_disk(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs of many formats, packed in all ways, with facts beside them: JSON differs in the names of places alone."""
    disk = tmp_path / "same" / "logs"
    for file in sorted(PARSERS.rglob("*"))[::24]:
        if file.is_file():
            (target := disk / file.relative_to(PARSERS)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)
    shutil.copytree(FIXTURES / "mlperf", disk / "mlperf")
    members = [("x/1n8g/rn50_b32_fp32_1.log", LOG), ("x/1n8g/rn50_b32_fp32_2.log", LOG + b"# another")]
    (disk / "a.zip").write_bytes(zipped(members))
    (disk / "b.tgz").write_bytes(gzip.compress(tarred(members)))
    (disk / "c.log.gz").write_bytes(gzip.compress(LOG))
    (disk / "cut.log.gz").write_bytes(gzip.compress(LOG)[:-200])
    (disk / "noending").write_bytes(LOG)
    (disk / "empty.log").write_bytes(b"")
    (disk / "sub" / "deep").mkdir(parents=True)
    (disk / "sub" / "deep" / "ä b%20#?&+=.log").write_bytes(LOG + b"# below a machine.json")
    (disk / "sub" / "machine.json").write_text('{"driver": "550.54"}')
    (disk / ".git").mkdir()
    (disk / ".git" / "x.log").write_bytes(LOG)
    put_folder(server, "same", disk, "logs")
    use(monkeypatch, server, tmp_path)
    here = document(extracted(disk))
    of_store = extracted("s3://same/logs/")
    there = document(of_store)
    text = re.sub(
        r'"label": "[^"]*?same/logs', '"label": "same/logs', json.dumps(here).replace(f"{tmp_path}/", "s3://")
    )
    assert json.loads(text) == there
    assert len(there["cases"]) > 15
    machines = [run.machine for run in of_store.runs if run.machine is not None]
    assert [(machine.file, dict(machine.facts), machine.folders) for machine in machines] == [
        ("s3://same/logs/sub/machine.json", {"driver": "550.54"}, ("deep",))
    ]


def test_a_listing_of_several_pages(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOTO_S3_DEFAULT_MAX_KEYS", "3")
    for number in range(8):
        put(server, "pages", f"logs/{number}.log", LOG)
    with FaultyProxy(server) as proxy:
        use(monkeypatch, proxy.url, tmp_path)
        found = find_logs(["s3://pages/logs"])
    assert [log.path for log in found] == [f"s3://pages/logs/{number}.log" for number in range(8)]
    assert sum("list-type" in request.path for request in proxy.requests) == 3


def test_names_below_an_address(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder's own empty object is no log; a name that only begins as the address is not below it."""
    for key in ("logs/", "logs/in/"):
        put_raw(server, "names", key)
    for key in ("logs/in/a.log", "logs2/b.log"):
        put(server, "names", key, LOG)
    use(monkeypatch, server, tmp_path)
    for named in ("s3://names/logs", "s3://names/logs/", "s3://names/logs/in/a.log"):
        assert [log.path for log in find_logs([named])] == ["s3://names/logs/in/a.log"]
    assert {log.path for log in find_logs(["s3://names"])} == {"s3://names/logs/in/a.log", "s3://names/logs2/b.log"}
    (log,) = find_logs(["s3://names/logs/in/a.log"])
    assert (log.name, log.place, log.size) == ("s3://names/logs/in/a.log", "/names/logs/in/a.log", len(LOG))


def test_a_large_object_comes_by_ranges(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an object larger than a block the numbers are those from disk, and a few ranges are in memory."""
    filler = b"".join(b"filler line %d that no parser knows\n" % number for number in range(300_000))
    text = LOG + filler
    put(server, "large", "big.log", text)
    (tmp_path / "big.log").write_bytes(text)
    with FaultyProxy(server) as proxy:
        use(monkeypatch, proxy.url, tmp_path)
        there = extracted("s3://large/big.log")
    here = extracted(tmp_path / "big.log")
    assert [run.throughput.value for run in there.runs] == [run.throughput.value for run in here.runs] != []
    spans = [request.span for request in proxy.requests if request.method == "GET" and request.span]
    assert spans[0] == "bytes=0-65535"
    assert sum(map(_length, spans)) < 2 * len(text)


def test_a_large_object_is_never_whole_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, "", tmp_path)
    with served(RangesOf) as web:
        size, peak = _streamed(f"{web}/2500000.log")
    assert size == 2_500_000 * 64
    assert peak < 56 << 20


def _streamed(address: str) -> tuple[int, int]:
    """(the bytes of an object's stream, the most of Python's memory while it is read), by a process of its own."""
    script = (
        "import sys, tracemalloc; from perflog.logs.find import find_logs; from perflog.logs.containers import blocks_of\n"
        "(log,) = find_logs([sys.argv[1]]); tracemalloc.start(); size = 0\n"
        "for load in blocks_of(log): size += len(load())\n"
        "print(size, tracemalloc.get_traced_memory()[1])"
    )
    done = subprocess.run([sys.executable, "-c", script, address], capture_output=True, text=True, check=True)
    size, peak = map(int, done.stdout.split())
    return size, peak


def test_a_zip_is_read_by_ranges(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To find a zip's members takes its beginning and its directory, and not what lies between."""
    file = tmp_path / "a.zip"
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in (("a.log", LOG), ("b.log", bytes(6 << 20)), ("c.log", LOG)):
            archive.writestr(name, content)
    put(server, "zips", "a.zip", file.read_bytes())
    with FaultyProxy(server) as proxy:
        use(monkeypatch, proxy.url, tmp_path)
        logs = find_logs(["s3://zips/a.zip"])
        asked = sum(_length(request.span) for request in proxy.requests if request.method == "GET")
    assert [log.member for log in logs] == ["a.log", "b.log", "c.log"]
    assert 0 < asked < 4 << 20 < file.stat().st_size
    use(monkeypatch, server, tmp_path)
    there, here = extracted("s3://zips/a.zip"), extracted(file)
    assert [run.throughput.value for run in there.runs] == [run.throughput.value for run in here.runs] != []


def _length(span: str) -> int:
    first, last = re.fullmatch(r"bytes=(\d+)-(\d+)", span).groups()  # type: ignore[union-attr]
    return int(last) + 1 - int(first)


@pytest.mark.parametrize("kind", ["busy", "cut", "broken"])
def test_a_fault_that_passes_is_no_fault(proxy: FaultyProxy, kind: str) -> None:
    proxy.faults.append(Fault("logs/b.log", kind, times=1))
    extraction = extracted("s3://bucket/logs/")
    assert values(extraction).keys() == ONE
    assert len(set(values(extraction).values())) == 1
    assert not extraction.skipped


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("busy", "the server asks for fewer requests (HTTP status 503, SlowDown, after 1 retry)"),
        ("broken", "the server could not be reached, or did not answer (HTTP status 500, after 1 retry)"),
        ("cut", "the connection was cut before the object's end"),
        ("denied", "the server denies the permission to read it (HTTP status 403, AccessDenied)"),
        ("expired", "the server refused the request (HTTP status 400, ExpiredToken)"),
    ],
)
def test_a_fault_that_stays_is_one_objects(proxy: FaultyProxy, kind: str, reason: str) -> None:
    sound = values(extracted("s3://bucket/logs/"))
    proxy.faults.append(Fault("logs/b.log", kind))
    extraction = extracted("s3://bucket/logs/")
    assert values(extraction) == {path: value for path, value in sound.items() if not path.endswith("b.log")}
    assert reasons(extraction) == {"s3://bucket/logs/b.log": reason}
    assert extraction.skipped[0].failed
    assert not extraction.complete


def test_an_object_that_changes_or_goes_after_it_was_found(proxy: FaultyProxy, server: str) -> None:
    changed, gone = partial(put, server, "bucket", "logs/a.log", LOG + b"more"), partial(delete, server, "bucket")
    proxy.faults += [
        Fault("logs/a.log", "before", 1, changed), Fault("logs/c.log", "before", 1, partial(gone, "logs/c.log")),
    ]  # fmt: skip
    extraction = extracted("s3://bucket/logs/")
    assert values(extraction).keys() == {"s3://bucket/logs/b.log"}
    told = reasons(extraction)
    assert told["s3://bucket/logs/a.log"].startswith("the object was written anew after it was found: run the command")
    assert told["s3://bucket/logs/c.log"].startswith("there is no such object")


def test_a_large_object_that_is_cut_gives_no_number(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What came before the fault would be a plausible number, and another one at the next try: nothing counts."""
    put(server, "large2", "big.log", LOG + b"filler of a line\n" * 400_000)
    with FaultyProxy(server) as proxy:
        use(monkeypatch, proxy.url, tmp_path)
        proxy.faults.append(Fault("big.log", "busy"))
        logs = find_logs(["s3://large2/big.log"])
        assert logs[0].size > 4 << 20
        proxy.faults[0].times = 0
        first = LogFile(logs[0].path, logs[0].size, stored=logs[0].stored)
        assert first.stored is not None
        stream = first.stored.stream()
        assert stream.read(5)
        proxy.faults[0].times = -1
        with pytest.raises(StoreError, match="asks for fewer requests"):
            while stream.read(1 << 20):
                pass
        extraction = extracted("s3://large2/big.log")
    assert not extraction.runs
    assert extraction.skipped[0].failed


def test_a_server_that_is_down_is_asked_no_more(proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "_MOST_OUTAGES", 2)
    monkeypatch.setenv("PERFLOG_STORE_RETRIES", "0")
    logs = find_logs(["s3://bucket/logs/"])
    proxy.faults.append(Fault("logs/", "busy"))
    asked = len(proxy.requests)
    for log, reason in zip(logs, ("fewer requests", "fewer requests", "it is asked no more"), strict=True):
        assert log.stored is not None
        with pytest.raises(StoreError, match=reason):
            log.stored.body()
    assert len(proxy.requests) - asked == 2


@pytest.mark.parametrize(
    ("named", "fault", "reason"),
    [
        (
            "s3://nosuch/logs/",
            "",
            "'s3://nosuch/logs/': the server knows no such bucket or container (HTTP status 404, ",
        ),
        ("s3://bucket/nothing", "", "no object 's3://bucket/nothing', and none below it"),
        (
            "s3://bucket/logs/",
            "denied",
            "'s3://bucket/logs/': the server denies the permission to read it (HTTP status",
        ),
        ("s3://bucket/logs/", "busy", "'s3://bucket/logs/': the server asks for fewer requests (HTTP status 503, Slow"),
        (
            "s3://bucket/../x",
            "",
            "the name cannot be addressed: '../x' has an empty part, one of dots alone or a control",
        ),
        ("s3:///logs", "", "expected the name of a bucket, such as s3://bucket/logs/"),
    ],
)
def test_what_cannot_be_listed(proxy: FaultyProxy, named: str, fault: str, reason: str) -> None:
    if fault:
        proxy.faults.append(Fault("list-type", fault))
    with pytest.raises(PerflogError) as raised:
        find_logs([named])
    assert reason in str(raised.value)
    assert "SECRET" not in str(raised.value)


def test_a_name_that_cannot_be_addressed(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_raw(server, "odd", "logs//a.log")
    use(monkeypatch, server, tmp_path)
    with pytest.raises(PerflogError, match=r"the name cannot be addressed: 'logs//a\.log' has an empty part"):
        find_logs(["s3://odd/logs/"])


def test_a_server_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, "http://127.0.0.1:1", tmp_path)
    with pytest.raises(PerflogError, match="could not be reached, or did not answer \\(after 1 retry\\)"):
        find_logs(["s3://bucket/logs/"])


def test_credentials_come_from_where_the_clouds_tools_take_them(
    proxy: FaultyProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find_logs(["s3://bucket/logs/"])
    assert f"Credential={KEY}/" in proxy.requests[-1].authorization
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(PerflogError, match=r"no credentials were found.*PERFLOG_ANONYMOUS=1"):
        find_logs(["s3://bucket/logs/"])
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws/credentials").write_text(
        "[default]\naws_access_key_id = NOTTHIS\naws_secret_access_key = x\n"
        "[team]\naws_access_key_id = OFTHETEAM\naws_secret_access_key = y%z\n"
    )
    (tmp_path / ".aws/config").write_text("[profile team]\nregion = eu-north-1\n")
    monkeypatch.setenv("AWS_PROFILE", "team")
    find_logs(["s3://bucket/logs/"])
    assert re.search(r"Credential=OFTHETEAM/\d+/eu-north-1/s3/", proxy.requests[-1].authorization)
    monkeypatch.setenv("PERFLOG_ANONYMOUS", "1")
    assert len(find_logs(["s3://bucket/logs/"])) == 3
    assert proxy.requests[-1].authorization == ""
    (tmp_path / ".aws/config").write_text("[profile team]\nsso_session = x\n")
    (tmp_path / ".aws/credentials").unlink()
    monkeypatch.setenv("PERFLOG_ANONYMOUS", "0")
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(UsageError, match="the AWS profile 'team' has no keys of its own: pip install boto3"):
        find_logs(["s3://bucket/logs/"])


@pytest.mark.parametrize("text", ["-1", "x", "101", "1.5"])
def test_retries_that_are_no_number(proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("PERFLOG_STORE_RETRIES", text)
    with pytest.raises(UsageError, match=r"PERFLOG_STORE_RETRIES=.*expected a whole number from 0 to 100"):
        find_logs(["s3://bucket/logs/"])
    assert not proxy.requests


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A web server that gives whole files only, as Python's own does."""
    use(monkeypatch, "", tmp_path)
    (tmp_path / "site").mkdir()
    with served(partial(_Quiet, directory=str(tmp_path / "site"))) as url:
        yield url


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_a_file_of_a_web_server(web: str, tmp_path: Path) -> None:
    """Its query and its user's part, which may be secrets, stand nowhere."""
    site = tmp_path / "site"
    for name, content in (("a.log", LOG), ("a.log.gz", gzip.compress(LOG)), ("a.tar", tarred([("m.log", LOG)]))):
        (site / name).write_bytes(content)
    (site / "a.zip").write_bytes(zipped([("m.log", LOG)]))
    (here,) = extracted(site / "a.log").runs
    for name in ("a.log", "a.log.gz", "a.tar"):
        named = f"{web.replace('//', '//me:SECRET@')}/{name}?X-Amz-Signature=SECRET#SECRET"
        extraction = extracted(named)
        assert [run.throughput.value for run in extraction.runs] == [here.throughput.value]
        assert extraction.runs[0].log.path == f"{web.replace('//', '//…@')}/{name}?…"
        assert "SECRET" not in json.dumps(document(extraction)) + repr(extraction.runs)
        assert extraction.runs[0].label.endswith("/a") or name == "a.tar"
    assert "gives whole files only" in extracted(f"{web}/a.zip").skipped[0].reason
    with pytest.raises(PerflogError, match="there is no such object") as raised:
        find_logs([f"{web}/none.log?X-Amz-Signature=SECRET"])
    assert "SECRET" not in str(raised.value)
    with pytest.raises(UsageError, match="expected the address of one file, since the folders of a web server"):
        find_logs([f"{web}/"])
    with pytest.raises(UsageError, match="its query was left out where it was shown"):
        find_logs([f"{web}/a.log?…"])
    with pytest.raises(UsageError, match=r"two logs are named .*: expected addresses that differ before their query"):
        find_logs([f"{web}/a.log?x=1", f"{web}/a.log?x=2"])


def test_addresses() -> None:
    signed = Address("https://me:SECRET@host.example/a/b.log?X-Amz-Signature=SECRET#x")
    assert (signed, signed.host, signed.whole[-8:]) == (
        "https://…@host.example/a/b.log?…",
        "…@host.example",
        "SECRET#x",
    )
    assert as_path(signed) == "/host.example/a/b.log"
    stored = Address("s3://bucket/a?b#c.log")
    assert (stored, stored.scheme, stored.host, stored.key) == ("s3://bucket/a?b#c.log", "s3", "bucket", "a?b#c.log")
    assert [is_address(text) for text in ("gs://b", "az://c/d", "http://h", "s3:/b", "ftp://h", "a/s3://b", "C:/")] == [
        True, True, True, False, False, False, False,
    ]  # fmt: skip


def test_a_missing_package_is_one_line(tmp_path: Path) -> None:
    script = "import sys; sys.modules['obstore'] = None; from perflog.__main__ import main; main()"
    command = [sys.executable, "-c", script, "extract", "s3://bucket/logs/"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "perflog: reading logs from a server needs the package obstore, which is not installed: "
        "pip install 'perflog[s3]'\n"
    )


def test_no_file_of_a_repository_makes_perflog_ask_a_server(
    proxy: FaultyProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A README's recipe leads to a server only where the user names it; nothing is asked before."""
    from perflog.show.extractions import Extractions
    from perflog.show.regenerate import regenerate

    monkeypatch.chdir(tmp_path)
    readme = tmp_path / "README.md"
    recipe = "<!-- perflog: table s3://bucket/logs/ --rows label -->\n<!-- /perflog -->\n"
    readme.write_text(recipe)
    with pytest.raises(PerflogError, match="found an address on a server that only the user may name"):
        regenerate([readme], Extractions(), ())
    for allowed in ("s3://other", "s3://bucket/log", "gs://bucket"):
        with pytest.raises(PerflogError, match="that only the user may name"):
            regenerate([readme], Extractions(), [Path(allowed)])
    readme.write_text(recipe.replace("s3://bucket/logs/", "s3://bucket/../other/"))
    with pytest.raises(PerflogError, match="that only the user may name"):
        regenerate([readme], Extractions(), [Path("s3://bucket")])
    assert proxy.requests == []
    readme.write_text(recipe)
    regenerate([readme], Extractions(), [Path("s3://bucket/logs/")]).write()
    assert "| a " in readme.read_text() or "/a" in readme.read_text()
    assert proxy.requests


def test_the_command_names_what_it_could_not_read(proxy: FaultyProxy) -> None:
    proxy.faults.append(Fault("logs/b.log", "denied"))
    done = perflog("extract", "s3://bucket/logs/", "-f", "csv")
    assert done.returncode == 3
    assert done.stderr == (
        "skipped s3://bucket/logs/b.log: the server denies the permission to read it (HTTP status 403, AccessDenied)\n"
    )
    done = perflog("explain", "s3://bucket/logs/a.log")
    assert done.stdout.startswith("s3://bucket/logs/a.log: ")
    assert SECRET not in done.stdout + done.stderr


def test_a_tab_asks_no_server(proxy: FaultyProxy) -> None:
    for line in ("perflog extract s3://bucket/lo", "perflog extract s3://bucket/logs/ --where model="):
        done = perflog(env={"_PERFLOG_COMPLETE": "complete_bash", "_PERFLOG_LINE": line, "_PERFLOG_BREAKS": ""})
        assert done.stdout.split() == []
    assert proxy.requests == []


def test_a_page_of_signed_logs_holds_no_signature(web: str, tmp_path: Path) -> None:
    """Whoever is shown a page must not get the file with it; a README's recipe would be of no use without it."""
    (tmp_path / "site" / "rn50_8gpu.log").write_bytes(LOG)
    signed = f"{web}/rn50_8gpu.log?X-Amz-Signature=SECRET"
    assert perflog("report", signed, "-o", "page.html", cwd=tmp_path).returncode == 0
    page = (tmp_path / "page.html").read_text()
    assert "SECRET" not in page
    assert f"{web}/rn50_8gpu.log?…" in page
    done = perflog("report", signed, "-o", "README.md", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        2, f"perflog: a recipe cannot hold the address '{web}/rn50_8gpu.log?…', whose query or user is left out; "
        "write a page with --html\n",
    )  # fmt: skip


@pytest.mark.long
def test_a_readme_of_a_bucket_is_made_again(proxy: FaultyProxy, tmp_path: Path) -> None:
    """Its recipe names the bucket, and is followed where the user names the bucket too."""
    done = perflog("report", "s3://bucket/logs/", "-o", "README.md", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "s3://bucket/logs/a.log" in (tmp_path / "README.md").read_text()
    asked = len(proxy.requests)
    done = perflog("readme", "--check", "README.md", cwd=tmp_path)
    assert done.returncode == 2
    assert "found an address on a server that only the user may name" in done.stderr
    assert len(proxy.requests) == asked
    done = perflog("readme", "--check", "README.md", "--allow", "s3://bucket/logs/", cwd=tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout


def test_google_cloud_storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its client asks a server of ours, which answers as Google's XML interface does."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.log").write_bytes(LOG)
    command = [sys.executable, "-m", "tests.tools.objects", "--serve", str(tmp_path / "logs")]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert server.stdout is not None
    try:
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}"
        use(monkeypatch, "", tmp_path, GOOGLE_BASE_URL=url, PERFLOG_ANONYMOUS="1")
        (there,), (here,) = extracted("gs://bucket/logs/").runs, extracted(tmp_path / "logs").runs
    finally:
        server.terminate()
        server.communicate()
    assert there.log.path == "gs://bucket/logs/a.log"
    assert there.throughput.value == here.throughput.value is not None


def test_a_local_file_beside_a_folder_named_like_a_server_is_not_taken(
    proxy: FaultyProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Facts and options of the working folder are not those of a server's logs."""
    (tmp_path / "machine.json").write_text('{"driver": "local"}')
    (tmp_path / "s3:/bucket/logs").mkdir(parents=True)
    (tmp_path / "s3:/bucket/logs/perflog.toml").write_text("warmup = 1\n")
    monkeypatch.chdir(tmp_path)
    assert {run.machine for run in extracted("s3://bucket/logs/").runs} == {None}
    assert settings({}, ["s3://bucket/logs/"]).values["warmup"] == "20"
    assert SECRET not in str(proxy.requests)


def test_a_store_that_fails_while_facts_are_read_is_told(proxy: FaultyProxy, server: str) -> None:
    put(server, "bucket", "logs/machine.json", b'{"driver": "1"}')
    try:
        proxy.faults.append(Fault("machine.json", "busy"))
        machines = [run.machine for run in extracted("s3://bucket/logs/").runs]
    finally:
        delete(server, "bucket", "logs/machine.json")
    assert [machine and machine.problem.partition(": ")[0] for machine in machines] == [
        "s3://bucket/logs/machine.json"
    ] * 3


def test_an_archive_on_a_server_that_fails_is_told(proxy: FaultyProxy, server: str) -> None:
    put(server, "bucket", "logs/z.zip", zipped([("m.log", LOG)]))
    try:
        logs = find_logs(["s3://bucket/logs/z.zip"])
        proxy.faults.append(Fault("z.zip", "denied"))
        assert logs[0].stored is not None
        with pytest.raises(UnreadableError, match="denies the permission"):
            logs[0].stored.opened().read_at(4, 0)
        extraction = extracted("s3://bucket/logs/")
    finally:
        delete(server, "bucket", "logs/z.zip")
    assert values(extraction).keys() == ONE
    assert reasons(extraction).keys() == {"s3://bucket/logs/z.zip"}
