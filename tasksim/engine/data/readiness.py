"""Readiness index, which finds the waiting task that lacks the fewest bytes in a memory."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.engine.data.accesses import Needs
    from tasksim.engine.data.copies import Copies

__all__ = ["Readiness"]

Lacks: TypeAlias = tuple[int, int, int, int, int]
"""Missing bytes of a task (absent; absent and not on their way; without a place), then its position
among the tasks, and the task."""

MAX_HEAP_ENTRIES_PER_TASK: Final = 4
"""Heap entries per task at which outdated entries are removed: rarely enough to cost nothing, and
memory stays bounded."""


class Readiness:
    """Tasks with their missing bytes in *memory*, updated as data come and go.

    The missing bytes of a task are those of :meth:`~tasksim.engine.machine.view.NodeView.unready`.
    After a change of a datum, only the tasks that access it are updated: the cost of a choice
    depends on the changes since the last one, not on the number of tasks. *needs* has the accesses
    of all tasks.
    """

    def __init__(self, copies: Copies, needs: Sequence[Needs], memory: int) -> None:
        self._copies, self._needs, self._memory = copies, needs, memory
        self._changed = copies.changes.follow(memory)
        self._lacks: dict[int, Lacks] = {}
        self._heap: list[Lacks] = []  # cleaned lazily: an entry counts if it is its task's
        # Per datum, the tasks that access it, with their numbers of reads and of accesses.
        self._users: dict[int, dict[int, tuple[int, int]]] = {}
        self._known: dict[int, tuple[int, int, int]] = {}  # missing bytes of each datum
        self._first = self._last = 0

    def add(self, task: int) -> None:
        """Add *task* behind the others."""
        self._last += 1
        self._add(task, self._last)

    def add_first(self, task: int) -> None:
        """Add *task* in front of the others."""
        self._first -= 1
        self._add(task, self._first)

    def remove(self, task: int) -> None:
        """Forget *task*."""
        del self._lacks[task]
        for handle, _, _ in self._needs[task]:
            users = self._users.get(handle)
            if users is not None:  # None: removed at an earlier access to the same datum
                users.pop(task, None)
                if not users:
                    del self._users[handle]

    def first(self) -> int:
        """Return the task that lacks the fewest bytes, without removing it.

        Ties go to the task with the fewest bytes that are not on their way, then to the one with
        the fewest bytes without a place, then to the first.
        """
        self._refresh()
        heap, lacks = self._heap, self._lacks
        while lacks.get(heap[0][4]) is not heap[0]:
            heappop(heap)
        return heap[0][4]

    def close(self) -> None:
        """Stop following the memory."""
        self._copies.changes.leave(self._memory, self._changed)

    def _add(self, task: int, place: int) -> None:
        missing = absent = unplaced = 0
        for handle, reads, _ in self._needs[task]:
            users = self._users.get(handle)
            if users is None:
                users = self._users[handle] = {}
                self._known[handle] = self._lacking(handle)
            lacking = self._known[handle]
            if reads:
                missing += lacking[0]
                absent += lacking[1]
            unplaced += lacking[2]
            often = users.get(task, (0, 0))
            users[task] = often[0] + reads, often[1] + 1
        self._put((missing, absent, unplaced, place, task))

    def _put(self, lacks: Lacks) -> None:
        heap = self._heap
        self._lacks[lacks[4]] = lacks
        heappush(heap, lacks)
        if len(heap) > MAX_HEAP_ENTRIES_PER_TASK * len(self._lacks):
            heap[:] = self._lacks.values()
            heapify(heap)

    def _lacking(self, handle: int) -> tuple[int, int, int]:
        """Return the bytes of *handle* that are absent, not on their way, and without a place."""
        copies, bit = self._copies, 1 << self._memory
        size = copies.size[handle]
        missing = 0 if copies.valid[handle] & bit else size
        absent = 0 if copies.coming[handle] & bit else missing
        return missing, absent, 0 if copies.places[handle] & bit else size

    def _refresh(self) -> None:
        """Update the tasks that access changed data."""
        for handle in self._changed:
            users = self._users.get(handle)
            if users is None:
                continue
            before, now = self._known[handle], self._lacking(handle)
            if now != before:
                self._known[handle] = now
                self._change(users, [b - a for a, b in zip(before, now, strict=True)])
        self._changed.clear()

    def _change(self, users: dict[int, tuple[int, int]], more: list[int]) -> None:
        """Add *more* missing bytes to the *users* of a datum."""
        missing, absent, unplaced = more
        for task, (reads, accesses) in users.items():
            own = self._lacks[task]
            self._put((
                own[0] + reads * missing,
                own[1] + reads * absent,
                own[2] + accesses * unplaced,
                own[3],
                task,
            ))  # fmt: skip
