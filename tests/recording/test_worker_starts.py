"""Starts of the processes of pools are tasks, and each worker of a replay pays its own."""

import functools
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from math import inf, nan

import pytest

import tasksim
from tasksim.graph.taskgraph import MAIN_THREAD, WORKER_START
from tasksim.recording.log import Launch, RecordedTask, RecordingLog
from tasksim.recording.recorded import Recorded

FORKS = "fork" in multiprocessing.get_all_start_methods()


def recorded(rows, launches, ready):
    """Rows: (kernel, process, submitted, start, end, rows before); launches: (second, rows)."""
    log = RecordingLog()
    for place, (kernel, worker, submitted, start, end, before) in enumerate(rows):
        after = [log.tasks[other] for other in before]
        log.tasks.append(
            RecordedTask(
                (kernel, kernel), submitted, (place, 0), after, start_s=start, end_s=end,
                worker=worker, pool=2 if worker in (3, 4) else 1,
            )
        )  # fmt: skip
    log.launches = {
        process: Launch(begun, [log.tasks[other] for other in after])
        for process, (begun, after) in launches.items()
    }
    log.ready_s = ready
    return Recorded(log, "pool", 9.0)


def two_workers(ready=(3.0, 3.0), launches=(0.0, 0.0)):
    """Four tasks of a second on two processes that take three seconds to start."""
    rows = [
        ("work", 1, 0.0, 3.0, 4.0, []),
        ("work", 2, 0.0, 3.0, 4.0, []),
        ("work", 1, 0.0, 4.0, 5.0, []),
        ("work", 2, 0.0, 4.0, 5.0, []),
    ]
    begun = {process + 1: (second, []) for process, second in enumerate(launches)}
    return recorded(rows, begun, {process + 1: second for process, second in enumerate(ready)})


def names_of(run):
    return [run.kernel_names[kernel] for kernel in run.tasks.kernel]


def test_starts_come_before_the_tasks_of_their_pool():
    found = two_workers()
    run = found.run
    assert names_of(run) == [WORKER_START, WORKER_START, *["work"] * 4]
    assert run.tasks.start_s.tolist() == [0, 0, 3, 3, 4, 4]
    assert run.tasks.end_s.tolist() == [3, 3, 4, 4, 5, 5]
    assert run.tasks.worker.tolist() == [0, 1, 0, 1, 0, 1]
    assert found.graph.edges == 0
    assert found.notes == []
    overheads = found.replayable.platform().overheads
    assert (overheads.task_s, overheads.start_s) == (0.0, 3.0)
    tasksim.check_run(run, found.graph)


@pytest.mark.parametrize(("workers", "makespan_s"), [(1, 7), (2, 5), (3, 5), (4, 4), (8, 4)])
def test_each_worker_of_a_replay_starts_once(workers, makespan_s):
    """Four seconds of work, and three in which nobody works."""
    assert two_workers().replayable.simulate(workers).makespan_s == makespan_s


@pytest.mark.parametrize(("workers", "makespan_s"), [(1, 8), (2, 6), (4, 5)])
def test_a_main_thread_is_there_at_once(workers, makespan_s):
    """The program works for a second before it submits what the workers then do."""
    rows = [
        (MAIN_THREAD, "main", 0.0, 0.0, 1.0, []),
        ("work", 1, 1.0, 4.0, 5.0, [0]),
        ("work", 2, 1.0, 4.0, 5.0, [0]),
        ("work", 1, 1.0, 5.0, 6.0, [0]),
        ("work", 2, 1.0, 5.0, 6.0, [0]),
    ]
    found = recorded(rows, {1: (1.0, [0]), 2: (1.0, [0])}, {1: 4.0, 2: 4.0})
    assert [worker.architecture for worker in found.run.workers] == ["cpu", "cpu", "main"]
    assert found.graph.successors_of(0) == [1, 2, 3, 4, 5, 6]
    assert found.replayable.simulate(workers).makespan_s == makespan_s


@pytest.mark.parametrize(("workers", "makespan_s"), [(1, 8), (2, 6), (4, 5)])
def test_of_two_pools_one_after_the_other_the_workers_are_the_same(workers, makespan_s):
    """Two workers start for 2 s, and work for one; the program makes a second pool: once more.

    Of four workers, all start with the first pool; with the second, two start and two work.
    """
    rows = [
        ("work", 1, 0.0, 2.0, 3.0, []),
        ("work", 2, 0.0, 2.0, 3.0, []),
        (MAIN_THREAD, "main", 0.0, 3.0, 3.0, [0, 1]),
        ("work", 3, 3.0, 5.0, 6.0, [2]),
        ("work", 4, 3.0, 5.0, 6.0, [2]),
    ]
    launches = {1: (0.0, []), 2: (0.0, []), 3: (3.0, [2]), 4: (3.0, [2])}
    found = recorded(rows, launches, {1: 2.0, 2: 2.0, 3: 5.0, 4: 5.0})
    assert found.graph.starts == 2
    assert found.replayable.simulate(workers).makespan_s == makespan_s


