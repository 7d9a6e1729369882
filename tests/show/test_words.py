"""Words of pictures in a language: all of a picture's, where a font has them, and else English ones."""

from __future__ import annotations

import logging
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Formatter

import pytest
from typer.testing import CliRunner

from perflog.cli import app
from perflog.extraction import Extraction
from perflog.show import drawing
from perflog.show.drawing import no_words_of_weights
from perflog.show.picture import KINDS, Picture, picture
from tests.show import made
from tests.support import FIXTURES, ROOT

WORDS = tomllib.loads((ROOT / "templates/pictures/words.toml").read_text(encoding="utf-8"))
SEED = str(FIXTURES / "seed004/logs_fp32")
#: What stands in a Chinese picture as it is: names, numbers and what follows from them, units, and a name of a method.
KEPT = re.compile(
    r"PyTorch|PaddlePaddle|TensorFlow|MXNet|ResNet50|fp32|amp|bs\d+|total|samples/s|images/s|MSER-5|n = |[\d.]+\.log|\bn\b"
)


@pytest.fixture
def no_chinese_font(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As on a system on which no font with Chinese characters is installed."""
    monkeypatch.setattr(drawing, "CHINESE_FONTS", ())
    yield


def cases_of(kind: str, count: int = 6) -> Extraction:
    return made.many(count, versions=("2.4", "2.5") if kind == "versions" else ("2.5",))


@cache
def drawn(kind: str, language: str) -> Picture:
    cases = cases_of(kind)
    traces = made.traces(cases) if kind == "steps" else ()
    return picture(cases, kind, "svg", traces, language=language)


def test_every_word_is_there_in_every_language_with_its_places() -> None:
    places = {
        language: {name: sorted(filter(None, (p[1] for p in Formatter().parse(form)))) for name, form in words.items()}
        for language, words in WORDS.items()
    }
    assert WORDS["zh"].keys() == WORDS["en"].keys()
    assert places["zh"] == places["en"]


@pytest.mark.parametrize("kind", KINDS)
def test_no_english_word_is_left_in_a_chinese_picture(kind: str) -> None:
    chinese = drawn(kind, "zh").data.decode()
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", chinese)
    assert any("卡" in text for text in texts)
    assert [text for text in texts if re.search("[A-Za-z]", KEPT.sub("", text))] == []
    assert 'xml:lang="zh-Hans"' in chinese and b"xml:lang" not in drawn(kind, "en").data


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_chinese_picture_shows_is_said_in_chinese(kind: str) -> None:
    told = drawn(kind, "zh").described
    assert "n 次重复的中位数；估计方法 total；" in told and told.endswith("；n = 3")
    assert [word for word in ("hroughput", "version", "median", "warm-up", " of ") if word in told] == []


@pytest.mark.usefixtures("no_chinese_font")
def test_without_a_font_a_png_has_english_words_and_says_so(tmp_path: Path) -> None:
    english, chinese = tmp_path / "en.png", tmp_path / "zh.png"
    assert CliRunner().invoke(app, ["plot", SEED, "-o", str(english), "-q"]).exit_code == 0
    done = CliRunner().invoke(app, ["plot", SEED, "-o", str(chinese), "-q", "--lang", "zh"])
    assert done.exit_code == 0 and chinese.read_bytes() == english.read_bytes()
    assert done.stderr.count("\n") == 1 and "zh.png shows English words: no font that is installed has" in done.stderr


@pytest.mark.usefixtures("no_chinese_font")
def test_an_svg_needs_no_font(tmp_path: Path) -> None:
    out = tmp_path / "zh.svg"
    done = CliRunner().invoke(app, ["plot", SEED, "-o", str(out), "-q", "--lang", "zh"])
    assert (done.exit_code, done.stderr) == (0, "")
    assert "相对单卡的加速比" in out.read_text(encoding="utf-8")


def test_a_language_that_there_is_not_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["plot", SEED, "-o", str(tmp_path / "x.svg"), "--lang", "fr"])
    assert str(done.exception) == "--lang 'fr': expected one of en, zh"


def test_a_font_without_the_weight_asked_for_is_not_talked_of(caplog: pytest.LogCaptureFixture) -> None:
    """What matplotlib says of a font with one weight, such as WenQuanYi Zen Hei, is no word for a user of perflog."""
    log = logging.getLogger("matplotlib.font_manager")
    for said in ("findfont: Failed to find font weight %s for %s, now using %s.", "findfont: something else"):
        with no_words_of_weights():
            log.warning(said, *(("normal", "Zen Hei", 500) if "%s" in said else ()))
    assert [record.getMessage() for record in caplog.records] == ["findfont: something else"]
