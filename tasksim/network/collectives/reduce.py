"""Reduction to rank 0, as messages between ranks."""

from __future__ import annotations

from tasksim.network.collectives.gather import binomial as gather_binomial
from tasksim.network.collectives.steps import (
    RankSteps,
    Step,
    doubled,
    exchange,
    in_tree,
    joined,
    receive,
    send,
    to_all,
)  # fmt: skip

__all__ = ["binomial", "linear", "one_by_one", "scatter_gather"]


def linear(ranks: int, size: float) -> RankSteps:
    """Return the program in which all ranks send to rank 0 at once."""
    received = Step(receives=to_all(0, ranks, size), reduced_bytes=(ranks - 1) * size)
    return [[received], *([send(0, size)] for _ in range(1, ranks))]


def one_by_one(ranks: int, size: float) -> RankSteps:
    """Return the program in which rank 0 receives from one rank after the other, the last first."""
    received = [receive(rank, size, size) for rank in range(ranks - 1, 0, -1)]
    return [received, *([send(0, size)] for _ in range(1, ranks))]


def binomial(ranks: int, size: float) -> RankSteps:
    """Return the program along a binomial tree, the nearest rank first."""
    program: RankSteps = []
    for rank in range(ranks):
        parent, children = in_tree(rank, ranks)
        sent = [send(parent, size)] if rank else []
        program.append([receive(child, size, size) for child in children] + sent)
    return program


def halving(ranks: int, size: float) -> RankSteps:
    """Return the program of a reduce-scatter by halves, quarters and so on, for powers of two."""

    def step(rank: int, distance: int) -> Step:
        part = size * distance / ranks
        return exchange(rank ^ distance, rank ^ distance, part, part, part)

    return [steps[::-1] for steps in doubled(ranks, step)]


def folded(ranks: int, size: float, inner: RankSteps, *, back: bool) -> RankSteps:
    """Return *inner*, a program for powers of two, extended to any number of ranks.

    Among the first ranks, two for each excess rank, the even ones send their data to the odd ones,
    and get the result *back* at the end, if they need it.
    """
    many = len(inner)
    rest = ranks - many
    place = [2 * n + 1 if n < rest else n + rest for n in range(many)]
    program: RankSteps = [[] for _ in range(ranks)]
    for even in range(0, 2 * rest, 2):
        program[even].append(send(even + 1, size))
        program[even + 1].append(receive(even, size, size))
    for number, steps in enumerate(inner):
        program[place[number]] += [
            Step(
                tuple((place[peer], s) for peer, s in step.sends),
                tuple((place[peer], s) for peer, s in step.receives),
                step.reduced_bytes,
            )
            for step in steps
        ]
    if back:
        for even in range(0, 2 * rest, 2):
            program[even].append(receive(even + 1, size))
            program[even + 1].append(send(even, size))
    return program


def power_below(ranks: int) -> int:
    """Return the largest power of two that is at most *ranks*."""
    return 1 << (ranks.bit_length() - 1)


def scatter_gather(ranks: int, size: float) -> RankSteps:
    """Return the program that reduces parts at all ranks and gathers them (Rabenseifner)."""
    many = power_below(ranks)
    inner = joined(halving(many, size), gather_binomial(many, size / many))
    if many == ranks:
        return inner
    program = folded(ranks, size, inner, back=False)
    program[1].append(send(0, size))
    program[0].append(receive(1, size))
    return program
