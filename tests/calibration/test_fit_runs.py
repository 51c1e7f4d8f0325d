"""What is fitted to native runs: overheads, and the cost of far data."""

from __future__ import annotations

import numpy as np
import pytest

from tasksim.calibration.fit_runs import (
    REACHES,
    FarSamples,
    Gaps,
    far_samples,
    fit_locality,
    gaps,
    measured_overheads,
)
from tasksim.graph.builder import GraphBuilder, R
from tasksim.models.locality import Locality
from tasksim.platform.description import Overheads
from tasksim.run.record import Run, TaskTable, WorkerInfo


def run(rows, workers=2):
    """A run of rows (worker, submitted, ready, start, end, released by), in milliseconds."""
    worker, submitted, ready, start, end, released_by = zip(*rows, strict=True)
    return Run(
        kind="native",
        graph_name="drawn",
        graph_arguments={},
        kernel_names=("task",),
        workers=tuple(WorkerInfo(f"cpu{i}", "cpu") for i in range(workers)),
        platform="drawn",
        scheduler="eager",
        seed=0,
        tasks=TaskTable(
            task=range(len(rows)),
            kernel=[0] * len(rows),
            worker=worker,
            priority=[0] * len(rows),
            submitted_s=[1e-3 * t for t in submitted],
            ready_s=[1e-3 * t for t in ready],
            start_s=[1e-3 * t for t in start],
            end_s=[1e-3 * t for t in end],
            released_by=released_by,
        ),
    )


FORK = run(
    [
        # worker, submitted, ready, start, end, released by
        (0, 0.0, 0.0, 1.0, 11.0, -1),
        (0, 0.5, 11.1, 11.2, 20.0, 0),  # its own successor: 0.2 after its end
        (1, 1.0, 11.1, 11.7, 21.0, 0),  # worker 1 slept: 0.7 after the end of task 0
        (0, 1.5, 11.1, 20.4, 30.0, 0),  # was ready when worker 0 ended: 0.4
        (1, 2.5, 30.1, 30.8, 40.0, 3),  # worker 1 slept again: 0.8 after the end of task 3
        (1, 2.5, 2.5, 3.0, 4.0, -1),  # its first: nothing was before
    ]
)


def test_gaps_by_what_caused_them():
    found = gaps(FORK)
    assert sorted(found.task) == pytest.approx([0.2e-3, 0.4e-3])
    assert sorted(found.wakeup) == pytest.approx([0.7e-3, 0.8e-3])
    assert sorted(found.submission) == pytest.approx([0, 0.5e-3, 0.5e-3, 0.5e-3, 1e-3])


def test_gaps_know_how_many_tasks_were_released():
    found = gaps(FORK)
    assert sorted(zip(found.task, found.task_releases, strict=True)) == [
        (pytest.approx(0.2e-3), 3),  # after the first task, which released three
        (pytest.approx(0.4e-3), 0),
    ]
    assert sorted(zip(found.wakeup, found.wakeup_releases, strict=True)) == [
        (pytest.approx(0.7e-3), 2),  # the second of those three
        (pytest.approx(0.8e-3), 1),
    ]


def test_costs_are_means_and_the_wakeup_comes_on_top():
    measured = measured_overheads([gaps(FORK)])
    assert measured.task_s == pytest.approx(0.3e-3)
    assert measured.wakeup_s == pytest.approx(0.75e-3 - 0.3e-3)
    assert measured.submission_s == pytest.approx(0.5e-3)
    assert measured.push_s == 0  # nothing can be said of so few


def made_up(task_s, release_s, rare_s=0.0, count=1000):
    """Gaps of tasks that release none to three others, one in fifty of them held up."""
    rng = np.random.default_rng(0)
    releases = rng.integers(0, 4, count).astype(float)
    task = task_s + release_s * releases + 1e-7 * rng.random(count)
    task[::50] += rare_s
    none = np.empty(0)
    return Gaps(task, releases, none, none, none)


def test_releases_cost_what_they_add_to_a_gap():
    measured = measured_overheads([made_up(2e-6, 1e-6)])
    assert measured.push_s == pytest.approx(1e-6, rel=0.01)
    assert measured.task_s == pytest.approx(2.05e-6, rel=0.01)


def test_the_mean_stays_the_mean_though_some_gaps_are_long():
    long = made_up(2e-6, 1e-6, rare_s=1e-3)
    measured = measured_overheads([long])
    assert measured.push_s == pytest.approx(1e-6, rel=0.05)
    mean_s = measured.task_s + measured.push_s * long.task_releases.mean()
    assert mean_s == pytest.approx(long.task.mean())


