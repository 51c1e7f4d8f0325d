"""The ``numa-lws`` scheduler, work stealing that knows memory domains and homes of data."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from tasksim.graph.access_mode import AccessMode
from tasksim.schedulers.base import access_tables
from tasksim.schedulers.ws import LocalityWorkStealing

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from tasksim.graph.csr import Int64
    from tasksim.schedulers.base import View

__all__ = ["NumaWorkStealing"]

NO_DOMAIN: Final = -1
"""Domain of a worker that is in none, and home of a datum of which none is known."""


class NumaWorkStealing(LocalityWorkStealing):
    """Work stealing as ``lws`` does, from the thief's memory domain first, near the data.

    A task goes to the worker that released it if that worker's domain holds at least as many bytes
    of the task's data as any other domain. Else it goes to the worker with the shortest queue in
    the domain that holds most. A datum's home is the domain of the first worker that starts a task
    on it, as with first touch, or the domain that ``numa.placement`` names; interleaved data have
    none. On a machine without memory domains this is ``lws``.
    """

    name: ClassVar[str] = "numa-lws"
    core: ClassVar[str] = "numa-lws"
    uses_priorities: ClassVar[bool] = True

    def attach(self, view: View, rng: random.Random) -> None:
        """Start with empty queues, and data that nobody has touched."""
        super().attach(view, rng)
        tables = self.core_tables(view, rng)
        self._domain_of: list[int] = tables["domain_of"].tolist()
        self._domains = range(max(self._domain_of, default=NO_DOMAIN) + 1)
        self._members = [
            [worker for worker, domain in enumerate(self._domain_of) if domain == each]
            for each in self._domains
        ]
        self._first: list[int] = tables["access_ptr"].tolist()
        self._handles: list[int] = tables["access_handle"].tolist()
        self._sizes: list[int] = tables["size_bytes"].tolist()
        self._home: list[int] = tables["home"].tolist()
        self._touches = bool(tables["touches"][0])

    def owner_of(self, task: int) -> int:
        """Return the worker whose queue *task* goes to."""
        owner = super().owner_of(task)
        held = [0] * len(self._domains)
        for k in range(self._first[task], self._first[task + 1]):
            home = self._home[self._handles[k]]
            if home != NO_DOMAIN:
                held[home] += self._sizes[self._handles[k]]
        most = max(held, default=0)
        own = self._domain_of[owner]
        if not most or (own != NO_DOMAIN and held[own] == most):
            return owner
        able = [w for w in self._members[held.index(most)] if self.view.can_run(task, w)]
        return min(able, key=lambda worker: (self._waiting[worker], worker), default=owner)

    def started(self, task: int, worker: int) -> None:
        """Note that the data of *task* that nobody had touched live near *worker*."""
        domain = self._domain_of[worker]
        if self._touches and domain != NO_DOMAIN:
            for k in range(self._first[task], self._first[task + 1]):
                if self._home[self._handles[k]] == NO_DOMAIN:
                    self._home[self._handles[k]] = domain

    def core_tables(self, view: View, rng: random.Random) -> dict[str, Int64]:  # noqa: ARG002
        """Return the domain of each worker, the accesses of each task, and sizes and homes."""
        from tasksim.platform.parts import FIRST_TOUCH

        graph, domains = view.graph, view.memory_domains
        domain_of = np.full(len(view.workers), NO_DOMAIN, np.int64)
        for number, domain in enumerate(domains):
            domain_of[list(domain.workers)] = number
        named = [domain.name for domain in domains]
        placement = view.placement
        home = named.index(placement) if placement in named else NO_DOMAIN
        return {
            "domain_of": domain_of,
            **access_tables(graph, graph.access_mode != AccessMode.SCRATCH),
            "home": np.full(graph.handles, home, np.int64),
            "touches": np.array([placement in ("", FIRST_TOUCH)], np.int64),
        }

    def _in_order(self, thief: int) -> Iterator[int]:
        own = self._domain_of[thief]
        for is_near in (True, False):
            for victim in self._victims.from_nearest(thief):
                if (self._domain_of[victim] == own) == is_near:
                    yield victim
