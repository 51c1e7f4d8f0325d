"""Plans for tests of searches."""

from __future__ import annotations

import random

import numpy as np


def drawn_plan(problem, seed):
    """Return a random worker for each task, and a random order with predecessors first."""
    rng = random.Random(seed)
    edges = problem.edges
    waiting = np.diff(edges.target_ptr).tolist()
    ready = [task for task in range(problem.tasks) if not waiting[task]]
    order = []
    while ready:
        task = ready.pop(rng.randrange(len(ready)))
        order.append(task)
        for after in edges.target[edges.ptr[task] : edges.ptr[task + 1]].tolist():
            waiting[after] -= 1
            if not waiting[after]:
                ready.append(after)
    worker = [rng.randrange(problem.workers) for _ in range(problem.tasks)]
    return np.array(worker, np.int64), np.array(order, np.int64)
