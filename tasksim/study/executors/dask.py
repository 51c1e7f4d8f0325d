"""Executor on Dask's workers, in a running cluster or started locally."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from tasksim.study.executors.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["open_pool"]


@contextmanager
def open_pool(jobs: int, argument: str) -> Iterator[Pool]:
    """Compute cells on Dask's workers: dask:tcp://HOST:PORT, dask:FILE.json, or local ones."""
    with ExitStack() as stack:
        client = _client(stack, jobs, argument)
        workers = sum(client.nthreads().values()) or jobs
        yield Pool(client.get_executor(pure=False), workers)


def _client(stack: ExitStack, jobs: int, argument: str) -> Any:
    from distributed import Client, LocalCluster

    if argument.endswith(".json"):
        return stack.enter_context(Client(scheduler_file=argument))
    if argument:
        return stack.enter_context(Client(argument))
    cluster = LocalCluster(n_workers=jobs, threads_per_worker=1, dashboard_address=None)
    return stack.enter_context(Client(stack.enter_context(cluster)))
