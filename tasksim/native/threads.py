"""Threads of a native run, one per worker and the main thread, which submits and waits.

Both runtimes share how a run begins, how it is interrupted and how it ends.

A run may have outside tasks, which no worker executes, such as messages. The runtime does not push
a released outside task to the scheduler: it hands the task to the outside thread, which is no
worker. This thread starts it and reports its end to the runtime, which then releases its successors
as after any other task.
"""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager, suppress
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Protocol

from tasksim.base.interruption import Interrupts
from tasksim.base.threadclock import no_garbage_collection
from tasksim.native.processor_time import ThreadAccount
from tasksim.native.this_machine import cores_for, pin_thread, usable_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from tasksim.base.progress import CountProgress
    from tasksim.kernels.program import Program
    from tasksim.platform.description import Platform

__all__ = [
    "PATIENCE_S",
    "POLL_INTERVAL_S",
    "Conducted",
    "EndedTask",
    "HandsOut",
    "OutsideTasks",
    "conduct",
    "finish_under",
    "switch_interval",
]

SWITCH_INTERVAL_S: Final = 1e-4
"""Time for which a thread may keep Python's lock from another one, in seconds. The default, 5 ms,
is ten times a typical task: a worker back from its kernel would wait for a pause in the submission.
"""

POLL_INTERVAL_S: Final = 0.2
"""Interval at which the waiting main thread checks for signals and reports progress, in seconds:
short enough for a person, too long to cost a run anything."""

PATIENCE_S: Final = 2.0
"""Time for which an interrupted run waits for the scheduler to return, in seconds."""

TASK_PATIENCE_S: Final = 0.3
"""Time for which an interrupted run waits for running tasks, in seconds: short enough to seem
immediate. It is many times a usual task, so only long tasks leave their threads behind; a C kernel
cannot be stopped from outside."""


class Conducted(Protocol):
    """Run whose threads :func:`conduct` starts and ends."""

    def begin(self) -> None:
        """Start the clock once, before any thread proceeds."""

    def work(self, worker: int) -> None:
        """Execute tasks as *worker* until the run is over."""

    def submit(self, interrupts: Interrupts) -> None:
        """Submit all tasks; raise from time to time what *interrupts* noted."""

    def wait(self, timeout_s: float) -> bool:
        """Wait up to *timeout_s* for the end of the run; return whether it is over."""

    @property
    def left(self) -> int:
        """Number of tasks that have not ended."""

    def give_up(self) -> None:
        """Keep workers from starting another task."""

    def stop(self) -> bool:
        """End the run; return False if a scheduler that does not return holds its lock."""


EndedTask = tuple[int, float, float]
"""An ended task, its start and its end in seconds of the run's clock."""


class OutsideTasks(Protocol):
    """The outside tasks of a graph, and their labels in messages.

    Attributes
    ----------
    tasks : int8 array
        1 for each outside task, otherwise 0.
    """

    tasks: NDArray[Any]

    def label(self, task: int) -> str:
        """Return the label of *task* in messages."""

    def begin(self, runtime: HandsOut) -> None:
        """Start the outside thread: the clock of *runtime* runs."""


class HandsOut(Protocol):
    """Interface of a runtime for the outside thread."""

    @property
    def origin_s(self) -> float:
        """Start of the run's clock, as a time of :func:`time.perf_counter`."""

    def handed_out(self, busy_s: float, idle_s: float) -> list[int] | None:
        """Return newly released outside tasks, each once; None at the end of the run.

        If there are none, wait up to *idle_s* if a worker sleeps, otherwise up to *busy_s*.
        """

    def completed(self, ended: Sequence[EndedTask]) -> None:
        """Note that the outside tasks *ended*."""


def finish_under(lock: threading.Lock, over: threading.Event, finish: Callable[[], None]) -> bool:
    """Call *finish*, which sets *over*, with the *lock* held.

    If a scheduler that does not return holds the lock, set *over* alone and return False.
    """
    if not lock.acquire(timeout=PATIENCE_S):
        over.set()
        return False
    try:
        finish()
    finally:
        lock.release()
    return True


