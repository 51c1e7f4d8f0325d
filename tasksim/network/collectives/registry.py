"""Algorithms of collectives by name, and the choices of MPI libraries between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError, unknown
from tasksim.network.collectives import (
    allgather,
    allreduce,
    alltoall,
    barrier,
    broadcast,
    gather,
    reduce,
    scatter,
    segments,
)  # fmt: skip
from tasksim.network.collectives.openmpi import openmpi
from tasksim.network.collectives.steps import joined

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.network.collectives.steps import RankSteps

__all__ = ["ALGORITHMS", "SELECTORS", "collective", "selected"]

ALGORITHMS: Final[dict[str, dict[str, Callable[[int, float], RankSteps]]]] = {
    "bcast": {
        "linear": broadcast.linear,
        "binomial": broadcast.binomial,
        "chain": broadcast.chain,
        "scatter_ring": broadcast.scatter_ring,
        "segmented_chain": segments.segmented_chain,
        "binary": segments.binary,
        "pipeline": segments.pipeline,
        "four_nomial": segments.four_nomial,
        "scatter_doubling": segments.scatter_doubling,
    },
    "reduce": {
        "linear": reduce.linear,
        "binomial": reduce.binomial,
        "scatter_gather": reduce.scatter_gather,
        "one_by_one": reduce.one_by_one,
        "binary": segments.binary_reduce,
        "pipeline": segments.pipeline_reduce,
        "chains": segments.chain_reduce,
        "segmented_binomial": segments.segmented_binomial,
    },
    "allreduce": {
        "reduce_broadcast": allreduce.reduce_broadcast,
        # The reduction and the broadcast that Open MPI chooses, in sequence.
        "nonoverlapping": lambda ranks, size: joined(
            *(collective(name, ranks, size, selector="openmpi") for name in ("reduce", "bcast"))
        ),
        "recursive_doubling": allreduce.recursive_doubling,
        "rabenseifner": allreduce.rabenseifner,
        "ring": allreduce.ring,
    },
    "allgather": {
        "linear": allgather.linear,
        "ring": allgather.ring,
        "recursive_doubling": allgather.recursive_doubling,
        "bruck": allgather.bruck,
        "pairwise": allgather.pairwise,
        "neighbours": allgather.neighbours,
    },
    "alltoall": {
        "linear": alltoall.linear,
        "scattered": alltoall.scattered,
        "pairwise": alltoall.pairwise,
        "ring": alltoall.ring,
        "bruck": alltoall.bruck,
    },
    "gather": {
        "linear": gather.linear,
        "binomial": gather.binomial,
        "one_by_one": gather.one_by_one,
        "in_turns": gather.in_turns,
    },
    "scatter": {
        "linear": scatter.linear,
        "binomial": scatter.binomial,
        "binomial_near_first": scatter.binomial_near_first,
        "one_by_one": scatter.one_by_one,
    },
    "barrier": {
        "linear": barrier.linear,
        "dissemination": barrier.dissemination,
        "recursive_doubling": barrier.recursive_doubling,
        "tree": barrier.tree,
    },
}
"""Operation -> algorithms by name. A size is that of a rank's data, or of its data for one other.
"""


def _smpi(operation: str, ranks: int, size: float) -> str:
    """Return the default of SimGrid 3.32's MPI; for all-to-all, as measured up to 16 ranks."""
    if operation == "alltoall":
        if ranks >= 16 and 4 <= size < 512:
            return "bruck"
        return "pairwise" if 4 <= ranks < 8 and 2**19 <= size < 2**20 else "linear"
    return {"bcast": "binomial", "allreduce": "reduce_broadcast"}.get(operation, "linear")


def _mpich(operation: str, ranks: int, size: float) -> str:
    """Return the choice of MPICH's rules in SimGrid 3.32, with one rank per host."""
    power = not ranks & (ranks - 1)
    if operation == "reduce":
        return "binomial" if size < 2048 else "scatter_gather"
    if operation == "allgather":
        if power and size * ranks < 2**19:
            return "recursive_doubling"
        return "bruck" if size * ranks <= 81920 else "ring"
    if operation == "alltoall":
        if size < 256 and ranks >= 8:
            return "bruck"
        if size < 32768:
            return "scattered"
        return "pairwise" if power else "ring"
    return {
        "bcast": "binomial", "allreduce": "recursive_doubling", "barrier": "dissemination",
        "gather": "binomial", "scatter": "binomial_near_first",
    }[operation]  # fmt: skip


SELECTORS: Final[dict[str, Callable[[str, int, float], str]]] = {
    "smpi": _smpi, "mpich": _mpich, "openmpi": openmpi,
}  # fmt: skip
"""Name of a library -> function that chooses the algorithm by operation, ranks and size."""


def selected(operation: str, ranks: int, size: float, selector: str = "mpich") -> str:
    """Return the algorithm that a library chooses.

    Raises
    ------
    InputError
        For an unknown operation or library, with the nearest match.

    Examples
    --------
    >>> selected("allreduce", 16, 8.0), selected("allreduce", 16, 8.0, "smpi")
    ('recursive_doubling', 'reduce_broadcast')
    """
    if operation not in ALGORITHMS:
        raise unknown("collective", operation, ALGORITHMS)
    if selector not in SELECTORS:
        raise unknown("selection of algorithms", selector, SELECTORS)
    return SELECTORS[selector](operation, ranks, size)


def collective(
    operation: str, ranks: int, size: float, algorithm: str | None = None, selector: str = "mpich"
) -> RankSteps:
    """Return the program of an *operation* among *ranks* ranks.

    Parameters
    ----------
    operation : str
        ``bcast``, ``reduce``, ``allreduce``, ``allgather``, ``alltoall``, ``gather``,
        ``scatter``, ``barrier``.
    ranks : int
        Number of ranks.
    size : float
        Bytes of the data of one rank (for bcast, reduce and allreduce: of all data).
    algorithm : str, optional
        Default: the choice of the *selector*.
    selector : str, default "mpich"
        ``mpich``, ``openmpi`` or ``smpi``.

    Raises
    ------
    InputError
        For unknown names, and fewer than one rank.
    """
    if ranks < 1:
        raise InputError(f"collective {operation}: got ranks={ranks}; legal: at least 1")
    name = algorithm or selected(operation, ranks, size, selector)
    known = ALGORITHMS.get(operation)
    if known is None:
        raise unknown("collective", operation, ALGORITHMS)
    if name not in known:
        raise unknown(f"algorithm of {operation}", name, known)
    return known[name](ranks, size) if ranks > 1 else [[]]
