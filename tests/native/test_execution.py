"""Native runs: real threads, real dependencies; errors and interrupts end them cleanly."""

from __future__ import annotations

import signal
import threading
from collections import deque

import numpy as np
import pytest
from compiled_core import needs_core
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import graphs
from tiers import few

from tasksim.base.errors import InputError, SchedulerError, TaskFailed
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import RW, GraphBuilder, R
from tasksim.kernels.program import bind
from tasksim.native import threads
from tasksim.native.execute import execute
from tasksim.native.this_machine import pin_thread, usable_cores
from tasksim.platform.description import Platform
from tasksim.run.runchecks import check_run
from tasksim.schedulers.base import Scheduler
from tasksim.schedulers.registry import names

ESTIMATE_S = 1e-4


@pytest.fixture(autouse=True, scope="module", params=["python", needs_core("compiled")])
def runtime(request):
    """Everything here holds under both runtimes."""
    RUNTIME.append(request.param)
    yield
    RUNTIME.pop()


RUNTIME = []


def run(graph, workers=2, scheduler="eager", **options):
    estimates = [[ESTIMATE_S] * len(graph)]
    platform = Platform.identical(workers)
    given = {"estimates": estimates, "check": True, "runtime": RUNTIME[-1], **options}
    return execute(graph, platform, scheduler, **given)


def of_functions(graph, function):
    return bind(graph, 1, functions=dict.fromkeys(graph.kernels, function))


@settings(max_examples=few(60), deadline=None)
@given(graphs(max_tasks=15), st.integers(1, 4), st.sampled_from(names(bare=True)))
def test_every_invariant_holds_for_random_graphs_under_every_scheduler(graph, workers, scheduler):
    result = run(graph, workers, scheduler)
    check_run(result, graph)
    assert sorted(result.tasks.task.tolist()) == list(range(len(graph)))


def test_independent_tasks_overlap():
    builder = GraphBuilder("independent")
    for _ in range(4):
        builder.insert("task")
    graph = builder.build()
    met = threading.Barrier(4)
    result = run(graph, workers=4, program=of_functions(graph, lambda task: met.wait(120)))
    assert result.tasks.start_s.max() < result.tasks.end_s.min()
    assert set(result.tasks.worker.tolist()) == {0, 1, 2, 3}


def test_a_run_records_its_releases_and_submissions():
    builder = GraphBuilder("fork")
    x = builder.handle("x", size_bytes=8)
    builder.insert("task", RW(x), duration_s=0.1)
    builder.insert("task", R(x), duration_s=0.1)
    result = run(builder.build())
    assert result.kind == "native"
    assert result.tasks.released_by.tolist() == [-1, 0]
    assert (np.diff(result.tasks.submitted_s) > 0).all()
    assert result.tasks.ready_s[1] >= result.tasks.end_s[0]


def test_a_failing_kernel_stops_the_run_and_is_named():
    before = threading.active_count()
    graph = generate("chain", length=5)
    executed = []

    def kernel(task):
        executed.append(task)
        if task == 2:
            raise ZeroDivisionError("division by zero")

    with pytest.raises(TaskFailed, match=r"task #2 .*failed on worker cpu0: .*division by zero"):
        run(graph, 1, program=of_functions(graph, kernel))
    assert executed == [0, 1, 2]
    assert threading.active_count() <= before


class Fifo(Scheduler):
    name = "fifo"

    def attach(self, view, rng):
        super().attach(view, rng)
        self.queue = deque()

    def push(self, task):
        self.queue.append(task)
        self.view.wake_all(task)

    def pop(self, worker):
        return self.queue.popleft() if self.queue else None


class Drops(Fifo):
    def push(self, task):
        if task != 1:
            super().push(task)


class Repeats(Fifo):
    def pop(self, worker):
        return self.queue[0] if self.queue else None


class Raises(Fifo):
    def push(self, task):
        raise KeyError(task)


@pytest.mark.parametrize(
    ("scheduler", "error", "message"),
    [
        (Drops, SchedulerError, "scheduler Drops dropped task #1"),
        (Repeats, SchedulerError, "scheduler Repeats gave worker .* task #0"),
        (Raises, SchedulerError, r"scheduler Raises failed in push of task #0 .*: KeyError: 0"),
    ],
)
def test_a_scheduler_that_breaks_a_rule_ends_the_run(scheduler, error, message):
    with pytest.raises(error, match=message):
        run(generate("chain", length=3), 2, scheduler())
    assert_no_thread_is_left()


class Interrupts(Fifo):
    """Interrupts the main thread, as Ctrl-C does, when a task is taken."""

    def started(self, task, worker):
        signal.raise_signal(signal.SIGINT)


def test_ctrl_c_ends_the_run_and_leaves_no_thread():
    graph = generate("chain", length=1000)
    done = []

    def kernel(task):
        done.append(task)
        if task == 5:
            signal.raise_signal(signal.SIGINT)
            interrupted.wait()

    # The task ends only when the run was told to: what follows it in the chain is never begun.
    interrupted = threading.Event()
    program = of_functions(graph, kernel)
    program.interrupt = interrupted.set  # what a program may have
    with pytest.raises(KeyboardInterrupt):
        run(graph, 2, program=program)
    assert done == [0, 1, 2, 3, 4, 5]
    assert_no_thread_is_left()


