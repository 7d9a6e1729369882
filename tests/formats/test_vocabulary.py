"""Values in the form in which they are compared."""

from __future__ import annotations

import pytest

from perflog.formats.vocabulary import normal


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("devices", "8", 8),
        ("batch_size", "1,024", 1024),
        ("devices", "0", None),
        ("devices", "²", None),
        ("devices", "٣", None),
        ("devices", "eight", None),
        ("devices", "1" * 5000, None),
        ("repeat", "0", 0),
        ("repeat", "3", 3),
        ("precision", "Float32", "fp32"),
        ("precision", "mixed", "amp"),
        ("precision", "FP8", "fp8"),
        ("model", "'rn50'", "rn50"),
        ("model", " None ", None),
        ("model", "nan", None),
    ],
)
def test_a_value_in_its_normal_form(key: str, text: str, value: object) -> None:
    assert normal(key, text) == value
