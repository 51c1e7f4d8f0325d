"""Executor on MPI's ranks.

Example: ``mpiexec -n 3 tasksim study run FILE -o STUDY --executor mpi``.

Rank 0 plans and writes, the others compute. If there is only one rank, it starts others, provided
that the installed MPI can.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tasksim.native.cluster.launch import die_with, launched_ranks
from tasksim.study.executors.pool import ExecutorPool

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["open_pool"]


@contextmanager
def open_pool(jobs: int, argument: str) -> Iterator[ExecutorPool]:  # noqa: ARG001
    """Compute cells in the other processes of mpiexec, which end after the last cell."""
    if launched_ranks() > 1:
        # If mpiexec is killed while MPI starts, MPI would wait for it for ever, at full speed.
        die_with(os.getppid())
    from mpi4py import MPI
    from mpi4py.futures import MPICommExecutor, MPIPoolExecutor

    size = MPI.COMM_WORLD.Get_size()
    if size == 1:
        with MPIPoolExecutor(jobs) as own:
            yield ExecutorPool(own, jobs)
        return
    with MPICommExecutor(MPI.COMM_WORLD, root=0) as found:
        # On the other ranks this returns after the last cell.
        executor: Any = found
        if executor is not None:
            yield ExecutorPool(executor, size - 1)
            return
    raise SystemExit(0)  # the other ranks have no study to write
