"""Programs with multiprocessing's pools and processes: exactly their graphs, no other results."""

import multiprocessing
import os
import signal
import time
from multiprocessing.pool import ThreadPool

import pytest

import tasksim

pytestmark = pytest.mark.usefixtures("no_own_work")

FORKS = "fork" in multiprocessing.get_all_start_methods()
KINDS = ["threads", pytest.param("fork", marks=pytest.mark.skipif(not FORKS, reason="no fork"))]


def pool_of(kind, workers=2):
    if kind == "threads":
        return ThreadPool(workers)
    return multiprocessing.get_context(kind).Pool(workers)


def double(number):
    return [2 * number]


def add(*parts, start=0):
    return [start + sum(part[0] for part in parts)]


def fail(number):
    raise ValueError(number)


def ends_by(how):
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "exit":
        raise SystemExit(3)
    if how == "raise":
        raise ValueError(how)


@pytest.mark.parametrize("kind", KINDS)
def test_each_call_is_a_task_whatever_the_chunks(kind, checked):
    with tasksim.record() as recording, pool_of(kind) as pool:
        assert pool.map(double, range(7), chunksize=3) == [[2 * n] for n in range(7)]
    graph = checked(recording).graph
    assert (graph.kernels, len(graph), graph.edges) == (("double",), 7, 0)
    assert recording.run.config["recorded"]["of"] == ["multiprocessing"]


