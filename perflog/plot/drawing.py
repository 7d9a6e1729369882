"""What all pictures have in common.

The background is white whatever the page's theme. The colours are those of Okabe & Ito (*Color Universal Design*,
2008), which the colour-blind tell apart. The same data always give the same bytes, so that a README's picture can be
checked.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from perflog.escaping import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("svg", "png")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")


#: Code points that are no characters, which XML does not hold (XML 1.0, 2.2).
_NO_XML = dict.fromkeys((0xFFFE, 0xFFFF), "?")
_SETTINGS = {
    "svg.hashsalt": "perflog", "svg.fonttype": "none", "font.size": 10, "axes.spines.top": False,
    "axes.spines.right": False,
}  # fmt: skip


def rendered(make: Callable[[], Figure], form: str) -> bytes:
    """The figure that ``make`` gives, as SVG or PNG.

    Figures are matplotlib's objects without its pyplot, so that the backend of the program that calls is left alone.
    """
    from matplotlib import rc_context

    settings: Any = _SETTINGS
    with rc_context(settings):
        figure = make()
        out = io.BytesIO()
        metadata: Any = {"Date": None} if form == "svg" else {"Software": "perflog"}
        figure.savefig(out, format=form, dpi=160, facecolor="white", metadata=metadata)
    return out.getvalue()


def plain(text: str) -> str:
    """Text from logs and paths that matplotlib shows as it is: a dollar begins no formula, and nothing breaks SVG."""
    return visible(text).translate(_NO_XML).replace("$", r"\$")
