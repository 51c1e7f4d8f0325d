"""The samples of recorded runs, of each run or averaged over repetitions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_tasks import graph_of_sizes, run_of

from tasksim.graph.apps.registry import generate
from tasksim.run.recordtables import TaskTable
from tasksim.run.samples import (
    averaged,
    first_repetitions,
    measured,
    recorded_kernels,
)
from tasksim.scenario.recorded import recorded_runs


def test_repetitions_are_averaged_task_by_task():
    graph = graph_of_sizes(8, 8, 16)
    (mean,) = averaged([run_of(graph, [1.0, 2.0, 4.0]), run_of(graph, [3.0, 2.0, 8.0])])
    assert mean.task.tolist() == [0, 1, 2]
    assert mean.architecture.tolist() == ["cpu"] * 3
    assert mean.durations_s.tolist() == [2.0, 2.0, 6.0]


def test_other_inputs_are_kept_apart_and_named_by_their_first_run():
    small, large = graph_of_sizes(8, tiles=1), graph_of_sizes(8, tiles=2)
    runs = [run_of(small, [1.0]), run_of(large, [5.0]), run_of(small, [2.0]), run_of(large, [6.0])]
    assert first_repetitions(runs) == [0, 1, 0, 1]
    assert [(t.run, t.durations_s.tolist()) for t in averaged(runs)] == [(0, [1.5]), (1, [5.5])]
    assert [(t.run, t.durations_s.tolist()) for t in measured(runs)] == [
        (0, [1.0]),
        (1, [5.0]),
        (2, [2.0]),
        (3, [6.0]),
    ]
    (kernel,) = recorded_kernels(runs, "mean")
    assert kernel.samples.runs.tolist() == [0, 1]
    assert kernel.samples.durations_s.tolist() == [1.5, 5.5]
    (kernel,) = recorded_kernels(runs)
    assert kernel.samples.runs.tolist() == [0, 1, 2, 3]


def test_files_called_the_same_with_other_tasks_are_other_inputs():
    runs = [run_of(graph_of_sizes(*sizes), [1.0] * 2) for sizes in ((8, 16), (8, 32), (8, 16))]
    assert first_repetitions(runs) == [0, 1, 0]


@pytest.mark.parametrize("change", [{"kind": "simulated"}, {"platform": "there"}])
def test_what_no_repetition_is(change):
    graph = graph_of_sizes(8)
    runs = [run_of(graph, [1.0]), run_of(graph, [2.0], **change)]
    assert first_repetitions(runs) == [0, 1]


def test_scheduler_and_seed_may_differ():
    graph = graph_of_sizes(8)
    assert first_repetitions(
        [run_of(graph, [1.0]), run_of(graph, [1.0], scheduler="ws", seed=3)]
    ) == [0, 0]


def test_a_task_is_averaged_on_each_architecture_by_itself():
    graph, kinds = graph_of_sizes(8, 16), ("cpu", "cuda")
    runs = [
        run_of(graph, [4.0, 6.0], [0, 0], kinds),
        run_of(graph, [1.0, 8.0], [1, 0], kinds),
        run_of(graph, [2.0, 1.0], [0, 1], kinds),
    ]
    (mean,) = averaged(runs)
    found = zip(
        mean.task.tolist(), mean.architecture.tolist(), mean.durations_s.tolist(), strict=True
    )
    assert set(found) == {(0, "cpu", 3.0), (0, "cuda", 1.0), (1, "cpu", 7.0), (1, "cuda", 1.0)}
    by = {k.architecture: k.samples.durations_s.tolist() for k in recorded_kernels(runs, "mean")}
    assert by == {"cpu": [3.0, 7.0], "cuda": [1.0, 1.0]}


@given(st.integers(1, 4), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_means_are_those_of_a_table(repetitions, tasks, seed):
    rng = np.random.default_rng(seed)
    graph = graph_of_sizes(*range(1, tasks + 1))
    table = rng.uniform(1.0, 2.0, (repetitions, tasks))
    shuffled = [permuted(run_of(graph, row), rng.permutation(tasks)) for row in table]
    (mean,) = averaged(shuffled)
    assert mean.task.tolist() == list(range(tasks))
    np.testing.assert_allclose(mean.durations_s, table.mean(axis=0), rtol=1e-12)
    (kernel,) = recorded_kernels(shuffled, "mean")
    assert kernel.samples.parameters[:, 0].tolist() == list(range(1, tasks + 1))
    assert kernel.total_s == pytest.approx(table.mean(axis=0).sum())


def permuted(recorded, order):
    """Return the run with the rows of its table in another order."""
    tasks = recorded.run.tasks
    columns = {name: getattr(tasks, name)[order] for name in (
        "task", "kernel", "worker", "priority", "submitted_s", "ready_s", "start_s", "end_s",
        "released_by",
    )}  # fmt: skip
    return replace(recorded, run=replace(recorded.run, tasks=TaskTable(**columns)))


def test_a_graph_that_several_runs_have_is_made_once():
    small, large = (generate("cholesky", tiles=2, tile_size=size) for size in (8, 16))
    runs = [run_of(graph, [1.0] * len(graph)).run for graph in (small, large, small)]
    found = recorded_runs([(Path(str(i)), run) for i, run in enumerate(runs)])
    assert found[0].graph is found[2].graph
    assert found[1].graph is not found[0].graph
    assert [str(r.path) for r in found] == ["0", "1", "2"]
    assert found[1].graph.arguments["tile_size"] == 16


def test_runs_that_keep_their_graphs_have_them_whatever_their_names():
    graphs = [graph_of_sizes(8), graph_of_sizes(16)]
    runs = [run_of(graph, [1.0], graph=graph).run for graph in graphs]
    found = recorded_runs([(Path(str(i)), run) for i, run in enumerate(runs)])
    assert [one.graph.parameters[0].tolist() for one in found] == [[[8.0]], [[16.0]]]
