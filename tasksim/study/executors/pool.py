"""Executors of :mod:`concurrent.futures` with the properties that a study needs.

Each has a function, ``open_pool(jobs, argument)`` or another name: a context manager that
yields a pool, or just an executor. *jobs* is the number of cells to compute at a time, *argument*
the text after the colon in ``--executor NAME:ARGUMENT``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tasksim.study.executors.child import compute_here

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor, Future

    from tasksim.study.sweep.columns import Answer

__all__ = ["ExecutorPool"]


@dataclass
class ExecutorPool:
    """An executor and its properties.

    Parameters
    ----------
    executor : Executor
    workers : int
        Number of cells that it computes at a time.
    coarse : bool, default False
        Whether it takes seconds to start a batch, so that batches must be large.
    careful : bool, default False
        Whether to submit only one batch at a time, the first of one cell, because this process
        computes it.
    compute : callable
        Function that the executor calls: returns the answers of cells, within limits.
    wait : callable, optional
        Function that waits until the workers are ready.
    renew : callable, optional
        Function that returns a new executor after this one broke.
    """

    executor: Executor
    workers: int
    coarse: bool = False
    careful: bool = False
    compute: Callable[..., list[Answer]] = compute_here
    wait: Callable[[], None] | None = None
    renew: Callable[[], Executor] | None = None

    def grow(self, left_s: float) -> None:
        """Add workers if they pay.

        The study calls it regularly; *left_s* is the time that one worker needs for the remaining
        cells.
        """

    def submit(self, *arguments: Any) -> Future[list[Answer]]:
        """Submit some cells to the executor."""
        return self.executor.submit(self.compute, *arguments)
