"""View of a run that has not begun, from which a scheduler of the core makes its tables."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from tasksim.platform.description import class_of
from tasksim.runtime.view import RunView

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.copyestimates import CopyEstimates
    from tasksim.platform.description import Platform

__all__ = ["KnownView"]


class KnownView(RunView):
    """Facts that are known before the clock starts, each made at its first use.

    Most policies of the core use none of them; those that plan use all.
    """

    def __init__(
        self,
        graph: TaskGraph,
        platform: Platform,
        costs: NDArray[np.float64],
        estimates: NDArray[np.float64],
    ) -> None:
        # Not that of RunView, which makes all lists at once.
        self.graph = graph
        self.platform = platform
        self.workers = platform.workers
        self.pusher = None
        self._costs = costs
        self._estimates = estimates

    def __getattr__(self, name: str) -> Any:
        """Make a list at its first use; other names are unknown before the run."""
        make = _LIST_ATTRIBUTES.get(name)
        if make is None:
            raise AttributeError(name)
        made = make(self)
        setattr(self, name, made)
        return made

    @property
    def now(self) -> float:
        """The start of the run."""
        return 0.0

    def copy_estimate(self, size_bytes: float, source: int, target: int) -> float:
        """Return the expected time of a copy between two memories, in seconds."""
        return self._copies.copy_s(size_bytes, source, target)

    def transfer_estimate(self, task: int, memory: int) -> float:
        """Refuse: the places of data are unknown before the run."""
        raise NotImplementedError

    def unready(self, task: int, memory: int) -> tuple[int, int, int]:
        """Refuse: the places of data are unknown before the run."""
        raise NotImplementedError

    def holds(self, handle: int, memory: int) -> bool:
        """Refuse: the places of data are unknown before the run."""
        raise NotImplementedError

    def sleeping(self, worker: int) -> bool:  # noqa: ARG002
        """Return True: no worker has been woken yet."""
        return True

    def wake(self, worker: int) -> None:
        """Do nothing: the run has not begun."""

    def wake_any(self, task: int) -> None:
        """Do nothing: the run has not begun."""

    def wake_all(self, task: int) -> None:
        """Do nothing: the run has not begun."""

    @cached_property
    def _copies(self) -> CopyEstimates:
        from tasksim.engine.data.ways import copy_estimates

        return copy_estimates(self.platform)

    @cached_property
    def _fitting(self) -> tuple[Sequence[Sequence[float]], list[int]]:
        """Estimates and able classes, without classes whose memory is too small for the data."""
        from tasksim.runtime.ledger import able_classes

        able = able_classes(self.graph, self._costs.tolist())
        estimates: list[list[float]] = self._estimates.tolist()
        if len(self.platform.memories) == 1:
            return estimates, able
        from tasksim.engine.data.accesses import ordered_accesses
        from tasksim.engine.data.capacity import keep_where_data_fit
        from tasksim.engine.data.copies import Copies

        needs, _ = ordered_accesses(self.graph)
        copies = Copies(self.graph, self.platform)
        kept = keep_where_data_fit(self.graph, self.classes, needs, copies, able, estimates)
        return kept, able


_LIST_ATTRIBUTES: Final[dict[str, Callable[[KnownView], Any]]] = {
    "classes": lambda view: view.platform.classes,
    "class_of": lambda view: class_of(view.platform),
    "priority": lambda view: view.graph.priority.tolist(),
    "estimates": lambda view: view._fitting[0],
    "able": lambda view: view._fitting[1],
}
"""Attributes of a view that are plain lists, with the functions that make them."""
