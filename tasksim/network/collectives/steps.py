"""Steps of the ranks of a collective, in the order of each rank.

A rank posts all sends and receives of a step, waits until they are over, reduces the received
data, and continues. Only messages synchronise ranks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "RankSteps",
    "Step",
    "doubled",
    "doubling",
    "exchange",
    "in_tree",
    "joined",
    "receive",
    "send",
    "subtree",
    "to_all",
]


class Step(NamedTuple):
    """Messages that are posted together, by peers and bytes."""

    sends: tuple[tuple[int, float], ...] = ()
    receives: tuple[tuple[int, float], ...] = ()
    reduced_bytes: float = 0.0
    """Size of the reduction once all messages have arrived."""
    ahead: tuple[tuple[int, float], ...] = ()
    """Receives posted ahead, which only a later step waits for."""
    awaited: tuple[int, ...] = ()
    """Numbers, within the program, of the receives posted ahead that this step waits for."""


RankSteps: TypeAlias = list[list[Step]]
"""Steps of each rank."""


def send(peer: int, size: float) -> Step:
    """Return the step of a blocking send."""
    return Step(sends=((peer, size),))


def receive(peer: int, size: float, reduced: float = 0.0) -> Step:
    """Return the step of a blocking receive."""
    return Step(receives=((peer, size),), reduced_bytes=reduced)


def exchange(target: int, source: int, size: float, back: float, reduced: float = 0.0) -> Step:
    """Return the step that sends *size* to *target* and receives *back* from *source*."""
    return Step(((target, size),), ((source, back),), reduced)


def to_all(rank: int, ranks: int, size: float) -> tuple[tuple[int, float], ...]:
    """Return the messages of one *rank* with all others, in their order."""
    return tuple((other, size) for other in range(ranks) if other != rank)


def doubling(ranks: int) -> list[int]:
    """Return the distances 1, 2, 4, ... below a number of *ranks*.

    >>> doubling(8), doubling(9)
    ([1, 2, 4], [1, 2, 4, 8])
    """
    return [1 << power for power in range((ranks - 1).bit_length())]


def doubled(ranks: int, step: Callable[[int, int], Step]) -> RankSteps:
    """Return the program with a *step* of each rank, the first argument, for each distance."""
    return [[step(rank, distance) for distance in doubling(ranks)] for rank in range(ranks)]


def in_tree(rank: int, ranks: int) -> tuple[int, list[int]]:
    """Return the parent of a *rank* in the binomial tree of rank 0, and its children.

    The nearest child comes first; the parent of rank 0 is itself.

    >>> in_tree(4, 8), in_tree(0, 6)
    ((0, [5, 6]), (0, [1, 2, 4]))
    """
    lowest = rank & -rank or ranks
    children = [rank + distance for distance in doubling(lowest) if rank + distance < ranks]
    return rank & (rank - 1), children


def subtree(child: int, ranks: int) -> int:
    """Return the number of ranks in the subtree of a *child* in the binomial tree of rank 0."""
    return min(child + (child & -child), ranks) - child


def joined(*programs: RankSteps) -> RankSteps:
    """Return the *programs* one after the other, rank by rank."""
    program: RankSteps = []
    for parts in zip(*programs, strict=True):
        steps: list[Step] = []
        ahead = 0
        for part in parts:
            steps += [s._replace(awaited=tuple(ahead + n for n in s.awaited)) for s in part]
            ahead += sum(len(step.ahead) for step in part)
        program.append(steps)
    return program
