"""Tables of loggers become lines of ``key=value``; what is no table of a training stays as it is."""

from __future__ import annotations

import io

import pytest

from perflog.logs.streams import Stream
from perflog.logs.unwrap import unwrapped, wrapping_of


def given(text: str) -> str:
    wrapping = wrapping_of(text.encode())
    if wrapping is None:
        return text
    stream = unwrapped(Stream(io.BytesIO(text.encode()).read), wrapping)
    return b"".join(iter(lambda: stream.read(1 << 16), b"")).decode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Lightning: columns by name, empty fields
        ("epoch,lr,step,train_loss\r\n0,,9,0.5\r\n0,0.1,19,\r\n", "epoch,lr,step,train_loss\r\ncsv epoch=0 step=9 train_loss=0.5\ncsv epoch=0 step=19 lr=0.1\n"),
        # Ultralytics of 2023: padded
        ("   epoch,  train/box_loss, time\n  1,  1.5,  61.5\n  2, nan,  123\n", "   epoch,  train/box_loss, time\ncsv epoch=1 time=61.5 train/box_loss=1.5\ncsv epoch=2 time=123 train/box_loss=nan\n"),
        # Spinning Up: tabs
        ("Epoch\tTotalEnvInteracts\tTime\n0\t4000\t12.3\n", "Epoch\tTotalEnvInteracts\tTime\ncsv Epoch=0 TotalEnvInteracts=4000 Time=12.3\n"),
        # Stable-Baselines3: an evaluation's row lacks the iterations
        ("time/iterations,time/time_elapsed,eval/mean_reward\n1,4,\n,,123.4\n", "time/iterations,time/time_elapsed,eval/mean_reward\ncsv time/iterations=1 time/time_elapsed=4\ncsv eval/mean_reward=123.4\n"),
        # a row that is being written
        ("epoch,step,loss\n0,1,0.5\n0,2,", "epoch,step,loss\ncsv epoch=0 step=1 loss=0.5\ncsv epoch=0 step=2"),
        ("epoch,step,loss\n0,1,0.5\n0,2", "epoch,step,loss\ncsv epoch=0 step=1 loss=0.5\n0,2"),
        ("1777889472123 0.4123 0\n1777889473123 nan 10\n", "mlflow time_ms=1777889472123 value=0.4123 step=0\nmlflow time_ms=1777889473123 value=nan step=10\n"),
        ("1777889472123 0.4123\n", "mlflow time_ms=1777889472123 value=0.4123\n"),
    ],
)  # fmt: skip
def test_tables(text: str, expected: str) -> None:
    assert given(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "name,price,count\na,1,2\nb,2,3\n",  # no column of a training
        "epoch,step,what\n0,1,hello\n",  # a column of words
        "Epoch\tLoss\tNote\n0\t0.5\tgood\n",
        "epoch 1, step 5, loss 0.5\nepoch 1, step 6, loss 0.4\n",  # a program's lines
        "epoch,step\n1,2\n",  # two columns
        "epoch,step,step\n1,2,3\n",
        "epoch,step,loss\n",  # a header alone
        "1777889472123 step 1\n",
        "Training, please wait, step 1\nstep 2\n",
    ],
)
def test_what_is_no_table_stays(text: str) -> None:
    assert given(text) == text
