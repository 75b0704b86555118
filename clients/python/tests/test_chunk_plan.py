"""chunk_plan: B99 to B107."""

import pytest

from outtray import InvalidError, UploadClient, chunk_plan
from outtray.testing import FakeSidecar

MIB = 1 << 20


def sizes(plan):
    return [one["end"] - one["start"] for one in plan]


def test_B99_the_same_numbers_give_the_same_plan():
    assert chunk_plan(100 * MIB) == chunk_plan(100 * MIB)
    assert UploadClient(sidecar=FakeSidecar()).chunk_plan(30, min=8, max=20) == chunk_plan(
        30, min=8, max=20
    )


def test_B100_ranges_of_max_until_all_is_covered():
    assert chunk_plan(48, min=8, max=20) == [
        {"start": 0, "end": 20},
        {"start": 20, "end": 40},
        {"start": 40, "end": 48},
    ]
    assert sizes(chunk_plan(50 * MIB)) == [20 * MIB, 20 * MIB, 10 * MIB]


def test_B101_an_exact_multiple_gives_equal_ranges():
    assert sizes(chunk_plan(60, min=8, max=20)) == [20, 20, 20]


def test_B102_B103_the_rest():
    assert sizes(chunk_plan(47, min=8, max=20)) == [20, 27]
    assert sizes(chunk_plan(48, min=8, max=20)) == [20, 20, 8]


def test_B104_D9_less_than_min_is_one_range():
    assert sizes(chunk_plan(7, min=8, max=20)) == [7]
    assert sizes(chunk_plan(1)) == [1]
    assert chunk_plan(0) == [{"start": 0, "end": 0}]


@pytest.mark.parametrize("size", [-1, 1.5, float("nan"), "1", None, True, 1 << 53])
def test_B105_sizes_that_are_none(size):
    with pytest.raises(InvalidError, match="size"):
        chunk_plan(size)


def test_B106_min_and_max():
    with pytest.raises(InvalidError, match="min"):
        chunk_plan(1, min=0)
    with pytest.raises(InvalidError, match=r"max \(7\) is smaller than min \(8\)"):
        chunk_plan(1, min=8, max=7)
    with pytest.raises(InvalidError, match="100000 ranges"):
        chunk_plan(10_000_000, min=1, max=1)


def test_B107_every_plan_is_whole():
    for size in range(1, 201):
        plan = sizes(chunk_plan(size, min=8, max=20))
        assert sum(plan) == size
        if len(plan) > 1:
            assert min(plan) >= 8 and set(plan[:-1]) == {20} and plan[-1] <= 27
