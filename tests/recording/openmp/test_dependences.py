"""Dependences by ``depend``, against OpenMP's definition; histories that are made by hand."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tasksim.recording.openmp.data_regions import guessed_sizes
from tasksim.recording.openmp.history import NOTHING, Flag, History
from tasksim.recording.openmp.pieces import _siblings

IN, OUT, INOUT, EXCLUSIVE, SET = 1, 2, 3, 4, 7
ALL_OUT, ALL_INOUT = 8, 9

TASKS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.dictionaries(
            st.integers(1, 3), st.sampled_from([IN, OUT, INOUT, EXCLUSIVE, SET]), max_size=3
        ),
        st.sampled_from([0, 0, 0, 0, ALL_OUT, ALL_INOUT]),
    ),
    max_size=8,
)


def history(tasks):
    """Tasks of two parents, created in order: parent, kinds by address, a kind for all memory."""
    count = len(tasks)
    deps = [
        (task, kind, address)
        for task, (_, kinds, everything) in enumerate(tasks)
        for address, kind in [*kinds.items(), *([(0, everything)] if everything else [])]
    ]
    columns = np.array(deps, np.int64).reshape(-1, 3)
    nothing = np.zeros(0, np.int64)
    return History(
        created_ns=np.arange(count) * 10, site=np.zeros(count, np.int64),
        flags=np.full(count, Flag.HAS_DEPENDENCES), parent=np.array([1000 + p for p, *_ in tasks]),
        creator=np.full(count, NOTHING), region=np.full(count, NOTHING),
        place=np.full(count, NOTHING), completed=np.ones(count, bool), step_task=nothing,
        step_start_ns=nothing, step_end_ns=nothing, step_cpu_ns=nothing, step_thread=nothing,
        step_ending=nothing, step_ref=nothing, step_clock_ns=nothing, region_site=nothing,
        region_size=nothing, dep_task=columns[:, 0], dep_kind=columns[:, 1],
        dep_address=columns[:, 2].astype(np.uint64),
    )  # fmt: skip


def defined(tasks):
    """The pairs that the specification orders: same parent, same address, not both of one set."""
    found = set()
    for late, (parent, kinds, everything) in enumerate(tasks):
        for early in range(late):
            before_parent, before, before_everything = tasks[early]
            if parent != before_parent:
                continue
            either = everything or before_everything
            some = (kinds or everything) and (before or before_everything)
            shared = any(
                not (before[address] == kind and kind in (IN, EXCLUSIVE, SET))
                for address, kind in kinds.items()
                if address in before
            )
            if shared or (either and some):
                found.add((early, late))
    return found


def closure(pairs, count):
    after = [set() for _ in range(count)]
    for one, other in sorted(pairs, reverse=True):
        after[one] |= {other} | after[other]
    return {(one, other) for one in range(count) for other in after[one]}


@given(TASKS)
def test_siblings_are_ordered_as_the_specification_says(tasks):
    edges = _siblings(history(tasks))
    pairs = {(int(edge) >> 32, int(edge) & 0xFFFFFFFF) for edge in edges}
    assert closure(pairs, len(tasks)) == closure(defined(tasks), len(tasks))


def test_sizes_are_the_distances_to_the_next_address():
    tiles = np.array([0x1000, 0x1200, 0x1400, 0x9000, 0x9200], np.uint64)
    assert guessed_sizes(tiles).tolist() == [512, 512, 512, 512, 512]
    assert guessed_sizes(tiles[[4, 0, 2]]).tolist() == [0x400, 0x400, 0x400]
    lower_triangle = np.array([0x1000, 0x1600, 0x1800, 0x2000, 0x2200, 0x2400], np.uint64)
    assert set(guessed_sizes(lower_triangle).tolist()) == {512}
    irregular = np.array([0, 10, 31, 46, 1000], np.uint64)
    assert guessed_sizes(irregular).tolist() == [10, 21, 15, 18, 18]
    assert guessed_sizes(tiles[:1]).tolist() == [0]
    assert guessed_sizes(tiles[:0]).tolist() == []
