"""Jupyter notebooks in, the text that their cells printed out; what the cells are made of (their source) is no log.

The outputs of all cells stand in the notebook's order: what was printed to stdout and stderr; the plain text of what
was shown, or the text of its HTML where only that holds it (the bars of transformers and fastprogress, tables of
metrics, one line for each row: ``Step: 500, Training Loss: 0.41``); the last state of a bar of tqdm.notebook or another
widget, as the notebook keeps it; the name and text of an error. Before a cell's first line stands a form feed for each
cell up to it, so that :func:`cells_of_lines` can tell which cell printed a line.

Formats: jupyter/nbformat ``v4``, jupyter-widgets ``packages/schema`` (widget state); what prints such outputs:
tqdm/tqdm ``notebook.py``, huggingface/transformers ``utils/notebook.py``, fastai/fastprogress ``fastprogress.py``.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, zip_longest
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

from perflog.lazy_regex import lazy_regex
from perflog.logs.clean import valid_utf8
from perflog.logs.streams import NOTEBOOK, LimitError, Stream, UnreadableError, limit, stream_of
from perflog.logs.unwrap import CELL

# ----------------------------------------------------------------------------------------------------
# What a notebook's file may hold, as far as it is read.

#: So many values (outputs, lines of text) it may hold: each takes memory of its own, however few bytes it has.
_VALUES = 4_000_000
_CHUNK = 1 << 20
#: A string of JSON.
_STRING = lazy_regex(rb'"[^"\\]*(?:\\.[^"\\]*)*"')

Text = str | list[str]


class _Data(Struct):
    """One thing in the forms in which it can be shown."""

    plain: Text = field(default="", name="text/plain")
    html: Text = field(default="", name="text/html")
    view: dict[str, Any] = field(default={}, name="application/vnd.jupyter.widget-view+json")


class _Output(Struct):
    output_type: str = ""
    name: str = ""
    text: Text = ""
    data: _Data | UnsetType = UNSET
    ename: str = ""
    evalue: str = ""


class _Cell(Struct):
    outputs: list[_Output] | None = None


class _Metadata(Struct, frozen=True):
    widgets: Any = None


class _Notebook(Struct):
    cells: list[_Cell] | UnsetType = UNSET
    metadata: _Metadata = _Metadata()


def text_of_notebook(stream: Stream) -> Stream:
    """What the cells of a notebook printed.

    Raises:
        UnreadableError: from its ``read``, when the file is damaged or no notebook.
        LimitError: when it is larger than a notebook may be.
    """
    return stream_of(_text(stream))


def _text(stream: Stream) -> Iterator[bytes]:
    notebook = _decoded(_whole(stream))
    widgets = _Widgets(notebook.metadata.widgets)
    passed, cells = 0, notebook.cells or [_Cell()]
    for cell in cells:
        passed += 1
        for line in _lines_of_cell(cell.outputs or [], widgets):
            if passed:
                yield CELL * passed + b"\n"
                passed = 0
            yield line.encode()
    if passed:
        yield CELL * passed + b"\n"


def _whole(stream: Stream) -> bytes:
    most = limit(NOTEBOOK)
    parts: list[bytes] = []
    size = 0
    while data := stream.read(_CHUNK):
        parts.append(data)
        size += len(data)
        if size > most << 20:
            raise LimitError(
                f"the notebook has more than {most:,} MiB, which would be in memory at once: it is not read. To have "
                f"it read, set {NOTEBOOK}={10 * most}"
            )
    return b"".join(parts)


def _decoded(data: bytes) -> _Notebook:
    if data.count(b",") > _VALUES and _STRING.sub(b"", data).count(b",") > _VALUES:
        raise LimitError(f"the notebook holds more than {_VALUES:,} values, which no notebook does: it is not read")
    try:
        notebook = msgspec.json.decode(data, type=_Notebook)
    except msgspec.ValidationError as error:
        raise UnreadableError(f"no notebook: {error}") from None
    except UnicodeDecodeError:
        return _decoded(valid_utf8(data))
    except (msgspec.DecodeError, RecursionError) as error:
        found = _why(error) if data.lstrip().startswith(b"{") else _beginning(data)
        raise UnreadableError(
            f"a damaged notebook, or none: expected JSON with a list of cells, found {found}"
        ) from None
    if isinstance(notebook.cells, UnsetType):
        keys = list(msgspec.json.decode(data, type=dict[str, msgspec.Raw]))
        if "worksheets" in keys:
            again = "`jupyter nbconvert --to notebook` writes it in today's"
            raise UnreadableError(f"a notebook of format 3 or older, which is not read: {again}")
        named = ", ".join(repr(key[:_SHOWN]) for key in keys[:3]) + ", …" * (len(keys) > 3)
        raise UnreadableError(f"no notebook: expected JSON with a list of cells, found the keys {named or 'none'}")
    return notebook


#: So many characters of what was found are named.
_SHOWN = 40


def _beginning(data: bytes) -> str:
    return f"what begins with {data.lstrip()[:_SHOWN].decode('utf-8', 'replace')!r}"


def _why(error: Exception) -> str:
    return "a file that ends too early" if "truncated" in str(error) else f"what is no JSON: {error}"


# ----------------------------------------------------------------------------------------------------
# The outputs of a cell.

#: How an object is shown that has no text of its own: ``<IPython.core.display.HTML object>``, or its HTML.
_NO_TEXT = re.compile(r"<.*>", re.DOTALL)


def _lines_of_cell(outputs: Iterable[_Output], widgets: _Widgets) -> Iterator[str]:
    """The text of a cell's outputs: pieces that each end a line."""
    streams = _Streams()
    for output in outputs:
        if output.output_type == "stream":
            yield from streams.add(output.name, "".join(output.text))
            continue
        yield from streams.turn("")
        shown = _shown(output, widgets)
        if shown.strip():
            yield shown.rstrip("\r\n") + "\n"
    yield from streams.end()


