"""Measurements that leave memory come back as they were, in order."""

from __future__ import annotations

import numpy as np
import pytest

from perflog.measurements import rows as store
from perflog.measurements.rows import FIELDS, Floats, Store, Values


def block(first: int, count: int) -> Floats:
    """Rows of which some columns rise by equal steps, one is constant and the others are neither."""
    rows = np.empty((len(FIELDS), count))
    rows[0] = np.arange(first, first + count)
    rows[1] = rows[0] + 1
    rows[2] = 1
    rows[3] = np.sin(rows[0])
    rows[4] = 0.1 * rows[0]
    rows[5] = rows[0] ** 2
    rows[6] = np.where(rows[0] % 7 == 3, np.nan, 0)
    return rows


@pytest.mark.parametrize("most", [0, 1000, 3000, 1 << 20])
def test_blocks_come_back_bit_by_bit_and_in_order(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "IN_MEMORY", most)
    kept, blocks = Store(), [block(0, 20), block(20, 1), np.empty((len(FIELDS), 0)), block(21, 30), block(51, 4)]
    for rows in blocks:
        kept.append(rows.copy())
    assert kept.count == 55
    for _ in range(2):  # and once more
        whole = np.concatenate(list(kept.blocks()), axis=1)
        assert whole.tobytes() == np.concatenate(blocks, axis=1).tobytes()


def test_blocks_may_be_added_after_some_were_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "IN_MEMORY", 100)
    kept, blocks = Store(), [block(0, 5), block(5, 5), block(10, 5)]
    for rows in blocks:
        kept.append(rows.copy())
        assert sum(part.shape[1] for part in kept.blocks()) == kept.count
        next(kept.blocks())  # and some were read in part
    assert np.concatenate(list(kept.blocks()), axis=1).tobytes() == np.concatenate(blocks, axis=1).tobytes()


def test_an_empty_store_has_no_blocks() -> None:
    assert (list(Store().blocks()), Store().count) == ([], 0)


@pytest.mark.parametrize("most", [0, 100, 1 << 20])
def test_values_come_back_and_may_be_sorted_in_place(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "IN_MEMORY", most)
    values = Values()
    for part in ([3.0, 1.0], [2.0] * 20, [5.0, 4.0]):
        values.append(np.array(part))
    array = values.array()
    assert (values.count, array.tolist()) == (24, [3, 1, *[2] * 20, 5, 4])
    array.sort()
    assert array[-2:].tolist() == [4, 5]


def test_no_values() -> None:
    assert Values().array().tolist() == []
