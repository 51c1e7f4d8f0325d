"""Workers of a recording: the threads and processes that ran tasks, as slots."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from tasksim.recording.log import MAIN_THREAD
from tasksim.run.record import WorkerInfo

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from tasksim.recording.log import RecordedTask

__all__ = ["CPU", "MAIN", "workers_of"]

CPU, MAIN = "cpu", "main"
"""Architectures: the workers of pools; threads that submit, for what they do in between."""


def workers_of(tasks: Sequence[RecordedTask]) -> tuple[tuple[WorkerInfo, ...], list[int]]:
    """Return the workers that *tasks* ran on, and per task which one.

    A pool that is used after another takes its places: what never ran at once counts once. Threads
    that submit are workers of their own, of the architecture ``main``.
    """
    spans: dict[tuple[bool, Hashable], list[float]] = {}
    pools: dict[tuple[bool, Hashable], int] = {}
    for task in tasks:
        key = _key(task)
        span = spans.setdefault(key, [task.start_s, task.end_s])
        span[0], span[1] = min(span[0], task.start_s), max(span[1], task.end_s)
        pools.setdefault(key, task.pool)
    slots = _slots(spans, pools)
    order = sorted(dict.fromkeys(slots.values()))
    number = {slot: worker for worker, slot in enumerate(order)}
    first = {slot: key for key, slot in reversed(slots.items())}
    names = _unique([_name(first[slot]) for slot in order])
    workers = tuple(
        WorkerInfo(name, MAIN if slot[0] else CPU) for name, slot in zip(names, order, strict=True)
    )
    return workers, [number[slots[_key(task)]] for task in tasks]


def _key(task: RecordedTask) -> tuple[bool, Hashable]:
    return task.kernel[0] == MAIN_THREAD, task.worker


def _slots(
    spans: dict[tuple[bool, Hashable], list[float]], pools: dict[tuple[bool, Hashable], int]
) -> dict[tuple[bool, Hashable], tuple[bool, int]]:
    """Return per thread whether it submits, and the number of its slot."""
    slots: dict[tuple[bool, Hashable], tuple[bool, int]] = {}
    used: dict[bool, list[tuple[float, set[int]]]] = {False: [], True: []}
    for key in sorted(spans, key=lambda key: spans[key][0]):
        start, end = spans[key]
        is_main, pool = key[0], pools[key]
        kind = used[is_main]
        # Two threads of one pool are two, however little there was to do for them.
        free = (n for n, (until, there) in enumerate(kind) if until <= start and pool not in there)
        slot = next(free, len(kind)) if not is_main else len(kind)
        if slot == len(kind):
            kind.append((end, {pool}))
        else:
            kind[slot] = (end, {*kind[slot][1], pool})
        slots[key] = (is_main, slot)
    return slots


def _name(key: tuple[bool, Hashable]) -> str:
    is_main, worker = key
    if isinstance(worker, threading.Thread):
        return f"{worker.name}, submitting" if is_main else worker.name
    return f"process {worker}"


def _unique(names: list[str]) -> list[str]:
    """Return *names* with numbers where two are the same."""
    found: list[str] = []
    for name in names:
        count = sum(other.partition(" #")[0] == name for other in found)
        found.append(f"{name} #{count + 1}" if count else name)
    return found
