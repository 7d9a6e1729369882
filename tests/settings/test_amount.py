"""Amounts of training and windows, as users write them."""

from __future__ import annotations

import pytest

from perflog.errors import UsageError
from perflog.settings.options import AUTO, Amount, Scalar, Window, amount, window_of


@pytest.mark.parametrize(
    ("text", "read", "shown"),
    [
        ("100", Amount(100, "steps"), "100 steps"),
        (100, Amount(100, "steps"), "100 steps"),
        ("1step", Amount(1, "steps"), "1 step"),
        ("2epochs", Amount(2, "epochs"), "2 epochs"),
        (" 1 epoch ", Amount(1, "epochs"), "1 epoch"),
        ("10records", Amount(10, "records"), "10 records"),
        ("10prints", Amount(10, "records"), "10 records"),
        ("30s", Amount(30, "s"), "30s"),
        ("1.5sec", Amount(1.5, "s"), "1.5s"),
        ("2 seconds", Amount(2, "s"), "2s"),
        ("12.5%", Amount(12.5, "%"), "12.5%"),
        ("AUTO", AUTO, "auto"),
        ("0", Amount(0, "steps"), "0 steps"),
    ],
)
def test_an_amount(text: Scalar, read: Amount, shown: str) -> None:
    assert amount(text, "--warmup") == read
    assert str(read) == shown


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("many", "--warmup 'many': expected a number of steps (100), or 2epochs, 10records, 30s, 10%, auto"),
        ("-5", "--warmup '-5': expected a number of steps"),
        ("", "--warmup '': expected a number of steps"),
        ("5 apples", "--warmup '5 apples': expected a number of steps"),
        (True, "--warmup True: expected a number of steps"),
        ("1.5", "--warmup '1.5': expected a whole number of steps"),
        ("1.5epochs", "--warmup '1.5epochs': expected a whole number of epochs"),
        ("100%", "--warmup '100%': 100% or more leaves nothing"),
    ],
)
def test_what_is_no_amount(text: Scalar, message: str) -> None:
    with pytest.raises(UsageError) as error:
        amount(text, "--warmup")
    assert str(error.value).startswith(message)


def test_windows() -> None:
    assert str(window_of("20", None, None)) == "warm-up 20 steps"
    assert str(window_of("20", "100", None)) == "warm-up 20 steps, then 100 steps"
    assert str(window_of("auto", "10records", None)) == "warm-up auto, then 10 records"
    assert window_of(20, None, "25records") == Window(Amount(20), None, Amount(25, "records"))
    assert str(window_of("20", None, "25records")) == "last 25 records"


@pytest.mark.parametrize(
    ("warmup", "steps", "last", "message"),
    [
        ("20", "2epochs", None, "--steps '2 epochs': expected steps (100) or records (100records)"),
        ("20", None, "30s", "--last '30s': expected steps (100) or records (25records)"),
        ("20", "100", "100", "--last and --steps exclude each other"),
        ("20", "10records", None, "--warmup and --steps must both be in steps, or both in records"),
        ("20records", "10", None, "--warmup and --steps must both be in steps, or both in records"),
        ("x", None, None, "--warmup 'x': expected a number of steps"),
    ],
)
def test_amounts_that_do_not_go_together(warmup: str, steps: str | None, last: str | None, message: str) -> None:
    with pytest.raises(UsageError) as error:
        window_of(warmup, steps, last)
    assert str(error.value).startswith(message)
