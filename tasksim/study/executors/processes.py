"""Executor on new processes, each watched by a thread that replaces it if it dies.

In :class:`concurrent.futures.ProcessPoolExecutor`, by contrast, the death of one process breaks
the whole pool.
"""

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
    """Compute cells in new processes of this machine, one per core."""
    children = Children()
    executor = ThreadPoolExecutor(jobs, thread_name_prefix="cells")
    try:
        children.start(jobs)
        yield Pool(executor, jobs, compute=children.compute, wait=children.wait)
    finally:
        children.close()
        executor.shutdown(cancel_futures=True)