def test_what_hardly_matters_is_part_of_the_task():
    measured = measured_overheads([made_up(20e-6, 1e-7)])
    assert measured.push_s == 0
    assert measured.task_s == pytest.approx(20.2e-6, rel=0.01)


def test_all_runs_count_together():
    slow = [(0, 0, 0, 1, 2, -1)] + [(0, i, i, 10 * i, 10 * i + 1, -1) for i in range(1, 6)]
    together = measured_overheads([gaps(FORK), gaps(run(slow))])
    assert together.task_s == pytest.approx(44.6e-3 / 7)  # of 0.2, 0.4, 8, 9, 9, 9, 9
    assert together.submission_s == pytest.approx(0.75e-3)


def test_a_task_that_waits_for_its_submission_is_no_gap_of_the_runtime():
    """The worker was idle: there was nothing to do."""
    found = gaps(run([(0, 0.0, 0.0, 0.1, 1.0, -1), (0, 5.0, 5.0, 5.1, 6.0, -1)]))
    assert (len(found.task), len(found.wakeup)) == (0, 0)


def test_a_wakeup_quicker_than_a_task_costs_nothing():
    rows = [
        (0, 0.0, 0.0, 1.0, 2.0, -1),
        (0, 0.0, 0.0, 3.0, 4.0, -1),  # 1.0 after the end before
        (1, 0.0, 0.0, 1.0, 1.5, -1),
        (1, 0.0, 2.0, 2.25, 4.0, 0),  # 0.25 after the end that released it
    ]
    assert measured_overheads([gaps(run(rows))]) == Overheads(0.0, pytest.approx(1e-3), 0.0)


@pytest.mark.parametrize("runs", [[], [gaps(run([(0, 0, 0, 1, 2, -1)]))]])
def test_runs_without_gaps_tell_nothing(runs):
    assert measured_overheads(runs) == Overheads()


MIB = 2**20
SLOPE = 1e-10
"""Seconds per byte: 0.1 ms for a far megabyte."""


def walk(tasks=800, tiles=64, kernels=("gemm",), seed=0):
    """Tasks that each read two random tiles of a mebibyte: now near, now far."""
    rng = np.random.default_rng(seed)
    builder = GraphBuilder("walk")
    tile = builder.vector("A", tiles, size_bytes=MIB)
    for task in range(tasks):
        first, second = rng.choice(tiles, 2, replace=False).tolist()
        builder.insert(kernels[task % len(kernels)], R(tile[first]), R(tile[second]), m=8)
    return builder.build()


def far_bytes(graph, reach):
    """Per task of a run in order: bytes last used more than *reach* bytes of accesses ago."""
    last, accessed, far = {}, 0, []
    for task in range(len(graph)):
        handles = [h for h, _ in graph.accesses_of(task)]
        far.append(sum(MIB for h in handles if accessed - last.get(h, -np.inf) > reach))
        accessed += MIB * len(handles)
        last.update(dict.fromkeys(handles, accessed))
    return np.array(far, dtype=float)


def durations_of(graph, reach, slope, noise=1e-5, seed=1):
    rng = np.random.default_rng(seed)
    return 1e-3 + slope * far_bytes(graph, reach) + rng.normal(0, noise, len(graph))


def fitted(graph, durations_s, run_of):
    return fit_locality(far_samples(run_of(graph, durations_s), graph))


@pytest.mark.parametrize(
    ("reach", "tiles"), [(4 * MIB, 8), (16 * MIB, 64), (32 * MIB, 64), (128 * MIB, 150)]
)
def test_slope_and_reach_are_recovered(run_of, reach, tiles):
    graph = walk(tiles=tiles)
    assert reach in REACHES
    found = fitted(graph, durations_of(graph, reach, SLOPE), run_of)["gemm"]
    assert found.reach_bytes == reach
    assert found.seconds_per_far_byte == pytest.approx(SLOPE, rel=0.05)
    share = far_bytes(graph, reach).sum() / (2 * MIB * len(graph))
    assert found.mean_far_share == pytest.approx(share, rel=0.02)


