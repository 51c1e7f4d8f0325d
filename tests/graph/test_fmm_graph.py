"""The task graph of the fast multipole method: drawn trees, published counts, invariants."""

from __future__ import annotations

from typing import get_args

import pytest
from fmm_graphs import tasks_of, tree_of

from tasksim.base.errors import InputError
from tasksim.graph.access_mode import AccessMode
from tasksim.graph.apps.fmm import ParticleDistribution, graph_of_tree
from tasksim.graph.apps.fmm_passes import KERNELS
from tasksim.graph.apps.registry import find, generate, parse, parse_settings
from tasksim.graph.octree.particles import DISTRIBUTIONS

LETTER_OF_MODE = {AccessMode.R: "R", AccessMode.RW: "RW", AccessMode.COMMUTATIVE: "C"}


def described(graph, task):
    accesses = [
        f"{LETTER_OF_MODE[mode]} {graph.handle_name(h)}" for h, mode in graph.accesses_of(task)
    ]
    return f"{graph.kernel_of(task)}: {', '.join(accesses)}; {graph.priority[task]}"


def numbers(graph, task):
    """Return the parameters of *task* as text: what they are, and in which order."""
    return " ".join(f"{name}={value:g}" for name, value in graph.parameters_of(task).items())


def edges(graph):
    return [(task, after) for task in range(len(graph)) for after in graph.successors_of(task)]


# A drawn tree: 4 x 4 cells, the leaves 0 at (0, 0), 3 at (1, 1), 5 at (0, 3), 12 at (2, 2) and
# 15 at (3, 3). Pairs of them make groups: {0, 3}, {5, 12}, {15}. Leaves 0, 3, 12, 15 touch in
# this order, along the diagonal; all others are two or three cells apart.
DRAWN_CELLS = {0: 2, 3: 1, 5: 4, 12: 3, 15: 2}


@pytest.fixture(scope="module")
def drawn():
    return graph_of_tree(tree_of(2, 3, DRAWN_CELLS), group_size=2, order=3)


def test_every_task_of_a_drawn_tree(drawn):
    assert [described(drawn, task) for task in range(len(drawn))] == [
        "P2P_out: R part_symb[1], C part_down[1], R part_symb[0], C part_down[0]; 3",
        "P2P_out: R part_symb[2], C part_down[2], R part_symb[1], C part_down[1]; 3",
        "P2P_in: R part_symb[0], C part_down[0]; 4",
        "P2P_in: R part_symb[1], C part_down[1]; 4",
        "P2P_in: R part_symb[2], C part_down[2]; 4",
        "P2M: R symb[2][0], RW up[2][0], R part_symb[0]; 5",
        "P2M: R symb[2][1], RW up[2][1], R part_symb[1]; 5",
        "P2M: R symb[2][2], RW up[2][2], R part_symb[2]; 5",
        "M2L_in: R symb[2][0], R up[2][0], C down[2][0]; 2",
        "M2L_in: R symb[2][1], R up[2][1], C down[2][1]; 2",
        "M2L_in: R symb[2][2], R up[2][2], C down[2][2]; 2",
        "M2L_out: R symb[2][1], C down[2][1], R symb[2][0], R up[2][0]; 1",
        "M2L_out: R symb[2][0], C down[2][0], R symb[2][1], R up[2][1]; 1",
        "M2L_out: R symb[2][2], C down[2][2], R symb[2][0], R up[2][0]; 1",
        "M2L_out: R symb[2][0], C down[2][0], R symb[2][2], R up[2][2]; 1",
        "M2L_out: R symb[2][2], C down[2][2], R symb[2][1], R up[2][1]; 1",
        "M2L_out: R symb[2][1], C down[2][1], R symb[2][2], R up[2][2]; 1",
        "L2P: R symb[2][0], R down[2][0], R part_symb[0], C part_down[0]; 0",
        "L2P: R symb[2][1], R down[2][1], R part_symb[1], C part_down[1]; 0",
        "L2P: R symb[2][2], R down[2][2], R part_symb[2], C part_down[2]; 0",
    ]


