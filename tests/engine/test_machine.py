"""The replay with devices: exact schedules on small graphs, each cost alone, and invariants."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scripted import GPU0, RAM, machine, play, replay_of, tasks
from strategies import costs, graphs, machines, moving_graphs
from tiers import LONG, few

from tasksim.base.errors import InputError
from tasksim.engine.simulation import Simulation
from tasksim.graph.builder import RW, GraphBuilder, R, W
from tasksim.models.kinds.given import ConstantLibrary, GivenDurations
from tasksim.platform.description import Allocation, Device, Overheads, Platform
from tasksim.run.runchecks import check_run
from tasksim.schedulers.registry import create, names

GPU, CPU = 0, 1
"""The numbers of the workers of a machine with one device and one core."""

PUSHES = st.sampled_from(["serial", "blind"])

THREE_TASKS = tasks((4, [(R, 0)]), (4, [(R, 1)]), (4, [(R, 2)]))
"""Three tasks of 4 s, each on a datum of its own, of 3 bytes, which take 3 s to copy."""
TASK_CHAIN = tasks((4, [(RW, 0)]), (4, [(RW, 0)]), (4, [(RW, 0)]))


# Without costs, by hand


def test_a_task_waits_for_its_data():
    played = play(tasks((2, [(R, 0)])), machine(), {GPU: [0]})
    assert played.start == [3]
    assert played.copies == [(0, RAM, GPU0, 0, 3)]


def test_a_core_finds_its_data_where_they_are():
    played = play(THREE_TASKS, machine(), {CPU: [0, 1, 2]})
    assert played.start == [0, 4, 8]
    assert played.copies == []


def test_what_is_written_on_a_device_comes_back_for_a_core():
    played = play(tasks((2, [(RW, 0)]), (1, [(R, 0)])), machine(), {GPU: [0], CPU: [1]})
    assert played.copies == [(0, RAM, GPU0, 0, 3), (0, GPU0, RAM, 5, 8)]
    assert played.end == [5, 9]


def test_what_is_only_written_is_not_copied_first():
    played = play(tasks((2, [(W, 0)]), (1, [(R, 0)])), machine(), {GPU: [0], CPU: [1]})
    assert played.copies == [(0, GPU0, RAM, 2, 5)]
    assert played.end == [2, 6]


def test_the_data_of_one_task_come_one_after_the_other_and_it_waits_for_all():
    played = play(tasks((2, [(R, 0), (R, 1)])), machine(), {GPU: [0]})
    assert played.start == [6]


def test_what_is_written_is_brought_first():
    played = play(tasks((2, [(R, 0), (RW, 1)])), machine(), {GPU: [0]})
    assert [copy[0] for copy in played.copies] == [1, 0]


@pytest.mark.parametrize(
    ("pipeline", "start", "copied"),
    [
        (1, [3, 10, 17], [0, 7, 14]),  # the next task is taken when the one before has ended
        (2, [3, 7, 11], [0, 3, 7]),  # one runs, the data of one more come meanwhile
        (3, [3, 7, 11], [0, 3, 6]),  # and of one more after these
        (4, [3, 7, 11], [0, 3, 6]),
    ],
)
def test_a_pipeline_brings_the_data_of_the_next_task_while_one_runs(pipeline, start, copied):
    played = play(THREE_TASKS, machine(pipeline=pipeline), {GPU: [0, 1, 2]})
    assert played.start == start
    assert [copy[3] for copy in played.copies] == copied


def test_kernels_that_are_queued_follow_each_other_without_a_gap():
    graph = tasks((4, [(R, 0)]), (4, [(R, 0)]), (4, [(R, 0)]))
    played = play(graph, machine(kernel_s=1.0, pipeline=3), {GPU: [0, 1, 2]})
    assert played.start == [4, 8, 12]  # each is queued during the one before


@pytest.mark.parametrize(("pipeline", "start"), [(1, [3, 10, 17]), (2, [3, 7, 14])])
def test_during_a_synchronous_kernel_its_driver_does_nothing_else(pipeline, start):
    """It waits for what is queued; what comes next is taken only when it has ended."""
    graph = tasks((4, [(R, 0)]), ("potrf", 4, [(R, 1)]), (4, [(R, 2)]))
    platform = machine(pipeline=pipeline, synchronous=["potrf"], kernel_s=0.0)
    assert play(graph, platform, {GPU: [0, 1, 2]}).start == start


@pytest.mark.parametrize("pipeline", [3, 4])
def test_a_synchronous_kernel_waits_for_all_that_is_queued_before_it(pipeline):
    graph = tasks((4, [(R, 0)]), (4, [(R, 0)]), ("potrf", 4, [(R, 0)]), (4, [(R, 0)]))
    played = play(graph, machine(pipeline=pipeline, synchronous=["potrf"]), {GPU: [0, 1, 2, 3]})
    assert played.start == [3, 7, 11, 15]


def test_nothing_leaves_a_device_during_a_synchronous_kernel():
    """The second task of the core needs what the device wrote: asked for at 5, brought at 10."""
    graph = tasks(("task", 2, [(RW, 0)]), ("potrf", 5, [(W, 1)]), ("task", 1, [(R, 0)]))
    asynchronous = play(graph, machine(), {GPU: [0, 1], CPU: [2]})
    assert asynchronous.copies[-1] == (0, GPU0, RAM, 5, 8)
    synchronous = play(graph, machine(synchronous=["potrf"]), {GPU: [0, 1], CPU: [2]})
    assert synchronous.copies[-1] == (0, GPU0, RAM, 10, 13)


def test_a_synchronous_kernel_costs_no_queueing():
    graph = tasks(("potrf", 4, [(R, 0)]))
    played = play(graph, machine(synchronous=["potrf"], kernel_s=1.0), {GPU: [0]})
    assert played.start == [3]
    assert play(graph, machine(kernel_s=1.0), {GPU: [0]}).start == [4]


def test_several_short_tasks_that_end_together_are_all_seen():
    """A driver that wakes to several ended tasks does not fall asleep after the first."""
    graph = tasks(*[(0, [])] * 6, (1, []))
    played = play(graph, machine(pipeline=4), {GPU: [0, 6, 1, 2, 3, 4, 5]})
    assert max(played.end) == 1


# One cost at a time


@pytest.mark.parametrize(
    ("cost", "graph", "worker", "start"),
    [
        # Where nothing costs anything: on the core 0, 4, 8; on the device 3, 7, 11.
        ("task_s", TASK_CHAIN, CPU, [0.25, 4.5, 8.75]),
        ("task_s", TASK_CHAIN, GPU, [3, 7, 11]),  # devices have kernel_s instead
        ("wakeup_s", TASK_CHAIN, CPU, [0.25, 4.25, 8.25]),  # only the first time did it sleep
        ("start_s", TASK_CHAIN, CPU, [0.25, 4.25, 8.25]),  # it is not the first worker
        ("push_s", TASK_CHAIN, CPU, [0.25, 4.5, 8.75]),  # each push delays the next task
        ("push_s", THREE_TASKS, CPU, [0.25, 4.25, 8.25]),  # the main thread pushes during the first
        ("push_s", TASK_CHAIN, GPU, [3.25, 7.5, 11.75]),
        ("fetch_s", TASK_CHAIN, CPU, [0.25, 4.5, 8.75]),  # one datum each
        ("fetch_s", TASK_CHAIN, GPU, [3.25, 7.5, 11.75]),
        ("fetch_s", THREE_TASKS, GPU, [3.25, 7.25, 11.25]),  # in the shadow of the task before
        ("progress_s", TASK_CHAIN, CPU, [0.25, 4.5, 8.75]),  # a round looks after main memory
        ("kernel_s", TASK_CHAIN, CPU, [0, 4, 8]),
        ("kernel_s", TASK_CHAIN, GPU, [3.25, 7.5, 11.75]),
        ("kernel_s", THREE_TASKS, GPU, [3.25, 7.25, 11.25]),
        ("copy_s", TASK_CHAIN, GPU, [3.25, 7.25, 11.25]),  # one copy
        ("copy_s", THREE_TASKS, GPU, [3.25, 7.25, 11.25]),
        ("copy_s", THREE_TASKS, CPU, [0, 4, 8]),
    ],
)
def test_one_cost_alone(cost, graph, worker, start):
    assert play(graph, machine(**{cost: 0.25}), {worker: [0, 1, 2]}).start == start


def test_a_task_that_accesses_two_data_costs_two_fetches():
    graph = tasks((4, [(R, 0), (R, 1)]))
    assert play(graph, machine(fetch_s=0.25), {CPU: [0]}).start == [0.5]


def test_a_round_of_a_drivers_loop_looks_at_two_memories():
    """A round of 0.5 before it pops, one to begin the copy, the first delayed by 0.25; the end of
    the copy, at 4.25, is seen in the next round, which ends at 4.75."""
    played = play(tasks((4, [(R, 0)])), machine(progress_s=0.25), {GPU: [0]})
    assert played.copies == [(0, RAM, GPU0, 1.25, 4.25)]
    assert played.start == [4.75]


def test_submission_takes_the_main_thread_its_time_while_tasks_run():
    graph = tasks((1, [(R, 0)]), (1, [(R, 0)]), (1, [(R, 0)]))
    played = play(graph, machine(submission_s=2.0), {CPU: [0, 1, 2]})
    assert np.diff(played.start).tolist() == [2, 2]
    submitted = list(played.replay.ledger.submitted)
    assert np.diff(submitted).tolist() == [2, 2]


@pytest.mark.parametrize(
    ("allocation", "start"),
    [
        (Allocation(0.25, 0.5, chunk_bytes=1, unit_bytes=1, largest_bytes=0), [3.25, 7.25, 11.25]),
        # A chunk of 6 has room for two data.
        (Allocation(0.25, 0.5, chunk_bytes=6, unit_bytes=1, largest_bytes=6), [3.25, 7.25, 11.25]),
    ],
)
def test_an_allocation_delays_the_copy_that_it_is_for(allocation, start):
    played = play(THREE_TASKS, machine(size=100, allocation=allocation), {GPU: [0, 1, 2]})
    assert played.start == start
    first = played.copies[0][3]
    assert first == 0.25


def test_allocations_of_all_devices_exclude_each_other():
    graph = tasks((4, [(R, 0)]), (4, [(R, 1)]))
    cost = Allocation(0.25, 0.0, chunk_bytes=1, unit_bytes=1, largest_bytes=0)
    played = play(graph, machine(devices=2, size=100, allocation=cost), {0: [0], 1: [1]})
    assert played.start == [3.25, 3.5]


def test_a_block_that_is_released_costs_time_and_one_of_equal_size_is_reused():
    """A memory of 6: of equal size nothing is released; for 5 bytes two blocks of 3 are."""
    cost = Allocation(0.25, 0.5, chunk_bytes=1, unit_bytes=1, largest_bytes=0)
    platform = machine(size=6, allocation=cost, pipeline=1)
    equal = play(tasks((1, [(R, 0)]), (1, [(R, 1)]), (1, [(R, 2)])), platform, {GPU: [0, 1, 2]})
    assert equal.start == [3.25, 7.5, 11.5]
    graph = tasks((1, [(R, 0)]), (1, [(R, 1)]), (1, [(R, 2)]), sizes=(3, 3, 5))
    larger = play(graph, platform, {GPU: [0, 1, 2]})
    assert larger.start == [3.25, 7.5, 8.5 + 2 * 0.5 + 0.25 + 5]


# Whatever the graph, the machine and the scheduler


def simulated(graph, platform, scheduler, pushes, seed):
    try:
        return Simulation(
            graph,
            platform,
            GivenDurations(graph),
            scheduler,
            seed=seed,
            simultaneous_pushes=pushes,
        ).run()
    except InputError as error:
        assume("bytes at once" not in str(error))
        raise


@settings(max_examples=few(150), deadline=None)
@given(moving_graphs(), machines(), st.sampled_from(names(bare=True)), PUSHES, st.integers(0, 3))
def test_all_tasks_are_done_and_every_invariant_holds(graph, platform, scheduler, pushes, seed):
    run = simulated(graph, platform, scheduler, pushes, seed)
    check_run(run, graph, platform)
    assert run.makespan_s >= max(run.bounds.values()) * (1 - 1e-9) - 1e-9 * len(graph)


@pytest.mark.slow
@settings(max_examples=few(1000 if LONG else 400), deadline=None)
@given(
    moving_graphs(max_tasks=40),
    machines(),
    st.sampled_from(names(bare=True)),
    PUSHES,
    st.integers(0, 3),
)
def test_all_tasks_are_done_and_every_invariant_holds_at_length(
    graph, platform, scheduler, pushes, seed
):
    run = simulated(graph, platform, scheduler, pushes, seed)
    check_run(run, graph, platform)


@settings(max_examples=few(60), deadline=None)
@given(moving_graphs(), machines(), st.sampled_from(names(bare=True)), PUSHES, st.integers(0, 3))
def test_the_same_seed_gives_the_same_tables(graph, platform, scheduler, pushes, seed):
    one, other = (simulated(graph, platform, scheduler, pushes, seed) for _ in range(2))
    assert one.tasks == other.tasks
    assert one.transfers == other.transfers
    assert one.memory == other.memory
    assert one.evictions == other.evictions


@st.composite
def plain(draw):
    """Cores on one memory, without costs."""
    free = Platform.identical(draw(st.integers(1, 5)))
    kinds = draw(st.lists(st.sampled_from(["cpu", "big"]), min_size=5, max_size=5))
    workers = tuple(
        type(w)(w.id, w.name, kind, 0) for w, kind in zip(free.workers, kinds, strict=False)
    )
    return Platform(name="plain", workers=workers, memories=free.memories)


@settings(max_examples=few(150), deadline=None)
@given(st.data(), graphs(), plain(), st.sampled_from(names(bare=True)))
def test_both_engines_replay_one_memory_without_costs_alike(data, graph, platform, scheduler):
    table = data.draw(costs(graph, platform))
    replay_of(graph, platform, create(scheduler), table).run(0)  # on both engines


@pytest.mark.parametrize("pushes", ["serial", "blind"])
def test_a_task_is_submitted_when_those_before_it_have_been_whatever_the_replay(pushes):
    """An option that only the replay of machines knows moves nothing by a submission."""
    builder = GraphBuilder("independent")
    for _ in range(4):
        builder.insert("task", duration_s=1.0)
    platform = replace(Platform.identical(4), overheads=Overheads(submission_s=1.0))
    run = Simulation(
        builder.build(), platform, ConstantLibrary({"task": 1.0}), "eager",
        simultaneous_pushes=pushes,
    ).run()  # fmt: skip
    assert run.tasks.submitted_s.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert run.makespan_s == 4.0


def test_devices_may_share_the_only_memory():
    free = Platform.identical(2)
    workers = tuple(replace(w, architecture="cuda") for w in free.workers)
    shared = replace(free, workers=workers, devices={"cuda": Device(2, ())})
    graph = tasks((2, [(W, 0)]), (2, [(R, 0)]), (1, [(W, 1)]))
    run = Simulation(graph, shared, GivenDurations(graph), "eager").run(check=True)
    assert run.tasks.start_s.tolist() == [0, 3, 2]  # the first driver queues a second kernel