def test_the_reach_is_one_for_all_kernels(run_of):
    """Of a kernel that does not care, the cost is next to nothing."""
    graph = walk(kernels=("gemm", "potrf"))
    durations = durations_of(graph, 16 * MIB, SLOPE)
    idle = np.array([graph.kernel_of(task) == "potrf" for task in range(len(graph))])
    durations[idle] = durations_of(graph, 16 * MIB, 0.0)[idle]
    found = fitted(graph, durations, run_of)
    assert {f.reach_bytes for f in found.values()} == {16 * MIB}
    assert found["gemm"].seconds_per_far_byte == pytest.approx(SLOPE, rel=0.05)
    assert found["potrf"].seconds_per_far_byte < 0.03 * SLOPE


def test_runs_that_are_all_alike_cost_nothing(run_of):
    graph = walk()
    found = fit_locality(far_samples(run_of(graph, np.full(len(graph), 1e-3)), graph))
    assert found["gemm"].seconds_per_far_byte < 1e-6 * SLOPE


def test_noise_costs_next_to_nothing(run_of):
    graph = walk()
    found = fitted(graph, durations_of(graph, 16 * MIB, 0.0), run_of)["gemm"]
    assert found.seconds_per_far_byte * 2 * MIB < 2e-6  # of a duration of 1 ms +- 10 us


def test_far_data_cannot_be_faster(run_of):
    graph = walk()
    found = fitted(graph, durations_of(graph, 16 * MIB, -0.3 * SLOPE), run_of)["gemm"]
    assert found.seconds_per_far_byte == 0.0


def test_configurations_are_centred_apart(run_of):
    """Large tiles take longer, and are far more often: that is not locality."""
    rng = np.random.default_rng(3)
    parts = [
        FarSamples("gemm", (m,), base + rng.normal(0, 1e-6, 50), far, np.full(50, 2e6))
        for m, base, far in (
            (1.0, 1e-3, rng.choice([0.0, 1e6], (len(REACHES), 50), p=[0.9, 0.1])),
            (2.0, 9e-3, rng.choice([0.0, 1e6], (len(REACHES), 50), p=[0.1, 0.9])),
        )
    ]
    assert fit_locality(parts)["gemm"].seconds_per_far_byte * 1e6 < 2e-6


def test_outliers_do_not_count(run_of):
    graph = walk()
    durations = durations_of(graph, 16 * MIB, SLOPE)
    durations[::97] = 1.0
    found = fitted(graph, durations, run_of)["gemm"]
    assert found.reach_bytes == 16 * MIB
    assert found.seconds_per_far_byte == pytest.approx(SLOPE, rel=0.05)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_constant_far_bytes_tell_nothing(share):
    far = np.full((len(REACHES), 40), 1000 * share)
    durations = 1e-3 + 1e-5 * np.arange(40.0)
    found = fit_locality([FarSamples("gemm", (8.0,), durations, far, np.full(40, 1000.0))])
    assert found == {"gemm": Locality(REACHES[0], 0.0, share)}


def test_tasks_without_data_tell_nothing():
    none = np.zeros(40)
    far = np.zeros((len(REACHES), 40))
    found = fit_locality([FarSamples("task", (), 1.0 + np.arange(40.0), far, none)])
    assert found == {"task": Locality(REACHES[0], 0.0, 0.0)}


def test_few_samples_tell_nothing(run_of):
    graph = walk(tasks=29)
    assert fitted(graph, durations_of(graph, 16 * MIB, SLOPE), run_of) == {}
    assert fit_locality([]) == {}


def test_the_order_of_the_starts_counts_not_that_of_the_submission(run_of):
    """Task 1 starts last, and finds its tile far away."""
    builder = GraphBuilder("three")
    a = builder.handle("a", size_bytes=MIB)
    b = builder.handle("b", size_bytes=4 * MIB)
    for handle in (a, a, b):
        builder.insert("task", R(handle), m=1)
    graph = builder.build()
    in_order = run_of(graph, [1.0, 1.0, 1.0])
    (near,) = far_samples(in_order, graph)
    assert near.far_bytes[0].tolist() == [MIB, 0, 4 * MIB]
    columns = {name: getattr(in_order.tasks, name) for name in in_order.tasks.dtypes}
    columns["start_s"] = columns["start_s"][[0, 2, 1]]
    columns["end_s"] = columns["end_s"][[0, 2, 1]]
    swapped = type(in_order)(**{**vars(in_order), "tasks": type(in_order.tasks)(**columns)})
    (far,) = far_samples(swapped, graph)
    assert far.far_bytes[0].tolist() == [MIB, MIB, 4 * MIB]
    assert far.far_bytes[2].tolist() == [MIB, 0, 4 * MIB]  # 4 MiB is just not too far
    assert far.accessed_bytes.tolist() == [MIB, MIB, 4 * MIB]
