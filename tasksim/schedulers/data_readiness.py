"""Readiness of data: the task of a worker's queue that lacks the fewest bytes goes first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["first_ready"]


def first_ready(
    tasks: Iterable[int], memory: int, unready: Callable[[int, int], tuple[int, int, int]]
) -> int:
    """Return the place, among *tasks*, of the one that lacks the fewest bytes in *memory*.

    *unready* is :meth:`View.unready`. Fewest bytes that are not there; of equals, fewest that are
    not even on their way; then fewest without a place; then the first. The search ends at
    a task that lacks nothing. As StarPU's ``starpu_st_fifo_taskq_pop_first_ready_task``.

    >>> first_ready([7, 8, 9], 1, lambda task, memory: (9 - task, 0, 0))
    2
    """
    best, place = None, 0
    for index, task in enumerate(tasks):
        lacks = unready(task, memory)
        if not (lacks[0] or lacks[2]):
            return index
        if best is None or lacks < best:
            best, place = lacks, index
    return place