def test_every_parameter_of_a_drawn_tree(drawn):
    # Interacting from afar: 0 with 5, 12 and 15; 3 with 5 and 15; 5 with 12 and 15.
    assert [numbers(drawn, task) for task in range(len(drawn))] == [
        "NbLeaves=2 SizeInterval=8 NbParticles=7 iNbLeaves=2 iSizeInterval=4 iNbParticles=3 "
        "OutsideInteractionsSize=1 NbDiff0=1 NbDiff1=1 NbInteractions=3",
        "NbLeaves=1 SizeInterval=1 NbParticles=2 iNbLeaves=2 iSizeInterval=8 iNbParticles=7 "
        "OutsideInteractionsSize=1 NbDiff0=1 NbDiff1=1 NbInteractions=6",
        "NbLeaves=2 SizeInterval=4 NbParticles=3 NbInteractions=9",
        "NbLeaves=2 SizeInterval=8 NbParticles=7 NbInteractions=25",
        "NbLeaves=1 SizeInterval=1 NbParticles=2 NbInteractions=4",
        "NbCells=2 SizeInterval=4 NbParticles=3 Order=3",
        "NbCells=2 SizeInterval=8 NbParticles=7 Order=3",
        "NbCells=1 SizeInterval=1 NbParticles=2 Order=3",
        "Level=2 NbCells=2 SizeInterval=4 NbInteractions=0 Order=3",
        "Level=2 NbCells=2 SizeInterval=8 NbInteractions=2 Order=3",
        "Level=2 NbCells=1 SizeInterval=1 NbInteractions=0 Order=3",
        "Level=2 NbCells=2 SizeInterval=8 iNbCells=2 iSizeInterval=4 "
        "OutsideInteractionsSize=3 NbDiff0=2 NbDiff1=2 Order=3",
        "Level=2 NbCells=2 SizeInterval=4 iNbCells=2 iSizeInterval=8 "
        "OutsideInteractionsSize=3 NbDiff0=2 NbDiff1=2 Order=3",
        "Level=2 NbCells=1 SizeInterval=1 iNbCells=2 iSizeInterval=4 "
        "OutsideInteractionsSize=2 NbDiff0=1 NbDiff1=2 Order=3",
        "Level=2 NbCells=2 SizeInterval=4 iNbCells=1 iSizeInterval=1 "
        "OutsideInteractionsSize=2 NbDiff0=2 NbDiff1=1 Order=3",
        "Level=2 NbCells=1 SizeInterval=1 iNbCells=2 iSizeInterval=8 "
        "OutsideInteractionsSize=1 NbDiff0=1 NbDiff1=1 Order=3",
        "Level=2 NbCells=2 SizeInterval=8 iNbCells=1 iSizeInterval=1 "
        "OutsideInteractionsSize=1 NbDiff0=1 NbDiff1=1 Order=3",
        "NbCells=2 SizeInterval=4 NbParticles=3 Order=3",
        "NbCells=2 SizeInterval=8 NbParticles=7 Order=3",
        "NbCells=1 SizeInterval=1 NbParticles=2 Order=3",
    ]


def test_every_edge_of_a_drawn_tree(drawn):
    # Commutative updates do not depend on one another: P2P on nothing, L2P on the M2L only.
    assert edges(drawn) == [
        (5, 8), (5, 11), (5, 13),
        (6, 9), (6, 12), (6, 15),
        (7, 10), (7, 14), (7, 16),
        (8, 17), (9, 18), (10, 19),
        (11, 18), (12, 17), (13, 19), (14, 17), (15, 19), (16, 18),
    ]  # fmt: skip


def test_the_data_of_a_drawn_tree(drawn):
    sizes = {drawn.handle_name(h): size for h, size in enumerate(drawn.handle_size.tolist())}
    # Per cell an index, and 3 x 3 numbers; per particle position and charge, force, potential.
    assert sizes == {
        "symb[2][0]": 16, "symb[2][1]": 16, "symb[2][2]": 8,
        "up[2][0]": 144, "up[2][1]": 144, "up[2][2]": 72,
        "down[2][0]": 144, "down[2][1]": 144, "down[2][2]": 72,
        "part_symb[0]": 72, "part_symb[1]": 168, "part_symb[2]": 48,
        "part_down[0]": 72, "part_down[1]": 168, "part_down[2]": 48,
    }  # fmt: skip
    assert not drawn.handle_home.any()


