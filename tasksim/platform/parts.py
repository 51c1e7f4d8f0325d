"""Workers, memories, links, routes and devices of platforms."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Final

from tasksim.base.arguments import finite_number
from tasksim.base.errors import InputError, short

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
"""Default distance of a domain to itself, as in ACPI's SLIT tables."""
FIRST_TOUCH: Final = "first_touch"
"""Name of the placement in which the home of a datum is the domain of the first task that accesses
it.
"""
INTERLEAVED: Final = "interleaved"
"""Name of the placement that spreads the pages of each datum evenly over all domains."""


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
        Its kind, such as ``cpu`` or ``cuda``, which selects its models.
    memory : int
        The number of the memory that its tasks use.
    node : int, default 0
        The number of its node.
    core : int or None, default None
        The operating system's number of its core, or None.
    models : str or None, default None
        The architecture whose models it uses, if devices of one architecture differ; None for that
        in :attr:`Platform.model_architecture`.

    See Also
    --------
    Platform : The machine, with its workers.
    Device : The driver of an architecture's workers.

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
        The number of its node.
    size_bytes : float or None, default None
        Its size; None for unlimited.

    See Also
    --------
    Platform : The machine, with its memories.
    Link : A connection of memories.

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

    A link between two memories is also a route from each to the other. A link without memories is
    part of the routes that name it: a bus, a switch, one direction of a cable.

    Parameters
    ----------
    id : int
        Its number, from 0; its index in :attr:`Platform.links`.
    name : str
        ``ram-gpu0``.
    between : tuple[int, int] or None
        The numbers of its two memories, or None.
    bandwidth_bytes_per_s : float
        Bandwidth that its copies share.
    latency_s : float, default 0.0
        Delay of a copy before its first byte.
    measured_bandwidth_bytes_per_s : float or None, default None
        Bandwidth measured from end to end on a route whose first link this is, for schedulers'
        estimates; None for the smallest bandwidth of the route.
    measured_latency_s : float or None, default None
        The same for the latency; None for the sum over the route.
    shared : bool, default True
        Whether concurrent copies share its bandwidth, or each has all of it, as in the classic
        model of static scheduling (SimGrid: a fat pipe).
    power_w : float, default 0.0
        Additional power in watts while a copy crosses it.

    See Also
    --------
    Route : Several links in sequence.

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
        The number of its first memory.
    target : int
        The number of its last memory.
    links : tuple[int, ...]
        The numbers of its links; a link may occur twice.

    See Also
    --------
    Link : Also a route between two memories.

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
        Number of tasks that a worker may hold, including the running one; 0 for a core, which runs
        tasks itself and does nothing else meanwhile.
    synchronous : tuple[str, ...], default ()
        The kernels that the driver waits for, by the names of their models.

    See Also
    --------
    Platform : The machine, with its devices by architecture.

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
        ``ram``, or ``numa0``, ``numa1`` and so on.
    workers : tuple[int, ...]
        The numbers of its workers, which are cores.
    bandwidths_bytes_per_s : tuple[float, ...], default ()
        Bandwidth of one core, of two together, and so on; the last number holds for more cores.
        Unlimited if empty.
    known : bool, default False
        Whether schedulers expect durations beside busy neighbours, or alone.
    size_bytes : float or None, default None
        Size of its memory, if data have homes; None for unlimited.
    cache_bytes : float or None, default None
        Size of the last-level cache of its workers alone. Data that have left it are far. With
        None, all such workers share one cache of the size in the models.

    See Also
    --------
    Platform : The machine that has them.
    tasksim.models.contention.Contention : The kernels' demand of bandwidth.

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
        Size of a cache; None for memory.
    latency_s : float or None, default None
        Latency of an access that depends on the one before; None if unknown.
    bandwidths_bytes_per_s : tuple[float, ...], default ()
        Bandwidth of one core, of two together, and so on.
    cores : int, default 1
        Number of cores that share it.

    See Also
    --------
    tasksim.models.kinds.counted.CounterModel : Models that use the latencies.

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
    """Use of the memory by a kernel, instead of the values in its models.

    Parameters
    ----------
    memory_share : float
        Share of its duration that depends on the memory's distance and speed, from 0 to 1.
    demand_bytes_per_s : float or None, default None
        Traffic between memory and caches of the kernel alone; None for the value in its models.

    See Also
    --------
    Numa : Costs of remote accesses, with the kernels by name.

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
        Cost of an access from each domain (row) to the memory of each domain (column), in any unit,
        as only ratios to the domain's own memory count.
    bandwidths_bytes_per_s : tuple[tuple[float, ...], ...], default ()
        Bandwidth from each domain to each other, shared by the tasks of the first one; infinite
        without a limit, as on the diagonal. Unlimited if empty.
    placement : str, default "first_touch"
        Home of data: the domain of the first task that accesses them, ``"interleaved"`` over all
        domains, or the domain of this name.
    cache_bytes : float, default 0.0
        Size of a domain's caches, which keep data of other domains for a while.
    kernels : dict[str, NumaKernel], default {}
        Kernels with a given use of memory, by the names of their models.

    See Also
    --------
    MemoryDomain : The workers, the size and the bandwidth of a domain.

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
