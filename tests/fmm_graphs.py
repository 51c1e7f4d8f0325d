"""Task graphs of the fast multipole method in tests: small trees, tasks of a kernel."""

from __future__ import annotations

import numpy as np

from tasksim.graph.octree.tree import tree_of_counts


def tree_of(dimension, height, particles):
    """Return the tree of leaves given as Morton index -> particles."""
    leaves = np.array(sorted(particles), dtype=np.int64)
    counts = np.array([particles[leaf] for leaf in leaves.tolist()], dtype=np.int64)
    return tree_of_counts(dimension, height, leaves, counts)


def tasks_of(graph, kernel):
    return [task for task in range(len(graph)) if graph.kernel_of(task) == kernel]
