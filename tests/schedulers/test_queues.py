"""The queues of ready tasks: order, priorities, and who can run what."""

from __future__ import annotations

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from tasksim.schedulers.queues import FifoQueue, PriorityQueue


def view(priority, able=None):
    """Two workers, of class 0 and of class 1."""
    return SimpleNamespace(
        priority=priority, able=able or [0b11] * len(priority), class_of=[0, 1], decisions=None
    )


def test_fifo_gives_tasks_in_the_order_of_pushes():
    queue = FifoQueue(view([0, 9, 5]))
    for task in (2, 0, 1):
        queue.push(task)
    assert [queue.pop(0) for _ in range(4)] == [2, 0, 1, None]


def test_fifo_skips_what_the_worker_cannot_run():
    queue = FifoQueue(view([0] * 3, able=[0b10, 0b01, 0b11]))
    for task in range(3):
        queue.push(task)
    assert [queue.pop(0), queue.pop(0), queue.pop(0)] == [1, 2, None]
    assert (queue.pop(1), len(queue)) == (0, 0)


def test_priority_first_then_order_of_pushes():
    queue = PriorityQueue(view([1, 5, 5, -2]))
    for task in range(4):
        queue.push(task)
    assert [queue.pop(0) for _ in range(5)] == [1, 2, 0, 3, None]


def test_the_newest_is_taken_from_the_highest_level():
    queue = PriorityQueue(view([1, 5, 5, 1]))
    for task in range(4):
        queue.push(task)
    assert [queue.pop_newest(0) for _ in range(5)] == [2, 1, 3, 0, None]


@st.composite
def histories(draw):
    tasks = draw(st.integers(1, 12))
    priority = draw(st.lists(st.integers(0, 2), min_size=tasks, max_size=tasks))
    able = draw(st.lists(st.integers(1, 3), min_size=tasks, max_size=tasks))
    steps = draw(st.lists(st.sampled_from(["push", "pop", "newest"]), max_size=30))
    workers = draw(st.lists(st.integers(0, 1), min_size=len(steps), max_size=len(steps)))
    return priority, able, list(zip(steps, workers, strict=True))


@given(histories())
def test_a_priority_queue_equals_a_sorted_list(history):
    priority, able, steps = history
    queue, model, todo = PriorityQueue(view(priority, able)), [], list(range(len(priority)))
    for step, worker in steps:
        if step == "push":
            if todo:
                task = todo.pop(0)
                queue.push(task)
                model.append(task)
        else:
            fits = [t for t in model if able[t] >> worker & 1]
            top = max((priority[t] for t in fits), default=0)
            level = [t for t in fits if priority[t] == top]
            expected = (level[-1] if step == "newest" else level[0]) if level else None
            got = queue.pop_newest(worker) if step == "newest" else queue.pop(worker)
            assert got == expected
            if got is not None:
                model.remove(got)
        assert len(queue) == len(model)
