"""Executor in this thread, which computes each cell when it is submitted."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tasksim.study.executors.child import Children
from tasksim.study.executors.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["SerialExecutor", "open_pool"]


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
def open_pool(jobs: int, argument: str) -> Iterator[Pool]:  # noqa: ARG001
    """Compute one cell after the other, in this process."""
    children = Children()  # per study: the next study's may find other modules
    try:
        yield Pool(SerialExecutor(), workers=1, compute=children.compute_limited)
    finally:
        children.close()
