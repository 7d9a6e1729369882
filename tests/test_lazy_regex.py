"""Regexes that are compiled when they are first used: each can be compiled, and gives what the compiled one gives."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module

import pytest

from perflog.lazy_regex import _LazyPattern, lazy_regex
from tests.support import ROOT


def modules() -> list[str]:
    files = (ROOT / "perflog").rglob("*.py")
    using = (file for file in files if "lazy_regex(" in file.read_text(encoding="utf-8"))
    return sorted(".".join(file.relative_to(ROOT).with_suffix("").parts) for file in using)


def patterns_in(item: object) -> list[_LazyPattern[str]]:
    """The lazy regexes that a module's constant holds, or the records in it."""
    if isinstance(item, _LazyPattern):
        return [item]
    if isinstance(item, tuple):
        return [pattern for part in item for pattern in patterns_in(part)]
    own = getattr(item, "regex", None)
    return [own] if isinstance(own, _LazyPattern) else []


@pytest.mark.parametrize("module", modules())
def test_every_one_can_be_compiled(module: str) -> None:
    if module == "perflog.lazy_regex":
        pytest.skip("defines them")
    found = [pattern for item in vars(import_module(module)).values() for pattern in patterns_in(item)]
    source = (ROOT / (module.replace(".", "/") + ".py")).read_text(encoding="utf-8")
    assert len(found) >= source.count("= lazy_regex(")
    for pattern in found:
        assert isinstance(pattern._compiled, re.Pattern)


def test_it_gives_what_the_compiled_one_gives() -> None:
    text, binary = lazy_regex("(?P<word>[a-z]+)", re.IGNORECASE), lazy_regex(rb"(\d)")
    match = text.match("ABC 1")
    assert match is not None and match["word"] == "ABC"
    assert text.sub("x", "aB 1") == "x 1" and text.split("1a2") == ["1", "a", "2"]
    assert (text.pattern, text.flags, text.groups, dict(text.groupindex)) == (
        "(?P<word>[a-z]+)", re.IGNORECASE | re.UNICODE, 1, {"word": 1},
    )  # fmt: skip
    assert binary.findall(b"a1b2") == [b"1", b"2"]
    with pytest.raises(AttributeError):
        text.nothing  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(re.error):
        lazy_regex("(").search("")


def test_it_is_compiled_when_it_is_first_used() -> None:
    program = (
        "import re; from perflog.lazy_regex import lazy_regex; before = len(re._cache); one = lazy_regex('never seen');"
        "print(len(re._cache) - before, end=' '); one.search('x'); print(len(re._cache) - before)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "0 1\n"
