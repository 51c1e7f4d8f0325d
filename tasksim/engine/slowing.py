"""Slowdown of tasks by neighbours on the same memory.

Measurements of two kernels apply up to the measured number of neighbours; beyond that, and for
kernels that were not measured together, the bandwidth of the memory decides. All tasks of a kernel
on an architecture are of one *kind*, and their slowdown depends on the number of tasks of each kind
in a domain. The core's ``engine/slowing.h`` computes the same, in the same order.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.models.contention import Contended, Contention

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tasksim.engine.durations import Models
    from tasksim.engine.numa import Distances, Homes
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.platform.parts import NumaKernel

__all__ = ["Kinds", "Slowing", "busy_estimates", "slowing_of"]

_NO_CONTENTION: Final = Contention()
_MAX_CACHED_STATES: Final = 1 << 16
"""Maximum number of cached states of domains: four kinds on 24 cores have fewer; many kinds take
some MB."""


class Kinds:
    """Kinds of tasks: the pairs of a kernel of a graph and an architecture of a platform.

    Parameters
    ----------
    names : sequence of str
        Names of the kernels' models.
    known : sequence of sequence of Contention
        Contention per architecture and kernel.
    of_class : sequence of int
        Architecture of each class of workers.
    """

    def __init__(
        self,
        names: Sequence[str],
        known: Sequence[Sequence[Contention]],
        of_class: Sequence[int],
    ) -> None:
        each = [contention for row in known for contention in row]
        self.first = [architecture * len(names) for architecture in of_class]
        """Kind of the first kernel in each class of workers; those of other kernels follow."""
        self.kernels = len(names)
        self.demand = [contention.demand_bytes_per_s for contention in each]
        self.share = [contention.memory_share for contention in each]
        neighbours = list(names) * len(known)
        self.beside = [
            [tuple(map(float, c.beside.get(name, ()))) for name in neighbours] for c in each
        ]
        """Stretch per kind and neighbour, beside one, two, ... of these neighbours."""

    def __len__(self) -> int:
        return len(self.demand)

    @property
    def of_tasks(self) -> NDArray[np.int32]:
        """Kind of each kernel in each class, shape (classes, kernels)."""
        return np.add.outer(self.first, np.arange(self.kernels)).astype(np.int32)


class Slowing:
    """Contention between tasks of *kinds* in the memory domains of *platform*."""

    def __init__(self, kinds: Kinds, platform: Platform) -> None:
        self.kinds = kinds
        self.curves = [domain.bandwidths_bytes_per_s for domain in platform.memory_domains]
        self.domain_of = [-1] * len(platform.workers)
        for number, domain in enumerate(platform.memory_domains):
            for worker in domain.workers:
                self.domain_of[worker] = number
        self.distances: Distances | None = None
        """Distances between the domains; None if memory is uniform."""
        if platform.numa is not None:
            from tasksim.engine.numa import distances_of

            self.distances = distances_of(platform, platform.numa)
        self._known: dict[tuple[tuple[float, ...], tuple[int, ...]], tuple[float, ...]] = {}

    def stretches(self, domain: int, counts: Sequence[int]) -> tuple[float, ...]:
        """Return the stretch of tasks of each kind, with *counts* running tasks per kind.

        A stretch is the duration relative to that alone; it is 1 for kinds that do not run.
        """
        curve, key = self.curves[domain], tuple(counts)
        found = self._known.get((curve, key))
        if found is None:
            running = [kind for kind, count in enumerate(counts) if count]
            stretches = [1.0] * len(counts)
            for kind in running:
                stretches[kind] = self.stretch(kind, running, counts, curve)
            if len(self._known) >= _MAX_CACHED_STATES:
                self._known.clear()
            found = self._known[curve, key] = tuple(stretches)
        return found

    def stretch(
        self, kind: int, running: Iterable[int], counts: Sequence[float], curve: Sequence[float]
    ) -> float:
        """Return the stretch of a task of *kind*, which is one of the counted tasks.

        *running* are the counted kinds, ascending; counts may be means.
        """
        busy, asked = 0.0, 0.0
        for other in running:
            busy += counts[other]
            asked += counts[other] * self.kinds.demand[other]
        if busy <= 1.0:
            return 1.0
        by_memory = self._by_memory(kind, asked, busy, curve)
        total = 0.0
        for other in running:
            beside = counts[other] - (other == kind)
            if beside > 0.0:
                total += beside * self._beside(kind, other, busy - 1.0, by_memory, curve)
        return max(1.0, total / (busy - 1.0))

    def _beside(
        self, kind: int, other: int, neighbours: float, by_memory: float, curve: Sequence[float]
    ) -> float:
        """Return the stretch beside *neighbours* tasks of the kind *other*."""
        measured = self.kinds.beside[kind][other]
        most = len(measured)
        if neighbours <= most:
            return measured[int(neighbours + 0.5) - 1]
        if not most:
            return by_memory
        demand = self.kinds.demand
        # More neighbours than measured add what the bandwidth says of the difference.
        there = self._by_memory(kind, demand[kind] + most * demand[other], most + 1.0, curve)
        return measured[most - 1] + (by_memory - there)

    def _by_memory(self, kind: int, asked: float, busy: float, curve: Sequence[float]) -> float:
        """Return the stretch by the bandwidth, of which *busy* tasks want *asked* in total."""
        if not curve:
            return 1.0
        share = self.kinds.share[kind]
        given = curve[min(int(busy + 0.5), len(curve)) - 1]
        return (1.0 - share) + share * max(1.0, asked / given)

    def homes(self, graph: TaskGraph) -> Homes | None:
        """Return the homes of the data of *graph* for one replay; None if memory is uniform."""
        if self.distances is None:
            return None
        from tasksim.engine.numa import Homes

        return Homes(self.distances, graph)

    def has_effect(self) -> bool:
        """Return whether any kind of task may be slowed in any domain."""
        if self.distances is not None and any(self.kinds.share):
            return True
        by_memory = any(self.kinds.share) and any(self.kinds.demand) and any(self.curves)
        return by_memory or any(any(row) for row in self.kinds.beside)


def slowing_of(graph: TaskGraph, platform: Platform, models: Models) -> Slowing | None:
    """Return the slowdown of the tasks of *graph* by each other; None if no contention is known.

    Without contention, the replay keeps its faster code.
    """
    numa = platform.numa
    if numa is None:
        if not any(len(domain.workers) > 1 for domain in platform.memory_domains):
            return None
        if not isinstance(models, Contended):
            return None
    architectures = list(dict.fromkeys(group.models for group in platform.classes))
    known = [list(_known(graph.model_names, models, name)) for name in architectures]
    if numa is not None:
        known = [_with_uses(graph.model_names, row, numa.kernels) for row in known]
    of_class = [architectures.index(group.models) for group in platform.classes]
    slowing = Slowing(Kinds(graph.model_names, known, of_class), platform)
    return slowing if slowing.has_effect() else None


def _known(kernels: Iterable[str], models: Models, architecture: str) -> Iterator[Contention]:
    for kernel in kernels:
        known = None
        if isinstance(models, Contended):
            # Without a model of the kernel, the architecture cannot run it.
            with suppress(InputError):
                known = models.contention(kernel, architecture)
        yield known or _NO_CONTENTION


def _with_uses(
    kernels: Iterable[str], known: Iterable[Contention], uses: Mapping[str, NumaKernel]
) -> list[Contention]:
    """Return the *known* contention of *kernels*, overridden by the platform's *uses* of memory."""
    found = []
    for name, contention in zip(kernels, known, strict=True):
        use = uses.get(name)
        if use is None:
            found.append(contention)
            continue
        asked = use.demand_bytes_per_s
        demand = contention.demand_bytes_per_s if asked is None else asked
        found.append(replace(contention, memory_share=use.memory_share, demand_bytes_per_s=demand))
    return found


