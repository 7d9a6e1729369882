"""TOML against a schema: the file, the key, what is expected, what was found, and a near name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta, Struct

from perflog.errors import ParserError, UsageError
from perflog.formats.toml import Scalar, convert, decode, read_toml, texts


class Item(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    colour: Literal["red", "green"] = "red"
    sizes: tuple[Annotated[int, Meta(ge=1)], ...] = ()


class Document(Struct, frozen=True, forbid_unknown_fields=True):
    title: Annotated[str, Meta(min_length=1)]
    item: tuple[Item, ...] = ()
    words: dict[str, dict[str, Scalar]] = {}
    share: Annotated[float, Meta(gt=0)] | None = None
    amount: Annotated[str | int, Meta(description="an amount such as 100")] = 0
    flag: bool = False


def test_what_is_right_is_read() -> None:
    data = {"title": "t", "item": [{"name": "a", "sizes": [1, 2]}], "words": {"en": {"a": 1}}, "share": 2}
    assert convert(data, Document, "f.toml", UsageError) == Document(
        "t", (Item("a", "red", (1, 2)),), {"en": {"a": 1}}, 2.0
    )  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"title": 5}, "f.toml: title = 5: expected a text in quotes that is not empty"),
        ({"title": ""}, "f.toml: title = '': expected a text in quotes that is not empty"),
        ({"titel": "x"}, "f.toml: unknown key 'titel'; did you mean 'title'? (known: amount, flag, item, share, title, words)"),
        ({"xyz": 1}, "f.toml: unknown key 'xyz' (known: amount, flag, item, share, title, words)"),
        ({"flag": 1}, "f.toml: flag = 1: expected true or false"),
        ({"share": True}, "f.toml: share = true: expected a number above 0"),
        ({"share": -1.5}, "f.toml: share = -1.5: expected a number above 0"),
        ({"amount": [1]}, "f.toml: amount = [1]: expected an amount such as 100"),
        ({"words": {"en": {"a": 1}, "zh": {"b": [1]}}}, "f.toml: words.zh.b = [1]: expected a text in quotes or a whole number or a number or true or false"),
        ({"words": {"en": 3}}, "f.toml: words.en = 3: expected a table"),
        ({"item": {}}, "f.toml: item = a table: expected a list, each item a table"),
        ({"item": [{"name": "a"}, {}]}, "f.toml: item 2: 'name' is missing: expected a text in quotes"),
        ({"item": [{"name": "a", "color": "red"}]}, "f.toml: item 'a': unknown key 'color'; did you mean 'colour'? (known: colour, name, sizes)"),
        ({"item": [{"name": "a", "colour": "gren"}]}, "f.toml: item 'a': colour = 'gren': expected one of red, green; did you mean 'green'?"),
        ({"item": [{"name": "a", "colour": 5}]}, "f.toml: item 'a': colour = 5: expected one of red, green"),
        ({"item": [{"name": "a", "sizes": [1, 0]}]}, "f.toml: item 'a', sizes 2 = 0: expected a whole number of 1 or more"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ParserError) as error:
        convert({"title": "t"} | change, Document, "f.toml", ParserError)
    assert str(error.value) == message


def test_what_is_missing() -> None:
    with pytest.raises(UsageError) as error:
        convert({}, Document, "f.toml", UsageError)
    assert str(error.value) == "f.toml: 'title' is missing: expected a text in quotes that is not empty"


def test_keys_may_be_called_otherwise() -> None:
    with pytest.raises(UsageError, match=r"f\.toml: unknown option 'flags'; did you mean 'flag'\?"):
        convert({"title": "t", "flags": True}, Document, "f.toml", UsageError, noun="option")


def test_a_file(tmp_path: Path) -> None:
    file = tmp_path / "f.toml"
    file.write_text('title = "é"\n', encoding="utf-8")
    assert decode(file, Document, ParserError).title == "é"


@pytest.mark.parametrize("content", [b"title = ", b"\xff", b"a = 1\na = 2"])
def test_a_file_that_is_no_toml(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "f.toml"
    file.write_bytes(content)
    with pytest.raises(ParserError) as error:
        read_toml(file, ParserError)
    assert str(error.value).startswith(f"{file}: not a readable TOML file: ")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such file"):
        read_toml(tmp_path / "none.toml", UsageError)


def test_facts_are_read_as_texts() -> None:
    assert texts({"devices": 8, "ratio": 0.5, "sync": True, "model": "rn50"}) == {
        "devices": "8", "ratio": "0.5", "sync": "True", "model": "rn50"
    }  # fmt: skip
