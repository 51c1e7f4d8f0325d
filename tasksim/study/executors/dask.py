"""Executor on Dask's workers, in a running cluster or started locally."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tasksim.study.executors.pool import ExecutorPool

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["open_pool"]


@dataclass
class LocalPool(ExecutorPool):
    """Workers of a cluster on this machine, which the study itself has started.

    Dask replaces a worker that died. If that one has died, too, when Dask looks for it some seconds
    later, Dask gives it up; without workers it would wait for ever.
    """

    cluster: Any = None

    def grow(self, left_s: float) -> None:  # noqa: ARG002
        """Replace workers that Dask has given up."""
        if len(self.cluster.workers) < self.workers:
            self.cluster.scale(self.workers)


@contextmanager
def open_pool(jobs: int, argument: str) -> Iterator[ExecutorPool]:
    """Compute cells on Dask's workers: dask:tcp://HOST:PORT, dask:FILE.json, or local ones."""
    from distributed import Client, LocalCluster

    if argument:
        given = {"scheduler_file" if argument.endswith(".json") else "address": argument}
        with Client(**given) as client:
            workers = sum(client.nthreads().values()) or jobs
            yield ExecutorPool(client.get_executor(pure=False), workers)
        return
    # Dask serves its dashboard in any case, by default at one port, which another study may have.
    own_port = "127.0.0.1:0"
    with (
        LocalCluster(n_workers=jobs, threads_per_worker=1, dashboard_address=own_port) as cluster,
        Client(cluster) as client,
    ):
        yield LocalPool(client.get_executor(pure=False), jobs, cluster=cluster)
