"""Barrier, as messages between ranks."""

from __future__ import annotations

from tasksim.network.collectives import allgather, broadcast, reduce
from tasksim.network.collectives.steps import (
    RankSteps,
    Step,
    doubled,
    exchange,
    joined,
    receive,
    send,
    to_all,
)

__all__ = ["dissemination", "linear", "recursive_doubling", "tree"]


def linear(ranks: int, _size: float = 0.0) -> RankSteps:
    """Return the program in which all ranks notify rank 0, which then notifies all."""
    first = [Step(receives=to_all(0, ranks, 0.0)), Step(sends=to_all(0, ranks, 0.0))]
    return [first, *([send(0, 0.0), receive(0, 0.0)] for _ in range(1, ranks))]


def dissemination(ranks: int, _size: float = 0.0) -> RankSteps:
    """Return the program in which ranks notify those ahead, doubling the distance each time."""

    def step(rank: int, distance: int) -> Step:
        return exchange((rank + distance) % ranks, (rank - distance) % ranks, 0.0, 0.0)

    return doubled(ranks, step)


def recursive_doubling(ranks: int, _size: float = 0.0) -> RankSteps:
    """Return the program in which pairs meet, doubling the distance each time."""
    many = reduce.power_below(ranks)
    program = allgather.recursive_doubling(many, 0.0)
    for rank in range(many, ranks):
        first = program[rank - many]
        program[rank - many] = [receive(rank, 0.0), *first, send(rank, 0.0)]
        program.append([send(rank - many, 0.0), receive(rank - many, 0.0)])
    return program


def tree(ranks: int, _size: float = 0.0) -> RankSteps:
    """Return the program up a binomial tree and down again."""
    return joined(reduce.binomial(ranks, 0.0), broadcast.binomial(ranks, 0.0))