def _shown(output: _Output, widgets: _Widgets) -> str:
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    if isinstance(output.data, UnsetType):
        return ""
    view, plain, html = output.data.view.get("model_id"), "".join(output.data.plain), "".join(output.data.html)
    if isinstance(view, str) and view in widgets:
        return widgets.text(view)
    return text_of_html(html) if html and (_NO_TEXT.fullmatch(plain.strip()) or not plain.strip()) else plain


class _Streams:
    """Lines of stdout and stderr, put together of pieces that a kernel sent as they came.

    A line that the other stream's text cuts is given out whole, once it ends. Of a bar, which is one line for as long
    as it is drawn, the drawings that are complete come before the other stream's text.
    """

    def __init__(self) -> None:
        self._begun: dict[str, list[str]] = {}
        self._now, self._drawn = "", False

    def add(self, name: str, text: str) -> Iterator[str]:
        """Take a piece of a stream; the lines that are complete now."""
        yield from self.turn(name)
        begun = self._begun.setdefault(name, [])
        end = text.rfind("\n") + 1
        if end:
            yield "".join(begun) + text[:end]
            begun.clear()
        begun.append(text[end:])
        self._drawn = (self._drawn and not end) or "\r" in text[end:]

    def turn(self, name: str) -> Iterator[str]:
        """Say whose output comes next; what is given out before it."""
        if name == self._now:
            return
        begun, drawn = self._begun.get(self._now, []), self._drawn
        self._now, self._drawn = name, False
        if drawn:
            text = "".join(begun)
            end = text.rfind("\r") + 1
            begun[:] = [text[end:]]
            if text[:end].strip("\r"):
                yield text[:end] + "\n"

    def end(self) -> Iterator[str]:
        """The rest of each line that nothing ends any more."""
        for begun in self._begun.values():
            text = "".join(begun)
            if text.strip("\r"):
                yield text + "\n"


