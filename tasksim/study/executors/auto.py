"""Cells are computed here at first, and in new processes as soon as these pay.

A process takes as long to start as some hundred small cells to compute: a study of a second is over
before processes would have begun. Nobody knows that beforehand, so it is looked at all the time:
where what is left takes longer than starting processes, they are started, and until they are ready
this process goes on.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from tasksim.study.executors.child import Children
from tasksim.study.executors.pool import Pool
from tasksim.study.executors.serial import SerialExecutor
from tasksim.study.sweep.workbench import Workbench, put_away

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor

__all__ = ["GrowingPool", "open_pool"]

START_S: Final = 0.3
"""What a process takes to start, most of it to import: all start at once, each on its core."""
SURELY: Final = 2.0
"""Times as much must be saved: what is left is known roughly, and cores may be busy."""


class GrowingPool(Pool):
    """A pool of this process, and of new ones once :meth:`grow` finds that they pay.

    Parameters
    ----------
    here : Executor
        Computes at first.
    there : Executor
        Threads that watch the processes.
    children : Children
        The processes, not started yet.
    jobs : int
        How many.
    """

    def __init__(self, here: Executor, there: Executor, children: Children, jobs: int) -> None:
        super().__init__(here, 1, careful=True, compute=children.compute_limited)
        self._there, self._children, self._jobs = there, children, jobs
        self._started = False

    def grow(self, left_s: float) -> None:
        """Start processes where computing what is *left_s*, by one, takes longer; use them."""
        if self.executor is self._there:
            return
        if not self._started and pays(left_s, self._jobs):
            self._children.start(self._jobs)
            self._started = True
        if self._started and self._children.are_ready():
            self.executor, self.workers, self.careful = self._there, self._jobs, False
            self.compute = self._children.compute
            put_away()


def pays(left_s: float, jobs: int) -> bool:
    """Return whether so many processes are sooner done with what takes one of them *left_s*.

    >>> pays(0.6, jobs=2), pays(10.0, jobs=2), pays(10.0, jobs=1)
    (False, True, False)
    """
    return left_s * (1 - 1 / jobs) > SURELY * START_S


@contextmanager
def open_pool(jobs: int, argument: str) -> Iterator[Pool]:  # noqa: ARG001
    """Compute cells here; where there are many, in new processes, one per core."""
    Workbench().warm_up()  # no cell's time is that of imports
    children = Children()
    executor = ThreadPoolExecutor(jobs, thread_name_prefix="cells")
    try:
        yield GrowingPool(SerialExecutor(), executor, children, jobs)
    finally:
        children.close()
        executor.shutdown(cancel_futures=True)
