"""Barrier, as messages between ranks."""

from __future__ import annotations

from tasksim.network.collectives import broadcast, reduce
from tasksim.network.collectives.steps import Program, Step, exchange, joined, receive, send, to_all

__all__ = ["dissemination", "linear", "recursive_doubling", "tree"]


def linear(ranks: int, _size: float = 0.0) -> Program:
    """Return the program in which all ranks notify rank 0, which then notifies all."""
    first = [Step(receives=to_all(0, ranks, 0.0)), Step(sends=to_all(0, ranks, 0.0))]
    return [first, *([send(0, 0.0), receive(0, 0.0)] for _ in range(1, ranks))]


def dissemination(ranks: int, _size: float = 0.0) -> Program:
    """Return the program in which ranks notify those ahead, doubling the distance each time."""
    program: Program = [[] for _ in range(ranks)]
    distance = 1
    while distance < ranks:
        for rank, steps in enumerate(program):
            peers = (rank + distance) % ranks, (rank - distance) % ranks
            steps.append(exchange(*peers, 0.0, 0.0))
        distance *= 2
    return program


def recursive_doubling(ranks: int, _size: float = 0.0) -> Program:
    """Return the program in which pairs meet, doubling the distance each time."""
    many = reduce.power_below(ranks)
    program: Program = [[] for _ in range(ranks)]
    for rank in range(many, ranks):
        program[rank].append(send(rank - many, 0.0))
        program[rank - many].append(receive(rank, 0.0))
    distance = 1
    while distance < many:
        for rank in range(many):
            program[rank].append(exchange(rank ^ distance, rank ^ distance, 0.0, 0.0))
        distance *= 2
    for rank in range(many, ranks):
        program[rank - many].append(send(rank, 0.0))
        program[rank].append(receive(rank - many, 0.0))
    return program


def tree(ranks: int, _size: float = 0.0) -> Program:
    """Return the program up a binomial tree and down again."""
    return joined(reduce.binomial(ranks, 0.0), broadcast.binomial(ranks, 0.0))
