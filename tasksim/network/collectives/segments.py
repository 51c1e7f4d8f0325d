"""Segmented broadcasts and reductions along trees, as in Open MPI."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from tasksim.network.collectives.broadcast import scattered
from tasksim.network.collectives.steps import RankSteps, Step, exchange, receive, send

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "binary",
    "binary_reduce",
    "chain_reduce",
    "four_nomial",
    "pipeline",
    "pipeline_reduce",
    "scatter_doubling",
    "segmented_binomial",
    "segmented_chain",
]

ChildrenByRank = list[list[int]]
"""Children of each rank, in the order of its messages."""

SEGMENT_BYTES: Final = 8192.0
"""Size of a segment of :func:`segmented_chain` and :func:`binary`, in bytes."""


def pieces(size: float, segment: float) -> list[float]:
    """Return the bytes of each piece; the last one may be smaller."""
    if not 0 < segment < size:
        return [size]
    whole = int(size // segment)
    rest = size - whole * segment
    return [segment] * whole + ([rest] if rest else [])


def segmented_chain(ranks: int, size: float) -> RankSteps:
    """Return the broadcast along a chain, with receives for all pieces from the beginning."""
    return _handed_on(_chain(ranks), pieces(size, SEGMENT_BYTES))


def binary(ranks: int, size: float) -> RankSteps:
    """Return the broadcast along a binary tree, with receives for all pieces from the beginning."""
    tree = [[c for c in (2 * k + 1, 2 * k + 2) if c < ranks] for k in range(ranks)]
    return _handed_on(tree, pieces(size, SEGMENT_BYTES))


def pipeline(ranks: int, size: float) -> RankSteps:
    """Return the broadcast along a chain, which receives the next piece while it forwards one."""
    # Linear fits of Open MPI's module tuned: ranks up to which pieces have a size.
    segment = 128.0 * 1024
    for most, factor, offset in ((128, 1.6134e-6, 2.1102), (64, 2.3679e-6, 1.1787),
                                 (16, 3.2118e-6, 8.7936)):  # fmt: skip
        if ranks < factor * size + offset:
            segment = most * 1024.0
            break
    cut = pieces(size, segment)
    program: RankSteps = [[send(1, piece) for piece in cut] if ranks > 1 else []]
    for rank in range(1, ranks):
        if rank == ranks - 1:
            program.append([receive(rank - 1, piece) for piece in cut])
            continue
        middle = [exchange(rank + 1, rank - 1, *both) for both in pairwise(cut)]
        program.append([receive(rank - 1, cut[0]), *middle, send(rank + 1, cut[-1])])
    return program


def four_nomial(ranks: int, size: float) -> RankSteps:
    """Return the broadcast along a tree in which each rank sends to three of each level at once."""
    program: RankSteps = []
    for rank in range(ranks):
        distance, steps = 1, []
        while distance < ranks and not rank % (4 * distance):
            distance *= 4
        if rank:
            steps.append(receive(rank // (4 * distance) * (4 * distance), size))
        distance //= 4
        while distance:
            to = [rank + distance * k for k in (1, 2, 3) if rank + distance * k < ranks]
            if to:
                steps.append(Step(sends=tuple((peer, size) for peer in to)))
            distance //= 4
        program.append(steps)
    return program


def scatter_doubling(ranks: int, size: float) -> RankSteps:
    """Return the broadcast that scatters along a tree and gathers by recursive doubling."""
    from tasksim.network.collectives.allgather import recursive_doubling

    block = size / ranks
    gathered = recursive_doubling(ranks, block)
    return [scattered(rank, ranks, block) + gathered[rank] for rank in range(ranks)]


def binary_reduce(ranks: int, size: float) -> RankSteps:
    """Return the reduction along a binary tree, in pieces of 32 KiB."""
    return _added_up(_levels(ranks), pieces(size, 32.0 * 1024))


def pipeline_reduce(ranks: int, size: float) -> RankSteps:
    """Return the reduction along a chain, in pieces of 1, 32 or 64 KiB."""
    segment = 64.0
    if ranks > 0.0410 / 1024 * size + 9.7128:
        segment = 1.0
    elif ranks > 0.0033 / 1024 * size + 1.6761:
        segment = 32.0
    return _added_up(_chain(ranks), pieces(size, segment * 1024))


def chain_reduce(ranks: int, size: float) -> RankSteps:
    """Return the reduction along chains, half as many as ranks, in pieces of 64 KiB."""
    chains = min(max(1, ranks // 2), ranks - 1)
    longest, more = -(-(ranks - 1) // chains), (ranks - 1) % chains or chains
    tree: ChildrenByRank = [[] for _ in range(ranks)]
    first = 1
    for number in range(chains):
        length = longest if number < more else longest - 1
        tree[0].append(first)
        for rank in range(first, first + length - 1):
            tree[rank].append(rank + 1)
        first += length
    return _added_up(tree, pieces(size, 64.0 * 1024))


def segmented_binomial(ranks: int, size: float) -> RankSteps:
    """Return the reduction along a binomial tree, in pieces of 1 KiB for many ranks."""
    tree: ChildrenByRank = [[] for _ in range(ranks)]
    for rank in range(1, ranks):
        tree[rank & (rank - 1)].append(rank)
    small = size < 2048 or (ranks < 8 and size < 20480)
    segment = 1024.0 if not small and ranks > 0.6016 / 1024 * size + 1.3496 else 0.0
    return _added_up(tree, pieces(size, segment))


def _chain(ranks: int) -> ChildrenByRank:
    return [[rank + 1] if rank + 1 < ranks else [] for rank in range(ranks)]


def _levels(ranks: int) -> ChildrenByRank:
    """Return a binary tree in which the children of a rank are a level's size apart."""
    tree: ChildrenByRank = [[] for _ in range(ranks)]
    for rank in range(ranks):
        on_level = 1 << ((rank + 1).bit_length() - 1)
        tree[rank] = [c for c in (rank + on_level, rank + 2 * on_level) if c < ranks]
    return tree


