"""Allreduce, as messages between ranks."""

from __future__ import annotations

from tasksim.network.collectives import broadcast, reduce
from tasksim.network.collectives.allgather import recursive_doubling as recursive_gather
from tasksim.network.collectives.reduce import folded, halving, power_below
from tasksim.network.collectives.steps import RankSteps, Step, doubled, exchange, joined

__all__ = ["rabenseifner", "recursive_doubling", "reduce_broadcast", "ring"]


def reduce_broadcast(ranks: int, size: float) -> RankSteps:
    """Return the program of a linear reduce and a binomial broadcast."""
    return joined(reduce.linear(ranks, size), broadcast.binomial(ranks, size))


def recursive_doubling(ranks: int, size: float) -> RankSteps:
    """Return the program in which pairs exchange all data, doubling the distance each time."""
    many = power_below(ranks)

    def step(rank: int, distance: int) -> Step:
        return exchange(rank ^ distance, rank ^ distance, size, size, size)

    inner = doubled(many, step)
    return folded(ranks, size, inner, back=True)


def rabenseifner(ranks: int, size: float) -> RankSteps:
    """Return the program of a reduce-scatter by halving and an allgather by doubling."""
    many = power_below(ranks)
    inner = joined(halving(many, size), recursive_gather(many, size / many))
    return folded(ranks, size, inner, back=True)


def ring(ranks: int, size: float) -> RankSteps:
    """Return the program in which parts go round twice, for the sums and to distribute them."""
    block = size / ranks
    program: RankSteps = []
    for rank in range(ranks):
        ahead, behind = (rank + 1) % ranks, (rank - 1) % ranks
        adding = exchange(ahead, behind, block, block, block)
        telling = exchange(ahead, behind, block, block)
        program.append([adding] * (ranks - 1) + [telling] * (ranks - 1))
    return program