def test_parents_and_children_of_a_drawn_tree():
    # Leaves {0, 1}, {5, 60}, {62}; their parents {0, 1}, {15}.
    graph = graph_of_tree(tree_of(2, 4, dict.fromkeys((0, 1, 5, 60, 62), 1)), 2, order=4)
    upward, downward = tasks_of(graph, "M2M"), tasks_of(graph, "L2L")
    assert [described(graph, task) for task in upward] == [
        "M2M: R symb[2][0], C up[2][0], R symb[3][0], R up[3][0]; 8",
        "M2M: R symb[2][0], C up[2][0], R symb[3][1], R up[3][1]; 8",
        "M2M: R symb[2][1], C up[2][1], R symb[3][1], R up[3][1]; 8",
        "M2M: R symb[2][1], C up[2][1], R symb[3][2], R up[3][2]; 8",
    ]
    assert [described(graph, task) for task in downward] == [
        "L2L: R symb[2][0], R down[2][0], R symb[3][0], RW down[3][0]; 4",
        "L2L: R symb[2][0], R down[2][0], R symb[3][1], RW down[3][1]; 4",
        "L2L: R symb[2][1], R down[2][1], R symb[3][1], RW down[3][1]; 4",
        "L2L: R symb[2][1], R down[2][1], R symb[3][2], RW down[3][2]; 4",
    ]
    family = [
        "Level=2 NbCells=2 SizeInterval=2 iNbCells=2 iSizeInterval=2 "
        "NbDiff=1 NbChildParent=2 Order=4",
        "Level=2 NbCells=2 SizeInterval=2 iNbCells=2 iSizeInterval=56 "
        "NbDiff=1 NbChildParent=1 Order=4",
        "Level=2 NbCells=1 SizeInterval=1 iNbCells=2 iSizeInterval=56 "
        "NbDiff=1 NbChildParent=1 Order=4",
        "Level=2 NbCells=1 SizeInterval=1 iNbCells=1 iSizeInterval=1 "
        "NbDiff=1 NbChildParent=1 Order=4",
    ]
    assert [numbers(graph, task) for task in upward] == family
    assert [numbers(graph, task) for task in downward] == family
    # Two parents' groups add to the same children, one after the other.
    assert downward[2] in graph.successors_of(downward[1])
    assert upward[1] not in graph.successors_of(upward[0])


def test_order_of_submission_and_of_urgency():
    graph = generate("fmm", particles=3000, height=5, group_size=20)
    passes, urgent = [], {}
    for task in range(len(graph)):
        key = graph.kernel_of(task), int(graph.parameters_of(task).get("Level", 4))
        if key not in passes[-1:]:
            passes.append(key)
        assert urgent.setdefault(key, graph.priority[task]) == graph.priority[task]
    assert passes == [
        ("P2P_out", 4), ("P2P_in", 4), ("P2M", 4), ("M2M", 3), ("M2M", 2),
        ("M2L_in", 2), ("M2L_out", 2), ("M2L_in", 3), ("M2L_out", 3), ("L2L", 2), ("L2L", 3),
        ("M2L_in", 4), ("M2L_out", 4), ("L2P", 4),
    ]  # fmt: skip
    assert sorted(urgent, key=lambda key: -urgent[key]) == [
        ("P2M", 4), ("M2M", 3), ("M2M", 2), ("P2P_in", 4),
        ("M2L_in", 2), ("M2L_out", 2), ("L2L", 2), ("M2L_in", 3), ("M2L_out", 3), ("L2L", 3),
        ("P2P_out", 4), ("M2L_in", 4), ("M2L_out", 4), ("L2P", 4),
    ]  # fmt: skip
    assert sorted(urgent.values()) == list(range(14))


def test_local_expansions_commute_but_at_the_leaves():
    graph = generate("fmm", particles=3000, height=5, group_size=20)
    modes = {
        (graph.parameters_of(task)["Level"], graph.accesses_of(task)[-1][1])
        for task in tasks_of(graph, "L2L")
    }
    assert modes == {(2, AccessMode.COMMUTATIVE), (3, AccessMode.RW)}


# --- published: 8 x 8 cells less eight, groups of 8; Inria research report 9036 ---------------


@pytest.fixture(scope="module")
def published():
    empty = {34, 35, 40, 41, 42, 43, 44, 46}
    leaves = {leaf: 1 for leaf in range(64) if leaf not in empty}
    return graph_of_tree(tree_of(2, 4, leaves), group_size=8, order=2)


def outside(graph, level):
    """Return {target group: {source group: pairs of cells}} of M2L_out."""
    found = {}
    for task in tasks_of(graph, "M2L_out"):
        parameters = graph.parameters_of(task)
        if parameters["Level"] != level:
            continue
        (_, _), (target, _), (_, _), (source, _) = graph.accesses_of(task)
        target, source = (int(graph.handle_name(h)[:-1].split("[")[-1]) for h in (target, source))
        found.setdefault(target, {})[source] = parameters["OutsideInteractionsSize"]
    return found


def test_published_interactions_inside_of_groups(published):
    inside = [
        published.parameters_of(task)["NbInteractions"]
        for task in tasks_of(published, "M2L_in")
        if published.parameters_of(task)["Level"] == 3
    ]
    assert inside == [24, 24, 24, 24, 32, 24, 24]