def test_a_kept_recording_is_replayed_alike(tmp_path):
    found = two_workers()
    found.replayable.save(tmp_path / "pool", force=False)
    for workers, makespan_s in [(1, 7), (2, 5), (4, 4)]:
        changes = [f"platform.workers.cpu.count={workers}"]
        again = tasksim.simulate(tmp_path / "pool", scheduler="eager", changes=changes)
        assert again.makespan_s == makespan_s


def test_workers_that_were_there_before_they_were_needed_have_no_start():
    """The pool was made three seconds before the program submitted; the second worker was late."""
    found = two_workers(launches=(-3.0, -0.5), ready=(0.0, 2.5))
    starts = found.run.tasks.start_s[: names_of(found.run).count(WORKER_START)]
    assert len(starts) == 1
    assert two_workers(ready=(5e-4, 5e-4)).run.kernel_names == ("work",)


def test_starts_that_nothing_tells_are_noted_as_costs():
    (note,) = two_workers(ready=(nan, nan)).notes
    assert note.startswith("processes took 3 s to start, which is in the costs per task")
    assert recorded([("work", 1, 0.0, 3.0, 4.0, [])], {}, {1: nan}).notes == [note]


def nap(number):
    time.sleep(0.002)
    return number


def wait_for(path, nothing=None):
    while not path.exists():
        time.sleep(0.001)


def release(path):
    time.sleep(0.05)
    path.touch()


def of_pool(context, initializer, path):
    with context.Pool(2, initializer, (path,)) as pool:
        found = pool.map_async(nap, range(8), chunksize=1)
        release(path)
        return found.get()


def of_executor(context, initializer, path):
    with ProcessPoolExecutor(2, context, initializer, (path,)) as pool:
        found = pool.map(nap, range(8))
        release(path)
        return list(found)


@pytest.mark.parametrize("program", [of_pool, of_executor])
@pytest.mark.parametrize(
    "method",
    [
        pytest.param("fork", marks=pytest.mark.skipif(not FORKS, reason="no fork")),
        pytest.param("spawn", marks=pytest.mark.slow),
    ],
)
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_the_initializer_of_a_pool_is_in_the_start(program, method, checked, tmp_path):
    """Processes can take tasks 50 ms after these were submitted, however busy the machine is."""
    initializer = functools.partial(wait_for, nothing=None)
    context = multiprocessing.get_context(method)
    with tasksim.record() as recording:
        assert program(context, initializer, tmp_path / "released") == list(range(8))
    run = checked(recording).run
    starts = [name == WORKER_START for name in names_of(run)]
    assert sum(starts) == len([it for it in run.workers if it.architecture == "cpu"])
    assert run.tasks.duration_s[starts].min() >= 0.05
    assert recording.platform().overheads.start_s >= 0.05
    assert recording.simulate(1).makespan_s >= 0.05 + 8 * 0.002


@pytest.mark.skipif(not FORKS, reason="no fork")
def test_a_worker_that_replaces_another_starts_anew_in_its_place(checked, monkeypatch):
    monkeypatch.setattr("tasksim.recording.worker_starts.MIN_START_S", -inf)
    context = multiprocessing.get_context("fork")
    with tasksim.record() as recording, context.Pool(1, maxtasksperchild=2) as pool:
        assert pool.map(nap, range(6), chunksize=1) == list(range(6))
    run = checked(recording).run
    assert names_of(run).count(WORKER_START) == 3
    assert [worker.architecture for worker in run.workers] == ["cpu"]


@pytest.mark.slow
def test_workers_of_joblib_start_once(checked):
    from joblib import Parallel, delayed
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True)
    with tasksim.record() as recording:
        for _ in range(2):
            assert Parallel(n_jobs=2)(delayed(nap)(n) for n in range(8)) == list(range(8))
    get_reusable_executor().shutdown(wait=True)
    names = names_of(checked(recording).run)
    assert 1 <= names.count(WORKER_START) <= 2
    assert names[0] == WORKER_START
    assert names.count("nap") == 16
