"""Threads that compute cells; the compiled core runs without Python's lock."""

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
    """Compute cells in threads of this process, each with what it prepares of its own."""
    executor = ThreadPoolExecutor(jobs, thread_name_prefix="cells")
    children = Children()  # of this study: the next one's may find other modules
    try:
        yield Pool(executor, jobs, compute=children.compute_limited)
    finally:
        children.close()
        executor.shutdown(cancel_futures=True)
