"""Release of tasks: each once, not before its predecessors, commutative ones one at a time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from strategies import graphs

from tasksim.graph.builder import RW, Commute, GraphBuilder, R, Reduce, W
from tasksim.graph.commutation import commutative_handles
from tasksim.runtime.release import Release


def commuting(*handle_lists):
    """Independent tasks that each commute on some of four data."""
    builder = GraphBuilder("commuting")
    data = [builder.handle(f"x{i}", size_bytes=8) for i in range(4)]
    for handles in handle_lists:
        builder.insert("task", *(Commute(data[h]) for h in handles))
    return builder.build()


class Watch:
    """Follows releases and completions, and checks what must hold at every one."""

    def __init__(self, graph):
        self.graph = graph
        self.predecessors = {task: set() for task in range(len(graph))}
        for task in range(len(graph)):
            for successor in graph.successors_of(task):
                self.predecessors[successor].add(task)
        self.exclusive = commutative_handles(graph)
        self.submitted, self.running, self.released, self.done = set(), [], [], set()

    def release(self, tasks):
        for task in tasks:
            assert task not in self.released
            assert task in self.submitted
            assert self.predecessors[task] <= self.done
            mine = set(self.exclusive.get(task, ()))
            assert all(mine.isdisjoint(self.exclusive.get(other, ())) for other in self.running)
            self.released.append(task)
            self.running.append(task)
        assert list(tasks) == sorted(tasks)

    def complete(self, task):
        self.running.remove(task)
        self.done.add(task)


@given(graphs(), st.data())
def test_any_order_of_completions_releases_each_task_once_and_in_time(graph, data):
    release, watch = Release(graph, submitted=True), Watch(graph)
    watch.submitted.update(range(len(graph)))
    watch.release(release.sources())
    while watch.running:
        task = data.draw(st.sampled_from(watch.running))
        watch.complete(task)
        watch.release(release.complete(task))
    assert sorted(watch.released) == list(range(len(graph)))


@given(graphs(), st.data())
def test_submissions_may_come_at_any_time(graph, data):
    """In their order, between any completions: nothing is released before, nothing lost."""
    release, watch = Release(graph, submitted=False), Watch(graph)
    left = list(range(len(graph)))
    while left or watch.running:
        if left and (not watch.running or data.draw(st.booleans())):
            task = left.pop(0)
            watch.submitted.add(task)
            watch.release(release.submit(task))
        else:
            task = data.draw(st.sampled_from(watch.running))
            watch.complete(task)
            watch.release(release.complete(task))
    assert sorted(watch.released) == list(range(len(graph)))


@given(graphs())
def test_submitting_all_at_once_is_the_same_as_one_by_one(graph):
    at_once, one_by_one = Release(graph, submitted=True), Release(graph, submitted=False)
    ready = at_once.sources()
    assert ready == [freed for task in range(len(graph)) for freed in one_by_one.submit(task)]
    while ready:
        task = ready.pop(0)
        freed = at_once.complete(task)
        assert one_by_one.complete(task) == freed
        ready += freed


class Scan:
    """Asks every task that waits whenever one ends: slow, and plain to see."""

    def __init__(self, graph):
        self.missing = graph.predecessor_count.tolist()
        self.successors = [graph.successors_of(task) for task in range(len(graph))]
        self.exclusive = commutative_handles(graph)
        self.held, self.waiting = set(), {t for t, m in enumerate(self.missing) if not m}

    def granted(self):
        granted = []
        for task in sorted(self.waiting):
            handles = self.exclusive.get(task, ())
            if self.held.isdisjoint(handles):
                self.held.update(handles)
                granted.append(task)
        self.waiting.difference_update(granted)
        return granted

    def complete(self, task):
        self.held.difference_update(self.exclusive.get(task, ()))
        for successor in self.successors[task]:
            self.missing[successor] -= 1
            if not self.missing[successor]:
                self.waiting.add(successor)
        return self.granted()


@given(
    st.lists(st.sets(st.integers(0, 3), min_size=1, max_size=3), max_size=15).map(
        lambda lists: commuting(*lists)
    )
    | graphs(),
    st.data(),
)
def test_it_is_as_if_all_that_wait_were_asked(graph, data):
    release, scan = Release(graph, submitted=True), Scan(graph)
    running = release.sources()
    assert running == scan.granted()
    while running:
        task = running.pop(data.draw(st.integers(0, len(running) - 1)))
        freed = release.complete(task)
        assert freed == scan.complete(task)
        running += freed


def test_a_diamond():
    builder = GraphBuilder("diamond")
    x, y = builder.handle("x", size_bytes=8), builder.handle("y", size_bytes=8)
    builder.insert("task", W(x), W(y))
    builder.insert("task", RW(x))
    builder.insert("task", RW(y))
    builder.insert("task", R(x), R(y))
    release = Release(builder.build(), submitted=True)
    assert release.sources() == [0]
    assert release.complete(0) == [1, 2]
    assert release.complete(2) == []
    assert release.complete(1) == [3]


def test_commuting_tasks_come_one_at_a_time_in_order_of_submission():
    release = Release(commuting([0], [0], [0]), submitted=True)
    assert release.sources() == [0]
    assert release.complete(0) == [1]
    assert release.complete(1) == [2]
    assert release.complete(2) == []


def test_several_handles_are_taken_together_or_not_at_all():
    """Task 1 wants 0 and 1, of which task 0 has one: it takes none, and task 2 may have the other.

    Task 3 shares with nobody.
    """
    release = Release(commuting([0], [0, 1], [1], [3]), submitted=True)
    assert release.sources() == [0, 2, 3]
    assert release.complete(0) == []
    assert release.complete(2) == [1]


def test_one_completion_can_free_several_that_waited():
    release = Release(commuting([0, 1], [0], [1], [0, 1]), submitted=True)
    assert release.sources() == [0]
    assert release.complete(0) == [1, 2]
    assert release.complete(1) == []
    assert release.complete(2) == [3]


def test_a_waiting_task_takes_its_handles_when_it_is_submitted_not_before():
    release = Release(commuting([0], [0]), submitted=False)
    assert release.submit(0) == [0]
    assert release.complete(0) == []
    assert release.submit(1) == [1]


def test_reductions_do_not_exclude_each_other():
    builder = GraphBuilder("reduce")
    x = builder.handle("x", size_bytes=8)
    for _ in range(3):
        builder.insert("task", Reduce(x))
    builder.insert("task", R(x))
    release = Release(builder.build(), submitted=True)
    assert release.sources() == [0, 1, 2]
    assert [release.complete(task) for task in (2, 0, 1)] == [[], [], [3]]


def test_commutative_handles_of_the_tasks_that_have_any():
    builder = GraphBuilder("mixed")
    x, y, z = (builder.handle(name, size_bytes=8) for name in "xyz")
    builder.insert("task", R(x), Commute(z), Commute(y))
    builder.insert("task", RW(x))
    builder.insert("task", Commute(x))
    assert commutative_handles(builder.build()) == {0: (z, y), 2: (x,)}
