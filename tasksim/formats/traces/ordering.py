"""Order of a trace's tasks, and dependencies between those that ran: others are passed through."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.formats.traces.records import Records
    from tasksim.graph.csr import Int64

__all__ = ["dependencies", "submission_order", "through"]

MOST_PASSED = 20_000_000
"""Dependencies by way of what ran nowhere: eight bytes each, and sets while they are found. A
barrier of thousands of tasks on both sides makes millions."""


def dependencies(found: Records) -> tuple[Int64, Int64]:
    """Return the tasks of each dependency that the trace has: the one before, the one after.

    Ids that do not exist are told to *found* as bad.
    """
    before, after = [], []
    number = found.number
    for task, text in enumerate(found.before):
        for word in text.split():
            other = number.get(word)
            if other is None:
                found.bad(f"a task depends on {word}, which is not there", found.line[task])
                continue
            before.append(other)
            after.append(task)
    return np.array(before, dtype=np.int64), np.array(after, dtype=np.int64)


def submission_order(found: Records, before: Int64, after: Int64) -> Int64:
    """Return the tasks in an order in which each comes after those that it depends on.

    That in which they were submitted, as far as that is one.

    Raises
    ------
    InputError
        If tasks depend on each other in a circle.
    """
    order, submitted = np.array(found.order), np.array(found.submitted_s)
    start = np.array(found.start_s)
    keys = [np.where(np.isnan(column), np.inf, column) for column in (start, submitted, order)]
    ranked = np.lexsort((np.arange(len(found)), *keys))
    place = np.empty(len(found), dtype=np.int64)
    place[ranked] = np.arange(len(found))
    if not len(before) or bool((place[before] < place[after]).all()):
        return ranked
    return _topological(found, place, before, after)


def _topological(found: Records, place: Int64, before: Int64, after: Int64) -> Int64:
    """Return a topological order: of all tasks that can be next, the first in place is."""
    count = len(found)
    by_source = np.argsort(before, kind="stable")
    targets = after[by_source].tolist()
    bounds = np.searchsorted(before[by_source], np.arange(count + 1)).tolist()
    waiting = np.bincount(after, minlength=count).tolist()
    places = place.tolist()
    ready = [(places[task], task) for task in range(count) if not waiting[task]]
    heapq.heapify(ready)
    result = []
    while ready:
        _, task = heapq.heappop(ready)
        result.append(task)
        for other in targets[bounds[task] : bounds[task + 1]]:
            waiting[other] -= 1
            if not waiting[other]:
                heapq.heappush(ready, (places[other], other))
    if len(result) < count:
        raise _circle(found, waiting, before, after)
    return np.array(result, dtype=np.int64)


def _circle(found: Records, waiting: list[int], before: Int64, after: Int64) -> InputError:
    """Return the error that names tasks that depend on each other in a circle."""
    some = {b: a for b, a in zip(after.tolist(), before.tolist(), strict=True) if waiting[a]}
    task = next(iter(some))
    walked: list[int] = []
    while task not in walked:
        walked.append(task)
        task = some[task]
    names = list(found.number)
    circle = [names[each] for each in walked[walked.index(task) :]][::-1]
    shown = " -> ".join([*circle[:8], "..."] if len(circle) > 8 else [*circle, circle[0]])
    return InputError(f"{found.path}: tasks depend on each other in a circle: {shown}")


def through(
    ran: NDArray[np.bool_], order: Int64, before: Int64, after: Int64
) -> tuple[Int64, Int64]:
    """Return the dependencies between tasks that *ran*, those by way of others included.

    What a task that ran nowhere waits for is what those wait for that depend on it.
    """
    plain = ran[before] & ran[after]
    kept = [(before[plain] << 32) | after[plain]]
    if bool(plain.all()):
        return before, after
    rest = ~plain
    inner: dict[int, list[int]] = {}
    for one, other in zip(before[rest].tolist(), after[rest].tolist(), strict=True):
        inner.setdefault(other, []).append(one)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    did = ran.tolist()
    behind: dict[int, frozenset[int]] = {}
    total = 0
    for task in sorted(inner, key=place.tolist().__getitem__):
        direct = {one for one in inner[task] if did[one]}
        sets = [behind.get(one, frozenset()) for one in inner[task] if not did[one]]
        whole = frozenset(direct.union(*sets))
        total += len(whole)
        if total > MOST_PASSED:
            raise InputError(
                f"more than {MOST_PASSED} dependencies by way of tasks that ran nowhere"
            )
        if did[task]:
            sources = np.fromiter(whole, np.int64, len(whole))
            kept.append((sources << 32) | task)
        else:
            behind[task] = whole
    edges = np.unique(np.concatenate(kept))
    return edges >> 32, edges & 0xFFFFFFFF
