"""Random trees: what the task graph of the fast multipole method holds, counted by hand, too."""

from __future__ import annotations

from fmm_graphs import tasks_of, tree_of
from hypothesis import given, settings
from hypothesis import strategies as st

from tasksim.engine.simulation import Simulation
from tasksim.graph.access_mode import AccessMode
from tasksim.graph.apps.fmm import graph_of_tree
from tasksim.graph.apps.fmm_passes import groups_of
from tasksim.graph.octree.interactions import m2l_pairs, neighbour_pairs
from tasksim.models.kinds.given import ConstantLibrary
from tasksim.platform.description import Platform


@st.composite
def trees(draw):
    dimension = draw(st.sampled_from([2, 3]))
    height = draw(st.integers(1, 5))
    leaves = 1 << (dimension * (height - 1))
    chosen = draw(st.sets(st.integers(0, leaves - 1), min_size=1, max_size=60))
    counts = {leaf: 1 + leaf % 5 for leaf in chosen}
    return tree_of(dimension, height, counts)


def group_of(graph, handle):
    """Return the group of a handle such as ``up[3][7]``."""
    return int(graph.handle_name(handle)[:-1].split("[")[-1])


def counted(pairs, group_size):
    """Return per pair of groups the pairs of cells, by hand."""
    found = {}
    for target, source in zip(pairs.target.tolist(), pairs.source.tolist(), strict=True):
        found.setdefault((target // group_size, source // group_size), []).append((target, source))
    return found


def values(graph, kernel, *names, groups):
    """Return {(groups of the accesses at these places): the parameters of these names}."""
    found = {}
    for task in tasks_of(graph, kernel):
        accesses, parameters = graph.accesses_of(task), graph.parameters_of(task)
        key = tuple(group_of(graph, accesses[place][0]) for place in groups)
        key = (*([int(parameters["Level"])] if "Level" in parameters else []), *key)
        assert key not in found
        found[key] = tuple(int(parameters[name]) for name in names)
    return found


@settings(deadline=None, max_examples=60)
@given(tree=trees(), group_size=st.integers(1, 9))
def test_m2l_is_what_counting_pairs_says(tree, group_size):
    graph = graph_of_tree(tree, group_size, order=2)
    inside, across = {}, {}
    for level in range(2, tree.height):
        found = counted(m2l_pairs(tree, level), group_size)
        for group in range(tree.groups(level, group_size)):
            inside[level, group] = (len(found.pop((group, group), [])),)
        for (target, source), pairs in found.items():
            cells = len({cell for cell, _ in pairs}), len({cell for _, cell in pairs})
            across[level, target, source] = (len(pairs), *cells)
    sizes = "OutsideInteractionsSize", "NbDiff0", "NbDiff1"
    assert values(graph, "M2L_in", "NbInteractions", groups=(0,)) == inside
    assert values(graph, "M2L_out", *sizes, groups=(1, 3)) == across


@settings(deadline=None, max_examples=60)
@given(tree=trees(), group_size=st.integers(1, 9))
def test_p2p_is_what_counting_pairs_says(tree, group_size):
    graph = graph_of_tree(tree, group_size, order=2)
    n = tree.counts.tolist()
    found = counted(neighbour_pairs(tree), group_size)
    inside, across = {}, {}
    for group in range(-(-len(n) // group_size)):
        own = n[group * group_size : (group + 1) * group_size]
        pairs = found.pop((group, group), [])
        inside[group,] = (sum(x * x for x in own) + sum(n[a] * n[b] for a, b in pairs),)
    for (first, second), pairs in found.items():
        if first > second:
            cells = len({cell for cell, _ in pairs}), len({cell for _, cell in pairs})
            across[first, second] = (len(pairs), *cells, sum(n[a] * n[b] for a, b in pairs))
    sizes = "OutsideInteractionsSize", "NbDiff0", "NbDiff1", "NbInteractions"
    assert values(graph, "P2P_in", "NbInteractions", groups=(0,)) == inside
    assert values(graph, "P2P_out", *sizes, groups=(0, 2)) == across


@settings(deadline=None, max_examples=60)
@given(tree=trees(), group_size=st.integers(1, 9))
def test_m2m_and_l2l_are_what_counting_children_says(tree, group_size):
    graph = graph_of_tree(tree, group_size, order=2)
    expected = {}
    for level in range(2, tree.height - 1):
        number = {index: cell for cell, index in enumerate(tree.levels[level].tolist())}
        family = {}
        for child, index in enumerate(tree.levels[level + 1].tolist()):
            parent = number[index >> tree.dimension]
            family.setdefault((parent // group_size, child // group_size), []).append(parent)
        for (parent, child), cells in family.items():
            expected[level, parent, child] = (len(set(cells)), len(cells))
    for kernel in ("M2M", "L2L"):
        assert values(graph, kernel, "NbDiff", "NbChildParent", groups=(0, 2)) == expected


@settings(deadline=None, max_examples=60)
@given(tree=trees(), group_size=st.integers(1, 9))
def test_every_expansion_is_complete_before_it_is_read(tree, group_size):
    graph = graph_of_tree(tree, group_size, order=2)
    written, read = {}, {}
    for task in range(len(graph)):
        for handle, mode in graph.accesses_of(task):
            (read if mode == AccessMode.R else written).setdefault(handle, []).append(task)
    for handle in range(graph.handles):
        name = graph.handle_name(handle)
        if name.startswith(("up", "down")):
            assert max(written[handle]) < min(read[handle], default=len(graph)), name
            # Leaves' multipoles are all read; a level's others, too: by M2L_in at least.
            assert read[handle], name
        elif "symb" in name:
            assert handle not in written, name


@settings(deadline=None, max_examples=60)
@given(tree=trees(), group_size=st.integers(1, 9))
def test_particles_and_cells_are_all_there(tree, group_size):
    graph = graph_of_tree(tree, group_size, order=2)
    particles, far = tree.counts.sum(), tree.height > 2
    for kernel in ("P2M", "L2P", "P2P_in"):
        total = sum(graph.parameters_of(t)["NbParticles"] for t in tasks_of(graph, kernel))
        assert total == (particles if far or kernel == "P2P_in" else 0)
    for level in range(tree.height):
        groups = groups_of(tree, level, group_size)
        index = tree.levels[level].tolist()
        cut = [index[i : i + group_size] for i in range(0, len(index), group_size)]
        assert groups.cells.tolist() == [len(part) for part in cut]
        assert groups.interval.tolist() == [part[-1] - part[0] + 1 for part in cut]


@settings(deadline=None, max_examples=30)
@given(tree=trees(), group_size=st.integers(1, 9), workers=st.integers(1, 4))
def test_it_runs(tree, group_size, workers):
    graph = graph_of_tree(tree, group_size, order=2)
    models = ConstantLibrary(dict.fromkeys(graph.model_names, 1e-3))
    run = Simulation(graph, Platform.identical(workers), models, "prio").run(check=True)
    assert run.makespan_s * workers >= len(graph) * 1e-3 * (1 - 1e-9)
