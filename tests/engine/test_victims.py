"""Victims of eviction: found without a walk over the whole memory, the same as by that walk."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import GPU0, GPU1, RAM, machine, tasks
from tiers import few

from tasksim.engine.data.copies import Copies
from tasksim.engine.data.store import MAX_HEAP_ENTRIES_PER_DATUM
from tasksim.graph.builder import R

SIZES = [3, 3, 3, 2, 2, 3]


def full():
    """Copies on a machine of two devices; all data are in the memory of the first, and at home."""
    copies = Copies(tasks((1, [(R, 0)])), machine(devices=2, size=1000))
    copies.size[:] = SIZES
    for column in (copies.valid, copies.places):
        column[:] = [1 << RAM] * len(SIZES)
    copies.coming[:] = [0] * len(SIZES)
    for handle in range(len(SIZES)):
        copies.settle(handle, GPU0)
        copies.read(handle, GPU0)
    return copies, copies.stores[GPU0]


def test_the_first_of_equal_size_leaves_though_others_come_before():
    copies, store = full()
    copies.search(store)
    assert store.victim(2, keep_wanted=False) == 3
    assert store.victim(3, keep_wanted=False) == 0
    assert store.victim(9, keep_wanted=False) is None


def test_what_was_passed_is_found_when_it_is_free_again():
    copies, store = full()
    copies.search(store)
    store.pin(0)
    store.pin(3)
    assert store.victim(3, keep_wanted=False) == 1
    assert store.victim(2, keep_wanted=False) == 4
    store.unpin(3)
    assert store.victim(2, keep_wanted=False) == 3
    store.unpin(0)
    assert store.victim(3, keep_wanted=False) == 0


def test_what_was_passed_leaves_last_once_it_is_used():
    copies, store = full()
    copies.search(store)
    store.pin(0)
    assert store.victim(3, keep_wanted=False) == 1
    store.take(0)
    store.unpin(0)
    assert store.victim(3, keep_wanted=False) == 1
    for handle in (1, 2, 5):
        store.drop(handle)
    assert store.victim(3, keep_wanted=False) == 0


def test_a_prefetch_passes_what_others_want_and_a_fetch_does_not():
    copies, store = full()
    copies.search(store)
    store.want(3)
    store.want(4)
    assert store.victim(2, keep_wanted=True) is None
    assert store.victim(2, keep_wanted=False) == 3
    store.take(4)
    assert store.victim(2, keep_wanted=True) == 4


def test_the_only_copy_may_leave_once_it_is_valid_elsewhere():
    copies, store = full()
    copies.search(store)
    copies.write(0, GPU0)
    assert store.victim(3, keep_wanted=False) == 1
    assert store.only_copies(1, keep_wanted=False) == [0]
    copies.read(0, RAM)
    assert store.victim(3, keep_wanted=False) == 0
    assert store.only_copies(1, keep_wanted=False) == []
    copies.drop(0, RAM)
    assert store.victim(3, keep_wanted=False) == 1
    assert store.only_copies(1, keep_wanted=False) == [0]


def test_only_copies_are_written_back_in_order_until_they_are_large_enough():
    copies, store = full()
    copies.search(store)
    for handle in (5, 4, 3, 0):
        copies.write(handle, GPU0)
    assert store.only_copies(1, keep_wanted=False) == [0]
    assert store.only_copies(4, keep_wanted=False) == [0, 3]
    assert store.only_copies(99, keep_wanted=False) == [0, 3, 4, 5]
    store.pin(3)
    assert store.only_copies(4, keep_wanted=False) == [0, 4]


def test_what_nobody_needs_comes_first_also_when_it_was_passed_before():
    copies, store = full()
    copies.search(store)
    store.pin(0)
    assert store.victim(3, keep_wanted=False) == 1
    copies.will_not_be_used(5)
    copies.will_not_be_used(1)
    assert store.victim(3, keep_wanted=False) == 5
    store.touch(5)
    assert next(store.victims(keep_wanted=False)) == 5
    store.drop(5)
    assert store.victim(3, keep_wanted=False) == 1


def test_what_is_sorted_does_not_grow_with_the_number_of_searches():
    copies, store = full()
    copies.search(store)
    for _ in range(1000):
        for handle in (0, 1, 2, 3):
            store.touch(handle)
        assert store.victim(2, keep_wanted=False) == 4
        assert store.victim(9, keep_wanted=False) is None
    entries = sum(len(heap) for heap in store._candidates._heaps.values())
    assert entries <= MAX_HEAP_ENTRIES_PER_DATUM * len(SIZES) * len(store._candidates._heaps)


class Plain:
    """The same by a walk over everything, in the order in which it leaves."""

    def __init__(self, copies):
        self.copies = copies
        self.recent, self.unneeded = list(range(len(SIZES))), []
        self.pinned, self.wanted = Counter(), Counter()

    def touch(self, handle):
        if handle in self.recent:
            self.recent.remove(handle)
            self.recent.append(handle)

    def want(self, handle):
        self.wanted[handle] += 1
        self.touch(handle)

    def take(self, handle):
        self.wanted[handle] = max(0, self.wanted[handle] - 1)
        self.touch(handle)

    def will_not_be_used(self, handle):
        if handle in self.recent:
            self.recent.remove(handle)
            self.unneeded.append(handle)

    def drop(self, handle):
        for order in (self.recent, self.unneeded):
            if handle in order:
                order.remove(handle)
        self.wanted[handle] = 0

    def walk(self, keep_wanted, *, only):
        """All that may leave, the only copies or the others."""
        return [
            handle
            for handle in self.unneeded + self.recent
            if not self.pinned[handle]
            and not (keep_wanted and self.wanted[handle])
            and self.copies.is_last(handle, GPU0) is only
        ]

    def only_copies(self, size, keep_wanted):
        found = []
        for handle in self.walk(keep_wanted, only=True):
            if size <= 0:
                break
            found.append(handle)
            size -= SIZES[handle]
        return found


SEARCHES = ("victim", "victims", "only copies")
MEMORY_MOVES = (
    "touch", "take", "want", "pin", "unpin", "read", "write", "write here", "leave", "drop",
    "settle", "hint", *SEARCHES,
)  # fmt: skip


@settings(max_examples=few(300), deadline=None)
@given(
    moves=st.lists(
        st.tuples(st.sampled_from(MEMORY_MOVES), st.integers(0, len(SIZES) - 1), st.booleans()),
        max_size=40,
    )
)
def test_the_same_victims_as_by_a_walk_over_everything(moves):
    copies, store = full()
    plain = Plain(copies)
    for move, handle, keep_wanted in moves:
        play(move, handle, copies, store, plain, keep_wanted=keep_wanted)


def play(move, handle, copies, store, plain, *, keep_wanted):
    """Make a move on both sides, and compare what they find."""
    here = copies.places[handle] >> GPU0 & 1
    free = plain.walk(keep_wanted, only=False)
    if move in SEARCHES:
        copies.search(store)
    if move in ("touch", "take", "want"):
        getattr(store, move)(handle)
        getattr(plain, move)(handle)
    elif move == "pin":
        store.pin(handle)
        plain.pinned[handle] += 1
    elif move == "unpin" and plain.pinned[handle]:
        store.unpin(handle)
        plain.pinned[handle] -= 1
    elif move == "read":
        copies.read(handle, GPU1 if keep_wanted else RAM)
    elif move == "write":
        copies.write(handle, RAM)
    elif move == "write here" and here:
        copies.write(handle, GPU0)
    elif move == "leave" and copies.valid[handle] != 1 << RAM:
        copies.drop(handle, RAM)
    elif move == "drop" and here:
        copies.drop(handle, GPU0)
        plain.drop(handle)
    elif move == "settle" and not here:
        copies.settle(handle, GPU0)
        plain.recent.append(handle)
    elif move == "hint":
        copies.will_not_be_used(handle)
        plain.will_not_be_used(handle)
    elif move == "victim":
        equal = [h for h in free if SIZES[h] == SIZES[handle]]
        found = store.victim(SIZES[handle], keep_wanted=keep_wanted)
        assert found == (equal[0] if equal else None)
    elif move == "victims":
        for place, victim in enumerate(store.victims(keep_wanted=keep_wanted)):
            assert victim == free[place]
            copies.drop(victim, GPU0)
            plain.drop(victim)
            if place == handle:
                break
    elif move == "only copies":
        found = store.only_copies(2 * handle, keep_wanted=keep_wanted)
        assert found == plain.only_copies(2 * handle, keep_wanted)
