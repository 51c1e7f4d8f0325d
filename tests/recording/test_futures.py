"""Programs with pools of concurrent.futures: exactly their graphs, and no other results."""

import asyncio
import concurrent.futures
import contextvars
import functools
import threading
import time
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, ThreadPoolExecutor, wait

import pytest

import tasksim

pytestmark = pytest.mark.usefixtures("no_own_work")


class Box:
    """A result that is an object of its own."""

    def __init__(self, *content):
        self.content = content

    def __call__(self, *more):
        return Box(*self.content, *more)


def double(number):
    return 2 * number


def fail(number):
    raise ValueError(number)


def box(*content):
    return Box(*content)


def test_independent_tasks_depend_on_nothing(checked):
    with tasksim.record("doubles") as recording, ThreadPoolExecutor(2) as pool:
        assert list(pool.map(double, range(5))) == [0, 2, 4, 6, 8]
    graph = checked(recording).graph
    assert (graph.name, graph.kernels, len(graph), graph.edges) == ("doubles", ("double",), 5, 0)
    assert recording.run.kind == "native"
    assert recording.run.scheduler == "eager"
    assert {worker.architecture for worker in recording.run.workers} == {"cpu"}


def test_a_result_that_is_passed_on_is_read(checked):
    """The wait for it is a task of the main thread; what is read is a datum."""
    with tasksim.record() as recording, ThreadPoolExecutor(2) as pool:
        one, other = pool.submit(box, 1), pool.submit(box, 2)
        both = pool.submit(box, [one.result()], {"other": other.result()})
        assert both.result().content[0][0].content == (1,)
    graph = checked(recording).graph
    kinds = [graph.kernel_of(task) for task in range(4)]
    assert kinds == ["box", "box", "main thread", "box"]
    assert [graph.successors_of(task) for task in range(4)] == [[2, 3], [2, 3], [3], []]
    reads = [handle for handle, mode in graph.accesses_of(3) if mode.name == "R"]
    written = [graph.accesses_of(task)[-1][0] for task in (0, 1)]
    assert reads == written


def test_what_was_not_passed_on_is_waited_for_alone(checked, edges):
    with tasksim.record() as recording, ThreadPoolExecutor(2) as pool:
        first = pool.submit(double, 1)
        assert first.result() == 2
        pool.submit(double, 3)
    found = edges(checked(recording))
    assert found == {"double 0": ["main thread 1"], "main thread 1": ["double 2"]}
    run = recording.run
    assert run.tasks.released_by.tolist() == [-1, 0, 1]
    assert [worker.architecture for worker in run.workers][-1] == "main"


def test_what_is_submitted_before_the_wait_does_not_depend_on_it(checked, edges):
    with tasksim.record() as recording, ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(double, number) for number in range(3)]
        for future in futures:
            future.result()
        pool.submit(double, 9)
    found = edges(checked(recording))
    waits = [name for name in found if name.startswith("main")]
    assert found[waits[-1]][-1].startswith("double")
    assert all(after[0].startswith("main") for name, after in found.items() if "double" in name)


@pytest.mark.parametrize("how", ["as_completed", "wait", "exception", "done", "shutdown"])
def test_every_way_to_see_an_end_is_seen(how, checked, edges):
    with tasksim.record() as recording:
        pool = ThreadPoolExecutor(1)
        future = pool.submit(double, 1)
        if how == "as_completed":
            assert list(concurrent.futures.as_completed([future])) == [future]
        elif how == "wait":
            assert wait([future], return_when=FIRST_COMPLETED).done == {future}
        elif how == "exception":
            assert future.exception() is None
        elif how == "done":
            while not future.done():
                time.sleep(0.001)
        else:
            pool.shutdown()
            pool = ThreadPoolExecutor(1)
        pool.submit(double, 2)
        pool.shutdown()
    found = edges(checked(recording))
    assert found["double 0"][0].startswith("main thread")
    assert "double" in found[list(found)[-1]][0]


def test_a_future_that_is_passed_on_is_a_dependency_if_it_was_done(checked, edges):
    with tasksim.record() as recording, ThreadPoolExecutor(2) as pool:
        future, ended = pool.submit(box, 1), threading.Event()
        future.add_done_callback(lambda _: ended.set())
        assert ended.wait(60)
        pool.submit(box, [future])
    assert edges(checked(recording)) == {"box 0": ["box 1"]}


def test_a_task_that_waits_for_another_runs_beside_it(checked, edges):
    asking = threading.Event()

    def ask(future):
        asking.set()
        return future.result()

    with tasksim.record() as recording, ThreadPoolExecutor(2) as pool:
        pool.submit(ask, pool.submit(asking.wait, 60))
    assert edges(checked(recording)) == {}
    assert any("tasks waited for other tasks, 1 in all" in note for note in recording.notes)


def test_names_of_functions(checked):
    class Holder:
        def method(self):
            return 0

    with tasksim.record() as recording, ThreadPoolExecutor(2) as pool:
        pool.submit(functools.partial(double, 1))
        pool.submit(functools.partial(functools.partial(divmod, 7), 2))
        pool.submit(Holder().method)
        pool.submit(lambda: 0)
        pool.submit(Box(1), 2)
        pool.submit(contextvars.copy_context().run, double, 1)
    names = checked(recording).graph.kernels
    assert names == ("double", "divmod", "Holder.method", "<lambda>", "Box")


