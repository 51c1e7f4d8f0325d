"""Executor on SLURM's jobs, submitted by submitit.

``slurm:partition=short,timeout_min=60`` passes parameters to submitit; ``slurm:local`` runs the
jobs as local processes, for tests.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import InputError
from tasksim.study.executors.pool import ExecutorPool
from tasksim.study.sweep.axes import number_or_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["JobExecutor", "open_pool"]

POLL_INTERVAL_S: Final = 0.2
"""Seconds between two checks of the jobs: submitit itself queries SLURM only every few seconds."""


class JobExecutor(Executor):
    """Adapter from submitit's executors, whose jobs are no futures, to the standard interface.

    Parameters
    ----------
    executor : submitit.Executor
    """

    def __init__(self, executor: Any) -> None:
        self._executor = executor
        self._jobs: dict[Future[Any], Any] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Submit a job; return its future."""
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        job = self._executor.submit(function, *arguments, **named)
        with self._lock:
            self._jobs[future] = job
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Shut down; cancel the jobs that have not ended if *cancel_futures*."""
        while wait and not cancel_futures and self._jobs:
            time.sleep(POLL_INTERVAL_S)
        self._closed.set()
        self._watcher.join()
        for job in self._jobs.values():
            job.cancel()

    def _watch(self) -> None:
        """Set the results of the futures whose jobs have ended."""
        while not self._closed.wait(POLL_INTERVAL_S):
            with self._lock:
                ended = [(future, job) for future, job in self._jobs.items() if job.done()]
                for future, _ in ended:
                    del self._jobs[future]
            for future, job in ended:
                _settle(future, job)


def _settle(future: Future[Any], job: Any) -> None:
    try:
        error = job.exception()
    except Exception as failure:  # submitit raises it for a job that left no result
        error = failure
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(job.result())


@contextmanager
def open_pool(jobs: int, argument: str) -> Iterator[ExecutorPool]:
    """Compute cells in SLURM's jobs: slurm:partition=NAME,timeout_min=60; slurm:local for tests."""
    import submitit

    local = argument == "local"
    with TemporaryDirectory(prefix=".tasksim-", dir=Path.cwd()) as folder:
        kind = submitit.LocalExecutor if local else submitit.SlurmExecutor
        executor = kind(folder=folder)
        if not local:
            executor.update_parameters(**_parameters(argument))
        adapter = JobExecutor(executor)
        try:
            yield ExecutorPool(adapter, jobs, coarse=True)
        finally:
            adapter.shutdown(cancel_futures=True)


def _parameters(argument: str) -> dict[str, Any]:
    """Return the parameters for submitit in a text such as ``partition=short,timeout_min=60``."""
    found: dict[str, Any] = {}
    for item in filter(None, argument.split(",")):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not (key and equals and value):
            raise InputError(f"executor 'slurm:{argument}': '{item}' is not PARAMETER=VALUE")
        found[key] = number_or_text(value)
    return found
