"""Scatter from rank 0, as messages between ranks."""

from __future__ import annotations

from tasksim.network.collectives.broadcast import linear, scattered
from tasksim.network.collectives.steps import RankSteps, receive, send

__all__ = ["binomial", "binomial_near_first", "linear", "one_by_one"]


def binomial_near_first(ranks: int, size: float) -> RankSteps:
    """Return :func:`binomial` with the nearest rank served first, as by MPICH in SimGrid."""
    program = binomial(ranks, size)
    return [
        [step for step in steps if step.receives] + [step for step in steps[::-1] if step.sends]
        for steps in program
    ]


def binomial(ranks: int, size: float) -> RankSteps:
    """Return the program along a binomial tree, in which ranks get the data of their subtrees."""
    return [scattered(rank, ranks, size) for rank in range(ranks)]


def one_by_one(ranks: int, size: float) -> RankSteps:
    """Return the program in which rank 0 sends to one rank after the other."""
    sent = [send(rank, size) for rank in range(1, ranks)]
    return [sent, *([receive(0, size)] for _ in range(1, ranks))]
