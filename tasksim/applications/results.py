"""Results of an application, and their checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.applications.store import Store

__all__ = ["Check", "Results"]


@dataclass(frozen=True)
class Check:
    """Check of a result: ``function(results)`` must not exceed ``tolerance``."""

    function: Callable[[Any], float]
    tolerance: float
    what: str


class Results:
    """Data after the run, for the function that checks them.

    ``results[x]`` is the array or object of the datum *x*. Data in a row are a list; data in rows
    and columns are a list of lists, with None where no task needed a datum; an array that was cut
    is the whole array. ``results.initial(x)`` is the same before the run.

    If several processes hold the data, only the requested data are fetched.
    """

    def __init__(self, store: Store, fetch: Callable[[int], Any]) -> None:
        self._store, self._fetch = store, fetch

    def __getitem__(self, described: Any) -> Any:
        return self._gathered(described, lambda _, handle: self._fetch(handle))

    def initial(self, described: Any) -> Any:
        """Return the initial data of *described*."""
        if described.block.whole is not None and not hasattr(described, "handle"):
            return self._store.initial_whole(described.block)
        return self._gathered(described, self._store.initial)

    def _gathered(self, described: Any, get: Any) -> Any:
        block = described.block
        if hasattr(described, "handle"):
            return get(block, described.handle)
        found = [
            get(block, handle) if self._store.exists(block, handle) else None
            for handle in block.handles
        ]
        if block.whole is not None:
            return np.concatenate([piece for piece in found if piece is not None])
        if len(block.extents) < 2:
            return found
        columns = block.extents[1]
        return [found[i : i + columns] for i in range(0, len(found), columns)]
