"""Allgather, as messages between ranks."""

from __future__ import annotations

from tasksim.network.collectives.steps import RankSteps, Step, doubled, exchange, to_all

__all__ = ["bruck", "linear", "neighbours", "pairwise", "recursive_doubling", "ring"]


def linear(ranks: int, size: float) -> RankSteps:
    """Return the program in which all ranks send to all at once."""
    return [[Step(to_all(rank, ranks, size), to_all(rank, ranks, size))] for rank in range(ranks)]


def ring(ranks: int, size: float) -> RankSteps:
    """Return the program in which the data of each rank go round a ring."""
    return [
        [exchange((rank + 1) % ranks, (rank - 1) % ranks, size, size)] * (ranks - 1)
        for rank in range(ranks)
    ]


def recursive_doubling(ranks: int, size: float) -> RankSteps:
    """Return the program in which pairs exchange all that they have, for powers of two.

    For other numbers of ranks it is Bruck's.
    """
    if ranks & (ranks - 1):
        return bruck(ranks, size)

    def step(rank: int, distance: int) -> Step:
        return exchange(rank ^ distance, rank ^ distance, distance * size, distance * size)

    return doubled(ranks, step)


def bruck(ranks: int, size: float) -> RankSteps:
    """Return Bruck's program, in ceil(log2) rounds for any number of ranks."""

    def step(rank: int, distance: int) -> Step:
        known = min(distance, ranks - distance) * size
        return exchange((rank - distance) % ranks, (rank + distance) % ranks, known, known)

    return doubled(ranks, step)


def pairwise(ranks: int, size: float) -> RankSteps:
    """Return the program in which each rank exchanges its data with one other at a time."""
    if ranks & (ranks - 1):
        return ring(ranks, size)
    return [
        [exchange(rank ^ hop, rank ^ hop, size, size) for hop in range(1, ranks)]
        for rank in range(ranks)
    ]


def neighbours(ranks: int, size: float) -> RankSteps:
    """Return the program in which neighbours to the left and right exchange the newest pairs.

    For odd numbers of ranks it is a ring.
    """
    if ranks % 2:
        return ring(ranks, size)
    program: RankSteps = []
    for rank in range(ranks):
        sides = ((rank + 1) % ranks, (rank - 1) % ranks)
        sides = sides if rank % 2 == 0 else sides[::-1]
        steps = [exchange(sides[0], sides[0], size, size)]
        for turn in range(1, ranks // 2):
            steps.append(exchange(sides[turn % 2], sides[turn % 2], 2 * size, 2 * size))
        program.append(steps)
    return program