# ----------------------------------------------------------------------------------------------------
# Widgets: what the notebook's metadata keep of them, which is the state at the end.

_STATE = "application/vnd.jupyter.widget-state+json"
_REFERENCE = "IPY_MODEL_"
#: So many widgets may lie in one another.
_DEEPEST = 6
#: A bar is drawn so wide, as tqdm draws one in a notebook's plain text.
_WIDTH = 10


class _Widgets:
    """The widgets of a notebook; each is given once, where it is shown first."""

    def __init__(self, state: Any) -> None:
        state = state.get(_STATE, state) if isinstance(state, dict) else {}  # Colab once kept the models there
        models = state.get("state", state) if isinstance(state, dict) else {}
        self._models: dict[str, Any] = models if isinstance(models, dict) else {}
        self._given: set[str] = set()
        self._depth = 0

    def __contains__(self, model: str) -> bool:
        return model in self._models

    def text(self, identifier: str) -> str:
        """The text of a widget and of those in it, as far as it was not given before."""
        if identifier in self._given or self._depth == _DEEPEST:
            return ""
        self._given.add(identifier)
        self._depth += 1
        model = self._models.get(identifier)
        state = model.get("state") if isinstance(model, dict) else None
        text = self._text(self._kind(identifier), state) if isinstance(state, dict) else ""
        self._depth -= 1
        return text

    def _text(self, kind: str, state: dict[str, Any]) -> str:
        if kind in ("HBoxModel", "VBoxModel"):
            names = [str(child).removeprefix(_REFERENCE) for child in _listed(state.get("children"))]
            children = [(self._kind(name), self.text(name)) for name in names]
            return _row(children) if kind == "HBoxModel" else "\n".join(text for _, text in children if text)
        if kind in ("HTMLModel", "LabelModel"):
            return text_of_html(str(state.get("value", "")))
        if kind in _BARS:
            return _bar(state.get("value"), state.get("max"))
        if kind == "OutputModel":
            return "".join(_lines_of_cell(_converted(_listed(state.get("outputs"))), self)).rstrip("\n")
        return ""

    def _kind(self, identifier: str) -> str:
        model = self._models.get(identifier)
        return str(model.get("model_name")) if isinstance(model, dict) else ""


_BARS = ("FloatProgressModel", "IntProgressModel", "FloatProgress", "IntProgress")


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _converted(outputs: Sequence[Any]) -> Iterator[_Output]:
    for output in outputs:
        try:
            yield msgspec.convert(output, _Output)
        except msgspec.ValidationError:
            continue


def _row(children: Sequence[tuple[str, str]]) -> str:
    """What stands beside each other; a bar of tqdm has its share before it and its counts behind it."""
    texts = [text for _, text in children]
    if len(children) == 3 and children[1][0] in _BARS:
        left, bar, right = texts
        return f"{left}|{bar}| {right}" if left.endswith("%") else " ".join(text for text in (left, right) if text)
    return " ".join(text for text in texts if text)


def _bar(value: Any, most: Any) -> str:
    is_part = (
        isinstance(value, int | float) and isinstance(most, int | float) and 0 <= value <= most and 0 < most < 1e15
    )
    full = int(_WIDTH * value / most) if is_part else 0
    return "█" * full + " " * (_WIDTH - full)


# ----------------------------------------------------------------------------------------------------
# HTML: the text that a browser shows of it, without what draws or decorates.

#: A tag or a comment's beginning; no part of it is looked at twice.
_TAG = lazy_regex(r"<(?:(?P<end>/?)(?P<name>[A-Za-z][A-Za-z0-9]*)[^<>]*>|!--|![^<>]*>)")
#: Elements whose content is no text, and what ends them.
_HIDDEN = {name: lazy_regex(rf"</{name}\s*>", re.IGNORECASE) for name in ("script", "style", "svg", "template")}
_COMMENT_END = lazy_regex("-->")
#: Elements that begin a line and end one.
_BLOCKS = frozenset({
    "address", "article", "blockquote", "br", "center", "dd", "details", "div", "dl", "dt", "fieldset", "footer",
    "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "ol", "p", "pre", "section", "summary", "table",
    "tbody", "thead", "tfoot", "tr", "ul",
})  # fmt: skip
#: What browsers show as one blank, and blanks that are not broken (tqdm pads with figure spaces).
_BLANKS, _HARD_BLANKS = lazy_regex(r"[ \t\r\n\f]+"), str.maketrans("\u00a0\u2007\u202f", "   ")
#: A name of a column that is longer than this is not repeated on each row.
_LONGEST_NAME = 200


