"""Whatever encoding, line ends and terminal codes a log has: the numbers are those of the plain log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from perflog.logs.encodings import as_half_width, as_utf8, encoding_of
from perflog.logs.streams import Stream
from tests.logs.test_prefixes import PARTS, bare, results, rewritten

Wrap = Callable[[bytes], bytes]


def recoded(encoding: str, mark: bytes) -> Wrap:
    return lambda text: mark + text.decode("utf-8", "replace").encode(encoding, "replace")


def between(*lines: bytes) -> Wrap:
    """These lines at the beginning and after every fifth line of a log."""
    block = b"".join(line + b"\n" for line in lines)

    def wrap(text: bytes) -> bytes:
        own = text.splitlines(keepends=True) if b"\r" not in text else [text]
        return block + b"".join(
            line + (block if n % 5 == 4 and line.endswith(b"\n") else b"") for n, line in enumerate(own)
        )

    return wrap


def around(before: bytes, after: bytes) -> Wrap:
    def wrap(text: bytes) -> bytes:
        whole, feed, rest = text.rpartition(b"\n")
        return before + whole.replace(b"\n", after + b"\n" + before) + after + feed + rest

    return wrap


CHINESE = "开始训练，学习率已更新；数据读取完成。模型保存成功"
JAPANESE = "学習を開始します。データの読み込みが完了しました"
ENCODINGS: dict[str, Wrap] = {
    "UTF-8 with a mark": recoded("utf-8", b"\xef\xbb\xbf"),
    "UTF-16 LE": recoded("utf-16-le", b"\xff\xfe"),
    "UTF-16 BE": recoded("utf-16-be", b"\xfe\xff"),
    "UTF-16 LE without a mark": recoded("utf-16-le", b""),
    "UTF-16 BE without a mark": recoded("utf-16-be", b""),
    "GBK": between(CHINESE.encode("gbk")),
    "GB 18030": between(CHINESE.encode("gb18030") + "㐂".encode("gb18030")),
    "Shift-JIS": between(JAPANESE.encode("shift-jis")),
    "Latin-1": between("température 45 °C, mémoire libérée".encode("latin-1")),
    "mixed": between(CHINESE.encode("gbk"), CHINESE.encode(), "durée 3 µs".encode("latin-1"), b"\xff\xfe\x00\x80"),
    "NUL runs": between(bytes(5000), b"\x00x\x00"),
    "full-width colons": lambda text: text.replace(b":", "：".encode()),
    "full-width digits": lambda text: text.translate(None).replace(b"3", "３".encode()),
    "full-width colons in GBK": lambda text: text.replace(b":", "：".encode("gbk")) if text.isascii() else text,
    "colours": around(b"\x1b[1;32m", b"\x1b[0m\x1b[K"),
    "titles": around(b"\x1b]0;training \x07", b"\x1b]8;;http://a\x1b\\"),
    "cursor up": around(b"\x1b[A\x1b[2K", b""),
    "backspaces": around(b"", b"\x08\x08"),
}
#: Lines are added.
OTHER_LINES = {"GBK", "GB 18030", "Shift-JIS", "Latin-1", "mixed", "NUL runs"}


@PARTS
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_an_encoding_changes_nothing(encoding: str, part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    turn = list(ENCODINGS).index(encoding)
    rewritten(tmp_path, ENCODINGS[encoding], turn, part)
    line_numbers = encoding not in OTHER_LINES
    for log, told in results(tmp_path, monkeypatch, turn, part, line_numbers).items():
        assert told == bare(line_numbers, part)[log], log


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        (b"\xef\xbb\xbfstep 1", "utf-8-sig"),
        ("step 1 loss 2".encode("utf-16-le"), "utf-16-le"),
        ("step 1 loss 2".encode("utf-16-be"), "utf-16-be"),
        ("步骤 1 损失 2 速度 3 x".encode("utf-16"), "utf-16-le"),
        (b"\xfe\xff\x00s", "utf-16-be"),
        (b"step 1 loss 2", ""),
        (bytes(500), ""),
        (b"step 1\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", ""),
        (b"s\x00", ""),
        (b"", ""),
    ],
)
def test_an_encoding_is_told_by_the_first_bytes(head: bytes, encoding: str) -> None:
    assert encoding_of(head) == encoding


def test_half_of_a_unit_at_the_end_is_replaced() -> None:
    parts = [b"\xff\xfes\x00", b"t\x00e", b""]
    text = as_utf8(Stream(lambda _size: parts.pop(0) if parts else b""), "utf-16-le")
    assert b"".join(iter(lambda: text.read(100), b"")).decode() == "st\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ips：５１．２ images／s".encode(), b"ips:51.2 images/s"),
        ("速度ips：51.2".encode("gb2312"), "速度ips:51.2".encode()),
        (b"45 \xb0C", b"45 \xb0C"),  # Latin-1
        (b"ips: 51.2", b"ips: 51.2"),
    ],
)
def test_full_width_forms(line: bytes, expected: bytes) -> None:
    assert as_half_width(line) == expected
