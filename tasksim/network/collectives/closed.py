"""Closed formulas for the durations of collectives by Hockney's model.

R. Hockney 1994; R. Thakur et al., "Optimization of collective communication operations in MPICH",
IJHPCA 19 (1), 2005; J. Pjesivac-Grbovic et al., "Performance analysis of MPI collective
operations", Cluster Computing 10 (2), 2007. Ports are full duplex, and there is no other traffic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tasksim.base.errors import unknown

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FORMULAS", "closed_s", "rounds"]


def rounds(ranks: int) -> int:
    """Return the logarithm of *ranks* to the base 2, rounded up.

    >>> rounds(1), rounds(8), rounds(9)
    (0, 3, 4)
    """
    return (ranks - 1).bit_length()


FORMULAS: Final[dict[tuple[str, str], Callable[[int], tuple[float, float, float]]]] = {
    ("bcast", "linear"): lambda p: (1, p - 1, 0),
    ("bcast", "binomial"): lambda p: (rounds(p), rounds(p), 0),
    ("bcast", "chain"): lambda p: (p - 1, p - 1, 0),
    ("bcast", "scatter_ring"): lambda p: (rounds(p) + p - 1, 2 * (p - 1) / p, 0),
    ("reduce", "linear"): lambda p: (1, p - 1, p - 1),
    ("reduce", "binomial"): lambda p: (rounds(p), rounds(p), rounds(p)),
    ("allreduce", "recursive_doubling"): lambda p: (rounds(p), rounds(p), rounds(p)),
    ("allreduce", "rabenseifner"): lambda p: (2 * rounds(p), 2 * (p - 1) / p, (p - 1) / p),
    ("allreduce", "ring"): lambda p: (2 * (p - 1), 2 * (p - 1) / p, (p - 1) / p),
    ("allgather", "ring"): lambda p: (p - 1, p - 1, 0),
    ("allgather", "recursive_doubling"): lambda p: (rounds(p), p - 1, 0),
    ("allgather", "bruck"): lambda p: (rounds(p), p - 1, 0),
    ("alltoall", "pairwise"): lambda p: (p - 1, p - 1, 0),
    ("alltoall", "ring"): lambda p: (p - 1, p - 1, 0),
    ("alltoall", "bruck"): lambda p: (rounds(p), rounds(p) * p / 2, 0),
    ("gather", "binomial"): lambda p: (rounds(p), p - 1, 0),
    ("scatter", "binomial"): lambda p: (rounds(p), p - 1, 0),
    ("barrier", "dissemination"): lambda p: (rounds(p), 0, 0),
}
"""(Operation, algorithm) -> function of the number of ranks that gives the messages, the sizes sent
and the sizes reduced on the critical path. Exact if the number of ranks is a power of two."""


def closed_s(
    operation: str,
    algorithm: str,
    ranks: int,
    size: float,
    alpha_s: float,
    beta_s: float,
    reduce_s_per_byte: float = 0.0,
) -> float:
    """Return the time of a collective by its formula, in seconds.

    Parameters
    ----------
    operation, algorithm : str
        As in :data:`tasksim.network.collectives.registry.ALGORITHMS`.
    ranks : int
        Number of ranks.
    size : float
        Bytes.
    alpha_s, beta_s : float
        Seconds per message, and per byte.
    reduce_s_per_byte : float, default 0
        Seconds to reduce a byte.

    Raises
    ------
    InputError
        If there is no formula; with the nearest name.

    Examples
    --------
    >>> closed_s("bcast", "binomial", 8, 1e6, 1e-5, 1e-9)
    0.00303
    """
    formula = FORMULAS.get((operation, algorithm))
    if formula is None:
        known = [" ".join(names) for names in FORMULAS]
        raise unknown("formula", f"{operation} {algorithm}", known)
    messages, sent, reduced = formula(ranks)
    return messages * alpha_s + size * (sent * beta_s + reduced * reduce_s_per_byte)
