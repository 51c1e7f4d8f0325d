"""Pool: an executor of :mod:`concurrent.futures` that computes the cells of a study, and how.

What an executor's file defines is a function ``open_pool(jobs, argument)``: a context manager that
yields a pool, or just an executor. *jobs* is how many cells are computed at a time, *argument*
what stands behind the colon of ``--executor NAME:ARGUMENT``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor, Future

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
    isolated : bool, default False
        Whether what it calls keeps each cell in a child process of its own, for a crash of which
        nobody else pays.
    message_s : float
        Seconds of work that it is given at a time.
    renew : callable, optional
        Returns another executor when this one is broken.
    """

    executor: Executor
    workers: int
    isolated: bool = False
    message_s: float = MESSAGE_S
    renew: Callable[[], Executor] | None = None

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Submit a call to the executor."""
        return self.executor.submit(function, *arguments)
