"""Broadcast from rank 0, as messages between ranks."""

from __future__ import annotations

from math import ceil

from tasksim.network.collectives.steps import Program, Step, exchange, receive, send, to_all

__all__ = ["binomial", "chain", "linear", "scatter_ring"]


def linear(ranks: int, size: float) -> Program:
    """Return the program in which rank 0 sends to all at once."""
    return [[Step(sends=to_all(0, ranks, size))], *([receive(0, size)] for _ in range(1, ranks))]


def binomial(ranks: int, size: float) -> Program:
    """Return the program along a binomial tree, the farthest rank first."""
    return [_in_tree(rank, ranks, size) for rank in range(ranks)]


def _in_tree(rank: int, ranks: int, size: float) -> list[Step]:
    steps: list[Step] = []
    distance = 1
    while distance < ranks:
        if rank & distance:
            steps.append(receive(rank - distance, size))
            break
        distance *= 2
    distance //= 2
    while distance:
        if rank + distance < ranks:
            steps.append(send(rank + distance, size))
        distance //= 2
    return steps


def chain(ranks: int, size: float, segments: int = 1) -> Program:
    """Return the program in which each rank forwards pieces to the next."""
    piece = size / segments
    program: Program = [[send(1, piece)] * segments if ranks > 1 else []]
    for rank in range(1, ranks):
        last = rank == ranks - 1
        middle = [exchange(rank + 1, rank - 1, piece, piece)] * (segments - 1)
        handed = [receive(rank - 1, piece), *middle, send(rank + 1, piece)]
        program.append([receive(rank - 1, piece)] * segments if last else handed)
    return program


def scatter_ring(ranks: int, size: float) -> Program:
    """Return the program that scatters along a tree and gathers along a ring (van de Geijn)."""
    block = size / ranks
    program = [scattered(rank, ranks, block) for rank in range(ranks)]
    for rank, steps in enumerate(program):
        ahead, behind = (rank + 1) % ranks, (rank - 1) % ranks
        steps += [exchange(ahead, behind, block, block)] * (ranks - 1)
    return program


def scattered(rank: int, ranks: int, block: float) -> list[Step]:
    """Return the steps in which each *rank* gets the blocks of its subtree."""
    steps: list[Step] = []
    distance = 1
    while distance < ranks and not rank & distance:
        distance *= 2
    if rank:
        steps.append(receive(rank - distance, block * (min(rank + distance, ranks) - rank)))
    distance //= 2
    while distance:
        if rank + distance < ranks:
            below = min(rank + 2 * distance, ranks) - (rank + distance)
            steps.append(send(rank + distance, block * below))
        distance //= 2
    return steps


def best_segments(ranks: int, size: float, alpha_s: float, beta_s: float) -> int:
    """Return the best number of pieces of *size* bytes in a chain, by Hockney's model.

    >>> best_segments(10, 1e6, 1e-5, 1e-9)
    28
    """
    best = ((ranks - 2) * beta_s * size / alpha_s) ** 0.5 if alpha_s and ranks > 2 else 1.0
    return max(1, ceil(best - 0.5))
