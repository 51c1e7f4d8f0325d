"""Pool: an executor of :mod:`concurrent.futures` that computes the cells of a study, and how.

What an executor's file defines is a function ``open_pool(jobs, argument)``: a context manager that
yields a pool, or just an executor. *jobs* is how many cells are computed at a time, *argument*
what stands behind the colon of ``--executor NAME:ARGUMENT``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tasksim.study.executors.child import compute_here

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor, Future

    from tasksim.study.sweep.columns import Answer

__all__ = ["Pool"]


@dataclass
class Pool:
    """An executor, and what the study has to know of it.

    Parameters
    ----------
    executor : Executor
    workers : int
        How many cells it computes at a time.
    coarse : bool, default False
        Whether it takes seconds to begin, so that it is given much at a time.
    careful : bool, default False
        Whether it is asked for one batch at a time, of one cell at first: this process computes it.
    compute : callable
        What it calls: returns the answers of cells, within limits.
    wait : callable, optional
        Waits until the workers are ready.
    renew : callable, optional
        Returns another executor when this one is broken.
    """

    executor: Executor
    workers: int
    coarse: bool = False
    careful: bool = False
    compute: Callable[..., list[Answer]] = compute_here
    wait: Callable[[], None] | None = None
    renew: Callable[[], Executor] | None = None

    def grow(self, left_s: float) -> None:
        """Take more workers if that pays; told now and then what is left, in seconds of one."""

    def submit(self, *arguments: Any) -> Future[list[Answer]]:
        """Have the executor compute some cells."""
        return self.executor.submit(self.compute, *arguments)
