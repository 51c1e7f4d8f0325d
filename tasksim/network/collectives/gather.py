"""Gather to rank 0, as messages between ranks."""

from __future__ import annotations

from tasksim.network.collectives.steps import (
    RankSteps,
    Step,
    in_tree,
    receive,
    send,
    subtree,
    to_all,
)

__all__ = ["binomial", "in_turns", "linear", "one_by_one"]

LARGE, LARGE_BEGIN, SMALL_BEGIN = 92160.0, 32768.0, 1024.0
"""Threshold in bytes, and sizes of the first part above and below it, as in Open MPI's module
tuned."""


def linear(ranks: int, size: float) -> RankSteps:
    """Return the program in which all ranks send to rank 0 at once."""
    received = Step(receives=to_all(0, ranks, size))
    return [[received], *([send(0, size)] for _ in range(1, ranks))]


def binomial(ranks: int, size: float) -> RankSteps:
    """Return the program along a binomial tree: ranks forward the data of their subtrees."""
    program: RankSteps = []
    for rank in range(ranks):
        parent, children = in_tree(rank, ranks)
        sent = [send(parent, size * subtree(rank, ranks))] if rank else []
        received = [receive(child, size * subtree(child, ranks)) for child in children]
        program.append(received + sent)
    return program


def one_by_one(ranks: int, size: float) -> RankSteps:
    """Return the program in which rank 0 receives from one rank after the other."""
    received = [receive(rank, size) for rank in range(1, ranks)]
    return [received, *([send(0, size)] for _ in range(1, ranks))]


def in_turns(ranks: int, size: float) -> RankSteps:
    """Return the program in which rank 0 gets a first part of each rank, then the rest at once."""
    begins = min(size, LARGE_BEGIN if size > LARGE else SMALL_BEGIN)
    root: list[Step] = []
    for rank in range(1, ranks):
        asked = Step(((rank, 0.0),), ahead=((rank, begins),))
        root += [asked, Step(ahead=((rank, size - begins),)), Step(awaited=(2 * rank - 2,))]
    root.append(Step(awaited=tuple(range(1, 2 * ranks - 2, 2))))
    others = [receive(0, 0.0), send(0, begins), send(0, size - begins)]
    return [root, *(others for _ in range(1, ranks))]
