"""Gather: rank 0 gets what each of the others has."""

from __future__ import annotations

from tasksim.network.collectives.steps import Program, Step, receive, send, to_all

__all__ = ["binomial", "linear"]


def linear(ranks: int, size: float) -> Program:
    """Return the program in which all send to rank 0 at once."""
    received = Step(receives=to_all(0, ranks, size))
    return [[received], *([send(0, size)] for _ in range(1, ranks))]


def binomial(ranks: int, size: float) -> Program:
    """Return the program along a binomial tree: each hands on what has come to it."""
    return [_in_tree(rank, ranks, size) for rank in range(ranks)]


def _in_tree(rank: int, ranks: int, size: float) -> list[Step]:
    steps: list[Step] = []
    distance = 1
    while distance < ranks:
        if rank & distance:
            steps.append(send(rank - distance, size * (min(rank + distance, ranks) - rank)))
            break
        if rank + distance < ranks:
            below = min(rank + 2 * distance, ranks) - (rank + distance)
            steps.append(receive(rank + distance, size * below))
        distance *= 2
    return steps
