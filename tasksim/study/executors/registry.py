"""Registry of the executors that compute the cells of a study.

An executor is a function ``open_pool(jobs, argument)`` that returns a context manager of a
:class:`~tasksim.study.executors.pool.ExecutorPool`, or of any executor of
:mod:`concurrent.futures`. Another package adds its own by an entry point of the group
``tasksim.executors``.
"""

from __future__ import annotations

from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from tasksim.base.errors import InputError, TasksimError
from tasksim.base.extras import needed_for
from tasksim.base.registry import Registry
from tasksim.study.executors.pool import ExecutorPool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    Opener = Callable[[int, str], AbstractContextManager[ExecutorPool | Executor]]

__all__ = ["EXECUTORS", "opened"]


def _adopt(name: str, found: Any) -> Opener:
    if not callable(found):
        raise InputError(f"executor '{name}': {found!r} cannot be called")
    opener: Opener = found
    return opener


EXECUTORS: Registry[Opener] = Registry(
    "executor",
    "tasksim.executors",
    {
        "auto": "tasksim.study.executors.local:open_auto",
        "processes": "tasksim.study.executors.local:open_processes",
        "serial": "tasksim.study.executors.local:open_serial",
        "threads": "tasksim.study.executors.local:open_threads",
        "dask": "tasksim.study.executors.dask:open_pool",
        "mpi": "tasksim.study.executors.mpi:open_pool",
        "slurm": "tasksim.study.executors.slurm:open_pool",
    },
    _adopt,
)
"""All executors; a new one needs a module, and a line here or an entry point of its package."""


@contextmanager
def opened(text: str, jobs: int) -> Iterator[ExecutorPool]:
    """Open the pool named *text*: ``NAME``, ``NAME:ARGUMENT``, or a user's own ``MODULE:NAME``.

    Raises
    ------
    InputError
        If there is no such executor (the message has the nearest name); if a package is missing
        (the message has the extra that installs it); if the executor raises an error.
    """
    name, _, argument = text.partition(":")
    opener = EXECUTORS.find(name) if name in EXECUTORS else EXECUTORS.resolve(text)
    with ExitStack() as stack:
        yield _opened(text, lambda: opener(jobs, argument), stack, jobs)


def _entered(text: str, call: Callable[[], Any]) -> Any:
    """Return the result of *call*; turn its errors into :exc:`InputError`."""
    try:
        with needed_for(f"executor '{text}'"):
            return call()
    except (TasksimError, KeyboardInterrupt, ModuleNotFoundError):
        raise
    except Exception as error:
        raise InputError(f"executor '{text}': {type(error).__name__}: {error}") from error


def _opened(text: str, make: Callable[[], Any], stack: ExitStack, jobs: int) -> ExecutorPool:
    """Return the pool that *make* opens; *stack* closes it, and ``renew`` opens it again."""
    context = _entered(text, make)
    if not hasattr(context, "__enter__"):
        raise InputError(f"executor '{text}': got {context!r}; legal: a context manager")
    found = _entered(text, lambda: stack.enter_context(context))
    if isinstance(found, ExecutorPool):
        return found
    if not isinstance(found, Executor):
        raise InputError(
            f"executor '{text}': got {found!r}; legal: an executor of concurrent.futures"
        )

    def renew() -> Executor:
        stack.close()
        return _opened(text, make, stack, jobs).executor

    return ExecutorPool(found, getattr(found, "_max_workers", None) or jobs, renew=renew)
