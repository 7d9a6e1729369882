"""Tests and what became of them in, a JUnit report (XML) out, which GitLab, Jenkins and others show.

The elements and attributes are those that all readers know: ``testsuites``, ``testsuite``, ``testcase``, ``failure``,
``skipped`` and ``system-out`` (https://github.com/testmoapp/junitxml). But for a test's file and line the schema
by which Jenkins' xUnit plugin refuses reports (``junit-10.xsd``) has them all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from perflog.escaping import visible

#: What XML 1.0 cannot hold and is no control character either: the last two code points of the plane.
_NO_XML = re.compile("[\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Test:
    """One test.

    Attributes:
        name: what was tested, for people: ``rn50 fp32 8 devices``.
        group: the name of what the test belongs to; reports fold tests by it.
        failure: why it failed, in one sentence; empty where it did not.
        skipped: why it has no result, in one sentence; empty where it has one.
        kind: a word for failures of one kind: ``slower``.
        lines: everything else about it, a line each.
        file, line: where the tested thing stands; 0 for no line.
    """

    name: str
    group: str
    failure: str = ""
    skipped: str = ""
    kind: str = ""
    lines: Sequence[str] = ()
    file: str = ""
    line: int = 0


def junit(suite: str, tests: Sequence[Test]) -> str:
    """A JUnit report of one suite.

    Args:
        suite: its name, such as ``perflog compare``.
        tests: its tests, in order.
    """
    own = {
        "name": _text(suite),
        "tests": str(len(tests)),
        "failures": str(sum(bool(test.failure) for test in tests)),
        "errors": "0",
    }
    skipped = sum(bool(test.skipped) and not test.failure for test in tests)
    root = ElementTree.Element("testsuites", own)
    element = ElementTree.SubElement(root, "testsuite", {**own, "skipped": str(skipped)})
    for test in tests:
        _add_test(element, test)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _add_test(suite: ElementTree.Element, test: Test) -> None:
    place = {"file": _text(test.file)} if test.file else {}
    place |= {"line": str(test.line)} if test.line else {}
    names = {"name": _text(test.name), "classname": _text(test.group), **place}
    element = ElementTree.SubElement(suite, "testcase", names)
    details = "\n".join(_text(line) for line in test.lines)
    if test.failure:
        kind = {"type": _text(test.kind)} if test.kind else {}
        ElementTree.SubElement(element, "failure", {"message": _text(test.failure), **kind}).text = details or None
    elif test.skipped:
        ElementTree.SubElement(element, "skipped", {"message": _text(test.skipped)})
    if details and not test.failure:
        ElementTree.SubElement(element, "system-out").text = details


def _text(text: str) -> str:
    """Text that XML holds and in which everything is seen."""
    return _NO_XML.sub(lambda character: f"\\u{ord(character[0]):04x}", visible(text))


# ----------------------------------------------------------------------------------------------------
# Findings at lines of files in, annotations of GitHub Actions out, which stand beside these lines in a pull request.
#
# What may follow ``::error`` is said at https://docs.github.com/actions/reference/workflow-commands-for-github-actions;
# how its values are escaped, in ``actions/toolkit`` (``packages/core/src/command.ts``).

LEVELS = ("error", "warning", "notice")


@dataclass(frozen=True, slots=True)
class Annotation:
    """A finding.

    Attributes:
        message: what was found, in one line.
        file: the file as seen from the repository's folder; empty for a finding of no file.
        line: the line of the file; 0 for none.
        title: what stands above the message.
        level: one of :data:`LEVELS`.
    """

    message: str
    file: str = ""
    line: int = 0
    title: str = "perflog"
    level: str = "error"


def commands(findings: Iterable[Annotation]) -> str:
    """Findings as commands to GitHub Actions, one a line. No text in them is a command itself."""
    return "".join(f"::{one.level} {_properties(one)}::{_value(one.message)}\n" for one in findings)


def _properties(finding: Annotation) -> str:
    named = {"file": finding.file, "line": str(finding.line or ""), "title": finding.title}
    return ",".join(f"{name}={_property(text)}" for name, text in named.items() if text)


def _value(text: str) -> str:
    return visible(text).replace("%", "%25")


def _property(text: str) -> str:
    return _value(text).replace(":", "%3A").replace(",", "%2C")
