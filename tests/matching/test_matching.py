"""Matching: a jump reads what its regex would read, and never past the end of a line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perflog.errors import ParserError
from perflog.formats.load import parser_from
from perflog.formats.parser import Pattern
from perflog.matching.polars_engine import LAST_LINES, Texts


def pattern(regex: str, **more: Any) -> Pattern:
    """A step pattern that begins with ``step:``."""
    value = {"group": "ips", "quantity": "rate", "unit": "samples/s"}
    data = {"name": "step", "role": "step", "literal": "step:", "regex": regex, "value": [value], **more}
    return parser_from({"title": "t", "source": "s", "pattern": [data]}, Path("t.toml")).patterns[0]


JUMP = pattern("step:(?P<step>{I}) {TO}ips: (?P<ips>{N}) [a-z]+/s", also="loss: (?P<loss>{NN})")


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("step:1 a ips: 5 x/s\nstep:2 b ips: 6 x/s\n", [(1, 5), (2, 6)]),
        ("step:1 损失 ips: 5 x/s\n", [(1, 5)]),  # the jump counts bytes, not characters
        ("step:1 cut he\nother ips: 5 x/s\nstep:2 ips: 6 x/s\n", [(2, 6)]),
        ("step:1 cut he\nother ips: 5 x/s\n", []),
        ("step:1 a\rips: 5 x/s\n", []),
        ("step:1 a ips: 5 x/s step:2 glued ips: 6 x/s\n", [(1, 5), (2, 6)]),
        ("step:x a ips: 5 x/s\nstep:2 a ips: none\nstep:3 a ips: 7 x/s", [(3, 7)]),
    ],
)
def test_a_jump_stays_on_its_line(text: str, read: list[tuple[int, int]]) -> None:
    found = Texts([text.encode()]).match(JUMP, JUMP.groups)
    assert found is not None
    assert list(zip(found.columns["step"].tolist(), found.columns["ips"].tolist(), strict=True)) == read


def test_the_loss_is_read_from_each_texts_last_lines() -> None:
    texts = ["".join(f"step:{n} loss: {n}.5 ips: 5 x/s\n" for n in range(1, count + 1)).encode() for count in (3, 2 * LAST_LINES)]
    found = Texts(texts).match(JUMP, JUMP.groups)
    assert found is not None
    loss = found.columns["loss"]
    assert loss[:3].tolist() == [1.5, 2.5, 3.5]
    assert np.isnan(loss[3 : 3 + LAST_LINES]).all()
    assert loss[-1] == 2 * LAST_LINES + 0.5


@pytest.mark.parametrize("regex", ["step:(?P<step>{I}) {TO}(?P<ips>{N})", "step:(?P<step>{I}) ips: {TO}ips: (?P<ips>{N})", "step:{TO}a: {TO}ips: (?P<ips>{N})"])
def test_a_jump_needs_a_text_of_its_own(regex: str) -> None:
    with pytest.raises(ParserError, match="TO}"):
        pattern(regex)
