"""Context manager that records a program's tasks as a run and a task graph."""

from __future__ import annotations

import threading
import time
import warnings
from typing import TYPE_CHECKING, Any, Final, Self

from tasksim.base.arguments import flag
from tasksim.base.errors import InputError, expect
from tasksim.recording.asyncio_tasks import record_asyncio
from tasksim.recording.dask_clusters import record_dask_clusters
from tasksim.recording.dask_graphs import record_dask
from tasksim.recording.futures import record_futures
from tasksim.recording.joblib_calls import record_joblib
from tasksim.recording.log import RecordingLog
from tasksim.recording.parsl_apps import record_parsl
from tasksim.recording.patches import Patches
from tasksim.recording.pools import record_pools
from tasksim.recording.processes import record_processes
from tasksim.recording.results import TaskResults

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.recording.recorded import Recorded
    from tasksim.run.record import Run

__all__ = ["Recording", "record"]

_RECORDERS: Final = (
    record_futures, record_joblib, record_parsl, record_pools, record_processes, record_dask,
    record_dask_clusters,
)  # fmt: skip
_OPEN_RECORDING_LOCK = threading.Lock()
"""Lock held while a recording is open: functions are replaced for the whole process."""


def record(name: str = "recorded", *, asyncio: bool = False) -> Recording:
    """Return a recording of the tasks of pools, processes, joblib, Parsl and Dask.

    Inside the ``with`` block, each call submitted to a
    :class:`concurrent.futures.ThreadPoolExecutor` or a
    :class:`concurrent.futures.ProcessPoolExecutor` is a task; so are the calls of
    ``joblib.Parallel``, :class:`multiprocessing.pool.Pool` and
    :class:`multiprocessing.pool.ThreadPool`, those of Parsl's apps, each
    :class:`multiprocessing.Process`, and the tasks of Dask, on threads or by a ``Client``. No
    result changes. Nothing of joblib, Parsl or Dask is imported unless the program imports it.

    A task depends on the tasks whose results or futures are among its arguments, also inside lists,
    tuples, sets and dictionaries. It also depends on the tasks whose end the submitting thread had
    noticed before: the thread had asked for their result, waited for them, or shut their pool down.
    The work of that thread between the last end that it noticed and its next submission is a task
    of its own, of the kernel ``main thread``.

    Parameters
    ----------
    name : str, default "recorded"
        Name of the graph.
    asyncio : bool, default False
        Whether tasks of :class:`asyncio.TaskGroup` are recorded, too. They overlap in one thread:
        a worker is then a place for one of them, from its first step to its last.

    Returns
    -------
    Recording

    Raises
    ------
    InputError
        On entering the block, if another recording is open.

    See Also
    --------
    from_dask : The graph of a Dask collection, without computing it.
    simulate : Predict a run of the graph on another platform.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with record("sums") as recording, ThreadPoolExecutor(2) as pool:
    ...     parts = [pool.submit(sum, range(n)) for n in (1000, 2000)]
    ...     total = pool.submit(max, [part.result() for part in parts]).result()
    >>> recording.graph.kernels
    ('sum', 'main thread', 'max')
    >>> recording.run.kind, len(recording.run)
    ('native', 4)
    """
    return Recording(name, asyncio=asyncio)


class Recording:
    """Context manager that records the tasks of a program inside its ``with`` block.

    :func:`record` creates it. The results are available after the end of the block, without tasks
    that have not ended by then.

    Parameters
    ----------
    name : str
        Name of the graph.
    asyncio : bool, default False
        Whether tasks of asyncio's task groups are recorded, too.

    See Also
    --------
    record : Record a program.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with record() as recording, ThreadPoolExecutor(2) as pool:
    ...     squares = list(pool.map(abs, [-1, -2, -3]))
    >>> recording
    <Recording recorded: 3 tasks, 0 dependencies>
    >>> recording.simulate(workers=1).makespan_s > 0
    True
    """

    def __init__(self, name: str, *, asyncio: bool = False) -> None:
        expect(name, str, "name")
        flag(asyncio, "asyncio")
        self.name = name
        self._log = RecordingLog()
        self._patches = Patches()
        self._results = TaskResults()
        self._recorders = [*_RECORDERS, *([record_asyncio] if asyncio else [])]
        self._warns = True
        self._state = "new"
        self._begun_s = 0.0
        self._wall_s = 0.0
        self._known: Recorded | None = None

    def __repr__(self) -> str:
        if self._state != "ended":
            return f"<Recording {self.name}: {self._state}, {len(self._log.tasks)} tasks so far>"
        return f"<Recording {self.name}: {len(self.graph)} tasks, {self.graph.edges} dependencies>"

    def __enter__(self) -> Self:
        if self._state != "new":
            raise InputError("a recording can be used only once; create another with record()")
        if not _OPEN_RECORDING_LOCK.acquire(blocking=False):
            raise InputError("another recording is open; a program can have only one at a time")
        self._state = "open"
        self._begun_s, self._log.cpu_s = time.perf_counter(), -time.process_time()
        try:
            for begin in self._recorders:
                begin(self._log, self._patches, self._results)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._end()
        if error[0] is None and self._warns:
            for note in self._log.left_out():
                warnings.warn(note, stacklevel=2)

    def quietly(self) -> Self:
        """Return the recording without warnings of omitted tasks, which its notes name."""
        self._warns = False
        return self

    def _end(self) -> None:
        self._wall_s = time.perf_counter() - self._begun_s
        self._log.cpu_s += time.process_time()
        self._log.close()
        self._patches.undo()
        self._state = "ended"
        _OPEN_RECORDING_LOCK.release()

    @property
    def run(self) -> Run:
        """The run, with the worker and the times of each task.

        Raises :exc:`InputError` while the recording is open, and if there was no task.
        """
        return self._recorded.run

    @property
    def graph(self) -> TaskGraph:
        """The task graph, with the data of each task and the tasks that it waited for."""
        return self._recorded.graph

    @property
    def notes(self) -> list[str]:
        """Remarks on the recording: calls that it missed, and conclusions from its times."""
        return self._recorded.notes

    def platform(self, workers: int | None = None) -> Platform:
        """Return the platform of the run, with the costs of its runtime between tasks.

        Parameters
        ----------
        workers : int, optional
            Number of workers; default: that of the run.
        """
        return self._recorded.replayable.platform(workers)

    def simulate(
        self, workers: int | None = None, scheduler: str | None = None, **scenario: Any
    ) -> Run:
        """Return a simulated run of the graph, with the recorded duration of each task.

        Parameters
        ----------
        workers : int, optional
            Number of workers; default: that of the run.
        scheduler : str, optional
            Scheduler; default: that of the run, ``dask``, or ``eager``, the queue of a pool.
        **scenario
            Other parameters of :func:`tasksim.simulate`.
        """
        return self._recorded.replayable.simulate(workers, scheduler, **scenario)

    def save(self, folder: str | Path, force: bool = False) -> None:
        """Write the run to *folder*, with its graph and its platform.

        Parameters
        ----------
        folder : str or Path
            A new folder.
        force : bool, default False
            Whether to replace a run that is there.

        Raises
        ------
        InputError
            If *folder* exists and *force* is not set, or no task was recorded.
        """
        self._recorded.replayable.save(folder, force)

    @property
    def _recorded(self) -> Recorded:
        if self._state != "ended":
            raise InputError(
                f"the recording is {self._state}: its results are available after its with block"
            )
        if self._known is None:
            from tasksim.recording.recorded import Recorded

            self._known = Recorded(self._log, self.name, self._wall_s)
        return self._known
