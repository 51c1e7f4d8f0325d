"""Recording of the tasks that Dask's threads run, through its callbacks."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING, Any

from tasksim.base.versions import version_of
from tasksim.recording.log import DASK, RecordedDatum, RecordedTask

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from tasksim.recording.log import RecordingLog
    from tasksim.recording.patches import Patches
    from tasksim.recording.results import TaskResults

__all__ = ["DaskGraph", "record_dask"]


def record_dask(log: RecordingLog, patches: Patches, _: TaskResults) -> None:
    """Record what Dask's threads compute in *log*, until *patches* are undone."""
    watch = _Watch(log)

    def begin() -> None:
        from dask import local
        from dask.callbacks import Callback

        if not hasattr(local, "execute_task"):
            log.notes.append(f"Dask {version_of('dask')} runs tasks in an unknown way")
            return
        patches.set(local, "execute_task", watch.timing(local.execute_task))
        callback = Callback(
            start_state=watch.started,
            pretask=watch.handed,
            posttask=watch.done,
            finish=watch.finished,
        )
        callback.register()
        log.at_end.append(lambda: Callback.active.discard(callback._callback))

    patches.when_imported("dask.local", begin)


class _Watch:
    """Callbacks of Dask, which log what it computes."""

    def __init__(self, log: RecordingLog) -> None:
        self._log = log
        self._graph: DaskGraph | None = None

    # Dask's callbacks, all in the thread that computes

    def started(self, graph: Mapping[Hashable, Any], state: Mapping[str, Any]) -> None:
        del graph
        if self._log.is_open and self._log.here.task is None and self._graph is None:
            self._graph = DaskGraph(self._log, state)

    def handed(self, key: Hashable, *_: Any) -> None:
        if self._graph is not None:
            self._graph.task(key).handed_s = time.perf_counter()

    def done(self, key: Hashable, result: Any, *_: Any) -> None:
        if self._graph is not None and (task := self._graph.tasks.get(key)) is not None:
            task.result.size_bytes = sizeof(result)

    def finished(self, graph: Mapping[Hashable, Any], state: object, failed: bool) -> None:
        del state, failed
        if self._graph is not None:
            found, self._graph = self._graph, None
            found.finish(graph)

    # What Dask's workers do

    def timing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the recorded version of the function by which workers run tasks."""

        @functools.wraps(original)
        def execute_task(key: Hashable, *args: Any) -> Any:
            log, graph = self._log, self._graph
            if not log.is_open or log.here.task is not None:
                return original(key, *args)
            task = None if graph is None else graph.tasks.get(key)
            if task is None:
                log.missed += 1
                return original(key, *args)
            answer = log.call(task, original, (key, *args), {})
            task.raised = bool(answer[2])
            return answer

        return execute_task


class DaskGraph:
    """A graph while Dask computes it.

    Work that can wait is done after Dask has ended, because Dask's workers would wait for it.
    """

    def __init__(self, log: RecordingLog, state: Mapping[str, Any]) -> None:
        given = state["cache"]
        self._log = log
        self._dependencies: Mapping[Hashable, set[Hashable]] = state["dependencies"]
        self._data = {
            key: RecordedDatum(sizeof(given[key])) for key in self._dependencies if key in given
        }
        self.tasks: dict[Hashable, RecordedTask] = {}
        self._begun_s = time.perf_counter()
        self._after = log.seen_before(self._begun_s)
        self._place = log.next_place()
        self._cpu_s = time.thread_time()

    def task(self, key: Hashable) -> RecordedTask:
        """Return the task of a key, made when Dask first speaks of it."""
        found = self.tasks.get(key)
        if found is None:
            found = RecordedTask(("", ""), self._begun_s, (self._place, 0), source=DASK)
            self.tasks[key] = found
        return found

    def finish(self, graph: Mapping[Hashable, Any]) -> None:
        """Record the tasks of the graph, which Dask has computed, and that they were seen."""
        log = self._log
        log.dask_loop_s += time.thread_time() - self._cpu_s
        log.here.wait_s = self._begun_s
        keys = [key for key in self._dependencies if key not in self._data]
        for key in keys:
            self.task(key).result.task = self.task(key)
        self._describe(keys, graph)
        log.tasks.extend(self.task(key) for key in keys)
        read = {datum.task for task in self.tasks.values() for datum in task.reads}
        log.saw(task for task in self.tasks.values() if task not in read)

    def _describe(self, keys: Sequence[Hashable], graph: Mapping[Hashable, Any]) -> None:
        """Set kernel, reads and order, which is Dask's, of the tasks of *keys*."""
        from dask.order import order
        from dask.utils import key_split

        places = order(dict(graph))
        data = {key: self.tasks[key].result for key in keys} | self._data
        for key in keys:
            task, before = self.tasks[key], self._dependencies[key]
            name = str(key_split(key))
            task.kernel = (name, f"dask {name}")
            task.place = (self._place, places.get(key, 0))
            task.reads = [data[each] for each in sorted(before, key=str)]
            if before <= self._data.keys():
                task.after = self._after


def sizeof(value: Any) -> int:
    """Return the size of *value* in bytes as Dask estimates it; 0 if it cannot."""
    from dask.sizeof import sizeof as of_dask

    try:
        return max(0, int(of_dask(value)))
    except Exception:  # a user's object may do anything when it is asked
        return 0
