"""Readiness: the task that lacks the fewest bytes, found without a look at all that wait."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import GPU0, GPU1, RAM, machine, replay_of, tasks
from tiers import few

import tasksim
from tasksim.engine.data.copies import Copies
from tasksim.engine.data.readiness import MAX_HEAP_ENTRIES_PER_TASK, Readiness
from tasksim.graph.builder import R
from tasksim.schedulers import queues
from tasksim.schedulers.queues import first_ready
from tasksim.schedulers.registry import create

SIZES = [3, 2, 5, 1]
NEEDS = [
    [(0, True, False), (1, True, True)],
    [(0, True, False), (2, True, True)],
    [(1, False, True), (3, True, False)],
    [],
    [(2, True, False), (2, False, True)],
    [(0, True, False), (3, False, True)],
    [(1, True, False)],
]


def everything_at_home():
    copies = Copies(tasks((1, [(R, 0)])), machine(devices=2, size=1000))
    copies.size[:] = SIZES
    for column in (copies.valid, copies.places):
        column[:] = [1 << RAM] * len(SIZES)
    copies.coming[:] = [0] * len(SIZES)
    return copies


def unready(copies):
    """Readiness as in the view of a node, computed anew each time."""

    def lacks(task, memory):
        absent = [
            handle
            for handle, reads, _ in NEEDS[task]
            if reads and not copies.valid[handle] >> memory & 1
        ]
        unasked = [handle for handle in absent if not copies.coming[handle] >> memory & 1]
        unplaced = [
            handle for handle, _, _ in NEEDS[task] if not copies.places[handle] >> memory & 1
        ]
        return tuple(sum(SIZES[h] for h in data) for data in (absent, unasked, unplaced))

    return lacks


def test_the_fewest_bytes_then_the_fewest_to_ask_for_then_the_fewest_places_then_the_first():
    copies = everything_at_home()
    ready = Readiness(copies, [[(0, True, False)], [(0, True, False)], [(1, True, False)]], GPU0)
    for task in (1, 0, 2):
        ready.add(task)
    assert ready.first() == 2
    ready.remove(2)
    assert ready.first() == 1
    ready.add_first(2)
    copies.expect(1, GPU0)
    copies.settle(0, GPU0)
    copies.read(0, GPU0)
    assert ready.first() == 1
    copies.write(0, RAM)
    assert ready.first() == 2


def test_nothing_is_told_to_those_who_have_left():
    copies = everything_at_home()
    ready = Readiness(copies, NEEDS, GPU0)
    ready.add(0)
    assert copies.changes.followed == 1 << GPU0
    ready.close()
    assert copies.changes.followed == 0


def test_what_is_kept_does_not_grow_with_the_number_of_changes():
    copies = everything_at_home()
    ready = Readiness(copies, NEEDS, GPU0)
    for task in range(len(NEEDS)):
        ready.add(task)
    for _ in range(1000):
        copies.read(0, GPU0)
        ready.first()
        copies.write(0, RAM)
        ready.first()
        ready.remove(0)
        ready.add(0)
    assert len(ready._heap) <= MAX_HEAP_ENTRIES_PER_TASK * len(NEEDS) + 1
    assert sum(map(len, ready._users.values())) <= sum(map(len, NEEDS))


QUEUE_MOVES = (
    "add", "add first", "remove", "first", "read", "write", "settle", "drop", "expect", "no more",
)  # fmt: skip


@settings(max_examples=few(500), deadline=None)
@given(
    moves=st.lists(
        st.tuples(
            st.sampled_from(QUEUE_MOVES),
            st.integers(0, len(NEEDS) - 1),
            st.integers(0, len(SIZES) - 1),
            st.sampled_from((RAM, GPU0, GPU1)),
        ),
        max_size=60,
    ),
    memory=st.sampled_from((RAM, GPU0)),
)
def test_the_same_task_as_by_a_look_at_each(moves, memory):
    copies = everything_at_home()
    ready, waiting = Readiness(copies, NEEDS, memory), []
    for move, task, handle, where in moves:
        if move == "add" and task not in waiting:
            ready.add(task)
            waiting.append(task)
        elif move == "add first" and task not in waiting:
            ready.add_first(task)
            waiting.insert(0, task)
        elif move == "remove" and task in waiting:
            ready.remove(task)
            waiting.remove(task)
        elif move == "first" and waiting:
            assert ready.first() == first_ready(waiting, memory, unready(copies))[0]
        else:
            change(copies, move, handle, where)
    if waiting:
        assert ready.first() == first_ready(waiting, memory, unready(copies))[0]


def change(copies, move, handle, where):
    placed = copies.places[handle] >> where & 1
    if move == "read":
        copies.read(handle, where)
    elif move == "write":
        copies.write(handle, where)
    elif move == "settle" and not placed:
        copies.settle(handle, where)
    elif move == "drop" and placed and where != RAM:
        copies.drop(handle, where)
    elif move == "expect":
        copies.expect(handle, where)
    elif move == "no more":
        copies.expect_no_more(handle, where)


@pytest.mark.parametrize(
    "scheduler", ["dmdar", "dmdas", "dmdasd", "modular-dmdar", "modular-dmdas"]
)
@pytest.mark.parametrize("size", [40, 100])
def test_a_run_is_the_same_whether_what_tasks_lack_is_kept_or_not(scheduler, size, monkeypatch):
    graph = tasksim.generate("cholesky", tiles=8, tile_size=1)
    platform = machine(devices=2, cores=1, size=8 * size)
    draw = random.Random(0)
    costs = [[draw.uniform(1, 9) for _ in graph.kernel] for _ in platform.classes]

    def run():
        replay = replay_of(graph, platform, create(scheduler), costs)
        return replay.run(0), replay.ledger.worker, replay.ledger.start

    monkeypatch.setattr(queues, "EXCESS_TASKS_THRESHOLD", 10**9)
    looked = run()
    monkeypatch.setattr(queues, "SEARCH_LENGTH_THRESHOLD", 0)
    monkeypatch.setattr(queues, "EXCESS_TASKS_THRESHOLD", 0)
    kept = []
    monkeypatch.setattr(
        "tasksim.engine.machine.view.Readiness",
        lambda *args: kept.append(Readiness(*args)) or kept[-1],
    )
    assert run() == looked
    assert kept
