"""Ranks of tasks: upward ranks, downward ranks and the optimistic cost table."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from tasksim.graph.csr import Int64
    from tasksim.schedulers.static.problem import Problem

__all__ = ["by_rank", "downward_ranks", "equal", "optimistic_costs", "upward_ranks"]

RELATIVE_RANK_TOLERANCE = 1e-10
"""Difference of equal ranks, relative to the largest rank: sums of means have rounding errors."""


def upward_ranks(problem: Problem) -> NDArray[np.float64]:
    """Return, per task, the length of the longest path from its start to the end, in seconds.

    Durations are means over workers and communication times are means over pairs of workers
    (H. Topcuoglu, S. Hariri, M.-Y. Wu, IEEE TPDS 13(3), 2002, equations 7 and 8).
    """
    rank: list[float] = problem.mean_costs_s.tolist()
    communication: list[float] = problem.mean_communication_s().tolist()
    target: list[int] = problem.edges.target.tolist()
    bounds = list(pairwise(problem.edges.ptr.tolist()))
    for task in range(len(rank) - 1, -1, -1):
        begin, end = bounds[task]
        if begin < end:
            rank[task] += max([communication[k] + rank[target[k]] for k in range(begin, end)])
    return np.array(rank, dtype=np.float64)


def downward_ranks(problem: Problem) -> NDArray[np.float64]:
    """Return, per task, the length of the longest path from the beginning to its start, in seconds.

    Means are those of :func:`upward_ranks` (same paper, equation 9).
    """
    mean: list[float] = problem.mean_costs_s.tolist()
    communication: list[float] = problem.mean_communication_s().tolist()
    rank = [0.0] * len(mean)
    target: list[int] = problem.edges.target.tolist()
    for task, (begin, end) in enumerate(pairwise(problem.edges.ptr.tolist())):
        done = rank[task] + mean[task]
        for k in range(begin, end):
            rank[target[k]] = max(rank[target[k]], done + communication[k])
    return np.array(rank, dtype=np.float64)


def optimistic_costs(problem: Problem) -> NDArray[np.float64]:
    """Return the optimistic cost table: an optimistic time that must follow each task.

    Entry (task, class) is for a task on a worker of the class. It is the maximum over the task's
    successors of the least time from the end of the task to the end of the graph, if every task
    could choose its worker freely. Communication takes its mean time, and no time within one
    memory (H. Arabnejad, J. G. Barbosa, "List scheduling algorithm for heterogeneous systems by an
    optimistic cost table", IEEE TPDS 25(3), 2014, equation 6).

    Returns
    -------
    ndarray, shape (tasks, classes)
        Times in seconds; zero for tasks without successors.
    """
    classes = problem.costs_s.shape[1]
    table = np.zeros((problem.tasks, classes))
    onward = problem.costs_s.copy()
    communication = problem.mean_communication_s(apart=True)[:, None]
    target = problem.edges.target
    bounds = list(pairwise(problem.edges.ptr.tolist()))
    least_near = _least_within_memories(problem)
    for task in range(problem.tasks - 1, -1, -1):
        begin, end = bounds[task]
        if begin < end:
            after = onward[target[begin:end]]
            far = after.min(axis=1, keepdims=True) + communication[begin:end]
            table[task] = np.minimum(least_near(after), far).max(axis=0)
            onward[task] += table[task]
    return table


def by_rank(ranks: ArrayLike) -> list[int]:
    """Return the tasks by falling rank, and ties in order of number.

    Ranks are compared with a tolerance: sums of means that are equal on paper differ in their last
    digits, and chance would decide ties such as tasks 3 and 4 in the example of the HEFT paper,
    both of rank 80.

    >>> by_rank([1.0, 0.1 + 0.2, 0.3, 1.0])
    [0, 3, 1, 2]
    """
    values = np.asarray(ranks, dtype=np.float64)
    falling = np.argsort(-values, kind="stable")
    steps = -np.diff(values[falling], prepend=values[falling[:1]])
    group = np.cumsum(steps > _tolerance(values))
    order: list[int] = falling[np.lexsort((falling, group))].tolist()
    return order


def equal(ranks: NDArray[np.float64], value: float) -> NDArray[np.bool_]:
    """Return a mask of the *ranks* that equal *value* within the tolerance."""
    return np.abs(ranks - value) <= _tolerance(ranks)


def _tolerance(ranks: NDArray[np.float64]) -> float:
    return RELATIVE_RANK_TOLERANCE * float(np.abs(ranks).max(initial=0.0))


def _least_within_memories(
    problem: Problem,
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Return a function that replaces the column of each class by the minimum in its memory."""
    classes: Int64 = np.arange(problem.costs_s.shape[1])
    memory = np.zeros(len(classes), dtype=np.int64)
    memory[problem.class_of] = problem.memory_of
    if len(np.unique(memory)) == len(classes):
        return lambda table: table
    order = np.argsort(memory, kind="stable")
    _, starts, back = np.unique(memory, return_index=True, return_inverse=True)
    first = np.searchsorted(memory[order], memory[starts])

    def least(table: NDArray[np.float64]) -> NDArray[np.float64]:
        reduced: NDArray[np.float64] = np.minimum.reduceat(table[:, order], first, axis=1)
        return reduced[:, back]

    return least
