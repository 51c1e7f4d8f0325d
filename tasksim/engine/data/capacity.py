"""Tasks whose data do not fit in a memory by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.engine.data.copies import Copies
    from tasksim.engine.data.mover import Needs
    from tasksim.engine.data.pool import Pool
    from tasksim.platform.description import WorkerClass

__all__ = ["too_large"]


def too_large(needs: list[Needs], copies: Copies, classes: Sequence[WorkerClass]) -> dict[int, int]:
    """Return, for the tasks that do not fit everywhere, a mask of the classes where they do."""
    pools = [
        (index, store.pool)
        for index, group in enumerate(classes)
        if (store := copies.stores[group.memory]) is not None
    ]
    fits: dict[tuple[int, ...], int] = {}
    found: dict[int, int] = {}
    for task, accesses in enumerate(needs) if pools else ():
        sizes = tuple([copies.size[handle] for handle, _, _ in accesses])
        mask = fits.get(sizes)
        if mask is None:
            mask = fits[sizes] = _mask(list(sizes), pools)
        if mask != -1:
            found[task] = mask
    return found


def _mask(sizes: list[int], pools: list[tuple[int, Pool]]) -> int:
    mask = -1
    for index, pool in pools:
        if not pool.fits(sizes):
            mask &= ~(1 << index)
    return mask
