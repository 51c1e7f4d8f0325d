"""The fast multipole method on groups of cells.

Particles are in the unit box, which is halved height - 1 times along every axis; level 0 is the
box, level height - 1 are the leaves. Only cells with particles exist. On every level,
``group_size`` consecutive cells in Morton order make a group, and it is groups that tasks work
on (E. Agullo, B. Bramas, O. Coulaud, M. Khannouz, L. Stanisic, "Task-based fast multipole method
for clusters of multicore processors", Inria research report 8970, 2017; the library ScalFMM).

Data, of each group of cells on the levels from 2: ``symb``, which cells there are; ``up``, their
multipole expansions; ``down``, their local expansions. Of each group of leaves: ``part_symb``,
positions and charges; ``part_down``, potentials and forces. They are at memory 0 at first.

=======  =====================================================  ===================================
kernel   one task per                                           accesses
=======  =====================================================  ===================================
P2P_out  two groups of leaves that touch                        R part_symb, C part_down, of both
P2P_in   group of leaves                                        R part_symb, C part_down
P2M      group of leaves                                        R symb, RW up, R part_symb
M2M      group of parents and group with children of theirs     R symb, C up, R symb, R up
M2L_in   group of a level                                       R symb, R up, C down
M2L_out  ordered pair of groups of a level that interact        R symb, C down, R symb, R up
L2L      as M2M                                                 R symb, R down, R symb, C down
L2P      group of leaves                                        R symb, R down, R part_symb,
                                                                C part_down
=======  =====================================================  ===================================

C is commutative: tasks may update the data in any order, one at a time. L2L to the leaves
has RW instead, as ScalFMM has unless told otherwise: they are then submitted before, and
ordered before, the M2L of the leaves, to which many tasks contribute.

Tasks are submitted in ScalFMM's order: P2P_out, P2P_in, P2M, M2M from the leaves up, M2L (in,
then out, level by level) on all levels but the leaves', L2L from level 2 down, M2L of the
leaves, L2P. Two groups that interact are found from the one of larger number: M2L_out comes
first with that one as its target, then with the other, and P2P_out has that one first.

The application's priorities are ScalFMM's for CPUs; from the most urgent: P2M; M2M, from the
leaves up; P2P_in; level by level from 2 on M2L_in, M2L_out, L2L (of the parents' level); P2P_out;
M2L_in, M2L_out of the leaves; L2P. L2P has priority 0.

A tree of height 1 or 2 has no level on which cells interact from afar: all its leaves touch, and
there are only P2P_in and P2P_out, as in ScalFMM.

Parameters of the tasks (E. Agullo, B. Bramas, O. Coulaud, L. Stanisic, S. Thibault, "Modeling
irregular kernels of task-based codes: illustration with the fast multipole method", Inria
research report 9036, 2017, and ScalFMM's models). A leading i marks the other group:
the children's for M2M and L2L, the source for M2L_out, the second for P2P_out.

NbCells, NbLeaves
    Cells of the group.
SizeInterval
    Morton indices from its first cell to its last, both included.
NbParticles
    Particles of the group.
Level
    Of the cells; of the parents, for M2M and L2L.
Order
    Nodes of the interpolation per axis, wherever there are expansions.
NbDiff, NbChildParent
    For M2M and L2L: parents with a child in the group of children; pairs of parent and child.
OutsideInteractionsSize
    Pairs of cells, one of each group: those of M2L_out one way, those of P2P_out once.
NbDiff0, NbDiff1
    Distinct cells among them of this and of the other group.
NbInteractions
    For M2L_in: ordered pairs of cells in the group that interact. For P2P_in: over all leaves
    of the group, the square of the particles, n_i², plus, over all ordered pairs of leaves that
    touch, n_i n_j (so that every pair of particles counts both ways, and each particle counts
    once with itself). For P2P_out: n_i n_j over its pairs of leaves, each once although the
    task serves both.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from tasksim.graph.apps.fmm_passes import KERNELS, Passes
from tasksim.graph.apps.parameters import AtLeast, AtMost, Count, Seed
from tasksim.graph.apps.registry import generator
from tasksim.graph.builder import GraphBuilder
from tasksim.graph.octree.tree import tree_of_distribution
from tasksim.graph.taskgraph import TaskGraph  # noqa: TC001 - read at run time

if TYPE_CHECKING:
    from tasksim.graph.octree.tree import CellTree

__all__ = ["fmm", "graph_of_tree"]

ParticleDistribution = Literal["cube", "ball", "sphere", "sphere-poles", "ellipsoid", "plummer"]
SpaceDimension = Annotated[int, AtLeast(2), AtMost(3)]
# Double precision is exhausted at half of this.
Order = Annotated[int, AtLeast(1), AtMost(32)]


@generator("fmm")
def fmm(
    particles: Count,
    height: Count,
    group_size: Count,
    distribution: ParticleDistribution = "cube",
    order: Order = 5,
    dimension: SpaceDimension = 3,
    seed: Seed = 0,
) -> TaskGraph:
    """Fast multipole method: potentials and forces of particles, on groups of cells.

    The particles are drawn and counted, not kept, and the counts are exact: those of the
    particles that the same arguments give an execution. See the text of this module for the
    tasks, their data, order, priorities and parameters.

    Parameters
    ----------
    particles
        How many; 100e6 is a number, too.
    height
        Levels of the tree, the box and the leaves included.
    group_size
        Cells per group.
    distribution
        Places of the particles: in the cube, in a ball, on a sphere, on a sphere dense at its
        poles, on an ellipsoid (dense there, too), or as in Plummer's model of a star cluster.
    order
        Nodes per axis of the interpolation: a cell's expansion has order ** dimension numbers.
    dimension
        2 or 3. Kernels in 2-D have models of their own (``M2L_in_2d``).
    seed
        Seed of the particles.
    """
    tree = tree_of_distribution(distribution, particles, height, dimension, seed)
    return graph_of_tree(tree, group_size, order)


def graph_of_tree(tree: CellTree, group_size: int, order: int) -> TaskGraph:
    """Return the graph of the fast multipole method on *tree*, as :func:`fmm` does.

    Parameters
    ----------
    tree
        The cells, and the particles of each leaf.
    group_size, order
        As in :func:`fmm`; at least 1.
    """
    suffix = "_2d" if tree.dimension == 2 else ""
    g = GraphBuilder("fmm", model_names={kernel: kernel + suffix for kernel in KERNELS})
    passes = Passes(g, tree, group_size, order)
    passes.insert()
    return replace(g.build(), handle_size=np.concatenate(passes.sizes))
