"""Updates that commute, as threads see to them: who has a datum, who waits, who comes after."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING

from tasksim.graph.commutation import commutative_handles, runs_of_updates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.runtime.ledger import Ledger

__all__ = ["Updates"]


class Updates:
    """Tasks that update data in any order, one at a time (``dependencies/data_concurrency.c``).

    A task takes its data one after the other as soon as its predecessors are done, and keeps what
    it has while it waits for the next. Who waits for a datum gets it in order of arrival.

    What follows several updates waits for a task that does nothing, which waits for them
    (``implicit_data_deps.c``); *order* has the tasks as they are submitted.
    """

    def __init__(self, graph: TaskGraph, order: Sequence[int], ledger: Ledger) -> None:
        # In order of number: who waits then never waits in a circle.
        updated = commutative_handles(graph)
        self._handles = {task: sorted(handles) for task, handles in updated.items()}
        self._held: set[int] = set()
        # Per datum, who waits for it, and which of the data of that task it is.
        self._waiting: defaultdict[int, deque[tuple[int, int]]] = defaultdict(deque)
        self._ended, self._submitted = ledger.end, ledger.submitted
        self._runs = list(runs_of_updates(graph, order)) if self._handles else []
        self._left = [len(members) for members, _ in self._runs]
        # Per task and who comes after it, the runs that it is one of.
        self._between: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        for number, (members, follower) in enumerate(self._runs):
            for task in members:
                self._between[task, follower].append(number)

    def of(self, task: int) -> Sequence[int]:
        """Return the data that *task* updates."""
        return self._handles.get(task, ())

    def take(self, task: int, first: int = 0) -> bool:
        """Take the data of *task* from the *first* on; return whether it has them all now."""
        handles = self.of(task)
        for place in range(first, len(handles)):
            handle = handles[place]
            if handle in self._held:
                self._waiting[handle].append((task, place))
                return False
            self._held.add(handle)
        return True

    def give(self, handle: int) -> int | None:
        """Give *handle* to who waits for it; return that task if it has all its data now."""
        if not self._waiting[handle]:
            self._held.remove(handle)
            return None
        task, place = self._waiting[handle].popleft()
        return task if self.take(task, place + 1) else None

    def pushes_empty(self, task: int, successor: int) -> bool:
        """Return whether *successor*, which hears of the end of *task*, hears of an empty task now.

        There is one where several updates had not ended when the successor was submitted, and it
        hears of that when the last of them has.
        """
        pushes = False
        for number in self._between.get((task, successor), ()):
            self._left[number] -= 1
            pushes |= not self._left[number] and self._several(number)
        return pushes

    def _several(self, number: int) -> bool:
        members, follower = self._runs[number]
        submitted, ended = self._submitted[follower], self._ended
        return sum(ended[task] > submitted for task in members) > 1