def test_functions_of_one_name_are_told_apart(checked):
    def double(number):
        return number

    double.__qualname__, double.__module__ = "double", "elsewhere"
    with tasksim.record() as recording, ThreadPoolExecutor(2) as pool:
        pool.submit(double, 1)
        pool.submit(globals()["double"], 1)
    here = __name__
    assert checked(recording).graph.kernels == ("elsewhere.double", f"{here}.double")


def test_a_task_that_raised_is_kept_and_its_error_is_its_own(checked):
    with tasksim.record() as recording, ThreadPoolExecutor(1) as pool:
        future = pool.submit(fail, 7)
        with pytest.raises(ValueError, match="7") as caught:
            future.result()
        assert future.exception() is caught.value
        pool.submit(double, 1)
    assert checked(recording).graph.kernels == ("fail", "main thread", "double")
    assert "1 task raised an exception" in recording.notes


def test_a_task_that_was_cancelled_is_left_out(checked):
    cancelled = threading.Event()

    def program(recording):
        with recording, ThreadPoolExecutor(1) as pool:
            pool.submit(cancelled.wait, 60)
            assert pool.submit(double, 1).cancel()
            cancelled.set()

    recording = tasksim.record()
    with pytest.warns(UserWarning, match="1 task had not ended when the recording did, never ran"):
        program(recording)
    assert checked(recording).graph.kernels == ("Event.wait",)


def test_a_task_that_goes_on_is_left_out(checked):
    pool, over = ThreadPoolExecutor(2), threading.Event()

    def program(recording):
        with recording:
            late = pool.submit(over.wait, 60)
            pool.submit(double, 1).result()
        return late

    recording = tasksim.record()
    with pytest.warns(UserWarning, match="1 task had not ended when the recording did"):
        late = program(recording)
    over.set()
    pool.shutdown()
    assert late.result() is True
    assert checked(recording).graph.kernels == ("double",)


def test_tasks_that_submit_tasks_are_told(checked, edges):
    with tasksim.record() as recording, ThreadPoolExecutor(2) as pool:
        pool.submit(lambda: pool.submit(double, 1)).result().result()
    assert "main thread 2" not in edges(checked(recording)).get("double 1", [])
    assert any("tasks submitted other tasks, 1 task in all" in note for note in recording.notes)


def test_pools_after_one_another_are_the_same_workers(checked):
    with tasksim.record() as recording:
        for _ in range(3):
            both = threading.Barrier(2)
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(both.wait, [60, 60]))
    workers = checked(recording).run.workers
    assert [worker.architecture for worker in workers] == ["cpu", "cpu", "main"]
    assert len({worker.name for worker in workers}) == 3


def test_processes(checked):
    """Times come home with the results, and are not in them."""
    with tasksim.record() as recording, ProcessPoolExecutor(2) as pool:
        assert list(pool.map(double, range(6), chunksize=2)) == [0, 2, 4, 6, 8, 10]
        assert pool.submit(divmod, 7, 2).result() == (3, 1)
        with pytest.raises(ZeroDivisionError):
            pool.submit(divmod, 7, 0).result()
    run = checked(recording).run
    assert [run.kernel_names[kernel] for kernel in run.tasks.kernel].count("double") == 3
    assert "1 task raised an exception" in recording.notes
    assert run.workers[0].name.startswith("process ")
    assert (run.tasks.duration_s > 0).all()


# Processes are forked before Python 3.14, and the tests' own threads are no harm there.
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_function_that_cannot_be_sent_is_refused_as_without_recording(checked):
    def program(recording):
        with recording, ProcessPoolExecutor(1) as pool:
            assert pool.submit(double, 4).result() == 8
            error = pool.submit(lambda: 0).exception()
            assert "pickle" in str(error)

    recording = tasksim.record()
    with pytest.warns(UserWarning, match="1 task had not ended"):
        program(recording)
    assert checked(recording).graph.kernels[0] == "double"


def test_asyncio(checked):
    async def main():
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(2) as pool:
            first = await loop.run_in_executor(pool, double, 4)
            return await loop.run_in_executor(pool, double, first)

    with tasksim.record() as recording:
        assert asyncio.run(main()) == 16
    graph = checked(recording).graph
    assert [graph.kernel_of(task) for task in range(3)] == ["double", "main thread", "double"]
    assert graph.successors_of(1) == [2]


def test_sizes_of_results(checked):
    np = pytest.importorskip("numpy")
    with tasksim.record() as recording, ThreadPoolExecutor(1) as pool:
        pool.submit(np.zeros, 1000)
        pool.submit(list, range(10))
    sizes = checked(recording).graph.handle_size.tolist()
    assert sizes[0] == 8000
    assert 10 * 28 < sizes[1] < 2000


def test_everything_is_as_before_afterwards():
    before = [
        vars(kind).copy()
        for kind in (concurrent.futures.Future, ThreadPoolExecutor, ProcessPoolExecutor)
    ]
    with tasksim.record(), ThreadPoolExecutor(1) as pool:
        assert pool.submit.__name__ == "submit"
        pool.submit(double, 1)
    after = [
        vars(kind) for kind in (concurrent.futures.Future, ThreadPoolExecutor, ProcessPoolExecutor)
    ]
    assert [dict(now) for now in after] == [dict(then) for then in before]
    assert wait is concurrent.futures.wait
