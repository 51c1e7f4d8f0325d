"""Executor on threads of this process; the compiled core releases Python's lock."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tasksim.study.executors.child import Children
from tasksim.study.executors.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["open_pool"]


@contextmanager
def open_pool(jobs: int, argument: str) -> Iterator[Pool]:  # noqa: ARG001
    """Compute cells in threads of this process; each thread prepares graphs and models itself."""
    executor = ThreadPoolExecutor(jobs, thread_name_prefix="cells")
    children = Children()  # per study: the next study's may find other modules
    try:
        yield Pool(executor, jobs, compute=children.compute_limited)
    finally:
        children.close()
        executor.shutdown(cancel_futures=True)