def text_of_html(html: str) -> str:
    """The text of HTML; a row of a table is a line, each value behind its column's name."""
    return _Html().text(html)


class _Html:
    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line: list[str] = []
        self._pre = 0
        self._columns: list[str] = []
        self._row: list[str] | None = None
        self._heads = 0  # so many of the row's cells are headings

    def text(self, html: str) -> str:
        place = 0
        while (tag := _TAG.search(html, place)) is not None:
            self._add(html[place : tag.start()])
            place = tag.end()
            name = (tag["name"] or "").lower()
            hidden = _HIDDEN.get(name) if not tag["end"] else None
            if hidden is not None or tag[0] == "<!--":
                end = (hidden or _COMMENT_END).search(html, place)
                place = len(html) if end is None else end.end()
            elif name:
                self._tag(name, begins=not tag["end"])
        self._add(html[place:])
        self._end_line()
        return "\n".join(self._lines)

    def _add(self, text: str) -> None:
        if text:
            from html import unescape  # its table of names is large, and few logs hold HTML

            text = unescape(text)
            self._line.append(text if self._pre else _BLANKS.sub(" ", text))

    def _tag(self, name: str, begins: bool) -> None:
        if name in ("td", "th"):
            if self._row is not None and begins:
                self._line.clear()
            elif self._row is not None:
                self._row.append(self._taken())
                self._heads += name == "th"
        elif name in _BLOCKS:
            if self._row is None or name in ("tr", "table"):
                self._end_line()
            else:
                self._line.append(" ")
            self._pre = max(0, self._pre + (1 if begins else -1)) if name == "pre" else self._pre
            if name == "table":
                self._columns, self._row = [], None
            elif name == "tr":
                self._end_row()
                self._row, self._heads = ([] if begins else None), 0

    def _taken(self) -> str:
        text = _BLANKS.sub(" ", "".join(self._line)).strip()
        self._line.clear()
        return text.translate(_HARD_BLANKS)

    def _end_line(self) -> None:
        text = "".join(self._line).rstrip().translate(_HARD_BLANKS) if self._pre else self._taken()
        self._line.clear()
        if text:
            self._lines.append(text)

    def _end_row(self) -> None:
        row, self._row = self._row, None
        if not row or not any(row):
            return
        if self._heads == len(row):
            self._columns = [column if len(column) <= _LONGEST_NAME else "" for column in row]
            return
        names = self._columns if len(self._columns) == len(row) else []
        pairs = zip_longest(names, row, fillvalue="")
        self._lines.append(", ".join(f"{name}: {value}" if name else value for name, value in pairs))


# ----------------------------------------------------------------------------------------------------
# Which cell a line of the text is of.


def cells_of_lines(blocks: Iterable[bytes], lines: Sequence[int]) -> list[int]:
    """The cells (counted from 1, those without output too) of lines of a notebook's text (counted from 1)."""
    begin: list[int] = []
    passed: list[int] = []
    number = 0
    for block in blocks:
        for line in block.split(b"\n")[: block.count(b"\n") + (not block.endswith(b"\n"))]:
            number += 1
            if line.startswith(CELL) and not line.strip(CELL):
                begin.append(number)
                passed.append(len(line))
    cells = list(accumulate(passed))
    places = [bisect_left(begin, line) - 1 for line in lines]
    return [cells[place] if place >= 0 else 0 for place in places]
