"""Routes of many pairs of hosts at once, as columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.network.description import Topology

__all__ = ["routes"]


def routes(
    topology: Topology, source: NDArray[np.int64], target: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the routes from each *source* to its *target*, which is another host.

    That is where the links of each begin, and the links. A topology whose routes are arithmetic may
    have a method ``routes`` that returns them as rows of one length; others are asked for each.
    """
    together = getattr(topology, "routes", None)
    if together is not None:
        rows = together(source, target)
        return np.arange(len(rows) + 1, dtype=np.int64) * rows.shape[1], rows.ravel()
    pairs = zip(source.tolist(), target.tolist(), strict=True)
    lists = [topology.route(one, other) for one, other in pairs]
    links = np.array([link for each in lists for link in each], np.int64)
    return np.cumsum([0, *map(len, lists)], dtype=np.int64), links