def test_published_interactions_between_groups(published):
    pairs = outside(published, level=3)
    assert pairs[3] == {0: 15, 1: 12, 2: 54, 4: 15, 5: 54}
    totals = [sum(pairs[target].values()) for target in range(7)]
    assert totals == [81, 134, 81, 150, 91, 142, 73]


# --- what users give -----------------------------------------------------------------------------


@pytest.mark.parametrize("height", [1, 2])
def test_where_all_leaves_touch_there_is_only_p2p(height):
    graph = generate("fmm", particles=500, height=height, group_size=3)
    leaves = 8 ** (height - 1)
    groups = -(-leaves // 3)
    assert graph.summary()["kernels"] == {
        name: count
        for name, count in (("P2P_out", groups * (groups - 1) // 2), ("P2P_in", groups))
        if count
    }
    # All particles with all: those of a group count both ways there, others once.
    inside = sum(graph.parameters_of(t)["NbInteractions"] for t in tasks_of(graph, "P2P_in"))
    between = sum(graph.parameters_of(t)["NbInteractions"] for t in tasks_of(graph, "P2P_out"))
    assert inside + 2 * between == 500**2


def test_one_particle():
    graph = generate("fmm", particles=1, height=4, group_size=10)
    kernels = graph.summary()["kernels"]
    assert kernels == {
        "P2P_in": 1, "P2M": 1, "M2M": 1, "M2L_in": 2, "L2L": 1, "L2P": 1,
    }  # fmt: skip


def test_numbers_of_particles_as_people_write_them():
    given = parse_settings("fmm", ["particles=100e6", "height=8", "group_size=500"])
    assert given == {
        "particles": 100_000_000, "height": 8, "group_size": 500, "distribution": "cube",
        "order": 5, "dimension": 3, "seed": 0, "priorities": "app",
    }  # fmt: skip
    settings = ["particles=1e3", "height=4", "group_size=5e1", "distribution=plummer"]
    graph = parse("fmm", settings)
    assert graph.same_as(generate(graph.name, **graph.arguments))
    assert graph.arguments["particles"] == 1000


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"particles": 0}, r"^fmm: particles: got 0; legal: an integer from 1$"),
        ({"particles": 1.5}, r"^fmm: particles: got 1.5"),
        ({"group_size": 0}, r"^fmm: group_size: got 0; legal: an integer from 1$"),
        ({"height": 0}, r"^fmm: height: got 0; legal: an integer from 1$"),
        ({"height": 40}, r"height"),
        ({"order": 0}, r"^fmm: order: got 0; legal: an integer from 1 to 32$"),
        ({"order": 33}, r"^fmm: order: got 33; legal: an integer from 1 to 32$"),
        ({"dimension": 4}, r"^fmm: dimension: got 4; legal: an integer from 2 to 3$"),
        ({"distribution": "cubes"}, r"^fmm: distribution: got 'cubes', did you mean 'cube'\?"),
    ],
)
def test_what_is_wrong_is_said(wrong, message):
    with pytest.raises(InputError, match=message):
        generate("fmm", **({"particles": 10, "height": 3, "group_size": 5} | wrong))


def test_groups_larger_than_any_level():
    graph = generate("fmm", particles=1000, height=4, group_size=10**25)
    assert graph.summary()["kernels"] == {
        "P2P_in": 1, "P2M": 1, "M2M": 1, "M2L_in": 2, "L2L": 1, "L2P": 1,
    }  # fmt: skip


def test_groups_of_no_cells_are_refused():
    with pytest.raises(InputError, match="group_size"):
        graph_of_tree(tree_of(2, 3, DRAWN_CELLS), group_size=0, order=3)


def test_distributions_are_those_that_can_be_drawn():
    assert get_args(ParticleDistribution) == DISTRIBUTIONS
    assert find("fmm").summary.startswith("Fast multipole method")


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("dimension", [2, 3])
def test_all_distributions(distribution, dimension):
    arguments = {"particles": 2000, "height": 5, "group_size": 20, "dimension": dimension}
    graph = generate("fmm", distribution=distribution, seed=3, **arguments)
    assert graph.same_as(generate("fmm", distribution=distribution, seed=3, **arguments))
    assert sum(graph.parameters_of(t)["NbParticles"] for t in tasks_of(graph, "P2M")) == 2000
    other = generate("fmm", distribution=distribution, seed=4, **arguments)
    assert not graph.same_as(other)


def test_kernels_of_the_plane_have_models_of_their_own(drawn):
    assert dict(zip(drawn.kernels, drawn.model_names, strict=True)) == {
        kernel: f"{kernel}_2d" for kernel in drawn.kernels
    }
    graph = generate("fmm", particles=3000, height=4, group_size=20)
    assert graph.kernels == graph.model_names == KERNELS
