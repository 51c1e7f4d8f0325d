"""Programs with a Client of Dask: what its scheduler says of their tasks."""

import gc
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tasksim

dask = pytest.importorskip("dask", reason="Dask is not installed")
distributed = pytest.importorskip("distributed", reason="Dask's workers are not installed")


def one(name):
    return [name]


def join(*parts):
    return [each for part in parts for each in part]


def fail(*parts):
    raise ValueError("no")


ATTEMPTS = []
"""Attempts at :func:`sometimes`; the workers are threads of this process."""


def sometimes():
    ATTEMPTS.append(len(ATTEMPTS))
    if len(ATTEMPTS) == 1:
        raise ValueError("not yet")
    return ["x"]


@pytest.fixture
def exact_graphs(monkeypatch):
    """A program's work between two waits is a task only if it follows a wait."""
    monkeypatch.setattr("tasksim.recording.log.OWN_S", float("inf"))


@pytest.fixture(scope="module")
def cluster():
    """A cluster of one worker, between whose threads nothing is transferred."""
    options = {"processes": False, "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with distributed.LocalCluster(n_workers=1, threads_per_worker=2, **options) as here:
        yield here


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as here:
        yield here


def kernels(graph):
    return [graph.kernel_of(task) for task in range(len(graph))]


def diamond():
    call = dask.delayed
    top = call(one, pure=False)("top", dask_key_name="one-0")
    left = call(join, pure=False)(top, top, dask_key_name="left-1")
    right = call(join, pure=False)(top, [], dask_key_name="right-2")
    return call(join, pure=False)(left, right, dask_key_name="last-3")


def test_a_diamond(client):
    with tasksim.record() as recording:
        assert diamond().compute() == ["top"] * 3
    run, graph = recording.run, recording.graph
    tasksim.check_run(run, graph)
    assert sorted(kernels(graph)) == ["last", "left", "one", "right"]
    assert (kernels(graph)[0], kernels(graph)[3]) == ("one", "last")
    assert [graph.successors_of(task) for task in range(4)] == [[1, 2], [3], [3], []]
    assert graph.priority.tolist() == [3, 2, 1, 0]
    assert (run.scheduler, run.config["recorded"]["of"]) == ("prio", ["dask.distributed"])
    assert {worker.architecture for worker in run.workers} == {"cpu"}


def test_the_client_may_be_made_and_closed_while_it_is_recorded(cluster):
    with tasksim.record() as recording, distributed.Client(cluster) as own:
        futures = own.map(one, "abc", pure=False)
        assert own.gather(futures) == [["a"], ["b"], ["c"]]
    assert kernels(recording.graph) == ["one"] * 3
    assert recording.graph.edges == 0


def test_a_cluster_that_closes_before_its_client():
    with tasksim.record() as recording:
        options = {"processes": False, "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
        with distributed.LocalCluster(n_workers=1, threads_per_worker=1, **options) as own:
            client = own.get_client()
            assert client.submit(one, "a").result() == ["a"]
        client.close()
    assert kernels(recording.graph) == ["one"]


def test_two_clients_of_one_scheduler_are_one_program(cluster, client):
    with tasksim.record() as recording, distributed.Client(cluster) as other:
        assert client.submit(one, "a", pure=False).result() == ["a"]
        assert other.submit(join, ["b"], pure=False).result() == ["b"]
    assert kernels(recording.graph) == ["one", "main thread", "join"]


@pytest.mark.parametrize("how", ["gather", "result", "wait", "as_completed", "persist"])
def test_what_is_submitted_after_a_wait_comes_after_it(client, exact_graphs, how):
    with tasksim.record() as recording:
        if how == "persist":
            parts = [dask.delayed(one, pure=False)("x")]
            parts = list(client.persist(parts))
            distributed.wait(parts)
        else:
            parts = [client.submit(one, "x", pure=False)]
        if how == "gather":
            client.gather(parts)
        elif how == "result":
            parts[0].result()
        elif how == "wait":
            distributed.wait(parts)
        elif how == "as_completed":
            assert [done.key for done in distributed.as_completed(parts)] == [parts[0].key]
        assert client.submit(join, ["y"], pure=False).result() == ["y"]
    graph = recording.graph
    tasksim.check_run(recording.run, graph)
    assert kernels(graph) == ["one", "main thread", "join"]
    assert [graph.successors_of(task) for task in range(3)] == [[1], [2], []]


def test_a_future_that_is_passed_on_is_read(client):
    with tasksim.record() as recording:
        first = client.submit(one, "x", pure=False)
        assert client.submit(join, first, first, pure=False).result() == ["x", "x"]
    graph = recording.graph
    assert kernels(graph) == ["one", "join"]
    assert graph.successors_of(0) == [1]


def test_what_the_program_sends_is_read_and_made_by_none(client):
    table = np.arange(1000.0)
    with tasksim.record() as recording:
        sent = client.scatter(table)
        assert client.submit(np.sum, sent, pure=False).result() == 499500
    graph = recording.graph
    assert kernels(graph) == ["sum"]
    assert graph.handle_size[graph.accesses_of(0)[0][0]] == table.nbytes


def test_the_same_keys_are_computed_twice(client, exact_graphs):
    """Their results are dropped between, so that workers run them again."""
    with tasksim.record() as recording:
        for _ in range(2):
            assert diamond().compute() == ["top"] * 3
            gc.collect()
            client.run_on_scheduler(lambda: None)  # the scheduler knows that they are dropped
    graph = recording.graph
    tasksim.check_run(recording.run, graph)
    assert kernels(graph).count("one") == 2
    assert kernels(graph)[4] == "main thread"
    assert (graph.successors_of(3), graph.successors_of(4)) == ([4], [5])


def test_of_several_attempts_the_last_one_is_a_task(client, exact_graphs):
    ATTEMPTS.clear()
    with tasksim.record() as recording:
        assert client.submit(sometimes, retries=1, pure=False).result() == ["x"]
        client.submit(join, ["y"], pure=False).result()
    assert len(ATTEMPTS) == 2
    graph = recording.graph
    assert kernels(graph) == ["sometimes", "main thread", "join"]
    assert [graph.successors_of(task) for task in range(3)] == [[1], [2], []]


def test_a_task_that_raised_and_those_after_it(client):
    def program():
        broken = client.submit(fail, pure=False)
        client.submit(join, broken, pure=False).result()

    with pytest.raises(ValueError, match="no"), tasksim.record() as recording:
        program()
    assert kernels(recording.graph) == ["fail"]
    assert recording.notes[0].startswith("1 task had not ended when the recording did, never ran")


def nap(*_):
    time.sleep(0.05)
    return ["x"]


@pytest.mark.parametrize("late_s", [-100.0, 100.0])
def test_a_worker_with_another_clock(cluster, client, late_s):
    """Dask corrects the clocks of workers, and errs; here by more than a run takes."""
    with tasksim.record() as recording:
        for worker in cluster.workers.values():
            worker.scheduler_delay = late_s
        first = client.submit(nap, pure=False)
        client.submit(nap, first, pure=False).result()
    run = recording.run
    tasksim.check_run(run, recording.graph)
    assert recording.graph.successors_of(0) == [1]
    assert run.tasks.duration_s.min() >= 0.049
    assert run.makespan_s < 50


def test_an_asynchronous_client_gets_a_note(cluster):
    async def program():
        async with distributed.Client(cluster.scheduler_address, asynchronous=True) as own:
            return await own.submit(one, "x", pure=False)

    with tasksim.record() as recording:
        assert cluster.sync(program) == ["x"]
        with ThreadPoolExecutor(1) as pool:
            pool.submit(int).result()
    assert "what an asynchronous Client of Dask submits is not recorded" in recording.notes


def test_a_program_on_processes_is_replayed_in_the_time_that_it_took():
    options = {"dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **options) as own,
        distributed.Client(own) as client,
        tasksim.record() as recording,
    ):
        numbers = client.map(abs, range(-20, 0), pure=False)
        assert client.submit(sum, numbers, pure=False).result() == 210
    run = recording.run
    tasksim.check_run(run, recording.graph)
    graph = recording.graph
    kernel = kernels(graph)
    total, transfer = kernel.index("sum"), kernel.index("sum (transfer)")
    assert [kernel.count(name) for name in ("abs", "sum", "sum (transfer)")] == [20, 1, 1]
    assert all(total in graph.successors_of(at) for at in [*range(20), transfer])
    assert [worker.architecture for worker in run.workers] == ["cpu", "cpu", "event"]
    assert recording.simulate().makespan_s == pytest.approx(run.makespan_s, rel=0.25)
