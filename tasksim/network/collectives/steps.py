"""Steps of the ranks of a collective, in the order of each rank.

A rank posts all sends and receives of a step, waits until they are over, reduces the received
data, and continues. Only messages synchronise ranks.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

__all__ = ["Program", "Step", "exchange", "joined", "receive", "send", "to_all"]


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


Program: TypeAlias = list[list[Step]]
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


def joined(*programs: Program) -> Program:
    """Return the *programs* one after the other, rank by rank."""
    program: Program = []
    for parts in zip(*programs, strict=True):
        steps: list[Step] = []
        ahead = 0
        for part in parts:
            steps += [s._replace(awaited=tuple(ahead + n for n in s.awaited)) for s in part]
            ahead += sum(len(step.ahead) for step in part)
        program.append(steps)
    return program
