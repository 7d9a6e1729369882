"""Pictures: they say what they show, and the same logs give the same bytes."""

from __future__ import annotations

import pytest

from perflog.errors import UsageError
from perflog.plot import described, picture
from tests.support import FIXTURES, extracted

SEED = FIXTURES / "seed004"


@pytest.mark.parametrize(
    ("kind", "texts"), [("scaling", ["samples/s", "ideal", "fp16 bs256", "fp32 bs128", "n = 5"]), ("spread", ["32 devices (n = 5)", "1 device (n = 5)"])]
)
def test_a_picture_says_what_it_shows(kind: str, texts: list[str]) -> None:
    extraction = extracted(SEED, warmup=100, steps=100)
    drawn = picture(extraction, kind, "svg").decode()
    assert [text for text in texts if text not in drawn] == []
    assert picture(extraction, kind, "svg").decode() == drawn
    assert picture(extraction, kind, "png").startswith(b"\x89PNG")
    assert "n = 5" in described(extraction, kind)


def test_what_cannot_be_drawn_is_said() -> None:
    with pytest.raises(UsageError, match="no case has a value"):
        picture(extracted(FIXTURES / "seed001", warmup=100000), "scaling", "svg")
