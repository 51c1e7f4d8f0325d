"""Barrier: nobody goes on before all have come."""

from __future__ import annotations

from tasksim.network.collectives.steps import Program, Step, exchange, receive, send, to_all

__all__ = ["dissemination", "linear"]


def linear(ranks: int, _size: float = 0.0) -> Program:
    """Return the program in which all tell rank 0, and it tells all."""
    first = [Step(receives=to_all(0, ranks, 0.0)), Step(sends=to_all(0, ranks, 0.0))]
    return [first, *([send(0, 0.0), receive(0, 0.0)] for _ in range(1, ranks))]


def dissemination(ranks: int, _size: float = 0.0) -> Program:
    """Return the program in which all tell those ahead, at twice the distance each time."""
    program: Program = [[] for _ in range(ranks)]
    distance = 1
    while distance < ranks:
        for rank, steps in enumerate(program):
            peers = (rank + distance) % ranks, (rank - distance) % ranks
            steps.append(exchange(*peers, 0.0, 0.0))
        distance *= 2
    return program