def test_ctrl_c_ends_tasks_that_only_wait():
    graph = generate("chain", length=3, duration=1e6)
    with pytest.raises(KeyboardInterrupt):
        run(graph, 2, Interrupts())
    assert_no_thread_is_left()


def test_ctrl_c_while_the_threads_of_a_run_end_is_raised_after_it(monkeypatch):
    join = threads._join

    def interrupted(*arguments):
        signal.raise_signal(signal.SIGINT)
        join(*arguments)

    monkeypatch.setattr(threads, "_join", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(generate("chain", length=3))
    assert_no_thread_is_left()


def test_an_interrupted_program_waits_again_when_it_is_reset():
    program = bind(generate("chain", length=2, duration=1e6), 1)
    for _ in range(2):
        program.interrupt()
        program.interrupt()
        program.run(0, 0)
        program.run(1, 0)
        program.reset()
        waiting = threading.Thread(target=program.run, args=(0, 0), daemon=True)
        waiting.start()
        waiting.join(0.01)
        assert waiting.is_alive()
        program.interrupt()
        waiting.join()


def test_ctrl_c_does_not_wait_for_a_task_that_cannot_be_stopped():
    graph = generate("chain", length=3)
    released = threading.Event()
    begun = []

    def kernel(task):
        begun.append(task)
        released.wait()

    with pytest.raises(KeyboardInterrupt):
        run(graph, 1, Interrupts(), program=of_functions(graph, kernel))
    assert not released.is_set()  # that the run has ended although the task has not
    released.set()
    assert_no_thread_is_left()
    assert begun == [0]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["push", "pop"])
def test_ctrl_c_ends_a_run_whose_scheduler_does_not_return(method):
    released = threading.Event()

    class Loops(Fifo):
        pass

    def endless(self, number):
        signal.raise_signal(signal.SIGINT)
        released.wait()

    setattr(Loops, method, endless)
    with pytest.raises(KeyboardInterrupt):
        run(generate("chain", length=3), 1, Loops())
    assert not released.is_set()
    released.set()
    assert_no_thread_is_left()


def assert_no_thread_is_left():
    """Wait until all threads but this one have ended; far longer than any that ends takes."""
    others = [t for t in threading.enumerate() if t is not threading.current_thread()]
    for thread in others:
        thread.join(timeout=120)
    assert not any(thread.is_alive() for thread in others)


def test_progress_is_told_from_time_to_time_and_at_the_end():
    seen = []
    graph = generate("chain", length=5, duration=0.1)
    run(graph, 1, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (5, 5)
    assert seen == sorted(seen)


def test_a_scheduler_with_estimates_needs_models():
    with pytest.raises(InputError, match="scheduler dm needs kernel models"):
        execute(generate("chain", length=2), Platform.identical(1), "dm")


def test_the_clock_of_the_view_moves_and_starts_near_zero():
    times = []

    class Watches(Fifo):
        def pop(self, worker):
            times.append(self.view.now)
            return super().pop(worker)

    run(generate("chain", length=3, duration=0.02), 1, Watches())
    assert times == sorted(times)
    assert times[-1] >= 0.04  # nobody asks after the last task


def test_threads_can_be_pinned_to_a_usable_core():
    cores = usable_cores()
    seen = []

    def body():
        pin_thread(cores[-1])
        seen.append(usable_cores())

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    assert seen in ([[cores[-1]]], [cores])  # a system may refuse
    assert usable_cores() == cores


@pytest.mark.parametrize("application", ["cholesky", "lu", "qr"])
@pytest.mark.parametrize("scheduler", ["eager", "prio", "random", "ws", "lws", "dm"])
def test_factorisations_are_right_under_every_scheduler(application, scheduler):
    """``check=True`` verifies the run's invariants and the residual of the factors."""
    graph = generate(application, tiles=5, tile_size=40)
    result = run(graph, 2, scheduler)
    assert result.makespan_s > 0


def test_the_fmm_is_right():
    graph = generate("fmm", particles=500, height=3, group_size=8, order=3)
    result = run(graph, 2, "prio")
    assert result.makespan_s > 0


def test_the_run_says_what_executed_it():
    assert run(generate("chain", length=2, duration=0.0)).engine == RUNTIME[-1]


@pytest.mark.parametrize("workers", [2, 3])
def test_kernels_are_warmed_up_on_two_cores_at_once_before_the_clock_starts(workers, monkeypatch):
    """The first execution of a kernel by a process takes longer, which is no part of a run."""
    monkeypatch.setattr(threads, "usable_cores", lambda: [0, 1])
    together, events = threading.Barrier(2), []

    def warm_up():
        together.wait(10)
        events.append("warm-up")

    program = bind(
        generate("chain", length=2, duration=1.0),
        workers,
        functions={"task": lambda _task: events.append("task")},
    )
    program.warm_ups = lambda count: [warm_up] * count
    execute(program.graph, Platform.identical(workers), program=program)
    assert events == ["warm-up", "warm-up", "task", "task"]
