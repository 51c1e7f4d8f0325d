"""Items that a program takes one by one, each the result of a task that it has waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tasksim.recording.log import RecordedTask, RecordingLog
    from tasksim.recording.results import TaskResults

__all__ = ["saw_item", "saw_items"]


def saw_items(
    log: RecordingLog,
    results: TaskResults,
    items: Iterable[Any],
    tasks: Sequence[RecordedTask],
    *,
    in_order: bool,
) -> Iterator[Any]:
    """Yield *items*, and note with each the end of its task.

    *tasks* may grow meanwhile. Where items come in the order of their ends, the item of a number
    is that of the task which ended as the one of that number.
    """
    taken = 0
    iterator = iter(items)
    try:
        while True:
            log.about_to_wait()
            try:
                value = next(iterator)
            except StopIteration:
                return
            saw_item(log, results, value, tasks, taken, in_order=in_order)
            taken += 1
            yield value
    finally:
        close = getattr(iterator, "close", None)
        if close is not None:
            close()


def saw_item(
    log: RecordingLog,
    results: TaskResults,
    value: Any,
    tasks: Sequence[RecordedTask],
    number: int,
    *,
    in_order: bool,
) -> None:
    """Note that a thread has got the item of a *number*, which is a *value*."""
    if in_order:
        seen = list(tasks[number : number + 1])
        if seen:
            results.add(value, seen[0].result)
    else:
        ended = sorted((task for task in tasks if task.has_ended), key=lambda task: task.end_s)
        seen = ended[: number + 1]
    log.saw(seen)
