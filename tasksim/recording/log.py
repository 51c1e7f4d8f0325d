"""Log of a recording, with the tasks of a program, their times and their dependencies."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from math import nan
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tasksim.graph.taskgraph import MAIN_THREAD
from tasksim.recording.timed_call import clocks, clocks_since

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

__all__ = [
    "ASYNCIO",
    "DASK",
    "DASK_CLUSTER",
    "FUTURES",
    "JOBLIB",
    "MULTIPROCESSING",
    "PARSL",
    "Launch",
    "RecordedDatum",
    "RecordedTask",
    "RecordingLog",
    "counted",
]

FUTURES: Final = "concurrent.futures"
DASK: Final = "dask"
DASK_CLUSTER: Final = "dask.distributed"
JOBLIB: Final = "joblib"
PARSL: Final = "parsl"
MULTIPROCESSING: Final = "multiprocessing"
ASYNCIO: Final = "asyncio"

OWN_S: Final = 1e-3
"""Minimum work of a thread between two waits that counts as a task of its own, in seconds: some ten
times the cost of waking a thread. Less is hard to distinguish from that cost, and would double the
number of tasks."""


class RecordedDatum:
    """Datum that a task returned or received."""

    __slots__ = ("size_bytes", "task")

    def __init__(self, size_bytes: int = 0, task: RecordedTask | None = None) -> None:
        self.size_bytes = size_bytes
        self.task = task
        """Task that made it; None: it existed before."""


@dataclass(slots=True, eq=False)
class RecordedTask:
    """A task while it is recorded; times are those of :func:`time.perf_counter`."""

    kernel: tuple[str, str]
    """Name of the kernel, and its name with the module before it."""
    submitted_s: float
    place: tuple[int, int]
    """Place in order of submission: simultaneous submissions share the first number."""
    after: list[RecordedTask] = field(default_factory=list)
    """Tasks whose end the submitting thread had seen."""
    reads: list[RecordedDatum] = field(default_factory=list)
    result: RecordedDatum = field(default_factory=RecordedDatum)
    handed_s: float = nan
    """Time at which the runtime chose a worker for it, if known."""
    start_s: float = nan
    end_s: float = nan
    cpu_s: float = 0.0
    """Processor time of the task, in seconds."""
    preemptions: int = -1
    """Number of preemptions; -1: unknown."""
    worker: Hashable = None
    """Thread that ran the task, or the number of the process."""
    pool: int = 0
    """Number of the pool of that worker."""
    raised: bool = False
    cancelled: bool = False
    source: str = FUTURES
    """Library that the program used to start it."""

    @property
    def has_ended(self) -> bool:
        """Whether all its times are known."""
        return self.end_s == self.end_s  # not NaN


class Launch(NamedTuple):
    """Launch of a process that is a worker of a pool.

    Attributes
    ----------
    begun_s
        Time of the launch.
    after
        Tasks whose end the launching thread had seen.
    """

    begun_s: float
    after: list[RecordedTask]


class _Here(threading.local):
    """State of the current thread."""

    def __init__(self) -> None:
        self.task: RecordedTask | None = None
        """The recorded task that it runs."""
        self.seen: list[RecordedTask] = []
        """Tasks whose end it has seen, and that no task depends on yet."""
        self.known: set[RecordedTask] = set()
        self.waited: RecordedTask | None = None
        """Its last task of the kernel "main thread"."""
        self.since_s = nan
        """Beginning of its present work: its last submission, or the end of its last wait."""
        self.submitted_s = nan
        """Beginning of its last submission."""
        self.wait_s = nan
        """Beginning of its last wait."""


class RecordingLog:
    """The tasks of a recording, and counts of those that could not be recorded."""

    def __init__(self) -> None:
        self.tasks: list[RecordedTask] = []
        self.is_open = True
        self.at_end: list[Callable[[], None]] = []
        """Functions that are called before the recording ends."""
        self.notes: list[str] = []
        """Remarks on the recording."""
        self.submission_s = 0.0
        """The time that threads took to submit, all submissions together."""
        self.dask_loop_s = 0.0
        """The time that Dask's own loop had on a core."""
        self.cpu_s = 0.0
        """The time that the program had on cores, all its threads together."""
        self.nested = 0
        self.waits_inside = 0
        self.missed = 0
        """Tasks of Dask that were seen to run in a graph that is not recorded."""
        self.processes = 0
        """Tasks that were processes which the program started itself."""
        self.launches: dict[int, Launch] = {}
        """Number of a worker process -> its launch."""
        self.replaced: dict[int, int] = {}
        """Number of a worker process -> that of the first one in whose place it is."""
        self.ready_s: dict[int, float] = {}
        """Number of a process that ran tasks -> when it was there as a worker, if known."""
        self.here = _Here()
        self._places = 0
        self._pools = 0
        self._lock = threading.Lock()

    def close(self) -> None:
        """End the recording: what ends later is left out."""
        for stop in self.at_end:
            stop()
        self.is_open = False

    # Submitting

    def submit(
        self,
        kernel: tuple[str, str],
        reads: Iterable[RecordedDatum],
        source: str = FUTURES,
        after: Iterable[RecordedTask] | None = None,
    ) -> RecordedTask:
        """Return a new task that this thread is about to submit.

        If it is a thread of a library, *after* has the tasks that the program's thread had seen
        when it asked for this one (:meth:`asked`).
        """
        now = time.perf_counter()
        seen = self.seen_before(now) if after is None else after
        place = (self.next_place(), 0)
        task = RecordedTask(kernel, now, place, [*seen], [*reads], source=source)
        task.result.task = task
        self.tasks.append(task)
        return task

    def asked(self) -> list[RecordedTask]:
        """Return the tasks that this thread has seen, as it asks a library to submit for it."""
        after = self.seen_before(time.perf_counter())
        self.submitted()
        return after

    def submitted(self) -> None:
        """Note that this thread has submitted, and goes on with its own work."""
        here = self.here
        if here.task is None:
            now = time.perf_counter()
            self.submission_s += now - here.since_s
            here.since_s = now

    def next_place(self) -> int:
        """Return the next place in order of submission."""
        with self._lock:
            self._places += 1
            return self._places

    def next_pool(self) -> int:
        """Return the number of another pool of workers."""
        with self._lock:
            self._pools += 1
            return self._pools

    def seen_before(self, now: float) -> list[RecordedTask]:
        """Return the tasks that have ended before this thread submits another at *now*."""
        here = self.here
        if here.task is not None:  # a task submits another, after those that it waited for itself
            self.nested += 1
            return list(here.task.after)
        if here.seen:
            self._did(now)
        elif here.since_s == here.since_s:
            self.submission_s += now - here.since_s
        here.since_s = here.submitted_s = now
        return [] if here.waited is None else [here.waited]

    def _did(self, now: float) -> None:
        """Record the work of this thread since its last submission or wait as a task."""
        here = self.here
        before = [] if here.waited is None else [here.waited]
        ends = [task.end_s for task in here.seen]
        start_s = max([here.since_s, *ends])
        submitted_s = here.submitted_s if here.submitted_s == here.submitted_s else start_s
        here.waited = RecordedTask(
            (MAIN_THREAD, MAIN_THREAD),
            submitted_s,
            (self.next_place(), 0),
            after=[*before, *here.seen],
            handed_s=min(here.wait_s, start_s) if here.wait_s == here.wait_s else start_s,
            start_s=start_s,
            end_s=now,
            cpu_s=now - start_s,
            worker=threading.current_thread(),
        )
        here.seen = []
        self.tasks.append(here.waited)

    # Workers

    def launching(self) -> Launch:
        """Return the launch of a worker process that this thread is about to do."""
        here, now = self.here, time.perf_counter()
        if here.task is not None:
            return Launch(now, [*here.task.after])
        if here.seen:
            self._did(now)
            here.since_s = here.submitted_s = now
        return Launch(now, [] if here.waited is None else [here.waited])

    def launched(self, process: int, launch: Launch) -> None:
        """Note that a worker process is launched, which is no part of a submission."""
        self.launches[process] = launch
        self.here.since_s += time.perf_counter() - launch.begun_s

    # Waits

    def about_to_wait(self) -> None:
        """Note that this thread will wait, if there is something to wait for."""
        here = self.here
        if here.task is not None or not self.is_open:
            return
        now = time.perf_counter()
        if now - here.since_s >= OWN_S:
            self._did(now)
            here.since_s = now  # a wait may begin within another
        here.wait_s = now

    def has_waited(self) -> None:
        """Note that this thread has waited since its last submission."""
        here = self.here
        if here.task is None and self.is_open:
            here.wait_s = here.since_s

    def goes_on(self) -> None:
        """Note that this thread has run a task itself, and goes on with its own work."""
        if self.here.task is None:
            self.here.since_s = time.perf_counter()

    def saw(self, tasks: Iterable[RecordedTask]) -> None:
        """Note that this thread knows that *tasks* have ended, and goes on with its own work."""
        here = self.here
        if not self.is_open:
            return
        fresh = [task for task in tasks if task.has_ended and task not in here.known]
        if here.task is not None:
            self.waits_inside += bool(fresh)
            return
        here.known.update(fresh)
        here.seen.extend(fresh)
        here.since_s = time.perf_counter()

    # Running

    def call(self, task: RecordedTask, function: Any, args: Any, kwargs: Any) -> Any:
        """Call a *function* as a *task* of this thread, and return its result."""
        here = self.here
        outer, here.task = here.task, task
        task.worker = threading.current_thread()
        begun = clocks()
        task.start_s = begun[0]
        try:
            return function(*args, **kwargs)
        except BaseException:
            task.raised = True
            raise
        finally:
            end_s, task.cpu_s, task.preemptions = clocks_since(begun)
            here.task = outer
            if self.is_open:  # later ends are left out
                task.end_s = end_s

    # Notes

    def left_out(self) -> list[str]:
        """Return notes on the tasks that the recording leaves out."""
        cancelled = sum(task.cancelled for task in self.tasks)
        late = sum(not task.has_ended for task in self.tasks) - cancelled
        found = []
        if late:
            found.append(
                f"{counted(late)} had not ended when the recording did, never ran, or ran where "
                "nothing tells when; left out"
            )
        if self.missed:
            found.append(f"{counted(self.missed)} of Dask ran beside another graph; left out")
        return found

    def caveats(self) -> list[str]:
        """Return notes on facts that the graph does not show."""
        found = []
        raised = sum(task.raised for task in self.tasks)
        if raised:
            found.append(f"{counted(raised)} raised an exception")
        if self.nested:
            found.append(
                f"tasks submitted other tasks, {counted(self.nested)} in all: the graph does not "
                "say that these began after those had"
            )
        if self.waits_inside:
            found.append(
                f"tasks waited for other tasks, {self.waits_inside} in all: their durations "
                "contain the waiting"
            )
        if self.processes:
            what = "was a process" if self.processes == 1 else "were processes"
            found.append(
                f"{counted(self.processes)} {what}: waits for queues, pipes and locks are in the "
                "durations"
            )
        return found


def counted(count: int) -> str:
    """Return a number of tasks as text: ``1 task``, ``2 tasks``."""
    return f"{count} task{'' if count == 1 else 's'}"
