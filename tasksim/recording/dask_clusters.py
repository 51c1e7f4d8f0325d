"""Recording of the tasks that a Dask cluster runs for a program with a Client.

A plugin of the scheduler notes the tasks when workers have run them; what the program's threads
submit, and what they wait for, is noticed in the client. Both are joined when the client closes,
or else when the recording ends.
"""

from __future__ import annotations

import functools
import itertools
import time
from math import inf, nan
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from tasksim.recording.log import DASK_CLUSTER, RecordedDatum, RecordedTask

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from tasksim.recording.dask_scheduler import ClusterNotes, TaskNote
    from tasksim.recording.log import RecordingLog
    from tasksim.recording.patches import Patches
    from tasksim.recording.results import TaskResults

__all__ = ["ClusterThread", "Transfer", "record_dask_clusters"]

ASYNCHRONOUS_NOTE: Final = "what an asynchronous Client of Dask submits is not recorded"
MISSING_NOTE: Final = "a scheduler of Dask did not tell its tasks: "
_NUMBERS = itertools.count(1)
"""Counter for the numbers of schedulers' notes."""


class ClusterThread(NamedTuple):
    """A thread of a worker of a cluster."""

    address: str
    thread: int


class Transfer(NamedTuple):
    """A transfer of data to a worker of a cluster, beside what its threads do."""

    number: int


def record_dask_clusters(log: RecordingLog, patches: Patches, _: TaskResults) -> None:
    """Record what Dask's clusters run in *log*, until *patches* are undone."""
    watch = _Watch(log)

    def begin() -> None:
        from distributed import client

        patches.set(client.Client, "__init__", watch.making(client.Client.__init__))
        submit = watch.submitting(client.Client._graph_to_futures)
        patches.set(client.Client, "_graph_to_futures", submit)
        patches.set(client.Client, "gather", watch.gathering(client.Client.gather))
        patches.set(client.Client, "close", watch.closing(client.Client.close))
        patches.set(client.Future, "result", watch.getting(client.Future.result))
        patches.set(client.as_completed, "__next__", watch.next(client.as_completed.__next__))
        patches.set_everywhere(client.wait, watch.waiting(client.wait))
        log.at_end.append(watch.collect_all)

    patches.when_imported("distributed.client", begin)


class _Submission(NamedTuple):
    """A graph that a client sent."""

    submitted_s: float
    place: int
    after: list[RecordedTask]
    asked_for: dict[Hashable, RecordedTask]
    """The tasks whose results it asked for, of which threads may see the ends."""


class _Cluster:
    """A scheduler, and what clients asked of it."""

    def __init__(self, pool: int) -> None:
        self.number = next(_NUMBERS)
        self.pool = pool
        self.clients = 0
        """Number of its clients that are open."""
        self.sent: dict[frozenset[Hashable], list[_Submission]] = {}
        self.asked_for: dict[Hashable, RecordedTask] = {}