def conduct(
    execution: Conducted,
    platform: Platform,
    program: Program,
    *,
    pin: bool,
    progress: CountProgress | None = None,
) -> list[ThreadAccount | None]:
    """Run one thread per worker of *platform* to the end of the run.

    Return the system's account of each thread; None for one that was left behind.

    A run leaves threads behind in two cases only: a scheduler does not return, or an interrupted
    run has long tasks. Their threads end with these tasks or with the process.
    """
    workers = platform.workers
    cores = cores_for(len(workers)) if pin else None
    _warm_up(program, len(workers), cores)
    start = threading.Barrier(len(workers) + 1, action=execution.begin)
    accounts: list[ThreadAccount | None] = [None] * len(workers)

    def work(worker: int) -> None:
        pin_thread(cores[worker] if cores else None)
        with suppress(threading.BrokenBarrierError):
            start.wait()
        before = ThreadAccount.now()
        execution.work(worker)
        accounts[worker] = ThreadAccount.now().since(before)

    threads = [
        threading.Thread(target=work, args=(number,), name=worker.name, daemon=True)
        for number, worker in enumerate(workers)
    ]
    # Hold interruptions until they are checked for: one that arrived while the main thread takes or
    # releases the lock would leave it locked.
    patience_s: float | None = None
    with (
        switch_interval(SWITCH_INTERVAL_S),
        no_garbage_collection(),
        Interrupts(held=True) as interrupts,
    ):
        try:
            for thread in threads:
                thread.start()
            start.wait()
            execution.submit(interrupts)
            over, total = False, len(program.graph)
            while not over:
                over = execution.wait(POLL_INTERVAL_S)
                interrupts.check()
                if progress is not None:
                    progress(total - execution.left, total)
            interrupts.check()
        except KeyboardInterrupt:
            execution.give_up()  # first, so that no worker starts another task
            getattr(program, "interrupt", lambda: None)()
            patience_s = TASK_PATIENCE_S
            raise
        finally:
            start.abort()  # in case the main thread was interrupted before it reached the barrier
            if execution.stop():
                _join(threads, patience_s)
        interrupts.allow()  # one that came while the threads were joined
    return accounts


def _warm_up(program: Program, workers: int, cores: Sequence[int] | None) -> None:
    """Execute the warm-ups of *program*, if it has some, at once, each on its own core.

    BLAS has memory for each execution at the same time, so they wait for each other. More workers
    than cores seldom execute at the same time: 10,000 warm-ups would take minutes.
    """
    warm_ups_of = getattr(program, "warm_ups", None)
    if warm_ups_of is None:
        return
    warm_ups: list[Callable[[], None]] = warm_ups_of(min(workers, len(usable_cores())))
    start = threading.Barrier(max(len(warm_ups), 1))

    def work(worker: int, warm_up: Callable[[], None]) -> None:
        pin_thread(cores[worker] if cores else None)
        start.wait()
        warm_up()

    threads = [
        threading.Thread(target=work, args=(worker, warm_up), daemon=True)
        for worker, warm_up in enumerate(warm_ups)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _join(threads: Sequence[threading.Thread], patience_s: float | None) -> None:
    """Wait until *threads* end, at most *patience_s* for all of them; None: without a limit."""
    begun = perf_counter()
    for thread in filter(threading.Thread.is_alive, threads):
        left = None if patience_s is None else max(0.0, begun + patience_s - perf_counter())
        thread.join(left)


@contextmanager
def switch_interval(seconds: float) -> Iterator[None]:
    """Set the time for which a thread may keep Python's lock from another one."""
    before_s = sys.getswitchinterval()
    sys.setswitchinterval(seconds)
    try:
        yield
    finally:
        sys.setswitchinterval(before_s)
