"""Executors on this machine, in threads or watched processes, or chosen automatically.

A thread watches each process and replaces it if it dies. In
:class:`concurrent.futures.ProcessPoolExecutor`, by contrast, the death of one process breaks the
whole pool.

``auto`` begins in this process. Starting a process takes as long as computing some hundred small
cells: a study of a second is done before processes would be ready. The length of a study is not
known beforehand, so the executor estimates the remaining time again and again. It starts processes
once they would save more time than their start takes; this process computes until they are ready.
"""

from __future__ import annotations

from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, Final

from tasksim.study.executors.child import Children
from tasksim.study.executors.pool import ExecutorPool
from tasksim.study.sweep.workbench import Workbench, put_away

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "GrowingPool",
    "SerialExecutor",
    "open_auto",
    "open_processes",
    "open_serial",
    "open_threads",
]


class SerialExecutor(Executor):
    """An executor that makes the call before it returns the future.

    Examples
    --------
    >>> SerialExecutor().submit(max, 1, 2).result()
    2
    """

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Call *function*; return a future with its result or error."""
        future: Future[Any] = Future()
        try:
            future.set_result(function(*arguments, **named))
        except Exception as error:
            future.set_exception(error)
        return future


@contextmanager
def open_serial(jobs: int, argument: str) -> Iterator[ExecutorPool]:  # noqa: ARG001
    """Compute one cell after the other, in this process."""
    with closing(Children()) as children:
        yield ExecutorPool(SerialExecutor(), workers=1, compute=children.compute_limited)


@contextmanager
def _watched(jobs: int) -> Iterator[tuple[Children, Executor]]:
    """Yield threads, and children for this study alone: the next one may find other modules."""
    executor = ThreadPoolExecutor(jobs, thread_name_prefix="cells")
    children = Children()
    try:
        yield children, executor
    finally:
        children.close()
        executor.shutdown(cancel_futures=True)


@contextmanager
def open_threads(jobs: int, argument: str) -> Iterator[ExecutorPool]:  # noqa: ARG001
    """Compute cells in threads of this process; each thread prepares graphs and models itself."""
    with _watched(jobs) as (children, executor):
        yield ExecutorPool(executor, jobs, compute=children.compute_limited)


@contextmanager
def open_processes(jobs: int, argument: str) -> Iterator[ExecutorPool]:  # noqa: ARG001
    """Compute cells in new processes of this machine, one per core."""
    with _watched(jobs) as (children, executor):
        children.start(jobs)
        yield ExecutorPool(executor, jobs, compute=children.compute, wait=children.wait)


PROCESS_START_S: Final = 0.3
"""Time to start a process in seconds, mostly for imports; all start at once, each on its core."""
MIN_SAVING_RATIO: Final = 2.0
"""Minimum ratio of the time that processes save to the time that they take to start: the rest of a
study is known only roughly, and cores may be busy."""


class GrowingPool(ExecutorPool):
    """A pool of this process, and of new processes once :meth:`grow` finds that they pay.

    Parameters
    ----------
    here : Executor
        Executor of this process, which computes the first cells.
    there : Executor
        Threads that watch the processes.
    children : Children
        The processes, not started yet.
    jobs : int
        Number of processes.
    """

    def __init__(self, here: Executor, there: Executor, children: Children, jobs: int) -> None:
        super().__init__(here, 1, careful=True, compute=children.compute_limited)
        self._there, self._children, self._jobs = there, children, jobs
        self._started = False

    def grow(self, left_s: float) -> None:
        """Start processes if they pay, and use them once they are ready.

        *left_s* is the time that one process needs for the remaining cells.
        """
        if self.executor is self._there:
            return
        if not self._started and pays(left_s, self._jobs):
            self._children.start(self._jobs)
            self._started = True
        if self._started and self._children.are_ready():
            self.executor, self.workers, self.careful = self._there, self._jobs, False
            self.compute = self._children.compute
            put_away()  # this process computes no more cells: free what it has read


def pays(left_s: float, jobs: int) -> bool:
    """Return whether *jobs* new processes pay for work that takes one process *left_s*.

    >>> pays(0.6, jobs=2), pays(10.0, jobs=2), pays(10.0, jobs=1)
    (False, True, False)
    """
    return left_s * (1 - 1 / jobs) > MIN_SAVING_RATIO * PROCESS_START_S


@contextmanager
def open_auto(jobs: int, argument: str) -> Iterator[ExecutorPool]:  # noqa: ARG001
    """Compute cells in this process, and a long study in new processes, one per core."""
    Workbench().warm_up()  # imports must not count as the time of the first cell
    with _watched(jobs) as (children, executor):
        yield GrowingPool(SerialExecutor(), executor, children, jobs)
