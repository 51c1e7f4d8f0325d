"""Recording of the calls that a program gives to ``multiprocessing.Pool`` and ``ThreadPool``.

A call of the program's function is a task, also where the pool puts several in a chunk.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tasksim.recording.calls import PoolTasks, RecordedCall, SubmissionMoment
from tasksim.recording.functions import is_of_library
from tasksim.recording.log import MULTIPROCESSING
from tasksim.recording.timed_call import call_with, call_with_all
from tasksim.recording.waits import saw_item, saw_items

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tasksim.recording.log import RecordedTask, RecordingLog
    from tasksim.recording.patches import Patches
    from tasksim.recording.results import TaskResults

__all__ = ["record_pools"]

_TASKS = "_tasksim_tasks"
"""Attribute of a pool's result with the tasks that it is of."""


def record_pools(log: RecordingLog, patches: Patches, results: TaskResults) -> None:
    """Record the calls given to pools of multiprocessing in *log*, until *patches* are undone."""
    watch = _Watch(log, results)

    def begin() -> None:
        from multiprocessing import pool

        kind: Any = pool.Pool
        for name, original in {name: getattr(kind, name) for name in _REPLACED}.items():
            patches.set(kind, name, _REPLACED[name](watch, original))
        result: Any = pool.AsyncResult
        for name in ("get", "wait", "ready"):
            patches.set(result, name, watch.seeing(name, getattr(result, name)))
        items: Any = pool.IMapIterator
        following = watch.following(items.next)
        patches.set(items, "next", following)
        patches.set(items, "__next__", following)

    patches.when_imported("multiprocessing.pool", begin)


