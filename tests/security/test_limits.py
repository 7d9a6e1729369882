"""Styles and patterns of a pull request run within limits of time, output and memory (M6 of the findings).

The limits hold by construction, not by a clock: each test would hang, or fill the memory, if one did not.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perflog.errors import ParserError, UsageError
from perflog.formats.linear import LONGEST_TEXT, LinearPattern, TooCostlyError
from perflog.formats.load import parser_from
from perflog.formats.paths import load_path_patterns
from perflog.matching.one_line import gave_up
from perflog.show.style_texts import LONGEST, LONGEST_RESULT, StyleTexts
from perflog.show.table import load_style
from tests.security.hostile import LOGS, run

# ---------------------------------------------------------------- styles

#: A text that would take for ever, or all memory, or leave the sandbox, and what is told of it.
ENDLESS = {
    "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}": "found {% for %}",
    "{% for c in text %}{% for d in text %}x{% endfor %}{% endfor %}": "found {% for %}",
    "{{ 'a' * 10**10 }}": "found **",
    "{{ 'a' * 9999999999 }}": "* takes two numbers",
    "{{ text * 9999999999 }}": "* takes two numbers",
    "{{ [1] * 9999999999 }}": "* takes two numbers",
    "{{ 9 ** 9 ** 9 ** 9 }}": "found **",
    "{{ '%9999999999d' % 1 }}": "% takes two numbers",
    "{{ '%9999999999d' | format(1) }}": "which no cell holds",
    "{{ '%*d' | format(999999999, 1) }}": "which no cell holds",
    "{{ 'a' | replace('a', 'a' * 2) }}": "* takes two numbers",
    "{{ 'aaaaaaaaaa' " + "| replace('a', 'aaaaaaaaaa') " * 12 + "}}": "which no cell holds",
    "{{ '' | replace('', 'aaaaaaaaaa') " + "| replace('a', 'aaaaaaaaaa') " * 12 + "}}": "which no cell holds",
    "{% set a = 'aa' %}": "found {% set %}",
    "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}": "found {% macro %}",
    "{{ 'a'.ljust(9999999999) }}": "found a call",
    "{{ text.__class__ }}": "found an attribute",
    "{{ text['__class__'] }}": "found an index",
    "{{ 'a' | center(9999999999) }}": "No filter named 'center'",
    "{{ 1 | round(999999999) }}": "",
    "{% include 'padded.md.j2' %}": "found {% include %}",
    "{% extends 'padded.md.j2' %}": "found {% extends %}",
    "{% import 'padded.md.j2' as x %}": "found {% import %}",
    "{{ lipsum }}{{ cycler }}{{ range }}": "",
    "x" * (LONGEST + 1): "expected at most 2,000 characters",
    "{{" + "(" * 900 + "1" + ")" * 900 + "}}": "",
    "{{" + "not " * 490 + "1}}": "",
    "{{ 1 / 0 }}": "division by zero",
    "{{ 'a' + 1 }}": "",
    "{{ text | int(0, 'x') }}": "",
    "{{ " + "9" * 1900 + " * " + "9" * 90 + " }}": "",
}


@pytest.mark.parametrize("text", ENDLESS, ids=lambda text: text[:50])
def test_a_text_of_a_style_ends_at_once(text: str) -> None:
    """With its result, or with an error that says what is wrong."""
    told = ENDLESS[text]
    try:
        result = StyleTexts("evil").rendered(text, {"text": "1.5", "devices": 8})
    except UsageError as error:
        assert told in str(error) and str(error).startswith("style evil: ")
    else:
        assert told == "" and len(result) <= LONGEST_RESULT


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{{ text }}<br>bsz={{ batch_size }}", "1.5<br>bsz=4"),
        ("GPU={{ devices }}{% if batch_size %},BS={{ batch_size }}{% endif %}", "GPU=8,BS=4"),
        ("{{ precision | upper }}{% if nothing %}x{% elif devices > 4 %}many{% else %}few{% endif %}", "AMPmany"),
        (
            "{{ text | replace('.', ',') }} {{ '%.3f' | format(devices / 3) }} {{ 10 / 3 | round(2) }}",
            "1,5 2.667 3.3333333333333335",
        ),
        ("{{ nothing | default('-') }} {{ precision ~ devices }} {{ precision in ('amp', 'fp16') }}", "- amp8 True"),
        ("{{ (devices * batch_size) // 3 % 4 - 1 }}{{ 'a' if devices is even else 'b' }}", "1a"),
        ("{{ precision | first }}{{ precision | length }}{{ ' x ' | trim }}", "a3x"),
    ],
)
def test_what_texts_are_for_works(text: str, result: str) -> None:
    assert (
        StyleTexts("mine").rendered(text, {"text": "1.5", "devices": 8, "batch_size": 4, "precision": "amp"}) == result
    )


def test_a_chain_of_styles_has_an_end(tmp_path: Path) -> None:
    for number in range(2_000):
        (tmp_path / f"s{number}.toml").write_text(f'title = "x"\nextends = "s{number + 1}"\n')
    (tmp_path / "s2000.toml").write_text('title = "x"\n')
    (tmp_path / "ring.toml").write_text('title = "x"\nextends = "ring"\n')
    with pytest.raises(UsageError, match="at most 8 styles that extend one another"):
        load_style("s0", [str(tmp_path)])
    with pytest.raises(UsageError, match="a style cannot extend itself"):
        load_style("ring", [str(tmp_path)])
    assert load_style("s1993", [str(tmp_path)]).name == "s1993"


@pytest.mark.parametrize("layout", ["../x", "/etc/passwd", "page.html.j2", ""])
def test_a_layout_is_one_of_perflogs(layout: str, tmp_path: Path) -> None:
    (tmp_path / "lay.toml").write_text(f'title = "x"\nlayout = "{layout}"\n')
    words = ["table", str(LOGS), "--rows", "devices", "--style", "lay", "--templates", str(tmp_path)]
    done = run(*words)
    assert "expected one of tabulate, padded.md.j2, tight.md.j2" in str(done.exception)


# ---------------------------------------------------------------- patterns of paths.toml

#: Patterns and names for which Python's matcher takes longer than anybody waits.
BACKTRACKING = [
    ("(?P<model>(a+)+)$", "a" * 40 + "!.log"),
    ("(?P<model>(a|aa)+)$", "a" * 200 + "!"),
    ("(?P<model>(a|a)+)b", "a" * 250),
    ("(?:a*)*(?:a*)*(?:a*)*b", "a" * 250),
    (r"(?P<model>(?:\w+-?)+)\.txt$", "a1" * 100 + ".log"),
    ("(?=(?P<model>(a+)+)$)", "a" * 40 + "!"),
    ("(?:a?){100}a{100}", "a" * 100),
    ("(x+x+)+y", "x" * 250),
    ("(?:(?:(?:){4000}){4000}){4000}y", "x" * 250),
]


@pytest.mark.parametrize(("pattern", "name"), BACKTRACKING)
def test_a_pattern_of_a_path_ends_at_once(pattern: str, name: str, tmp_path: Path) -> None:
    file = tmp_path / "paths.toml"
    file.write_text(f"[[pattern]]\nregex = '{pattern}'\n")
    (loaded,) = load_path_patterns(file)
    wanted = [("a" * 100,)] if pattern == "(?:a?){100}a{100}" else []
    assert [(match[0],) for match in loaded.regex.finditer(name)] == wanted


def test_a_table_of_a_hostile_readme_ends(tmp_path: Path) -> None:
    """The block of commands of the findings: it ran for more than 15 s, and for 30 letters more for years."""
    (tmp_path / "redos").mkdir()
    (tmp_path / "redos/paths.toml").write_text('[[pattern]]\nregex = "(?P<model>(a+)+)$"\nwhere = "any"\n')
    (tmp_path / "logs").mkdir()
    source = next(LOGS.glob("*.log"))
    (tmp_path / "logs" / ("a" * 40 + "!.log")).write_bytes(source.read_bytes())
    (tmp_path / "R.md").write_text("<!-- perflog: table logs --parsers redos --rows devices -->\n<!-- /perflog -->\n")
    assert run("readme", "--check", str(tmp_path / "R.md")).exit_code == 1


def test_what_is_too_costly_is_an_error_and_no_wait(tmp_path: Path) -> None:
    file = tmp_path / "paths.toml"
    for pattern, told in (
        ("(?:a{1,100}){100}", "more than 5,000 parts"),
        ("()" * 101, "more than 100 groups"),
        (r"(?P<a>a)(?P=a)", "back-references"),
        (r"(?>a+)b", "back-references, conditions, atomic groups"),
    ):
        file.write_text(f"[[pattern]]\nregex = '{pattern}'\n")
        with pytest.raises(ParserError) as error:
            load_path_patterns(file)
        assert f"{file}: pattern 1: regex = " in str(error.value) and told in str(error.value)
    looks = LinearPattern("(?:(?!a*b)(?!a*c)(?!a*d)a)*x")
    with pytest.raises(TooCostlyError, match="needs more than 200,000 steps"):
        looks.search("a" * 250)
    assert LinearPattern("a").search("a" * (LONGEST_TEXT + 1)) is None


_PIECES = st.sampled_from(
    ["a", "b", "1", ".", "[ab]", "[^a]", r"\d", r"\w", "_", "(?i:A)", "^", "$", r"\b", "(?<=a)", "(?<!b1)"]
)
_REGEXES = st.recursive(
    _PIECES,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        inner.map(lambda one: f"({one})"),
        inner.map(lambda one: f"(?={one})"),
        inner.map(lambda one: f"(?!{one})"),
        # a repeat of what may match nothing is the one thing that Python reads in a way of its own
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{1,3}", "*?", "+?", "{2}"])).map(
            lambda two: f"(?:{two[0]}a){two[1]}"
        ),
    ),
    max_leaves=8,
)


@given(_REGEXES, st.text(alphabet="ab1A_-", max_size=12))
def test_matches_are_pythons(pattern: str, text: str) -> None:
    """The same place and the same groups, for patterns that Python can match in a short time too."""
    expected, found = re.search(pattern, text), LinearPattern(pattern).search(text)
    assert (expected is None) == (found is None)
    if expected is not None and found is not None:
        groups = range(re.compile(pattern).groups + 1)
        assert [found.span(group) for group in groups] == [expected.span(group) for group in groups]


# ---------------------------------------------------------------- patterns of parsers


def test_where_a_pattern_gave_up_is_found_at_once(tmp_path: Path) -> None:
    parser = parser_from(
        {
            "title": "x", "source": "x", "priority": 99,
            "pattern": [{
                "name": "s", "role": "step", "literal": "STEP", "regex": "STEP (?P<took>(?:a+)+)b{I}",
                "value": [{"group": "took", "quantity": "step_time", "unit": "s"}],
            }],
        },
        tmp_path / "x.toml",
    )  # fmt: skip
    line = "STEP " + "a" * 46 + "c"
    told = gave_up(parser.patterns[0], line).splitlines()
    assert told == [f"  {line}", " " * 53 + "^ expected here: b[0-9]+"]
    assert gave_up(parser.patterns[0], "é" * 3 + " STEP ac").splitlines()[1] == " " * 12 + "^ expected here: b[0-9]+"
    assert "the literal 'STEP' does not occur" in gave_up(parser.patterns[0], "x")


@pytest.mark.parametrize("engine", ["compiled", "polars"])
@pytest.mark.parametrize("regex", ["(?:a+)+b{I}", "(?:a|aa)+b{I}", "(?:a*)*(?:a*)*(?:a*)*b{I}"])
def test_a_parsers_pattern_ends_on_hostile_lines(
    regex: str, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERFLOG_ENGINE", engine)
    (tmp_path / "p").mkdir()
    (tmp_path / "p/x.toml").write_text(
        'title = "x"\nsource = "x"\npriority = 99\n[[pattern]]\nname = "step"\nrole = "step"\nliteral = "STEP"\n'
        f"regex = 'STEP (?P<took>{{I}}){regex}'\n"
        '[[pattern.value]]\ngroup = "took"\nquantity = "step_time"\nunit = "s"\n'
        '[[pattern.sample]]\nline = "STEP 1ab1"\nexpect = { took = 1 }\n'
    )
    log = tmp_path / "a.log"
    log.write_text("".join(f"STEP {number}{'a' * 300}c b1\n" for number in range(200)))
    for command in ("extract", "explain"):
        try:
            done = run(command, str(log), "--parsers", str(tmp_path / "p"))
        except UsageError:
            pytest.skip("the compiled engine is not here")
        assert done.exit_code == 3 or isinstance(done.exception, ParserError), done.output
