"""Octrees (quadtrees in 2-D) of particles, for task graphs of N-body methods.

:mod:`~tasksim.graph.octree.particles` draws particles in the unit box,
:mod:`~tasksim.graph.octree.morton` numbers the cells along the Morton curve,
:mod:`~tasksim.graph.octree.tree` keeps the cells that hold particles, level by level, and
:mod:`~tasksim.graph.octree.interactions` finds which of them interact.
"""