def _parents(tree: ChildrenByRank) -> list[int]:
    parents = [-1] * len(tree)
    for rank, children in enumerate(tree):
        for child in children:
            parents[child] = rank
    return parents


def _handed_on(tree: ChildrenByRank, cut: Sequence[float]) -> RankSteps:
    """Return the broadcast in which a rank posts all receives, and forwards pieces on arrival."""
    program: RankSteps = []
    for children, parent in zip(tree, _parents(tree), strict=True):
        if parent < 0 and len(cut) > 1:  # all pieces at once, to one child after the other
            to = tuple((child, piece) for piece in cut for child in children)
            program.append([Step(sends=to)])
            continue
        steps: list[Step] = []
        if parent >= 0:
            steps.append(Step(ahead=tuple((parent, piece) for piece in cut)))
        for number, piece in enumerate(cut):
            if parent >= 0:
                steps.append(Step(awaited=(number,)))
            steps += [send(child, piece) for child in children]
        program.append(steps)
    return program


def _added_up(tree: ChildrenByRank, cut: Sequence[float]) -> RankSteps:
    """Return the reduction in which a rank receives a piece while it adds and forwards one."""
    program: RankSteps = []
    for children, parent in zip(tree, _parents(tree), strict=True):
        if not children:
            program.append([send(parent, piece) for piece in cut] if parent >= 0 else [])
            continue
        steps: list[Step] = []
        expected = [(child, number) for number in range(len(cut)) for child in children]
        for place, (child, number) in enumerate(expected):
            steps.append(Step(ahead=((child, cut[number]),)))
            if place:
                steps.append(_added(expected[place - 1], place - 1, cut))
            if number and child == children[0] and parent >= 0:
                steps.append(send(parent, cut[number - 1]))
        steps.append(_added(expected[-1], len(expected) - 1, cut))
        if parent >= 0:
            steps.append(send(parent, cut[-1]))
        program.append(steps)
    return program


def _added(expected: tuple[int, int], place: int, cut: Sequence[float]) -> Step:
    return Step(awaited=(place,), reduced_bytes=cut[expected[1]])
