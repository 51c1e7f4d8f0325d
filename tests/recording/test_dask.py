"""Computations of Dask: the graph that it runs, its results, its times."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tasksim
from tasksim.base.errors import InputError
from tasksim.graph.taskgraph import COLUMNS

dask = pytest.importorskip("dask", reason="Dask is not installed")
da = pytest.importorskip("dask.array", reason="Dask is not installed")
pytest.importorskip("dask.threaded", reason="Dask is not installed")


def one(name):
    return [name]


def join(*parts):
    return [each for part in parts for each in part]


def fail(*parts):
    raise ValueError("no")


def diamond(last=join):
    """A source, two that read it, one that reads both."""
    call = dask.delayed
    top = call(one, pure=False)("top", dask_key_name="one-0")
    left = call(join, pure=False)(top, top, dask_key_name="join-1")
    right = call(join, pure=False)(top, [], dask_key_name="join-2")
    return call(last, pure=False)(left, right, dask_key_name="last-3")


def computed(collection, workers=2, **options):
    with tasksim.record() as recording:
        value = collection.compute(scheduler="threads", num_workers=workers, **options)
    tasksim.check_run(recording.run, recording.graph)
    return value, recording


def test_a_diamond():
    value, recording = computed(diamond())
    assert value == ["top"] * 3
    graph = recording.graph
    kinds = [graph.kernel_of(task) for task in range(len(graph))]
    assert kinds == ["one", "join", "join", "last"]
    assert [graph.successors_of(task) for task in range(4)] == [[1, 2], [3], [3], []]
    assert graph.priority.tolist() == [3, 2, 1, 0]
    assert recording.run.scheduler == "dask"
    assert recording.run.tasks.submitted_s.tolist() == [0, 0, 0, 0]
    assert not np.isnan(recording.run.tasks.popped_s).any()


def test_a_graph_that_is_not_computed_is_the_same():
    def columns(graph):
        left_out = ("row", "handle_size")
        return {n: getattr(graph, n).tolist() for n in COLUMNS if n not in left_out}

    x = da.random.default_rng(7).random((60, 8), chunks=(10, 8))
    q, r = da.linalg.qr(x)
    collection = q.sum(axis=1).std() + r.sum()
    graph = tasksim.from_dask(collection)
    value, recording = computed(collection)
    assert value == pytest.approx(collection.compute(scheduler="sync"))
    assert columns(graph) == columns(recording.graph)
    assert graph.kernels == recording.graph.kernels
    assert "qr" in graph.kernels
    assert graph.parameter_names == ((),) * len(graph.kernels)
    assert graph.handle_size.max() < recording.graph.handle_size.max()


def test_sizes_are_what_dask_says():
    x = da.ones((100, 100), chunks=(50, 100))
    _, recording = computed(x + 1)
    sizes = recording.graph.handle_size.tolist()
    assert sizes.count(50 * 100 * 8) == 2
    assert max(sizes) == 100 * 100 * 8


def test_data_that_are_given_are_read():
    table = np.arange(1000.0)
    with tasksim.record() as recording:
        assert dask.threaded.get({"x": table, "y": (np.sum, "x")}, "y", num_workers=2) == 499500
    graph = recording.graph
    written = {graph.accesses_of(task)[-1][0] for task in range(len(graph))}
    given = set(range(graph.handles)) - written
    assert [graph.handle_size[handle] for handle in given] == [table.nbytes]


def test_one_computation_after_another_waits_for_it(monkeypatch):
    monkeypatch.setattr("tasksim.recording.log.OWN_S", float("inf"))
    with tasksim.record() as recording:
        for _ in range(2):
            diamond().compute(scheduler="threads", num_workers=2)
    graph = recording.graph
    tasksim.check_run(recording.run, graph)
    kinds = [graph.kernel_of(task) for task in range(len(graph))]
    assert kinds == ["one", "join", "join", "last", "main thread", "one", "join", "join", "last"]
    assert (graph.successors_of(3), graph.successors_of(4)) == ([4], [5])


def test_pools_and_dask_in_one_program():
    with tasksim.record() as recording, ThreadPoolExecutor(1) as pool:
        first = pool.submit(list, "a").result()
        assert diamond().compute(scheduler="threads", num_workers=2) == ["top"] * 3
        assert pool.submit(tuple, first).result() == ("a",)
    graph = recording.graph
    tasksim.check_run(recording.run, graph)
    kernels = [graph.kernel_of(task) for task in range(len(graph))]
    assert [name for name in kernels if name != "main thread"] == [
        "list", "one", "join", "join", "last", "tuple"
    ]  # fmt: skip
    assert recording.run.config["recorded"]["of"] == ["concurrent.futures", "dask"]


def test_the_synchronous_scheduler_is_one_worker():
    with tasksim.record() as recording:
        diamond().compute(scheduler="sync")
    assert len(recording.run.workers) == 1
    tasksim.check_run(recording.run, recording.graph)


def test_a_task_of_dask_that_raised():
    with pytest.raises(ValueError, match="no"), tasksim.record() as recording:
        diamond(fail).compute(scheduler="threads", num_workers=2)
    assert len(recording.run) == 4
    assert recording.notes[0] == "1 task raised an exception"


def test_what_comes_after_a_task_that_raised_is_left_out():
    broken = dask.delayed(join)(diamond(fail), dask_key_name="after-4")
    with pytest.raises(ValueError, match="no"), tasksim.record() as recording:
        broken.compute(scheduler="threads", num_workers=2)
    assert len(recording.run) == 4
    assert recording.notes[0].startswith("1 task had not ended when the recording did, never ran")


def test_dask_inside_a_task_is_part_of_it():
    def inner():
        return diamond().compute(scheduler="sync")

    with tasksim.record() as recording, ThreadPoolExecutor(1) as pool:
        assert pool.submit(inner).result() == ["top"] * 3
    assert [recording.graph.kernel_of(0), len(recording.graph)] == [
        "test_dask_inside_a_task_is_part_of_it.<locals>.inner".rpartition(".")[2],
        1,
    ]


def test_callbacks_of_the_user_go_on():
    from dask.callbacks import Callback

    keys = []
    with Callback(pretask=lambda key, *_: keys.append(key)):
        computed(diamond())
    assert len(keys) == 4
    assert Callback.active == set()


def test_it_is_replayed():
    x = da.random.default_rng(1).random((400, 400), chunks=(40, 40))
    _, recording = computed((x + x.T).sum(axis=0).std())
    work_s = float(recording.run.tasks.duration_s.sum())
    one, two, eight = (recording.simulate(workers).makespan_s for workers in (1, 2, 8))
    assert one >= work_s
    assert one / 2 <= two <= one
    assert one / 8 <= eight <= one
    assert recording.simulate().scheduler == "dask"


@pytest.mark.parametrize("what", [7, "x", [1, 2]])
def test_what_is_no_collection(what):
    with pytest.raises(InputError, match="legal: a collection of Dask, not computed yet"):
        tasksim.from_dask(what)


def called(code):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_dask_is_not_imported_unless_the_program_does():
    code = """
import sys, tasksim
from concurrent.futures import ThreadPoolExecutor
with tasksim.record() as recording, ThreadPoolExecutor(1) as pool:
    pool.submit(abs, -1)
recording.run
print([name for name in sys.modules if name.partition('.')[0] in ('dask', 'cloudpickle')])
"""
    assert called(code) == "[]"


def test_dask_that_is_imported_while_recording_is_seen():
    code = """
import sys, tasksim
with tasksim.record() as recording:
    import dask, dask.local
    dask.delayed(abs)(-1).compute(scheduler="sync")
assert not [each for each in sys.meta_path if "tasksim" in type(each).__module__]
print(recording.graph.kernels, dask.local.__spec__.loader.__class__.__name__)
"""
    assert called(code) == "('abs',) SourceFileLoader"
