"""The served page: this machine's reader alone, and logs that grow are followed."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from perflog.settings.config import settings
from perflog.show.extractions import Extractions
from perflog.view.records import read_records
from perflog.view.serve import PageServer, Served
from tests.browser import find, needs_browser, waiting_of


def steps(first: int, last: int) -> str:
    return "".join(f"step {k} loss 1.0 step_time {0.1 + 0.0001 * (-1) ** k:.4f} s\n" for k in range(first, last + 1))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "train.log"
    file.write_text(steps(1, 40))
    return file


@pytest.fixture
def server(log: Path) -> Iterator[PageServer]:
    with PageServer(Served([str(log)], {}, {}, "en")) as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()


def asked(server: PageServer, path: str, **headers: str) -> tuple[int, bytes, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.read(), dict(answer.getheaders())


def with_token(server: PageServer, what: str, more: str = "") -> str:
    return f"/{what}?token={server.token}{more}"


def test_nobody_without_the_token_or_by_another_name_reads_it(server: PageServer) -> None:
    assert server.server_address[0] == "127.0.0.1"
    for path in ("/", "/data", "/numbers", "/?token=", f"/?token={server.token[:-1]}"):
        status, content, _ = asked(server, path)
        assert (status, b"train.log" in content) == (403, False), path
    status, content, _ = asked(server, with_token(server, ""), Host=f"evil.example:{server.server_port}")
    assert (status, b"train.log" in content) == (403, False)
    status, content, headers = asked(server, with_token(server, ""))
    assert (status, b"train.log" in content) == (200, True)
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin" and headers["X-Frame-Options"] == "DENY"
    assert "Access-Control-Allow-Origin" not in headers and headers["Referrer-Policy"] == "no-referrer"


def test_numbers_are_the_command_s_and_a_wrong_setting_is_said(server: PageServer) -> None:
    _, content, _ = asked(server, with_token(server, "numbers", "&warmup=5&estimator=median"))
    (number,) = msgspec.json.decode(content)
    assert number["value"] == pytest.approx(10.0, abs=0.02) and number["unit"] == "steps/s"
    _, content, _ = asked(server, with_token(server, "numbers", "&warmup=500"))
    assert msgspec.json.decode(content)[0]["reason"] == "the run ends after 40 steps, warm-up 500"
    status, content, _ = asked(server, with_token(server, "numbers", "&warmup=x"))
    assert status == 400 and b"expected a number of steps" in content


def test_a_log_that_grows_is_read_anew_and_else_nothing_is_sent(server: PageServer, log: Path) -> None:
    _, content, headers = asked(server, with_token(server, "data"))
    assert msgspec.json.decode(content)["runs"][0]["ranks"][0]["n"] == 40
    version = headers["X-Version"]
    assert asked(server, with_token(server, "data", f"&version={version}"))[0] == 204
    with log.open("a") as file:
        file.write(steps(41, 50))
    status, content, _ = asked(server, with_token(server, "data", f"&version={version}"))
    assert status == 200 and msgspec.json.decode(content)["runs"][0]["ranks"][0]["n"] == 50


@needs_browser
def test_the_page_follows_and_its_numbers_are_held_against_the_log(browser: Any, server: PageServer, log: Path) -> None:
    browser.get(server.address)
    wait = waiting_of(browser)
    wait.until(lambda _: "40 records" in find(browser, "#lead").text)
    with log.open("a") as file:
        file.write(steps(41, 50))
    wait.until(lambda _: "50 records" in find(browser, "#lead").text)
    find(browser, "input[name=warmup]").clear()
    find(browser, "input[name=warmup]").send_keys("5")
    wait.until(lambda _: find(browser, ".run").get_attribute("data-held") == "true")
    wait.until(lambda _: browser.execute_script("return document.body.dataset.settings") == "5|||total")
    assert float(find(browser, ".run").get_attribute("data-value")) == pytest.approx(10.0, abs=0.02)
    browser.get("about:blank")


def test_a_training_that_has_not_ended_is_followed_and_has_no_number_until_it_has(tmp_path: Path) -> None:
    running, ended = tmp_path / "train.log.running", tmp_path / "train.log"
    running.write_text(steps(1, 40))
    served = Served([str(tmp_path)], {"warmup": "5"}, {}, "en")
    first, seen = served.now()
    ((run, records),) = seen.runs
    assert (run.value, run.throughput.reason) == (None, "its training has not ended (`perflog watch` shows it)")
    assert records is not None and len(records.ranks[0].codes) == 40
    assert [number["value"] for number in served.numbers({"warmup": "10"})] == [None]
    with running.open("a") as file:
        file.write(steps(41, 60))
    second, seen = served.now()
    assert seen.runs[0][1] is not None and len(seen.runs[0][1].ranks[0].codes) == 60
    running.rename(ended)
    third, seen = served.now()
    assert first < second < third
    assert seen.runs[0][0].value == pytest.approx(10.0, abs=0.02)
    ended.rename(running)
    assert read_records([str(tmp_path)], settings({}, []), Extractions()).runs == [], "records have what has ended"
