"""Stretches of time in which workers executed tasks.

An interrupted task has several. Each becomes a record that depends on the one before.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from tasksim.formats.traces.records import Records

__all__ = ["LONGEST_NS", "NO_STRETCH", "NS_PER_S", "Stretches"]

LONGEST_NS: Final = 2**62
"""Upper bound of times in ns, 146 years: sums of two fit into 64 bits."""

NO_STRETCH: Final = -1
"""Number that stands for no stretch."""
NS_PER_S: Final = 1_000_000_000
"""Nanoseconds in a second."""


class Stretches:
    """Stretches of tasks in columns, with times in ns.

    Parameters
    ----------
    workers : list of str
        Names of the workers; more may be appended.
    """

    def __init__(self, workers: list[str]) -> None:
        self._workers = workers
        self._task: list[str] = []
        self._kernel: list[str] = []
        self._worker = array("q")
        self._start, self._end = array("q"), array("q")
        self._line, self._priority = array("q"), array("q")
        self._before: dict[int, set[int]] = {}
        self._submitted_ns: dict[str, int] = {}
        self._places: dict[int, list[int]] = {}
        self._starts: dict[int, list[int]] = {}

    def __len__(self) -> int:
        return len(self._task)

    def add(
        self, task: str, kernel: str, worker: int, times: tuple[int, int], line: int, priority: int
    ) -> None:
        """Append a stretch of a task from one time to another."""
        self._task.append(task)
        self._kernel.append(kernel)
        self._worker.append(worker)
        self._start.append(times[0])
        self._end.append(times[1])
        self._line.append(line)
        self._priority.append(priority)

    def executing(self) -> list[int]:
        """Return the workers that executed any stretch."""
        return sorted(set(self._worker))

    def submitted(self, task: str, time_ns: int) -> None:
        """Note when a task was created; the first call counts."""
        self._submitted_ns.setdefault(task, time_ns)

    def ended_before(self, first: int, second: int) -> bool:
        """Return whether a stretch had ended when another began."""
        return self._end[first] <= self._start[second]

    def task_of(self, stretch: int) -> str:
        """Return the task of a stretch."""
        return self._task[stretch]

    def depends(self, first: int, second: int) -> None:
        """Note that a stretch depends on the end of another."""
        self._before.setdefault(second, set()).add(first)

    def sort(self) -> None:
        """Sort the stretches of each worker, as :meth:`begun` and :meth:`last` require."""
        order = np.lexsort((np.array(self._end), np.array(self._start), np.array(self._worker)))
        self._places.clear()
        for stretch in order.tolist():
            self._places.setdefault(self._worker[stretch], []).append(stretch)
        self._starts = {
            worker: [self._start[stretch] for stretch in places]
            for worker, places in self._places.items()
        }

    def begun(self, worker: int, time_ns: int) -> int:
        """Return the last stretch of *worker* that begins at a time; NOWHERE if none does."""
        found = self.last(worker, time_ns)
        return found if found != NO_STRETCH and self._start[found] == time_ns else NO_STRETCH

    def last(self, worker: int, time_ns: int, *, earlier: bool = False) -> int:
        """Return the last stretch of *worker* that begins at a time or before; NOWHERE if none.

        With *earlier*, one that begins at the very time does not count.
        """
        at = bisect_right(self._starts.get(worker, []), time_ns - earlier) - 1
        return self._places[worker][at] if at >= 0 else NO_STRETCH

    def add_to(self, found: Records) -> None:
        """Add the stretches to *found* as records, in the order of their beginnings.

        All but the first of a task have the kernel ``KERNEL (resumed)``.
        """
        order = np.lexsort((np.array(self._end), np.array(self._start))).tolist()
        has_edges = bool(self._before)
        name, resumed = self._names(order)
        for stretch in order:
            created = self._submitted_ns.get(self._task[stretch])
            before = sorted(self._before.get(stretch, ()))
            found.add(
                name[stretch],
                self._kernel[stretch] + (" (resumed)" if stretch in resumed else ""),
                self._workers[self._worker[stretch]],
                self._start[stretch] / NS_PER_S,
                self._end[stretch] / NS_PER_S,
                line=self._line[stretch],
                submitted_s=math.nan if created is None else created / NS_PER_S,
                priority=self._priority[stretch],
                before=" ".join(name[one] for one in before),
            )
        if not resumed:
            return
        if not has_edges:
            found.note(
                "the trace has no dependencies between tasks: every task can run when it is"
                " submitted"
            )
        found.note(
            f"{len(resumed)} tasks continue others after an interruption, a wait or a creation:"
            " their kernel is 'KERNEL (resumed)', and they depend on those"
        )

    def _names(self, order: list[int]) -> tuple[list[str], set[int]]:
        """Return a name for each stretch, and the stretches that continue others."""
        name = [""] * len(order)
        last: dict[str, tuple[int, int]] = {}
        count: dict[str, int] = {}
        resumed = set()
        for stretch in order:
            task = self._task[stretch]
            number = count[task] = count.get(task, 0) + 1
            name[stretch] = task if number == 1 else f"{task}/{number}"
            before, until = last.get(task, (NO_STRETCH, 0))
            if before != NO_STRETCH and until <= self._start[stretch]:
                self.depends(before, stretch)
                resumed.add(stretch)
            last[task] = (stretch, max(until, self._end[stretch]))
        return name, resumed
