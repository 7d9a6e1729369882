"""The documentation is short, and what new users ask is answered a few words behind the README's top."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
#: Words of all pages but that of the formats, as ``wc -w`` counts them.
MOST_WORDS = 50_000
#: Words from the README's top to the end of an answer, links followed.
MOST_STEPS = 300
#: A question of new users: words of the link that leads to its answer (or of the README's own line), and the answer.
QUESTIONS = {
    "What does the interval mean?": (
        "interval",
        "intervals made so hold it as often as the level below the table says",
    ),
    "How do I say the batch size?": ("batch size", "`--set batch_size=32 --set devices=8`: of one device, and of all"),
    "How is my own format read?": (
        "a format of your own",
        "`perflog parsers new NAME --from LOG` writes the format of a log as one TOML file",
    ),
    "How does CI fail where a version is slower?": (
        "a gate in CI",
        "`perflog compare old/ new/ --gate` | a case is slower or missing",
    ),
    "How do I look at a run?": ("look at runs", "`perflog view logs/ -o page.html`: each run over its steps"),
    "What is the speedup relative to?": (
        "speedup",
        "Speedup is a case's throughput divided by its baseline's: the same configuration on one device",
    ),
    "Why is there no value?": (
        "no value",
        "*No value* stands where a number cannot be known. The reason stands below the table",
    ),
    "How do I compare frameworks?": ("compare frameworks", "`perflog table logs/ --rows framework --columns devices`"),
    "How is it installed?": ("pip install", "pip install .                        # in a clone of this repository"),
    "What do I do about a wrong number?": ("a wrong number", "`perflog explain LOG` shows the lines that the number"),
}
_LINK = re.compile(r"\[([^\[\]]+)\]\((docs/[\w.-]+\.md)(?:#([\w-]+))?\)")


def words(text: str) -> int:
    """How many words a reader reads: what holds a letter or a digit, without the addresses of links."""
    shown = re.sub(r"\]\([^)]*\)", "]", re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL))
    return sum(any(letter.isalnum() for letter in word) for word in shown.split())


def anchored(page: Path, anchor: str | None) -> str:
    """A page's text from an anchor's heading on; all of it without one."""
    text = page.read_text(encoding="utf-8")
    if anchor is None:
        return text
    for heading in re.finditer(r"^#+ (.*)$", text, re.MULTILINE):
        if re.sub(r"[^\w]+", "-", heading[1].lower()).strip("-") == anchor:
            return text[heading.start() :]
    raise AssertionError(f"{page.name} has no heading for #{anchor}")


def steps_to(named: str, answer: str) -> int | None:
    """Words from the README's top to the end of an answer, by the shortest way that its words offer; None without one.

    A link leads there only where its own text, or the rest of its row, says what is asked.
    """
    ways = []
    if answer in README:
        before = README[: README.index(answer) + len(answer)]
        if named in README[README.rindex("\n", 0, README.index(answer)) : README.index(answer) + len(answer)]:
            ways.append(words(before))
    for link in _LINK.finditer(README):
        row = README[README.rindex("\n", 0, link.start()) : link.end()]
        text = anchored(ROOT / link[2], link[3])
        if (named in link[1] or (row.startswith("\n| ") and named in row.split("|")[1])) and answer in text:
            ways.append(words(README[: link.end()]) + words(text[: text.index(answer) + len(answer)]))
    return min(ways, default=None)


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_answer_is_near(question: str) -> None:
    named, answer = QUESTIONS[question]
    assert len(answer.split()) >= 5
    steps = steps_to(named, answer)
    assert steps is not None, f"no link of the README that says {named!r} leads to: {answer}"
    assert steps <= MOST_STEPS


def test_links_of_the_readmes_lead_to_headings() -> None:
    for name in ("README.md", "README.zh-CN.md"):
        for _, page, anchor in _LINK.findall((ROOT / name).read_text(encoding="utf-8")):
            assert anchored(ROOT / page, anchor or None)


def test_the_documentation_is_no_longer_than_is_read() -> None:
    pages = {path: len(path.read_text(encoding="utf-8").split()) for path in (ROOT / "docs").rglob("*.md")}
    assert sum(count for path, count in pages.items() if path.name != "formats.md") <= MOST_WORDS


def test_the_page_of_the_number_is_short() -> None:
    text = re.sub(r"```.*?```", "", (ROOT / "docs/number.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    assert words(text) <= 400
    assert "![" in text


@pytest.mark.parametrize(
    "page",
    ["evidence.md", "methods.md", "upstream.md", "reliability.md", "performance.md", "security.md"],
)
def test_a_report_begins_with_its_result(page: str) -> None:
    """Two to four sentences with a figure in them, or a promise, before anything else."""
    first = (ROOT / "docs" / page).read_text(encoding="utf-8").split("\n\n")[1]
    assert 2 <= len(re.findall(r"[.:](?: |$)", first)) <= 4
    assert re.search(r"\d", first) or "cannot" in first
