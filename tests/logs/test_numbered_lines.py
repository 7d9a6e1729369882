"""Lines that are read again by their numbers."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from perflog.logs.containers import numbered_lines
from perflog.logs.find import find_logs


@pytest.mark.parametrize("packed", [False, True])
def test_lines_are_those_of_their_numbers_over_all_blocks(tmp_path: Path, packed: bool) -> None:
    texts = [f"line {number} {'x' * (number % 997)}".encode() if number % 7 else b"" for number in range(1, 20_001)]
    content = b"\n".join(texts) + b"\n"
    file = tmp_path / "train.log"
    file.write_bytes(gzip.compress(content) if packed else content)
    (log,) = find_logs([file])
    assert dict(numbered_lines(log, range(1, 20_002))) == {n: text for n, text in enumerate(texts, 1) if text}
    some = [1, 2, 9_999, 19_998, 20_000, 30_000]
    assert dict(numbered_lines(log, some)) == {n: texts[n - 1] for n in some if n <= 20_000}
    assert list(numbered_lines(log, [])) == []
