"""The texts of a style: a small part of Jinja2 that ends in a time and with a length that its own length tells.

A style may come from a pull request. Jinja2's sandbox keeps a template from Python, but not from running for ever or
filling the memory; so loops, assignments, macros, calls and other files are left out, and each filter says beforehand
how long its result can be. What is left is evaluated once from left to right. Layouts are perflog's own and may use
all of Jinja2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from jinja2 import TemplateError, nodes
from jinja2.sandbox import SandboxedEnvironment

from perflog.errors import UsageError

#: The longest text of a style, and the longest result of a filter or of a whole text, in characters: cells hold lines.
LONGEST, LONGEST_RESULT = 2_000, 20_000
#: The parts of Jinja2 that texts may hold.
_PARTS = (
    nodes.Output, nodes.TemplateData, nodes.If, nodes.CondExpr, nodes.Name, nodes.Const, nodes.Filter, nodes.Test,
    nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not, nodes.Neg, nodes.Pos, nodes.Add, nodes.Sub,
    nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Concat, nodes.List, nodes.Tuple, nodes.Keyword,
)  # fmt: skip
#: Parts that a reader of a message knows by other words than their class's name.
_WORDS: Mapping[type[nodes.Node], str] = {
    nodes.For: "{% for %}", nodes.Assign: "{% set %}", nodes.AssignBlock: "{% set %}", nodes.Macro: "{% macro %}",
    nodes.Call: "a call", nodes.Include: "{% include %}", nodes.Extends: "{% extends %}", nodes.Import: "{% import %}",
    nodes.Pow: "**", nodes.Getattr: "an attribute", nodes.Getitem: "an index",
}  # fmt: skip
#: Filters whose results are hardly longer than what they are given; :func:`_replaced` and others stand beside them.
_FILTERS = (
    "abs", "capitalize", "d", "default", "e", "escape", "first", "float", "int", "last", "length", "lower", "string",
    "title", "trim", "upper", "urlencode",
)  # fmt: skip
#: What evaluating a text raises where its values do not fit it.
_FAULTS = (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, RecursionError, SyntaxError, MemoryError)


#: A width or precision of a printf form that no cell needs, or one that a value decides.
_WIDE = re.compile(r"[0-9]{4}|\*")


class _TooLongError(ValueError):
    """A result that is longer than a cell may be."""

    def __init__(self) -> None:
        super().__init__(f"the result has more than {LONGEST_RESULT:,} characters, which no cell holds")


class StyleTexts:
    """The texts of one style, each compiled once.

    Args:
        name: the style's name, for messages.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._environment = _Environment()
        self._templates: dict[str, Any] = {}

    def rendered(self, text: str, values: Mapping[str, Any]) -> str:
        """A text with its values.

        Raises:
            UsageError: for a text that is not right, holds what texts may not hold, or is too long, and for a result
                that is too long.
        """
        try:
            if text not in self._templates:
                self._environment.check(text)
                self._templates[text] = self._environment.from_string(text)
            result = str(self._templates[text].render(values))
        except _FAULTS as error:
            shown = text if len(text) <= 80 else f"{text[:79]}…"
            raise UsageError(f"style {self._name}: {shown!r}: {error}") from None
        if len(result) > LONGEST_RESULT:
            raise UsageError(f"style {self._name}: {_TooLongError()}")
        return result


class _Environment(SandboxedEnvironment):
    """Jinja2 with the filters of texts alone, whose operators work on numbers and join no copies of texts."""

    intercepted_binops = frozenset({"*", "%", "+"})

    def __init__(self) -> None:
        super().__init__(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, autoescape=False)
        self.globals.clear()
        plain = {name: _limited(self.filters[name]) for name in _FILTERS}
        self.filters = {**plain, "format": _formatted, "replace": _replaced, "round": _rounded}

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator != "+" and not (isinstance(left, int | float) and isinstance(right, int | float)):
            raise TypeError(f"{operator} takes two numbers")
        result = super().call_binop(context, operator, left, right)
        return _checked(result)

    def check(self, text: str) -> None:
        """Raise ValueError for a text that is too long or holds what texts may not hold."""
        if len(text) > LONGEST:
            raise ValueError(f"expected at most {LONGEST:,} characters, found {len(text):,}")
        for node in self.parse(text).find_all(nodes.Node):
            if not isinstance(node, _PARTS):
                words = _WORDS.get(type(node), type(node).__name__)
                raise ValueError(
                    f"expected values, {{% if %}} and filters alone, found {words}; write the text out, "
                    "or let a value of its own say it"
                )


def _limited(function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter with its result checked; Jinja2 looks at the function for what to hand it."""

    @wraps(function)
    def limited(*arguments: Any, **named: Any) -> Any:
        return _checked(function(*arguments, **named))

    return limited


def _checked(value: Any) -> Any:
    if isinstance(value, str) and len(value) > LONGEST_RESULT:
        raise _TooLongError
    return value


def _formatted(form: Any, *values: Any) -> str:
    """``{{ '%.2f' | format(value) }}``"""
    if _WIDE.search(str(form)):
        raise _TooLongError
    text: str = str(form) % values
    return text


def _replaced(value: Any, old: Any, new: Any) -> str:
    """``{{ text | replace('+', '↑') }}``; how long the result is, is known before it is made."""
    text, searched, put = str(value), str(old), str(new)
    if len(text) + text.count(searched) * max(0, len(put) - len(searched)) > LONGEST_RESULT:
        raise _TooLongError
    return text.replace(searched, put)


def _rounded(value: Any, precision: int = 0) -> float:
    """``{{ value | round(2) }}``"""
    return round(float(value), max(-300, min(precision, 300)))
