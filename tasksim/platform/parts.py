"""Workers, memories, links, routes and devices of platforms."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Final

from tasksim.base.arguments import finite_number, short
from tasksim.base.errors import InputError

__all__ = [
    "FIRST_TOUCH",
    "INTERLEAVED",
    "LOCAL_DISTANCE",
    "Device",
    "Link",
    "Memory",
    "MemoryDomain",
    "MemoryLevel",
    "Numa",
    "NumaKernel",
    "Route",
    "Worker",
    "WorkerClass",
]

LOCAL_DISTANCE: Final = 10.0
"""Distance of a domain to itself where only that to others is given, as in ACPI's SLIT tables."""
FIRST_TOUCH: Final = "first_touch"
"""Placement: the home of a datum is the domain of the first task that accesses it."""
INTERLEAVED: Final = "interleaved"
"""Placement: the pages of each datum are spread evenly over all domains."""


@dataclass(frozen=True, slots=True)
class Worker:
    """A processing unit that runs one task at a time.

    Parameters
    ----------
    id : int
        Its number, from 0; its index in :attr:`Platform.workers`.
    name : str
        ``cpu3``; on a platform of several nodes ``node0/cpu3``.
    architecture : str
        Its kind, such as ``cpu`` or ``cuda``, which says which models it uses.
    memory : int
        The number of the memory its tasks read and write.
    node : int, default 0
        The number of the node that it is on.
    core : int or None, default None
        The operating system's number of the core it is bound to, or None.
    models : str or None, default None
        The architecture whose models it uses, where devices of one architecture differ; None:
        what :attr:`Platform.model_architecture` says.

    See Also
    --------
    Platform : has them.
    Device : how those of an architecture are driven.

    Examples
    --------
    >>> Worker(0, "cpu0", "cpu", memory=0)
    Worker(id=0, name='cpu0', architecture='cpu', memory=0, node=0, core=None, models=None)
    """

    id: int
    name: str
    architecture: str
    memory: int
    node: int = 0
    core: int | None = None
    models: str | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory node, such as the RAM of a node or NUMA domain, or the memory of a GPU.

    Parameters
    ----------
    id : int
        Its number, from 0; its index in :attr:`Platform.memories`.
    name : str
        ``ram``, ``gpu0``; on a platform of several nodes ``node0/ram``.
    node : int, default 0
        The number of the node that it is on.
    size_bytes : float or None, default None
        How much it holds; None: without limit.

    See Also
    --------
    Platform : has them.
    Link : leads from one to another.

    Examples
    --------
    >>> Memory(1, "gpu0", size_bytes=5.25 * 2**30).size_bytes
    5637144576.0
    """

    id: int
    name: str
    node: int = 0
    size_bytes: float | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """A connection with a bandwidth that the copies on it share.

    A link between two memories is also a route from each to the other. A link without memories
    is a part of the routes that name it: a bus, a switch, one direction of a cable.

    Parameters
    ----------
    id : int
        Its number, from 0; its index in :attr:`Platform.links`.
    name : str
        ``ram-gpu0``.
    between : tuple[int, int] or None
        The numbers of its two memories, or None.
    bandwidth_bytes_per_s : float
        What the copies on it share.
    latency_s : float, default 0.0
        What a copy that crosses it waits before its first byte.
    measured_bandwidth_bytes_per_s : float or None, default None
        What was measured from end to end on a route whose first link this is, which
        schedulers believe. None: the least bandwidth of the route.
    measured_latency_s : float or None, default None
        The same for the latency. None: the sum of the route's.
    shared : bool, default True
        Whether copies that cross it together share its bandwidth; else each has all of it, as
        the classic model of static scheduling has it (SimGrid: a fat pipe).
    power_w : float, default 0.0
        What it draws besides, in watts, while a copy crosses it.

    See Also
    --------
    Route : a way over several links.

    Examples
    --------
    >>> Link(0, "ram-gpu0", (0, 1), bandwidth_bytes_per_s=6e9, latency_s=1e-5).shared
    True
    """

    id: int
    name: str
    between: tuple[int, int] | None
    bandwidth_bytes_per_s: float
    latency_s: float = 0.0
    measured_bandwidth_bytes_per_s: float | None = None
    measured_latency_s: float | None = None
    shared: bool = True
    power_w: float = 0.0


@dataclass(frozen=True, slots=True)
class Route:
    """The way from one memory to another.

    Parameters
    ----------
    source : int
        The number of the memory where it begins.
    target : int
        The number of the memory where it ends.
    links : tuple[int, ...]
        The numbers of the links it crosses. One that it crosses twice counts twice.

    See Also
    --------
    Link : by itself a way between two memories.

    Examples
    --------
    >>> Route(source=0, target=1, links=(0, 2)).links
    (0, 2)
    """

    source: int
    target: int
    links: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Device:
    """Driver of the workers of an architecture.

    Parameters
    ----------
    pipeline : int, default 0
        How many tasks a worker may hold, the running one included; 0: the worker is a core,
        which runs a task itself and does nothing else meanwhile.
    synchronous : tuple[str, ...], default ()
        The kernels, by the names of their models, during which a driver does nothing else.

    See Also
    --------
    Platform : says by architecture which ones have it.

    Examples
    --------
    >>> Device(pipeline=2, synchronous=("potrf",)).pipeline
    2
    """

    pipeline: int = 0
    synchronous: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryDomain:
    """Cores that share a memory, or a part of it with a bandwidth of its own.

    Parameters
    ----------
    name : str
        ``ram``; of several alike ``numa0``, ``numa1``.
    workers : tuple[int, ...]
        The numbers of its workers, which are cores.
    bandwidths_bytes_per_s : tuple[float, ...], default ()
        What it gives to one core, to two together, and so on; more cores together have what the
        last number says. None given: without limit.
    known : bool, default False
        Whether schedulers expect tasks to take as long as between busy neighbours; else as alone.
    size_bytes : float or None, default None
        How much its memory holds; None: without limit. Counts where data have a home.
    cache_bytes : float or None, default None
        Size of the last-level cache that its workers share with no others. Data that have left it
        are far. None: all workers without such a cache share one, of the size that models know.

    See Also
    --------
    Platform : has them.
    tasksim.models.contention.Contention : what kernels ask of them.

    Examples
    --------
    >>> MemoryDomain("ram", (0, 1), (9e9, 12e9)).bandwidths_bytes_per_s[-1]
    12000000000.0
    """

    name: str
    workers: tuple[int, ...]
    bandwidths_bytes_per_s: tuple[float, ...] = ()
    known: bool = False
    size_bytes: float | None = None
    cache_bytes: float | None = None


@dataclass(frozen=True, slots=True)
class MemoryLevel:
    """A cache, or the memory behind all caches, as seen by one core.

    Parameters
    ----------
    name : str
        ``l1``, ``l2``, ``l3`` or ``memory``.
    size_bytes : float or None
        Of a cache; None of memory.
    latency_s : float or None, default None
        Of an access that waits for the one before it; None: not known.
    bandwidths_bytes_per_s : tuple[float, ...], default ()
        Of one core, of two together, and so on.
    cores : int, default 1
        How many cores share it.

    See Also
    --------
    tasksim.models.kinds.counted.CounterModel : is fitted with the latencies.

    Examples
    --------
    >>> MemoryLevel("l1", 32768, 1e-9).cores
    1
    """

    name: str
    size_bytes: float | None
    latency_s: float | None = None
    bandwidths_bytes_per_s: tuple[float, ...] = ()
    cores: int = 1


@dataclass(frozen=True, slots=True)
class NumaKernel:
    """Use of the memory by a kernel, in place of what its models know.

    Parameters
    ----------
    memory_share : float
        The share of its duration that grows when memory is farther or slower, from 0 to 1.
    demand_bytes_per_s : float or None, default None
        Traffic between memory and caches when it runs alone; None: what its models know.

    See Also
    --------
    Numa : has them by name.

    Examples
    --------
    >>> NumaKernel(0.25, demand_bytes_per_s=3e9).memory_share
    0.25
    """

    memory_share: float
    demand_bytes_per_s: float | None = None

    def __post_init__(self) -> None:
        """Check that the values are numbers; :class:`Platform` checks their limits."""
        finite_number(self.memory_share, "memory_share")
        if self.demand_bytes_per_s is not None:
            finite_number(self.demand_bytes_per_s, "demand_bytes_per_s")


@dataclass(frozen=True, slots=True)
class Numa:
    """Costs of accesses from each memory domain to each other, and the homes of data.

    Parameters
    ----------
    distances : tuple[tuple[float, ...], ...]
        Cost of an access from each domain (row) to the memory of each domain (column), in any
        unit: only the ratio to the domain's own memory counts.
    bandwidths_bytes_per_s : tuple[tuple[float, ...], ...], default ()
        Bandwidth from each domain to each other, which the tasks of the first share; infinite
        without a limit, as on the diagonal. None given: no limits.
    placement : str, default "first_touch"
        Where data live: in the domain of the first task that accesses them, ``"interleaved"`` over
        all domains, or in the one domain that it names.
    cache_bytes : float, default 0.0
        Size of the caches of a domain, in which data of other domains stay for a while.
    kernels : dict[str, NumaKernel], default {}
        Kernels whose use of memory is given here, by the names of their models.

    See Also
    --------
    MemoryDomain : has the workers, the size and the bandwidth of a domain.

    Examples
    --------
    >>> Numa(distances=((10.0, 21.0), (21.0, 10.0))).ratio(0, 1)
    2.1
    """

    distances: tuple[tuple[float, ...], ...]
    bandwidths_bytes_per_s: tuple[tuple[float, ...], ...] = ()
    placement: str = FIRST_TOUCH
    cache_bytes: float = 0.0
    kernels: dict[str, NumaKernel] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make tuples of the rows, and check the types; :class:`Platform` checks the rest."""
        for name in ("distances", "bandwidths_bytes_per_s"):
            object.__setattr__(self, name, _rows(getattr(self, name), name))
        finite_number(self.cache_bytes, "cache_bytes")
        if not isinstance(self.kernels, dict) or not all(
            isinstance(use, NumaKernel) for use in self.kernels.values()
        ):
            raise InputError(f"kernels: got {short(self.kernels)}; legal: NumaKernel by name")

    def ratio(self, source: int, home: int) -> float:
        """Return the cost of an access from *source* to *home*; 1 for a domain's own memory."""
        return self.distances[source][home] / self.distances[source][source]


def _rows(values: Any, what: str) -> tuple[tuple[float, ...], ...]:
    """Return a matrix as tuples of floats; raise :exc:`InputError` unless it has numbers only."""
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise InputError(f"{what}: got {short(values)}; legal: rows of numbers")
    rows = []
    for row in values:
        numbers = () if isinstance(row, str) or not hasattr(row, "__iter__") else tuple(row)
        if not numbers or not all(isinstance(it, Real) for it in numbers):
            raise InputError(f"{what}: got the row {short(row)}; legal: rows of numbers")
        rows.append(tuple(map(float, numbers)))
    return tuple(rows)


@dataclass(frozen=True, slots=True)
class WorkerClass:
    """A class of workers that differ only in the time at which they are free."""

    architecture: str
    memory: int
    workers: tuple[int, ...]
    models: str = ""
    """Architecture whose models they use."""
