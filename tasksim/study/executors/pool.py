"""Pool: an executor of :mod:`concurrent.futures` that computes the cells of a study, and how.

What an executor's file defines is a function ``open_pool(jobs, argument)``: a context manager that
yields a pool, or just an executor. *jobs* is how many cells are computed at a time, *argument*
what stands behind the colon of ``--executor NAME:ARGUMENT``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tasksim.study.executors.child import compute_here

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor, Future

    from tasksim.study.sweep.columns import Answer

__all__ = ["MESSAGE_S", "Pool"]

MESSAGE_S: Final = 0.2
"""Of work that is sent to a worker at a time: a thousand times what it takes to send it."""


@dataclass
class Pool:
    """An executor, and what the study has to know of it.

    Parameters
    ----------
    executor : Executor
    workers : int
        How many cells it computes at a time.
    message_s : float
        Seconds of work that it is given at a time.
    compute : callable
        What it calls: returns the answers of cells, within limits.
    renew : callable, optional
        Returns another executor when this one is broken.
    """

    executor: Executor
    workers: int
    message_s: float = MESSAGE_S
    compute: Callable[..., list[Answer]] = compute_here
    renew: Callable[[], Executor] | None = None

    def submit(self, *arguments: Any) -> Future[list[Answer]]:
        """Have the executor compute some cells."""
        return self.executor.submit(self.compute, *arguments)
