"""What all pictures have in common: colours, the bytes of a figure, and text that is shown as it is.

An SVG has no background, and every colour in it can be read on white and on the dark ground of a README: at least 3 : 1
for lines and marks, 4 : 1 for text (WCAG 2.2 asks for 3 and 4.5; no grey reaches 4.5 on both). PNG and PDF are white.
The colours follow Okabe & Ito (*Color Universal Design*, 2008), which the colour-blind tell apart; those that are too
light for white or too dark for black are replaced, and every series has a marker too. The same data always give the
same bytes, so that a README's picture can be checked.
"""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from zlib import crc32

from perflog.escaping import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("svg", "png", "pdf")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#C2689B", "#7F7F7F", "#3D9BD1", "#B0413E", "#6B8E00")
#: Text and axes on any ground, and on white alone; lines of reference; grids and shades, to be drawn with an alpha.
INK, INK_ON_WHITE, LINE, SHADE = "#767676", "#3b4248", "#7f7f7f", "#808080"
GRID: dict[str, Any] = {"color": SHADE, "linewidth": 0.6, "alpha": 0.28}
#: The place among :data:`COLOURS` of frameworks that everybody knows; others have one by their name.
_FRAMEWORKS = {
    "paddlepaddle": 0, "pytorch": 1, "tensorflow": 2, "mxnet": 3, "keras": 4, "mindspore": 5, "oneflow": 6, "jax": 7,
}  # fmt: skip

#: Fonts with Chinese characters that systems bring along or offer, those of even weight first.
CHINESE_FONTS = (
    "Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "Source Han Sans CN", "PingFang SC", "Hiragino Sans GB",
    "Heiti SC", "Microsoft YaHei", "SimHei", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Droid Sans Fallback",
    "Noto Sans CJK JP", "Arial Unicode MS", "SimSun", "Noto Serif CJK SC",
)  # fmt: skip
#: Code points that are no characters, which XML does not hold (XML 1.0, 2.2).
_NO_XML = dict.fromkeys((0xFFFE, 0xFFFF), "?")
_SETTINGS: dict[str, Any] = {
    "svg.hashsalt": "perflog", "svg.fonttype": "none", "pdf.fonttype": 42, "font.size": 10,
    "font.sans-serif": ["DejaVu Sans"], "axes.spines.top": False,
    "axes.spines.right": False, "axes.facecolor": "none", "figure.facecolor": "none", "axes.linewidth": 0.8,
    "axes.titley": 1.0,  # where it stands anyway: left to itself, matplotlib measures all ticks to find that out
}  # fmt: skip
#: What an SVG says of its language: without it browsers may take any font that has the characters.
_LANGUAGE_TAGS = {"zh": b"zh-Hans"}
#: What each form says of its maker and its date: a date would change the bytes.
_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None}, "png": {"Software": "perflog"}, "pdf": {"CreationDate": None, "Producer": "perflog"},
}  # fmt: skip


def rendered(make: Callable[[], Figure], form: str, language: str = "en") -> bytes:
    """The figure that ``make`` gives, as SVG, PNG or PDF.

    Figures are matplotlib's objects without its pyplot, so that the backend of the program that calls is left alone.
    """
    return rendered_with_gaps(make, form, language)[0]


def rendered_with_gaps(make: Callable[[], Figure], form: str, language: str = "en") -> tuple[bytes, str]:
    """The same, and the characters for which no font is installed: PNG and PDF show a box for each.

    An SVG holds its text as text, for which whoever shows it has a font, and names the language that chooses it.
    """
    from matplotlib import rc_context

    ink = INK if form == "svg" else INK_ON_WHITE
    inks: Any = dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), ink)
    with rc_context(_SETTINGS | inks), warnings.catch_warnings(), no_words_of_weights():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # the caller says it in plain words
        figure, gaps = make(), ""
        if form != "svg":
            font, gaps = font_for(without_glyph(_texts_of(figure)))
            if font:
                with rc_context({"font.family": [*_SETTINGS["font.sans-serif"], font]}):
                    return _bytes_of(make(), form), gaps
        data = _bytes_of(figure, form)
        tag = _LANGUAGE_TAGS.get(language) if form == "svg" else None
        return data.replace(b"<svg ", b'<svg xml:lang="%s" ' % tag, 1) if tag else data, gaps


@contextmanager
def no_words_of_weights() -> Iterator[None]:
    """Keep matplotlib from saying that a font has not the weight asked for: many Chinese fonts have a single one."""

    def other(record: logging.LogRecord) -> bool:
        return "font weight" not in record.msg

    log = logging.getLogger("matplotlib.font_manager")
    log.addFilter(other)
    try:
        yield
    finally:
        log.removeFilter(other)


def _bytes_of(figure: Figure, form: str) -> bytes:
    out = io.BytesIO()
    ground = "none" if form == "svg" else "white"
    figure.savefig(out, format=form, dpi=160, facecolor=ground, edgecolor="none", metadata=_METADATA[form])
    return out.getvalue()


def _texts_of(figure: Figure) -> str:
    """All characters of a figure's texts."""
    from matplotlib.text import Text

    return "".join(text.get_text() for text in figure.findobj(Text) if isinstance(text, Text))


def without_glyph(text: str, family: str = "DejaVu Sans") -> str:
    """The characters of a text that a font does not have, each once and in order."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    with no_words_of_weights():
        glyphs = get_font(findfont(FontProperties(family=family))).get_charmap()
    return "".join(sorted({character for character in text if ord(character) not in glyphs and character > " "}))


def font_for(characters: str) -> tuple[str, str]:
    """The installed font that has most of these characters, and those that it lacks; "" where no font has any."""
    from matplotlib.font_manager import fontManager

    if not characters:
        return "", ""
    names = {entry.name for entry in fontManager.ttflist}
    lacks = {name: without_glyph(characters, name) for name in CHINESE_FONTS if name in names}
    best = min(lacks, key=lambda name: len(lacks[name]), default="")
    return (best, lacks[best]) if best and len(lacks[best]) < len(characters) else ("", characters)


def ink() -> str:
    """The colour of text in the picture that is being made."""
    from matplotlib import rcParams

    return str(rcParams["text.color"])


def colour_of(framework: str) -> str:
    """A framework's colour, the same in every picture that tells frameworks apart."""
    name = framework.lower()
    return COLOURS[_FRAMEWORKS.get(name, crc32(name.encode("utf-8", "replace")) % len(COLOURS))]


def plain(text: str) -> str:
    """Text from logs and paths that matplotlib shows as it is: a dollar begins no formula, and nothing breaks SVG."""
    return visible(text).translate(_NO_XML).replace("$", r"\$")
