"""Capacity of memories, and the tasks whose data alone exceed it."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.engine.data.accesses import Needs
    from tasksim.engine.data.copies import Copies
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import WorkerClass

__all__ = ["keep_where_data_fit", "no_room", "too_large"]

MAX_DISTINCT_SIZES: Final = 16
"""Maximum number of distinct data sizes for a quick test: do the largest numbers of data of each
size that any task has fit together? Dense graphs have one to three sizes; with many sizes, the test
would fail."""


def keep_where_data_fit(
    graph: TaskGraph,
    classes: Sequence[WorkerClass],
    needs: Sequence[Needs],
    copies: Copies,
    able: list[int],
    estimates: Sequence[Sequence[float]],
) -> Sequence[Sequence[float]]:
    """Mark, in *able*, tasks as unable to run on classes whose memory is too small for their data.

    Returns the *estimates*, infinite in these places. Raises :exc:`InputError` for a task that no
    class can run then.
    """
    kept = _where_data_fit(needs, copies, classes)
    for task, mask in kept.items():
        able[task] &= mask
        if not able[task]:
            raise too_large(graph, task, sum(copies.size[handle] for handle, _, _ in needs[task]))
    if not kept:
        return estimates
    return [
        [inf if not kept.get(t, -1) >> index & 1 else s for t, s in enumerate(row)]
        for index, row in enumerate(estimates)
    ]


def too_large(graph: TaskGraph, task: int, size_bytes: int) -> InputError:
    """Return the error for a *task* whose data, of *size_bytes*, fit into no memory."""
    return InputError(
        f"{graph.label(task)} needs {size_bytes:,} bytes at once, more than the memory of any"
        " worker that has an implementation of it"
    )


def no_room(graph: TaskGraph, task: int, memory: str, now_s: float) -> InputError:
    """Return the error for a *task* whose data never arrived in *memory*."""
    return InputError(
        f"the run stopped at {now_s:.6g} s: memory {memory}, or a memory on the way, has no room"
        f" for the data of {graph.label(task)}; make them larger"
    )


def _where_data_fit(
    needs: Sequence[Needs], copies: Copies, classes: Sequence[WorkerClass]
) -> dict[int, int]:
    """Return a mask of the classes with enough memory, for the tasks that do not fit everywhere."""
    pools = [
        (index, store.pool)
        for index, group in enumerate(classes)
        if (store := copies.stores[group.memory]) is not None
    ]
    different, most = set(copies.size), max(map(len, needs), default=0)
    if not pools or (
        len(different) <= MAX_DISTINCT_SIZES
        and all(pool.fits([size] * most) for size in different for _, pool in pools)
    ):
        return {}
    fits: dict[tuple[int, ...], int] = {}
    found: dict[int, int] = {}
    for task, accesses in enumerate(needs):
        sizes = tuple([copies.size[handle] for handle, _, _ in accesses])
        mask = fits.get(sizes)
        if mask is None:
            small = sum(1 << index for index, pool in pools if not pool.fits(list(sizes)))
            mask = fits[sizes] = ~small
        if mask != -1:
            found[task] = mask
    return found
