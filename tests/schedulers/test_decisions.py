"""Records of decisions: exact on graphs drawn by hand, kept with runs, and printed."""

from __future__ import annotations

from dataclasses import replace
from math import isnan, nan

import pytest

import tasksim
from tasksim.base.errors import InputError
from tasksim.graph.builder import RW, GraphBuilder, R
from tasksim.platform.description import Link, Memory, Platform, Route, Worker
from tasksim.run.decisions import NO_QUEUE, DecisionStep, DecisionTable
from tasksim.run.runfolder import load, save
from tasksim.schedulers.central import Eager

CANDIDATE, CHOSEN, QUEUED, LEFT, TAKEN = DecisionStep


def decided(graph, platform, models, scheduler):
    run = tasksim.simulate(graph, platform, models, scheduler, decisions=True)
    return run.decisions


def moves(decisions):
    """Return time, task, step, worker, queue and position of each row without terms."""
    rows = (decisions.row(row) for row in range(len(decisions)))
    return [tuple(row[:6]) for row in rows if row.step > CHOSEN]


def estimates(decisions, task):
    """Return the rows with terms of a task: step, worker and terms."""
    rows = [row for row in decisions.of_task(task) if row.step <= CHOSEN]
    return [(row.step, row.worker, *row[6:]) for row in rows]


def independent(*priorities):
    builder = GraphBuilder("some")
    for priority in priorities:
        builder.insert("work", priority=priority)
    return builder.build()


def hybrid():
    """A core, and a GPU behind a link of 1 MB/s."""
    return Platform(
        "hybrid",
        (Worker(0, "cpu0", "cpu", 0), Worker(1, "gpu0", "cuda", 1)),
        memories=(Memory(0, "ram"), Memory(1, "gpu0")),
        links=(Link(0, "down", (0, 1), 1e6), Link(1, "up", (1, 0), 1e6)),
        routes=(Route(0, 1, (0,)), Route(1, 0, (1,))),
    )


def test_dm_tells_when_each_worker_is_expected_to_end():
    machine = Platform.identical(2)
    found = decided(independent(0, 0, 0), machine, {"work": 2.0}, "dm")
    assert estimates(found, 0) == [
        (CHOSEN, 0, 0.0, pytest.approx(nan, nan_ok=True), 2.0, pytest.approx(nan, nan_ok=True), 2.0,
         pytest.approx(nan, nan_ok=True)),
        (CANDIDATE, 1, 0.0, pytest.approx(nan, nan_ok=True), 2.0,
         pytest.approx(nan, nan_ok=True), 2.0, pytest.approx(nan, nan_ok=True)),
    ]  # fmt: skip
    ends = [[(step, row[-2]) for step, *row in estimates(found, task)] for task in range(3)]
    assert ends == [
        [(CHOSEN, 2.0), (CANDIDATE, 2.0)],
        [(CANDIDATE, 4.0), (CHOSEN, 2.0)],
        [(CHOSEN, 4.0), (CANDIDATE, 4.0)],
    ]
    assert moves(found) == [
        (0.0, 0, QUEUED, 0, 0, 0),
        (0.0, 1, QUEUED, 1, 1, 0),
        (0.0, 2, QUEUED, 0, 0, 1),
        (0.0, 0, TAKEN, 0, 0, 0),
        (0.0, 1, TAKEN, 1, 1, 0),
        (2.0, 2, TAKEN, 0, 0, 0),
    ]


def test_dmda_tells_what_transfers_cost():
    builder = GraphBuilder("one")
    builder.insert("work", RW(builder.handle("x", size_bytes=500_000)))
    models = {"work": 1.0, "cuda:work": 0.6}
    found = decided(builder.build(), hybrid(), models, "dmda:beta=2")
    # The GPU ends at 0.5 + 0.6, later than the core, and 0.1 + 2 · 0.5 is its cost.
    core, gpu = estimates(found, 0)
    assert core == (CHOSEN, 0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0)
    assert gpu[:2] == (CANDIDATE, 1)
    assert gpu[2:] == pytest.approx((0.0, 0.5, 0.6, 0.0, 1.1, 1.1), rel=1e-6)


def test_unknown_durations_have_no_terms():
    builder = GraphBuilder("one")
    builder.insert("work")
    found = decided(builder.build(), Platform.identical(2), {"work": 0.0}, "dm")
    [(step, worker, *terms)] = estimates(found, 0)
    assert (step, worker) == (CHOSEN, 0)
    assert all(map(isnan, terms))


