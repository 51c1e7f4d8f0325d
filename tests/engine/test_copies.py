"""The state of data: who has what, and in which order data leave a memory."""

from __future__ import annotations

from copy import deepcopy

import pytest
from scripted import GPU0, GPU1, RAM, machine, tasks

from tasksim.engine.data.copies import Copies
from tasksim.engine.data.pool import Pool
from tasksim.engine.data.store import Store
from tasksim.graph.builder import R
from tasksim.platform.description import Allocation


def store(*handles):
    """A store with these data, all valid elsewhere, the first used the longest ago."""
    made = Store(Pool(100, Allocation()), [1] * 10, [1 << RAM] * 10, GPU0)
    for handle in handles:
        made.settle(handle)
    return made


def leaving(made, keep_wanted=False, size=1):
    """The data that may leave, in order."""
    made, found = deepcopy(made), []
    while (victim := made.victim(size, keep_wanted=keep_wanted)) is not None:
        found.append(victim)
        made.drop(victim)
    return found


def test_the_least_recently_used_leaves_first():
    made = store(1, 2, 3)
    made.touch(1)
    assert leaving(made) == [2, 3, 1]
    made.take(2)
    assert leaving(made) == [3, 1, 2]


def test_what_is_not_here_is_not_touched():
    made = store(1)
    made.touch(9)
    made.take(9)
    assert leaving(made) == [1]


def test_what_is_in_use_stays_until_the_last_user_has_gone():
    made = store(1, 2)
    made.pin(1)
    made.pin(1)
    assert leaving(made) == [2]
    made.unpin(1)
    assert leaving(made) == [2]
    made.unpin(1)
    assert leaving(made) == [1, 2]


def test_what_was_brought_ahead_stays_if_so_asked_until_all_have_taken_it():
    made = store(1, 2)
    made.want(1)
    made.want(1)
    assert leaving(made, keep_wanted=True) == [2]
    assert leaving(made) == [2, 1]  # to want is to use
    made.take(1)
    assert leaving(made, keep_wanted=True) == [2]
    made.take(1)
    assert leaving(made, keep_wanted=True) == [2, 1]


def test_what_nobody_needs_leaves_first():
    copies = Copies(tasks((1, [(R, 0)])), machine(size=100))
    for handle in (0, 1, 2):
        copies.settle(handle, GPU0)
    copies.will_not_be_used(2)
    assert leaving(copies.stores[GPU0], size=3) == [2, 0, 1]


@pytest.fixture
def copies():
    return Copies(tasks((1, [(R, 0)])), machine(devices=2, size=100))


def test_at_first_data_are_at_home(copies):
    assert copies.valid == [1 << RAM] * 4
    assert copies.places == [1 << RAM] * 4


def test_readers_share_and_a_writer_owns(copies):
    copies.read(0, GPU0)
    copies.read(0, GPU1)
    assert copies.valid[0] == 1 << RAM | 1 << GPU0 | 1 << GPU1
    assert not copies.is_last(0, GPU1)
    copies.write(0, GPU1)
    assert copies.is_last(0, GPU1)


def test_places_and_bytes_are_counted(copies):
    copies.settle(0, GPU0)
    copies.settle(1, GPU0)
    assert copies.stores[GPU0].used_bytes == 6
    copies.read(0, GPU0)
    copies.drop(0, GPU0)
    assert copies.stores[GPU0].used_bytes == 3
    assert copies.places[0] == 1 << RAM
    assert copies.valid[0] == 1 << RAM


def test_only_copies_that_were_valid_count_as_evicted(copies):
    for handle in (0, 1):
        copies.settle(handle, GPU0)
    copies.read(0, GPU0)
    copies.drop(0, GPU0)
    copies.drop(1, GPU0)
    assert copies.evictions == 1


def test_the_memory_where_data_live_has_no_limit_nor_have_those_without_size():
    assert Copies(tasks(), machine(size=9)).stores[RAM] is None
    assert Copies(tasks(), machine(size=None)).stores[GPU0] is None
    assert Copies(tasks(), machine(size=9)).stores[GPU0] is not None
