"""Registry of executors, which run the graphs of a generator natively.

An executor is a class or function, ``executor(graph, workers, seed)``, that returns the graph
bound to data, a :class:`~tasksim.kernels.program.Program`. It is registered under the name of the
generator whose graphs it runs. Another package registers its executors as entry points of the group
``tasksim.programs``. An application is an executor of its own graphs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tasksim.base.errors import InputError
from tasksim.base.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.program import Program

    Executor = Callable[[TaskGraph, int, int], Program]

__all__ = ["EXECUTORS", "describe"]


def _adopt(name: str, found: Any) -> Executor:
    if not callable(found):
        raise InputError(f"executor '{name}': {found!r} cannot be called")
    executor: Executor = found
    return executor


EXECUTORS: Registry[Executor] = Registry(
    "executor",
    "tasksim.programs",
    {
        "cholesky": "tasksim.kernels.factorisations:Cholesky",
        "lu": "tasksim.kernels.factorisations:Lu",
        "qr": "tasksim.kernels.factorisations:Qr",
        "fmm": "tasksim.kernels.fmm.program:FmmProgram",
        "cg": "tasksim.kernels.grids.conjugate_gradient:conjugate_gradient",
        "jacobi": "tasksim.kernels.grids.jacobi:jacobi",
        "summa": "tasksim.kernels.summa:summa",
        "chain": "tasksim.kernels.program:WaitingProgram",
        "fork-join": "tasksim.kernels.program:WaitingProgram",
        "random-layered": "tasksim.kernels.program:WaitingProgram",
    },
    _adopt,
)
"""All executors. A new one is a file, and a line here or an entry point of its package."""


def describe() -> dict[str, str]:
    """Return the first line of each executor's docstring by name, without broken executors."""
    return {
        name: (found.__doc__ or "").strip().partition("\n")[0]
        for name, found in EXECUTORS.items().items()
    }
