"""The allocator of a device's memory: chunks, units, blocks kept, and that nothing gets lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.engine.data.pool import Pool
from tasksim.platform.costs import Allocation

FREE, ONE = (0, 0), (1, 0)


def pool(limit, chunk=16.0, unit=4.0, largest=8.0, usable=1.0):
    return Pool(
        limit,
        Allocation(chunk_bytes=chunk, unit_bytes=unit, largest_bytes=largest, usable=usable),
    )


def test_one_allocation_by_the_driver_serves_a_whole_chunk():
    """A chunk of 16 has four units of 4: two blocks of 5 take two units each."""
    small = pool(100)
    assert [small.allocate(5), small.allocate(5), small.allocate(5)] == [ONE, FREE, ONE]


def test_nine_tiles_of_a_megabyte_and_a_half_share_a_chunk_of_cuda():
    """StarPU on mirage: 960 x 960 floats are 225 units of 16 KiB, a chunk has 2048."""
    real = Pool(5e9, Allocation())
    found = [real.allocate(960 * 960 * 4) for _ in range(19)]
    assert [number for number, cost in enumerate(found) if cost == ONE] == [0, 9, 18]


def test_large_blocks_are_allocated_one_by_one_and_kept_for_the_next_of_their_size():
    large = pool(100)
    assert large.allocate(10) == ONE
    large.give_back(10)
    assert large.allocate(10) == FREE
    assert large.allocate(11) == ONE


def test_kept_blocks_are_released_when_their_room_is_needed():
    large = pool(40)
    for _ in range(3):
        assert large.allocate(10) == ONE
    for _ in range(3):
        large.give_back(10)
    assert large.allocate(25) == (1, 2)  # 10 are free: two of the three must go
    assert large.allocate(10) == FREE
    assert large.allocate(10) is None


def test_a_memory_that_is_full_refuses():
    full = pool(20)
    assert full.allocate(10) == ONE
    assert full.allocate(10) == ONE
    assert full.allocate(10) is None
    assert full.allocate(1) is None


def test_where_no_chunk_fits_a_block_is_allocated_alone():
    tight = pool(12)
    assert tight.allocate(8) == ONE
    assert tight.allocate(4) == ONE
    assert tight.allocate(1) is None


def test_only_the_usable_part_is_used():
    assert pool(100, usable=0.5).fits([20, 20, 10])
    assert not pool(100, usable=0.5).fits([20, 20, 11])


def test_blocks_fit_as_whole_units():
    """Of 1 byte each, four take the units of 16 bytes; what is large is not rounded."""
    assert pool(16).fits([1, 1, 1, 1])
    assert not pool(16).fits([1, 1, 1, 1, 1])
    assert pool(17).fits([9, 8])
    assert not pool(17).fits([9, 9])


def test_what_is_left_in_several_chunks_makes_a_block_together():
    two = pool(32)
    for _ in range(8):
        two.allocate(4)
    two.give_back(4)
    two.give_back(4)
    assert two.allocate(8) is not None
    assert two.allocate(1) is None


def test_what_is_left_in_chunks_makes_room_for_large_blocks():
    """A small block took a chunk of 16 out of 24; given back, 24 are free again."""
    mixed = pool(24)
    assert mixed.allocate(1) == ONE
    assert mixed.allocate(10) is not None
    assert mixed.allocate(10) is not None
    assert mixed.allocate(1) is None


SETTINGS = st.sampled_from(
    [{}, {"largest": 0.0}, {"largest": 16.0}, {"unit": 1.0}, {"unit": 3.0, "largest": 13.0}]
)
STEPS = st.lists(st.tuples(st.booleans(), st.integers(1, 20)), max_size=40)


@given(st.integers(10, 90), SETTINGS, STEPS)
def test_whatever_fits_is_allocated_and_nothing_that_does_not(limit, settings, steps):
    """The free room is what is not in use, rounded to units, whatever happened before."""
    tested, used = pool(float(limit), **settings), []
    for allocate, number in steps:
        if allocate:
            fits = tested.fits([*used, number])
            assert (tested.allocate(number) is not None) == fits
            used += [number] * fits
        elif used:
            tested.give_back(used.pop(number % len(used)))


@given(st.integers(10, 90), SETTINGS, STEPS)
def test_nothing_gets_lost(limit, settings, steps):
    """After any history, when all is given back, the whole memory can be allocated again."""
    tested, used = pool(float(limit), **settings), []
    for allocate, number in steps:
        if not allocate:
            if used:
                tested.give_back(used.pop(number % len(used)))
        elif tested.allocate(number) is not None:
            used.append(number)
    for size in used:
        tested.give_back(size)
    assert tested.allocate(limit) is not None or not tested.fits([limit])


@pytest.mark.parametrize("size", [4, 10])
def test_the_driver_allocates_no_more_than_it_must(size):
    """Given back and taken again, blocks cost nothing, large or small."""
    again = pool(100)
    again.allocate(size)
    for _ in range(5):
        again.give_back(size)
        assert again.allocate(size) == FREE
