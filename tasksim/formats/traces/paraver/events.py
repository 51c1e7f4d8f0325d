"""Stretches of tasks, from the events of a Paraver trace."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tasksim.formats.traces.stretches import NO_STRETCH, Stretches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tasksim.formats.traces.paraver.dialects import Dialect
    from tasksim.formats.traces.paraver.labels import Labels
    from tasksim.formats.traces.records import Records

__all__ = ["Events", "NestedCode", "RunningTask", "stretches_of_events"]

Event = tuple[int, int, int, int, int]
"""Row, time in ns, type, value, line."""


class Events(NamedTuple):
    """Events of a trace in columns: row of the trace, time in ns, type, value, line."""

    row: NDArray[np.int64]
    time_ns: NDArray[np.int64]
    kind: NDArray[np.int64]
    value: NDArray[np.int64]
    line: NDArray[np.int64]

    def of(self, dialect: Dialect) -> Iterator[Event]:
        """Yield the events of a dialect, row by row, in order of time and then of the file."""
        kept = np.flatnonzero(np.isin(self.kind, list(dialect.types())))
        order = kept[np.lexsort((kept, self.time_ns[kept], self.row[kept]))]
        # Parts, so that few of many millions are Python objects at a time.
        for part in np.array_split(order, 1 + len(order) // PART_EVENTS):
            yield from zip(*(column[part].tolist() for column in self), strict=True)


PART_EVENTS: Final = 100_000
"""Number of events that are converted at a time."""


def stretches_of_events(
    found: Records,
    events: Events,
    dialect: Dialect,
    labels: Labels,
    stretches: Stretches,
    end_ns: int,
) -> None:
    """Add the stretches of the tasks in *events*; open ones end at *end_ns*."""
    present = set(np.unique(events.kind[events.value != 0]).tolist())
    kernel = next((kind for kind in dialect.kernels if kind in present), dialect.kernels[0])
    if dialect.task not in present:
        dialect = replace(dialect, task=None)
    reader = (NestedCode if dialect.nested else RunningTask)(stretches, dialect, kernel, labels)
    row = NO_STRETCH
    for event in events.of(dialect):
        if event[0] != row:
            reader.close(row, end_ns)
            row = event[0]
        reader.take(event)
    reader.close(row, end_ns)
    for text, count in reader.counts.items():
        found.note(text.format(count))


OPEN_TASKS_NOTE: Final = "{} tasks had not ended at the end of the trace, which counts as their end"
UNBEGUN_NOTE: Final = "{} ends without a beginning are left out: the trace begins within these"


class _Running(NamedTuple):
    """Task that a row runs."""

    task: str
    kernel: str
    priority: int
    start_ns: int
    line: int


class RunningTask:
    """State of a row whose events name the task that runs from now on.

    Events of one time belong together in any order. A task is named by the code that it begins
    with; later code is a part of it. If tasks have no numbers, each beginning of code is one.
    """

    def __init__(self, stretches: Stretches, dialect: Dialect, kernel: int, labels: Labels) -> None:
        self._stretches, self._dialect, self._labels = stretches, dialect, labels
        self._kernel = kernel
        self._key = kernel if dialect.task is None else dialect.task
        self.counts: Counter[str] = Counter()
        self._anonymous, self._code = 0, 0
        self._values: dict[int, int] = {}
        self._running: _Running | None = None
        self._time_ns, self._line, self._has_ended = NO_STRETCH, 0, False
        self._begun_ns = NO_STRETCH

    def take(self, event: Event) -> None:
        """Take the next event of the row."""
        row, time_ns, kind, value, line = event
        if time_ns != self._time_ns:
            self._settle(row)
            self._time_ns = time_ns
        if kind == self._key:
            if self._begun_ns == time_ns:
                self._settle(row)  # a task of no length
            self._begun_ns = time_ns if value else NO_STRETCH
            self._has_ended = self._has_ended or not value
            self._line = line
        self._values[kind] = value

    def close(self, row: int, end_ns: int) -> None:
        """End the row."""
        self._settle(row)
        if self._running is not None:
            self.counts[OPEN_TASKS_NOTE] += 1
            self._end(row, max(end_ns, self._running.start_ns))
        self._values.clear()
        self._time_ns, self._begun_ns, self._has_ended = NO_STRETCH, NO_STRETCH, False

    def _settle(self, row: int) -> None:
        """Apply the events of one time."""
        task, running = self._task(), self._running
        if running is not None and running.task != task:
            self._end(row, self._time_ns)
            running = None
        if task and running is None:
            values = self._values
            kernel = self._labels.of(self._kernel, values.get(self._kernel, 0), "task")
            priority = (
                0 if self._dialect.priority is None else values.get(self._dialect.priority, 0)
            )
            self._running = _Running(task, kernel, priority, self._time_ns, self._line)
        self._has_ended = False

    def _task(self) -> str:
        """Return the running task, or None."""
        values, value = self._values, self._values.get(self._key, 0)
        if not value:
            return ""
        if self._key == self._dialect.task:
            parts = (values.get(kind, 0) for kind in self._dialect.parts)
            return ".".join(str(part) for part in (*parts, value) if part)
        if self._running is not None and not self._has_ended and self._code == value:
            return self._running.task
        self._anonymous += 1
        self._code = value
        return f"task{self._anonymous}"

    def _end(self, row: int, end_ns: int) -> None:
        assert self._running is not None
        task, kernel, priority, start_ns, line = self._running
        self._stretches.add(task, kernel, row, (start_ns, end_ns), line, priority)
        self._running = None


class NestedCode:
    """State of a row with nested code, which resumes the outer code when it ends."""

    def __init__(self, stretches: Stretches, dialect: Dialect, kernel: int, labels: Labels) -> None:
        self._stretches, self._labels = stretches, labels
        self._kernel = kernel
        self._word = "task" if dialect.is_task else "function"
        self.counts: Counter[str] = Counter()
        self._open: list[tuple[str, str, int]] = []
        self._since_ns = 0
        self._number = 0

    def take(self, event: Event) -> None:
        """Take the next event of the row."""
        row, time_ns, kind, value, line = event
        if kind != self._kernel:
            return
        if not value and not self._open:
            self.counts[UNBEGUN_NOTE] += 1
            return
        self._end(row, time_ns)
        if value:
            self._number += 1
            name = f"{self._word}{self._number}"
            self._open.append((name, self._labels.of(kind, value, self._word), line))
        else:
            self._open.pop()
        self._since_ns = time_ns

    def close(self, row: int, end_ns: int) -> None:
        """End the row."""
        if self._open:
            self.counts[OPEN_TASKS_NOTE] += len(self._open)
            self._end(row, max(end_ns, self._since_ns))
        self._open.clear()

    def _end(self, row: int, end_ns: int) -> None:
        """End the stretch of the running code."""
        if self._open:
            name, kernel, line = self._open[-1]
            self._stretches.add(name, kernel, row, (self._since_ns, end_ns), line, 0)
