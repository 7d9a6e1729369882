"""The stamps on many lines at once: what each line gives by itself."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perflog.evidence.clock import Kind, moments_of
from perflog.formats.moments import moment_by_shape
from tests.support import examples

DIGITS = st.from_regex(r"\A[0-9]{2}\Z")
HEADS = st.one_of(
    st.from_regex(
        rb"\A[\[ (]?20[0-9]{2}[-/][01][0-9][-/][0-3][0-9][ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.,][0-9]{1,9})? - \Z"
    ),
    st.from_regex(rb"\A\[?[012][0-9]:[0-5][0-9]:[0-6][0-9]([.,][0-9]{3})?\] \Z"),
    st.from_regex(rb"\AI[01][0-9][0-3][0-9] [0-2][0-9]:[0-5][0-9]:[0-5][0-9]\.[0-9]{6} 42 a\.cpp:1\] \Z"),
    st.from_regex(rb"\A(Feb|May|Mon|Oct) [0-3][0-9] [0-2][0-9]:[0-5][0-9]:[0-5][0-9] (2024 )?host: \Z"),
    st.from_regex(rb"\A20[0-9]{2}-0[0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]\.[0-9]{3}Z step \Z"),
    st.sampled_from([b"", b"step ", b"loss 00:00:00", b"2024-13-45 10:00:00 "]),
)


@settings(max_examples=examples(37), deadline=None)
@given(st.lists(HEADS, max_size=12), st.integers(1, 3))
@pytest.mark.long
def test_as_line_by_line(heads: list[bytes], times: int) -> None:
    moments = moments_of(heads * times)
    for head, seconds, kind in zip(heads * times, moments.seconds.tolist(), moments.kind.tolist(), strict=True):
        moment = moment_by_shape(head)
        if moment is None:
            assert kind == -1
            assert seconds != seconds
        else:
            assert (seconds, moments.kinds[kind]) == (
                moment.seconds,
                Kind(moment.form, moment.resolution, moment.collected),
            )


def test_two_lines_of_one_day() -> None:
    moments = moments_of([b"[2024-02-29 10:00:00.250] ", b"[2024-02-29 23:59:01.500] ", b"step "])
    assert (moments.seconds[1] - moments.seconds[0]).item() == 13 * 3600 + 59 * 60 + 1.25
    assert moments.kind.tolist() == [0, 0, -1]
    assert moments.kinds == (Kind("year-month-day", 0.001, False),)
