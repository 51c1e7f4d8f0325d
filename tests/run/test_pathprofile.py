import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasksim.graph.builder import RW, GraphBuilder, R, W
from tasksim.run.critical import practical_critical_path
from tasksim.run.pathprofile import path_profile


def costs_by_loops(run, graph):
    """Return synchronisations and bytes of others per task, access by access."""
    worker, writer, there = run.tasks.worker.tolist(), {}, set()
    syncs, sizes = [0] * len(graph), [0] * len(graph)
    for task in np.argsort(run.tasks.start_s, kind="stable").tolist():
        for successor in graph.successors_of(task):
            syncs[successor] |= worker[task] != worker[successor]
        for handle, mode in graph.accesses_of(task):
            last = writer.get(handle, task)
            if mode.name != "W" and worker[last] != worker[task]:
                sizes[task] += int(graph.handle_size[handle]) * ((last, worker[task]) not in there)
                there.add((last, worker[task]))
            if mode.name != "R":
                writer[handle] = task
    return np.array(syncs), np.array(sizes)


@given(seed=st.integers(0, 1000), workers=st.integers(1, 5), tiles=st.integers(1, 6))
@settings(max_examples=30, deadline=None)
def test_costs_are_those_of_each_access(make, seed, workers, tiles):
    graph = make.cholesky(tiles)
    durations = np.random.default_rng(seed).uniform(0.1, 2, len(graph))
    run = make.schedule(graph, workers, durations)
    profile, path = path_profile(run, graph), practical_critical_path(run)
    syncs, sizes = costs_by_loops(run, graph)
    on_path = [step.task for step in path.steps]
    assert profile.costs.path.synchronisations == syncs[on_path].sum()
    assert profile.costs.path.words == sizes[on_path].sum() / 8
    assert profile.costs.mean.words == pytest.approx(sizes.sum() / 8 / workers)
    per_worker = np.bincount(run.tasks.worker, syncs)
    assert profile.costs.most.synchronisations == per_worker.max()
    assert sum(k.costs.words for k in profile.kernels) == profile.costs.path.words


def test_times_and_counts_are_those_of_the_path(small):
    profile = path_profile(small, None)
    found = [(k.kernel, k.tasks, k.of, k.total_s, k.costs) for k in profile.kernels]
    assert found == [("gemm", 1, 3, 3.0, None), ("potrf", 1, 1, 2.0, None)]
    assert profile.waited_s == {"start": 0.0, "dependency": 1.0}
    assert profile.kernel_s + sum(profile.waited_s.values()) == small.makespan_s
    assert profile.costs is None


def test_what_is_only_written_is_not_read(make):
    g = GraphBuilder("hand")
    a = g.handle("a", 800)
    g.insert("potrf", W(a), n=1)
    g.insert("potrf", W(a), n=1)
    g.insert("gemm", R(a), m=1, n=1, k=1)
    g.insert("other", RW(a), n=1)
    graph = g.build()
    rows = [(0, 0, 0, 0, 0, 1, -1), (0, 1, 0, 1, 1, 2, 0), (1, 0, 0, 2, 2, 3, 1)]
    run = make.run([*rows, (2, 0, 0, 3, 3, 4, 2)], kernels=("potrf", "gemm", "other"))
    costs = path_profile(run, graph).costs
    # Task 1 waits for worker 0 and reads nothing; gemm brings what worker 1 wrote, other has it.
    assert (costs.path.synchronisations, costs.path.words, costs.path.flop) == (2.0, 100.0, None)


def test_copies_that_the_path_waited_for(travelled):
    profile = path_profile(travelled, None)
    path = practical_critical_path(travelled)
    assert [step.task for step in path.steps] == [0, 1, 2, 3]
    # b was there before task 1 could have run; a, c and b back were waited for.
    assert (profile.copies, profile.copied_bytes) == (3, 120)


def test_an_empty_run(make):
    profile = path_profile(make.run([]), None)
    assert (profile.tasks, profile.kernels, profile.makespan_s) == (0, (), 0.0)


def test_without_data_there_are_no_words(make):
    graph = GraphBuilder("no data")
    graph.insert("potrf", n=1)
    profile = path_profile(make.run([(0, 0, 0, 0, 0, 1, -1)]), graph.build())
    assert profile.costs.path.words is None
    assert profile.costs.mean.synchronisations == 0.0