WAYS_TO_MAP = {
    "map": lambda pool, parts: pool.map(add, parts),
    "starmap": lambda pool, parts: pool.starmap(add, [[part] for part in parts]),
    "map_async": lambda pool, parts: pool.map_async(add, parts).get(60),
    "starmap_async": lambda pool, parts: pool.starmap_async(add, [[p] for p in parts]).get(),
    "apply": lambda pool, parts: [pool.apply(add, [part]) for part in parts],
    "apply_async": lambda pool, parts: [
        result.get() for result in [pool.apply_async(add, [part]) for part in parts]
    ],
    "imap": lambda pool, parts: list(pool.imap(add, parts)),
    "imap, in chunks": lambda pool, parts: list(pool.imap(add, parts, 2)),
    "imap_unordered": lambda pool, parts: sorted(pool.imap_unordered(add, parts)),
    "imap_unordered, in chunks": lambda pool, parts: sorted(pool.imap_unordered(add, parts, 2)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS_TO_MAP)
def test_every_way_to_call_depends_on_what_was_seen_and_read(way, kind, checked):
    with tasksim.record() as recording, pool_of(kind) as pool:
        parts = pool.map(double, range(3))
        results = WAYS_TO_MAP[way](pool, parts)
        assert results == [[0], [2], [4]]
        assert pool.apply(add, results, {"start": 1}) == [7]
    graph = checked(recording).graph
    doubles, adds = (
        [task for task in range(len(graph)) if graph.kernel_of(task) == name]
        for name in ("double", "add")
    )
    assert (len(doubles), len(adds)) == (3, 4)
    for number, task in enumerate(adds[:3]):
        if "un" not in way:
            assert task in graph.successors_of(doubles[number])
        assert adds[3] > task
    last = [task for task in range(len(graph)) if adds[3] in graph.successors_of(task)]
    assert any(graph.kernel_of(task) == "main thread" for task in last)


def test_results_that_are_not_there_yet_are_not_seen(checked):
    gate = multiprocessing.dummy.Event()
    with tasksim.record() as recording, pool_of("threads") as pool:
        slow = pool.apply_async(gate.wait, (60,))
        slow.wait(0.001)
        assert not slow.ready()
        with pytest.raises(multiprocessing.TimeoutError):
            slow.get(0.001)
        pool.apply_async(double, (1,))
        gate.set()
        pool.close()
        pool.join()
        with pool_of("threads") as other:
            assert other.apply(double, (2,)) == [4]
    graph = checked(recording).graph
    kernels = [graph.kernel_of(task) for task in range(len(graph))]
    assert kernels == ["Event.wait", "double", "main thread", "double"]
    assert [graph.successors_of(task) for task in range(3)] == [[2], [2], [3]]


@pytest.mark.parametrize("kind", KINDS)
def test_errors_are_the_programs(kind, checked):
    with tasksim.record() as recording, pool_of(kind) as pool:
        with pytest.raises(ValueError, match="3"):
            pool.map(fail, [3])
        with pytest.raises(ValueError, match="4"):
            pool.apply(fail, [4])
        assert pool.apply(double, [1]) == [2]
    assert len(checked(recording).graph) == 3 + 2
    assert "2 tasks raised an exception" in recording.notes


def test_a_pool_that_is_closed_refuses_as_without_recording():
    with tasksim.record() as recording:
        pool = pool_of("threads")
        pool.apply(double, [1])
        pool.close()
        with pytest.raises(ValueError, match="Pool not running"):
            pool.apply(double, [1])
    graph = recording.graph
    assert [graph.kernel_of(task) for task in range(len(graph))] == ["double", "main thread"]
    assert recording.notes == []


def test_everything_is_as_before_afterwards():
    from multiprocessing.pool import AsyncResult, IMapIterator, Pool
    from multiprocessing.process import BaseProcess

    kinds = (Pool, AsyncResult, IMapIterator, BaseProcess)
    before = [dict(vars(kind)) for kind in kinds]
    with tasksim.record(), pool_of("threads") as pool:
        pool.map(double, range(3))
    assert [dict(vars(kind)) for kind in kinds] == before


# Processes

METHODS = [
    pytest.param("fork", marks=pytest.mark.skipif(not FORKS, reason="no fork")),
    pytest.param("spawn", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("method", METHODS)
def test_a_process_is_a_task(method, checked, edges):
    context = multiprocessing.get_context(method)
    with tasksim.record() as recording:
        first = [context.Process(target=double, args=(n,)) for n in range(2)]
        for process in first:
            process.start()
        for process in first:
            process.join()
        last = context.Process(target=double, kwargs={"number": 3})
        last.start()
        last.join(60)
        assert last.exitcode == 0
        assert not last.is_alive()
    assert edges(checked(recording)) == {
        "double 0": ["main thread 2"], "double 1": ["main thread 2"],
        "main thread 2": ["double 3"],
    }  # fmt: skip
    assert recording.graph.kernels == ("double", "main thread")
    assert any("3 tasks were processes" in note for note in recording.notes)


class Own(multiprocessing.Process):
    """A process with a function of its own, as a subclass has it."""

    def __init__(self, how):
        super().__init__()
        self.how = how

    def run(self):
        ends_by(self.how)


@pytest.mark.skipif(not FORKS, reason="no fork")
@pytest.mark.parametrize(
    ("how", "code", "tasks"), [("return", 0, 1), ("exit", 3, 1), ("raise", 1, 1), ("kill", -9, 0)]
)
def test_processes_end_as_without_recording(how, code, tasks, checked):
    with tasksim.record() as recording:
        recording.quietly()
        process = multiprocessing.get_context("fork").Process(target=ends_by, args=(how,))
        process.start()
        while process.is_alive():
            time.sleep(0.001)
        assert process.exitcode == code
        assert "run" not in vars(process)
        with pool_of("threads") as pool:
            pool.apply(double, [1])
    found = checked(recording)
    names = [found.graph.kernel_of(task) for task in range(len(found.graph))]
    assert names.count("ends_by") == tasks
    raised = "1 task raised an exception" in found.notes
    assert raised == (how in ("exit", "raise"))
    assert any("1 task had not ended" in note for note in found.notes) == (how == "kill")


@pytest.mark.skipif(not FORKS, reason="no fork")
def test_subclasses_of_process_are_called_by_their_run(checked):
    with tasksim.record() as recording:
        process = Own("return")
        process.start()
        process.join()
    assert checked(recording).graph.kernels == ("Own.run",)


@pytest.mark.skipif(not FORKS, reason="no fork")
def test_workers_of_pools_and_servers_are_no_tasks(checked):
    with tasksim.record() as recording, multiprocessing.Manager() as manager:
        shared = manager.list([3])
        with pool_of("fork") as pool:
            assert pool.apply(double, [shared[0]]) == [6]
    assert checked(recording).graph.kernels == ("double",)


def test_a_recorded_script_leaves_sigterm_to_its_children(tmp_path):
    """A pool ends its workers by it, and waits: they must not take it for Ctrl-C."""
    from tasksim.base.interruption import Interrupts
    from tasksim.recording.script import record_script

    script = tmp_path / "script.py"
    script.write_text(
        "import signal\n"
        "from multiprocessing.pool import ThreadPool\n"
        "assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL\n"
        "with ThreadPool(1) as pool:\n"
        "    pool.apply(abs, [1])\n"
    )
    with Interrupts(terminate=True):
        handler = signal.getsignal(signal.SIGTERM)
        assert len(record_script(script, []).graph) == 1
        assert signal.getsignal(signal.SIGTERM) == handler
