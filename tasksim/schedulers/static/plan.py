"""Static plan: the worker, the start and the end of each task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import expect
from tasksim.run.record import Run

if TYPE_CHECKING:
    from numpy.typing import NDArray


__all__ = ["Plan", "schedule_of"]


@dataclass(frozen=True, eq=False)
class Plan:
    """A static schedule, one entry per task in task order.

    Parameters
    ----------
    worker : ndarray of int32
        The worker of each task, by number.
    start_s : ndarray of float64
        The start of each task in seconds, for estimated durations.
    end_s : ndarray of float64
        The end of each task in seconds, for estimated durations.

    See Also
    --------
    tasksim.schedulers.static.plan : Make a plan by the name of an algorithm.
    schedule_of : Make a plan from a recorded run.

    Examples
    --------
    >>> made = Plan(np.array([0, 1]), np.array([0.0, 0.5]), np.array([1.0, 2.0]))
    >>> len(made), made.makespan_s, made.orders(workers=2)
    (2, 2.0, [[0], [1]])
    """

    worker: NDArray[np.int32]
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.worker)

    @property
    def makespan_s(self) -> float:
        """The planned end of the last task, in seconds."""
        return float(self.end_s.max(initial=0.0))

    def orders(self, workers: int) -> list[list[int]]:
        """Return the tasks of each of *workers* workers in planned order."""
        # A task of no length comes before another task that starts at the same time.
        order = np.lexsort((np.arange(len(self)), self.end_s, self.start_s))
        found: list[list[int]] = [[] for _ in range(workers)]
        for task, worker in zip(order.tolist(), self.worker[order].tolist(), strict=True):
            found[worker].append(task)
        return found


def schedule_of(run: Run) -> Plan:
    """Return the schedule of a recorded *run* as a plan, to be repeated or changed.

    Parameters
    ----------
    run : Run
        A simulated or native run.

    Raises
    ------
    InputError
        If *run* is not a run.

    See Also
    --------
    tasksim.schedulers.static.write_schedule : Write a plan to a file.

    Examples
    --------
    >>> import tasksim
    >>> graph = tasksim.generate("chain", length=3, duration=1.0)
    >>> run = tasksim.simulate(graph, tasksim.Platform.identical(1))
    >>> schedule_of(run).start_s
    array([0., 1., 2.])
    """
    expect(run, Run, "run")
    tasks = run.tasks
    order = np.argsort(tasks.task, kind="stable")
    return Plan(tasks.worker[order].astype(np.int32), tasks.start_s[order], tasks.end_s[order])
