"""Broadcast from rank 0, as messages between ranks."""

from __future__ import annotations

from tasksim.network.collectives.steps import (
    RankSteps,
    Step,
    exchange,
    in_tree,
    receive,
    send,
    subtree,
    to_all,
)

__all__ = ["binomial", "chain", "linear", "scatter_ring"]


def linear(ranks: int, size: float) -> RankSteps:
    """Return the program in which rank 0 sends to all at once."""
    return [[Step(sends=to_all(0, ranks, size))], *([receive(0, size)] for _ in range(1, ranks))]


def binomial(ranks: int, size: float) -> RankSteps:
    """Return the program along a binomial tree, the farthest rank first."""
    program: RankSteps = []
    for rank in range(ranks):
        parent, children = in_tree(rank, ranks)
        received = [receive(parent, size)] if rank else []
        program.append(received + [send(child, size) for child in reversed(children)])
    return program


def chain(ranks: int, size: float) -> RankSteps:
    """Return the program in which each rank forwards the data to the next."""
    between = [[receive(rank - 1, size), send(rank + 1, size)] for rank in range(1, ranks - 1)]
    return [[send(1, size)], *between, [receive(ranks - 2, size)]]


def scatter_ring(ranks: int, size: float) -> RankSteps:
    """Return the program that scatters along a tree and gathers along a ring (van de Geijn)."""
    block = size / ranks
    program = [scattered(rank, ranks, block) for rank in range(ranks)]
    for rank, steps in enumerate(program):
        ahead, behind = (rank + 1) % ranks, (rank - 1) % ranks
        steps += [exchange(ahead, behind, block, block)] * (ranks - 1)
    return program


def scattered(rank: int, ranks: int, block: float) -> list[Step]:
    """Return the steps in which each *rank* gets the blocks of its subtree."""
    parent, children = in_tree(rank, ranks)
    received = [receive(parent, block * subtree(rank, ranks))] if rank else []
    return received + [send(child, block * subtree(child, ranks)) for child in reversed(children)]
