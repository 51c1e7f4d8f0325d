"""Steps: what the ranks of a collective do, one after the other, each for itself.

A rank posts all sends and receives of a step, waits until they are over, reduces what it has
received, and goes on. Nothing but messages keeps ranks together.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

__all__ = ["Program", "Step", "exchange", "joined", "receive", "send", "to_all"]


class Step(NamedTuple):
    """What is posted together: peers and bytes."""

    sends: tuple[tuple[int, float], ...] = ()
    receives: tuple[tuple[int, float], ...] = ()
    reduced_bytes: float = 0.0
    """What is reduced when all has come."""


Program: TypeAlias = list[list[Step]]
"""The steps of each rank."""


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
    return [[step for part in parts for step in part] for parts in zip(*programs, strict=True)]