def busy_estimates(
    slowing: Slowing, graph: TaskGraph, platform: Platform, estimates: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return *estimates*, lengthened in classes of workers whose schedulers know of contention.

    A lengthened estimate is the duration with all neighbours busy, which run the graph's kernels in
    proportion to their total time.
    """
    domains = platform.memory_domains
    if not any(domain.known for domain in domains):
        return estimates
    found = estimates.copy()
    for index, group in enumerate(platform.classes):
        number = slowing.domain_of[group.workers[0]]
        if number < 0 or not domains[number].known:
            continue
        first, times = slowing.kinds.first[index], estimates[index]
        fits = np.where(np.isfinite(times), times, 0.0)
        weights = np.bincount(graph.kernel, fits, slowing.kinds.kernels)
        if not weights.any():
            continue
        neighbours = len(domains[number].workers) - 1
        factors = [
            _between(slowing, first + kernel, first, neighbours * weights / weights.sum(), number)
            for kernel in range(slowing.kinds.kernels)
        ]
        found[index] *= np.array(factors)[graph.kernel]
    return found


def _between(
    slowing: Slowing, kind: int, first: int, beside: NDArray[np.float64], domain: int
) -> float:
    """Return the stretch of a task of *kind* with the number *beside* of neighbours per kernel."""
    counts = [0.0] * len(slowing.kinds)
    counts[first : first + len(beside)] = beside.tolist()
    counts[kind] += 1.0
    running = [other for other, count in enumerate(counts) if count]
    return slowing.stretch(kind, running, counts, slowing.curves[domain])