class _Watch:
    """Replacements for methods of pools, which call the original and report to a log."""

    def __init__(self, log: RecordingLog, results: TaskResults) -> None:
        self._log = log
        self._results = results
        self._tasks = PoolTasks(log, results, MULTIPROCESSING)

    # Submitting

    def _is_for_program(self, function: Any) -> bool:
        return self._log.is_open and not is_of_library(function)

    def _call(self, pool: Any, function: Any, *arguments: Any) -> RecordedCall:
        """Return the call of a *function* that is a task of a *pool*."""
        return RecordedCall(self._log, self._tasks.submit(pool, function, arguments), function)

    def apply_async(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the recorded version of ``Pool.apply_async``, which ``apply`` calls."""

        @functools.wraps(original)
        def replaced(
            self_: Any, func: Any, args: Any = (), kwds: Any = None, *others: Any, **named: Any
        ) -> Any:
            kwds = {} if kwds is None else kwds
            if not self._is_for_program(func):
                return original(self_, func, args, kwds, *others, **named)
            call = self._call(self_, func, *args, *kwds.values())
            with SubmissionMoment(self._log, call.task):
                result = original(self_, call, args, kwds, *others, **named)
            setattr(result, _TASKS, [call.task])
            return result

        return replaced

    def mapping(self, star: bool, waits: bool) -> Callable[[Callable[..., Any]], Any]:
        """Return a maker of the recorded version of a method that maps a whole iterable."""

        def replacement(original: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(original)
            def replaced(self_: Any, func: Any, iterable: Any, *others: Any, **named: Any) -> Any:
                if not self._is_for_program(func):
                    return original(self_, func, iterable, *others, **named)
                calls = [self._item(self_, func, item, star) for item in iterable]
                self._log.submitted()
                tasks = [call.task for call, *_ in calls]
                runner = call_with_all if star else call_with
                if not waits:
                    result = original(self_, runner, calls, *others, **named)
                    setattr(result, _TASKS, tasks)
                    return result
                try:
                    values = original(self_, runner, calls, *others, **named)
                finally:
                    self._log.has_waited()
                    self._log.saw(tasks)
                self._add(values, tasks)
                return values

            return replaced

        return replacement

    def _item(self, pool: Any, function: Any, item: Any, star: bool) -> tuple[Any, ...]:
        """Return a call and its arguments, in the form in which a pool takes an item."""
        if not star:
            return self._call(pool, function, item), item
        arguments = tuple(item)
        return self._call(pool, function, *arguments), arguments

    def iterating(self, in_order: bool) -> Callable[[Callable[..., Any]], Any]:
        """Return a maker of the recorded version of ``imap`` or ``imap_unordered``.

        The pool takes the items in a thread of its own.
        """

        def replacement(original: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(original)
            def replaced(
                self_: Any, func: Any, iterable: Any, chunksize: int = 1, **named: Any
            ) -> Any:
                if not self._is_for_program(func):
                    return original(self_, func, iterable, chunksize, **named)
                lazy = _Lazy(self, self_, func)
                result = original(self_, call_with, lazy.calls(iterable), chunksize, **named)
                if hasattr(result, "next"):
                    setattr(result, _TASKS, (lazy.tasks, in_order, [0]))
                    return result
                return saw_items(self._log, self._results, result, lazy.tasks, in_order=in_order)

            return replaced

        return replacement

    # Seeing that tasks have ended

    def _add(self, values: Any, tasks: list[RecordedTask]) -> None:
        for value, task in zip(values, tasks, strict=False):
            self._results.add(value, task.result)

    def seeing(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the recorded version of a method that shows whether results are there."""

        @functools.wraps(original)
        def replaced(self_: Any, *args: Any, **kwargs: Any) -> Any:
            tasks = getattr(self_, _TASKS, None)
            if not tasks or not self._log.is_open:
                return original(self_, *args, **kwargs)
            if name != "ready":
                self._log.about_to_wait()
            try:
                value = original(self_, *args, **kwargs)
            finally:
                self._log.saw(tasks)
            if name == "get":
                is_map = type(self_).__name__ == "MapResult"
                self._add([value] if len(tasks) == 1 and not is_map else value, tasks)
            return value

        return replaced

    def following(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the recorded version of the method that returns the next result of ``imap``."""

        @functools.wraps(original)
        def replaced(self_: Any, *args: Any, **kwargs: Any) -> Any:
            known = getattr(self_, _TASKS, None)
            if known is None or not self._log.is_open:
                return original(self_, *args, **kwargs)
            tasks, in_order, taken = known
            self._log.about_to_wait()
            value = original(self_, *args, **kwargs)
            saw_item(self._log, self._results, value, tasks, taken[0], in_order=in_order)
            taken[0] += 1
            return value

        return replaced

    def joining(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the recorded version of ``Pool.join``, which waits for all tasks of a pool."""

        @functools.wraps(original)
        def replaced(self_: Any) -> Any:
            return self._tasks.wait_for(self_, lambda: original(self_))

        return replaced


class _Lazy:
    """Calls of a pool that takes its items one by one, in a thread of its own."""

    def __init__(self, watch: _Watch, pool: Any, function: Any) -> None:
        self.tasks: list[RecordedTask] = []
        self._watch = watch
        self._pool = pool
        self._function = function
        self._after = watch._log.asked()

    def calls(self, iterable: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        """Yield the calls, each of which becomes a task when it is taken."""
        function, log, submit = self._function, self._watch._log, self._watch._tasks.submit
        for item in iterable:
            if not log.is_open:
                yield function, item
                continue
            task = submit(self._pool, function, [item], after=self._after)
            self.tasks.append(task)
            yield RecordedCall(log, task, function), item


_REPLACED: dict[str, Callable[[_Watch, Callable[..., Any]], Callable[..., Any]]] = {
    "apply_async": _Watch.apply_async,
    "map": lambda watch, original: watch.mapping(star=False, waits=True)(original),
    "starmap": lambda watch, original: watch.mapping(star=True, waits=True)(original),
    "map_async": lambda watch, original: watch.mapping(star=False, waits=False)(original),
    "starmap_async": lambda watch, original: watch.mapping(star=True, waits=False)(original),
    "imap": lambda watch, original: watch.iterating(in_order=True)(original),
    "imap_unordered": lambda watch, original: watch.iterating(in_order=False)(original),
    "join": _Watch.joining,
}
"""Method of a pool -> function that makes its recorded version."""