class _Watch:
    """Replacements for methods of clients, which call the original and report to a log."""

    def __init__(self, log: RecordingLog) -> None:
        self._log = log
        self._clusters: WeakKeyDictionary[Any, _Cluster | None] = WeakKeyDictionary()
        self._at: dict[str, _Cluster] = {}
        """Address of a scheduler -> its cluster."""

    def _cluster(self, client: Any) -> _Cluster | None:
        """Return the cluster of a client, whose tasks are noted from the first call on."""
        if client not in self._clusters and self._log.is_open:
            from tasksim.recording.dask_scheduler import start_notes

            self._clusters[client] = None
            if client.asynchronous:
                self._note(ASYNCHRONOUS_NOTE)
                return None
            address = client.scheduler.address
            cluster = self._at.get(address)
            if cluster is None:
                cluster = _Cluster(self._log.next_pool())
                try:
                    client.run_on_scheduler(start_notes, cluster.number)
                except Exception as error:  # another Python's, which may lack tasksim
                    self._note(f"{MISSING_NOTE}{error}")
                    return None
                self._at[address] = cluster
            self._clusters[client] = cluster
            cluster.clients += 1
        return self._clusters.get(client)

    def _note(self, text: str) -> None:
        if text not in self._log.notes:
            self._log.notes.append(text)

    # Replaced methods

    def making(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the recorded version of ``Client``'s constructor."""

        @functools.wraps(original)
        def __init__(client: Any, *args: Any, **options: Any) -> None:  # noqa: N807
            original(client, *args, **options)
            self._cluster(client)

        return __init__

    def submitting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the recorded version of the method by which clients send all graphs."""

        @functools.wraps(original)
        def _graph_to_futures(client: Any, expr: Any, keys: Any, *args: Any, **options: Any) -> Any:
            cluster = self._cluster(client)
            if cluster is None or not self._log.is_open:
                return original(client, expr, keys, *args, **options)
            keys = list(keys)
            known = {key for key in keys if key in client.futures}
            now = time.perf_counter()
            after = self._log.seen_before(now)  # which may record a task, placed before this graph
            submission = _Submission(now, self._log.next_place(), after, {})
            for key in keys:
                if key not in known or key not in cluster.asked_for:
                    task = RecordedTask(("", ""), now, (submission.place, 0), source=DASK_CLUSTER)
                    submission.asked_for[key] = cluster.asked_for[key] = task
            cluster.sent.setdefault(frozenset(keys), []).append(submission)
            futures = original(client, expr, keys, *args, **options)
            self._log.submitted()
            return futures

        return _graph_to_futures

    def gathering(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the recorded version of ``gather``, by which ``compute`` gets results, too."""

        @functools.wraps(original)
        def gather(client: Any, futures: Any, *args: Any, **options: Any) -> Any:
            from distributed.client import futures_of

            return self._waited(
                lambda: original(client, futures, *args, **options), lambda _: futures_of(futures)
            )

        return gather

    def getting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the recorded version of a future's ``result``."""

        @functools.wraps(original)
        def result(future: Any, *args: Any, **options: Any) -> Any:
            return self._waited(lambda: original(future, *args, **options), lambda _: [future])

        return result

    def waiting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the recorded version of ``wait``."""

        @functools.wraps(original)
        def wait(*args: Any, **options: Any) -> Any:
            return self._waited(
                lambda: original(*args, **options), lambda found: getattr(found, "done", ())
            )

        return wait

    def next(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the recorded version of the step of ``as_completed``."""

        @functools.wraps(original)
        def __next__(completed: Any) -> Any:  # noqa: N807
            def seen(found: Any) -> list[Any]:
                return [found[0] if isinstance(found, tuple) else found] if found else []

            return self._waited(lambda: original(completed), seen)

        return __next__

    def closing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the recorded version of ``close``, before which the tasks are collected."""

        @functools.wraps(original)
        def close(client: Any, *args: Any, **options: Any) -> Any:
            self._collect(client)
            return original(client, *args, **options)

        return close

    def _waited(self, wait: Callable[[], Any], seen: Callable[[Any], Iterable[Any]]) -> Any:
        """Return the result of *wait*, after which this thread has *seen* futures that are done."""
        self._log.about_to_wait()
        found = None
        try:
            found = wait()
            return found
        finally:
            now = time.perf_counter()
            tasks = []
            for future in seen(found):
                client = getattr(future, "client", None)
                cluster = None if client is None else self._clusters.get(client)
                task = None if cluster is None else cluster.asked_for.get(future.key)
                if task is not None and future.done():
                    if not task.has_ended:  # until the scheduler's notes are collected
                        task.start_s = task.end_s = now
                    tasks.append(task)
            if tasks:
                self._log.saw(tasks)

    # The scheduler's notes

    def collect_all(self) -> None:
        """Record the tasks of the clients that are still open."""
        for client in list(self._clusters):
            self._collect(client)

    def _collect(self, client: Any) -> None:
        from tasksim.recording.dask_scheduler import notes_of

        cluster = self._clusters.get(client)
        if cluster is None or not self._log.is_open:
            return
        self._clusters[client] = None
        cluster.clients -= 1
        if cluster.clients:
            return
        self._at = {address: other for address, other in self._at.items() if other is not cluster}
        for task in cluster.asked_for.values():
            task.start_s = task.end_s = nan
        try:
            notes = notes_of(cluster.number) or client.run_on_scheduler(notes_of, cluster.number)
        except Exception as error:  # the scheduler may be gone in any way
            self._note(f"{MISSING_NOTE}{error}")
            return
        self._log.tasks.extend(_tasks_of(cluster, notes))


def _tasks_of(cluster: _Cluster, notes: ClusterNotes) -> list[RecordedTask]:
    """Return the tasks of a scheduler's *notes*, and those that it was asked for and never ran."""
    from dask.utils import key_split

    # A graph that a task sends from another process is unknown here.
    sent = [
        waiting.pop(0) if (waiting := cluster.sent.get(keys)) else None for keys in notes.graphs
    ]
    offset_s = time.perf_counter() - time.time()
    tasks: list[RecordedTask] = []
    transfers: list[RecordedTask] = []
    given: dict[Hashable, RecordedDatum] = {}
    free_s: dict[ClusterThread, float] = {}
    for note, rank in zip(notes.tasks, _ranks(notes.tasks), strict=True):
        submission = sent[note.graph] if note.graph >= 0 else None
        if submission is None:
            submission = _Submission(note.start_s + offset_s, 0, [], {})
        makers = [tasks[read.made_by] for read in note.reads if read.made_by >= 0]
        task = submission.asked_for.pop(note.key, None)
        if task is None:
            task = RecordedTask(("", ""), submission.submitted_s, (0, 0), source=DASK_CLUSTER)
        name = str(key_split(note.key))
        task.kernel = (name, f"dask {name}")
        task.worker, task.pool = ClusterThread(note.address, note.thread), cluster.pool
        ready_s = max([submission.submitted_s, *(maker.end_s for maker in makers)])
        earliest_s = max(ready_s, free_s.get(task.worker, -inf))
        task.start_s, task.end_s = _times(note, earliest_s, offset_s)
        free_s[task.worker] = task.end_s
        # Odd, as a task's transfer has the place before its own in order of submission.
        place = max([submission.place, *(maker.place[0] for maker in makers)])
        task.place = (place, 2 * rank + 1)
        task.raised = note.raised
        task.result.task, task.result.size_bytes = task, note.size_bytes
        task.reads = [
            tasks[read.made_by].result
            if read.made_by >= 0
            else given.setdefault(read.key, RecordedDatum(read.size_bytes))
            for read in sorted(note.reads, key=str)
        ]
        if all(
            read.made_by < 0 or notes.tasks[read.made_by].graph != note.graph for read in note.reads
        ):
            task.after = submission.after
        tasks.append(task)
        if note.transfers_s is not None:
            # By the clock of the task's worker, and so moved with the task.
            begin_s, end_s = note.transfers_s
            moved_s = begin_s + task.start_s - note.start_s
            transfer = _transfer(task, ready_s, moved_s, end_s - begin_s, len(transfers))
            task.after = [*task.after, transfer]
            transfers.append(transfer)
    unrun = {task for task in cluster.asked_for.values() if not task.has_ended}
    return [*tasks, *transfers, *unrun]


def _times(note: TaskNote, earliest_s: float, offset_s: float) -> tuple[float, float]:
    """Return the start and the end of a task by this process's clock, from *earliest_s* on.

    Dask moves the times of workers to the scheduler's clock, by some milliseconds too many or too
    few: the task is moved to where it can have been, before its worker reported it.
    """
    latest_s = max(note.reported_s + offset_s, earliest_s)
    duration_s = note.end_s - note.start_s
    start_s = max(earliest_s, min(note.start_s + offset_s, latest_s - duration_s))
    return start_s, min(start_s + duration_s, latest_s)


def _transfer(
    task: RecordedTask, ready_s: float, begin_s: float, duration_s: float, number: int
) -> RecordedTask:
    """Return the transfer of the data that *task* reads, between its readiness and its start."""
    kernel, long_name = task.kernel
    start_s = max(ready_s, min(begin_s, task.start_s - duration_s))
    transfer = RecordedTask(
        (f"{kernel} (transfer)", f"{long_name} (transfer)"),
        task.submitted_s,
        (task.place[0], task.place[1] - 1),
        after=task.after,
        reads=[datum for datum in task.reads if datum.task is not None],
        start_s=start_s,
        end_s=min(start_s + duration_s, task.start_s),
        worker=Transfer(number),
        pool=-1 - number,  # each may take the place of any that has ended
        source=DASK_CLUSTER,
    )
    transfer.result.task = transfer
    return transfer


def _ranks(notes: list[TaskNote]) -> list[int]:
    """Return the rank of each task in Dask's order, but after the tasks whose data it read."""
    late: list[tuple[tuple[float, ...], int]] = []
    for at, note in enumerate(notes):
        own = (tuple(note.priority), at)
        before = [late[read.made_by] for read in note.reads if read.made_by >= 0]
        late.append(max([own, *((priority, at) for priority, _ in before)]))
    rank = [0] * len(notes)
    for place, at in enumerate(sorted(range(len(notes)), key=late.__getitem__)):
        rank[at] = place
    return rank