def test_prio_has_one_queue_by_priority():
    found = decided(independent(0, 1, 5, 1), Platform.identical(1), {"work": 1.0}, "prio")
    assert moves(found) == [
        (0.0, 0, QUEUED, -1, 1, 0),
        (0.0, 1, QUEUED, -1, 1, 0),
        (0.0, 2, QUEUED, -1, 1, 0),
        (0.0, 3, QUEUED, -1, 1, 2),
        (0.0, 2, TAKEN, 0, 1, 0),
        (1.0, 1, TAKEN, 0, 1, 0),
        (2.0, 3, TAKEN, 0, 1, 0),
        (3.0, 0, TAKEN, 0, 1, 0),
    ]
    assert found.queues_at(0.0) == {1: [1, 3, 0]}
    assert found.queues_at(1.5) == {1: [3, 0]}
    assert found.queues_at(3.0) == {}


def test_a_thief_takes_the_newest_task_of_its_victim():
    builder = GraphBuilder("fork")
    first = builder.insert("work")
    for _ in range(4):
        builder.insert("work", after=[first])
    found = decided(builder.build(), Platform.identical(2), {"work": 1.0}, "lws")
    taken = [row[1:6] for row in map(found.row, range(len(found))) if row.step == TAKEN]
    # Worker 1 has released four tasks; worker 0 asks first, and takes the last of them.
    assert taken == [
        (0, TAKEN, 1, 1, 0),
        (4, TAKEN, 0, 1, 3),
        (1, TAKEN, 1, 1, 0),
        (3, TAKEN, 0, 1, 1),
        (2, TAKEN, 1, 1, 0),
    ]


def test_heteroprio_moves_tasks_from_buckets_to_workers():
    found = decided(independent(0, 0, 0), Platform.identical(1), {"work": 1.0}, "heteroprio")
    assert moves(found)[:6] == [
        (0.0, 0, QUEUED, -1, 1, 0),
        (0.0, 1, QUEUED, -1, 1, 0),
        (0.0, 2, QUEUED, -1, 1, 0),
        (0.0, 2, LEFT, -1, 1, 0),
        (0.0, 2, QUEUED, 0, 0, 0),
        (0.0, 1, LEFT, -1, 1, 0),
    ]


def test_multiprio_has_tasks_in_the_queues_of_several_classes():
    builder = GraphBuilder("two")
    for _ in range(2):
        builder.insert("work", R(builder.handle("x", size_bytes=8)))
    found = decided(builder.build(), hybrid(), {"work": 1.0, "cuda:work": 0.5}, "multiprio")
    assert found.queues_at(-1.0) == {}
    assert [row.queue for row in found.of_task(0) if row.step == QUEUED] == [2, 3]
    assert [row.step for row in found.of_task(0)].count(TAKEN) == 1


class Unrecorded(Eager):
    """A policy of somebody who tells nothing of its queue."""

    def attach(self, view, rng):
        super().attach(view, rng)
        self._tasks = []

    def put(self, task):
        self._tasks.append(task)

    def pop(self, worker):
        return self._tasks.pop(0) if self._tasks else None


@pytest.mark.one_engine("schedulers in Python are recorded by SimPy's engine alone")
def test_a_scheduler_that_tells_nothing_has_the_tasks_that_were_taken():
    run = tasksim.simulate(
        independent(0, 0), Platform.identical(1), {"work": 1.0}, Unrecorded(), decisions=True
    )
    assert run.engine == "simpy"
    assert moves(run.decisions) == [
        (0.0, 0, TAKEN, 0, NO_QUEUE, -1),
        (1.0, 1, TAKEN, 0, NO_QUEUE, -1),
    ]


def test_nothing_is_recorded_unless_asked_for():
    graph = independent(0)
    assert tasksim.simulate(graph, Platform.identical(1), {"work": 1.0}).decisions is None
    with pytest.raises(InputError, match=r"decisions: got 1 \(int\); legal: True or False"):
        tasksim.simulate(graph, Platform.identical(1), {"work": 1.0}, decisions=1)


def test_several_nodes_are_refused():
    with pytest.raises(InputError, match=r"decisions are recorded on one node; .* has 2"):
        tasksim.simulate(
            "cholesky tiles=3",
            "xeon-2c",
            nodes=2,
            network="switch:bandwidth=1GB/s,latency=1us",
            decisions=True,
        )


def test_a_folder_keeps_the_decisions(tmp_path):
    run = tasksim.simulate("cholesky tiles=4", "xeon-2c", scheduler="dmda", decisions=True)
    save(run, tmp_path / "run")
    again = load(tmp_path / "run")
    assert again.decisions == run.decisions
    assert len(run.decisions)


def test_contradictory_steps_are_refused(tmp_path):
    run = tasksim.simulate(
        "chain length=2 duration=1", workers=1, scheduler="eager", decisions=True
    )
    wrong = DecisionTable([0.0], [1], [TAKEN], [0], [1], [0])
    with pytest.raises(InputError, match="task 1 is not at position 0 of queue 1"):
        wrong.queues_at(0.0)
    save(
        replace(run, decisions=DecisionTable([0.0], [7], [QUEUED], [0], [1], [0])), tmp_path / "run"
    )
    with pytest.raises(InputError, match="task is 7; legal: 0 to 1"):
        load(tmp_path / "run")
