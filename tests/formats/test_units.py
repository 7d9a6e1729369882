"""Units as programs print them."""

from __future__ import annotations

import pytest

from perflog.formats.printed import is_time, is_work, kind, rate_unit, seconds_in

WORK = {
    "images": ("image", "images", "img", "imgs"),
    "frames": ("frame", "frames"),
    "samples": ("sample", "samples", "instance", "instances", "item", "items"),
    "sequences": ("sequence", "sequences", "seq", "seqs", "sents", "sentences"),
    "examples": ("example", "examples"),
    "records": ("record", "records"),
    "videos": ("video", "videos", "clips"),
    "tokens": ("token", "tokens", "tok", "tks", "tk"),
    "words": ("word", "words"),
    "steps": (
        "step",
        "steps",
        "it",
        "iter",
        "iters",
        "iteration",
        "iterations",
        "batch",
        "batches",
        "update",
        "updates",
    ),
    "epochs": ("epoch", "epochs"),
}
SECONDS = {
    "s": 1.0, "sec": 1.0, "secs": 1.0, "second": 1.0, "seconds": 1.0, "ms": 0.001, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0,
    "hour": 3600.0, "hours": 3600.0,
}  # fmt: skip


@pytest.mark.parametrize(("name", "alias"), [(name, alias) for name, aliases in WORK.items() for alias in aliases])
def test_every_alias_of_work(name: str, alias: str) -> None:
    assert rate_unit(f"{alias}/s") == (f"{name}/s", 1.0)
    assert rate_unit(f" {alias.upper()} / Sec.") == (f"{name}/s", 1.0)
    assert is_work(alias)


@pytest.mark.parametrize(("unit", "seconds"), SECONDS.items())
def test_every_unit_of_time(unit: str, seconds: float) -> None:
    assert (seconds_in(unit), seconds_in(unit.upper()), is_time(unit)) == (seconds, seconds, True)
    assert rate_unit(f"img/{unit}") == ("images/s", 1.0 / seconds)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("Ktokens/s", ("tokens/s", 1000.0)),
        ("kimg/sec", ("images/s", 1000.0)),
        ("k samples/s", ("samples/s", 1000.0)),
        ("Mtok/s", ("tokens/s", 1e6)),
        ("Ktokens/min", ("tokens/s", 1000.0 / 60.0)),
        ("fps", ("frames/s", 1.0)),
        ("ips", ("samples/s", 1.0)),
        ("WPS", ("words/s", 1.0)),
    ],
)
def test_thousands_and_abbreviations(text: str, unit: tuple[str, float]) -> None:
    assert rate_unit(text) == unit


@pytest.mark.parametrize(
    "text", [None, "", "None", "img", "s/img", "furlongs/s", "img/fortnight", "gtokens/s", "/s", "kk/s"]
)
def test_what_is_no_rate(text: str | None) -> None:
    assert rate_unit(text) is None


def test_no_unit_of_time_is_seconds_and_another_is_none() -> None:
    assert seconds_in("") == 1.0
    assert not is_time("fortnight") and not is_work("furlongs")
    with pytest.raises(KeyError):
        seconds_in("fortnight")


@pytest.mark.parametrize(
    ("unit", "counted"),
    [
        ("images/s", "items"),
        ("samples/s", "items"),
        ("videos/s", "items"),
        ("tokens/s", "tokens"),
        ("steps/s", "steps"),
        ("s", "s"),
    ],
)
def test_rates_of_one_kind_can_be_compared(unit: str, counted: str) -> None:
    assert kind(unit) == counted
