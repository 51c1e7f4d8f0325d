"""The fast multipole method, executed: against sums over all pairs, and laws of physics."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from growth import growth
from hypothesis import given, settings
from hypothesis import strategies as st
from lock_of_python import lets_others_run

from tasksim.base.errors import InputError
from tasksim.cli.main import cli
from tasksim.graph.access_mode import AccessMode
from tasksim.graph.apps.fmm import graph_of_tree
from tasksim.graph.apps.registry import generate
from tasksim.graph.octree.particles import DISTRIBUTIONS, all_positions, charges
from tasksim.kernels import bind
from tasksim.kernels.access_check import AccessCheckedProgram
from tasksim.kernels.calls import KernelError
from tasksim.kernels.fmm.layout import Layout
from tasksim.kernels.fmm.program import MAX_COMPARED_PARTICLES, FmmProgram, tolerance
from tasksim.native.execute import execute
from tasksim.platform.description import Platform


def run(program):
    for task in range(len(program.graph)):
        program.run(task, 0)
    return program


def made(particles=400, height=4, group_size=20, **settings):
    return generate("fmm", particles=particles, height=height, group_size=group_size, **settings)


def of_particles(positions, height, group_size, order, strengths=None):
    """Return the program of the particles at *positions* [n, d], of charge 1 if not given."""
    positions = np.array(positions, dtype=np.float64)
    strengths = np.ones(len(positions)) if strengths is None else strengths
    layout = Layout.of_particles(positions, strengths, height, group_size, order)
    return FmmProgram(graph_of_tree(layout.tree, group_size, order), 1, layout=layout)


def all_pairs(layout):
    """Return potentials and forces [1 + d, n], and the sum of the magnitudes of the former."""
    apart = layout.positions[:, :, None] - layout.positions[:, None, :]  # of i from j
    square = (apart**2).sum(axis=0)
    other = square > 0
    square[~other] = 1.0
    if len(apart) == 3:
        terms, slopes = 1 / np.sqrt(square), square**-1.5
    else:
        terms, slopes = -np.log(square) / 2, 1 / square
    terms, slopes = (np.where(other, table, 0.0) * layout.charges for table in (terms, slopes))
    forces = layout.charges * (apart * slopes).sum(axis=2)
    return np.vstack([terms.sum(axis=1), forces]), np.abs(terms).sum(axis=1)


@pytest.mark.parametrize("order", [3, 5])
@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_potentials_and_forces_are_those_of_all_pairs(distribution, dimension, order):
    program = run(
        bind(made(distribution=distribution, dimension=dimension, order=order), 1, seed=3)
    )
    assert program.check().ok
    errors = program.errors()
    assert errors["potential_error"] == program.check().value < 10.0**-order
    # A derivative is a digit less exact.
    assert errors["force_error"] < 10.0 ** (1 - order)
    exact, _ = all_pairs(program.layout)
    got = program.data.result
    error = np.linalg.norm(got[0] - exact[0]) / np.linalg.norm(exact[0])
    # All of the 400 particles are compared.
    assert error == pytest.approx(errors["potential_error"], rel=1e-6)
    error = np.linalg.norm(got[1:] - exact[1:]) / np.linalg.norm(exact[1:])
    assert error == pytest.approx(errors["force_error"], rel=1e-6)


def test_higher_orders_are_more_exact():
    errors = [run(bind(made(order=order), 1)).errors() for order in (2, 3, 4, 6)]
    for name in ("potential_error", "force_error"):
        values = [error[name] for error in errors]
        assert values == sorted(values, reverse=True)
        assert values[-1] < values[0] / 1000


def test_particles_and_charges_are_those_of_the_arguments_of_the_graph():
    graph = made(particles=50, height=3, distribution="plummer", seed=7)
    layout = bind(graph, 1, seed=1).layout
    drawn = np.column_stack([all_positions("plummer", 50, 3, 7), charges(50, 7)])
    kept = np.vstack([layout.positions, layout.charges]).T
    assert sorted(kept.tolist()) == sorted(drawn.tolist())
    assert not np.array_equal(kept, drawn)


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [2, 3])
def test_neither_scheduler_nor_workers_change_more_than_the_rounding(dimension):
    graph = made(particles=1000, group_size=30, dimension=dimension)
    reference = run(bind(graph, 1)).data.result
    program = bind(graph, 2)
    for scheduler in ("eager", "lws", "prio"):
        for workers in (1, 2):
            execute(graph, Platform.identical(workers), scheduler, program=program, check=True)
            got = program.data.result
            for row, expected in zip(got, reference, strict=True):
                np.testing.assert_allclose(row, expected, rtol=0, atol=1e-11 * np.abs(row).max())


def test_any_order_of_tasks_that_the_graph_allows_gives_the_result():
    graph = made(particles=600, height=4, group_size=9)
    reference = run(bind(graph, 1)).data.result
    program, rng = bind(graph, 1), np.random.default_rng(4)
    missing = graph.predecessor_count.tolist()
    ready = [task for task in range(len(graph)) if not missing[task]]
    while ready:
        task = ready.pop(rng.integers(len(ready)))
        program.run(task, 0)
        for successor in graph.successors_of(task):
            missing[successor] -= 1
            if not missing[successor]:
                ready.append(successor)
    size = np.abs(reference).max(axis=1, keepdims=True)
    np.testing.assert_allclose(program.data.result / size, reference / size, rtol=0, atol=1e-11)


def test_reset_makes_it_all_again():
    program = run(bind(made(), 1))
    first = program.data.result.copy()
    run(program)
    assert not program.check().ok  # all has been added twice
    program.reset()
    assert not program.data.result.any()
    assert run(program).data.result.tobytes() == first.tobytes()


@pytest.mark.parametrize("dimension", [2, 3])
def test_every_task_writes_what_it_declares_and_no_more(dimension):
    checked = AccessCheckedProgram(bind(made(particles=200, height=3, dimension=dimension), 1))
    checked.reset()
    assert run(checked).check().ok


def test_an_undeclared_write_is_found_in_the_data_of_any_group():
    graph = made(particles=200, height=3)
    for kernel, data in (("P2P_in", "part_down"), ("P2M", "up[2]"), ("M2L_out", "down[2]")):
        task = next(t for t in range(len(graph)) if graph.kernel_of(t) == kernel)
        modes = graph.access_mode.copy()
        modes[graph.access_ptr[task] : graph.access_ptr[task + 1]] = AccessMode.R
        checked = AccessCheckedProgram(bind(replace(graph, access_mode=modes), 1))
        checked.reset()
        with pytest.raises(KernelError, match=rf"wrote {re.escape(data)}\[\d+\], which it only"):
            run(checked)


def test_the_data_of_a_handle_are_those_of_its_size():
    graph = made()
    program = bind(graph, 1)
    sizes = [program.datum(handle).nbytes for handle in range(graph.handles)]
    assert sizes == graph.handle_size.tolist()


@pytest.mark.parametrize("dimension", [2, 3])
def test_every_level_has_the_total_charge(dimension):
    program = run(bind(made(height=5, dimension=dimension, order=4), 1))
    assert sorted(program.data.multipoles) == [2, 3, 4]
    total = program.layout.charges.sum()
    for multipoles in program.data.multipoles.values():
        assert multipoles.sum() == pytest.approx(total, rel=1e-12)
    leaves = np.add.reduceat(program.layout.charges, program.layout.offsets[:-1])
    np.testing.assert_allclose(program.data.multipoles[4].sum(axis=1), leaves, rtol=1e-12)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_forces_add_up_to_zero(distribution):
    program = run(bind(made(distribution=distribution, order=6), 1))
    forces = program.data.result[1:]
    sizes = np.linalg.norm(forces, axis=0)
    assert np.linalg.norm(forces.sum(axis=1)) < 1e-6 * sizes.sum()
    # The law would hold of no forces, too.
    assert sizes.min() > 0


def test_in_a_symmetric_arrangement_mirrored_particles_have_mirrored_forces():
    quarter = np.random.default_rng(2).random((60, 3))
    program = run(of_particles(np.vstack([quarter, 1 - quarter]), 4, 10, 4))
    # Particles are sorted by leaf: the order of their mirror images is found again by place.
    by_place = np.lexsort(program.layout.positions)
    potential, *forces = program.data.result[:, by_place]
    np.testing.assert_allclose(potential, potential[::-1], rtol=1e-11)
    for force in forces:
        np.testing.assert_allclose(force, -force[::-1], atol=1e-10 * np.abs(force).max())


@pytest.mark.parametrize("height", [1, 2])
@pytest.mark.parametrize("dimension", [2, 3])
def test_low_trees_are_exact(height, dimension):
    graph = made(particles=200, height=height, group_size=3, dimension=dimension)
    assert set(graph.kernels) <= {"P2P_in", "P2P_out"}
    program = run(bind(graph, 1))
    assert program.data.multipoles == {}
    assert max(program.errors().values()) < 1e-13


@pytest.mark.parametrize("height", [1, 2, 3, 6])
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_one_particle_feels_nothing(height, distribution):
    program = run(bind(made(particles=1, height=height, distribution=distribution), 1))
    assert not program.data.result.any()
    assert program.errors() == {"potential_error": 0.0, "force_error": 0.0}
    assert program.check().ok


@pytest.mark.parametrize("group_size", [1, 7, 10**12])
@pytest.mark.parametrize("dimension", [2, 3])
def test_groups_of_any_size(group_size, dimension):
    program = run(bind(made(group_size=group_size, particles=150, dimension=dimension), 1))
    assert program.check().ok


@pytest.mark.parametrize("height", [1, 3, 5])
def test_all_in_one_leaf_is_exact(height):
    inside = 0.5 + np.random.default_rng(1).random((80, 3)) / 32
    program = run(of_particles(inside, height, 4, 3))
    assert len(program.layout.tree.counts) == 1
    assert max(program.errors().values()) < 1e-13


def test_particles_in_one_place_do_not_act_on_each_other():
    program = run(of_particles([[0.3, 0.3, 0.3]] * 50, 4, 4, 3))
    assert not program.data.result.any()
    assert program.check().ok


def test_particles_in_two_places_act_on_those_in_the_other():
    distance = 0.0625
    places = [[0.5, 0.5, 0.5]] * 4 + [[0.5, 0.5, 0.5 + distance]] * 3
    program = run(of_particles(places, 4, 4, 3))
    potential, _, _, force = program.data.result
    np.testing.assert_allclose(potential, np.repeat([3, 4], [4, 3]) / distance, rtol=1e-14)
    np.testing.assert_allclose(force, np.repeat([-3, 4], [4, 3]) / distance**2, rtol=1e-14)


@pytest.mark.parametrize("dimension", [2, 3])
def test_particles_on_the_borders_of_cells(dimension):
    # All corners of the leaves, those of the box at 1.0 included, in no order.
    corners = np.stack(np.meshgrid(*[np.linspace(0, 1, 9)] * dimension), axis=-1)
    corners = np.random.default_rng(5).permutation(corners.reshape(-1, dimension))
    program = run(of_particles(corners, 4, 10, 5))
    assert len(program.layout.tree.counts) == 8**dimension
    assert np.abs(program.layout.relative_positions()).max() == 1.0
    assert program.check().ok


# Sixteenths of the box, 0 and 1 included: many of them in one place or on a border.
PLACES = st.integers(2, 3).flatmap(
    lambda d: st.lists(st.lists(st.integers(0, 16), min_size=d, max_size=d), min_size=1)
)


@settings(deadline=None, max_examples=60)
@given(places=PLACES, height=st.integers(1, 5), group_size=st.integers(1, 9))
def test_any_particles(places, height, group_size):
    positions = np.array(places) / 16
    program = run(of_particles(positions, height, group_size, 6, charges(len(places), 1)))
    exact, magnitude = all_pairs(program.layout)
    # The pairs of a sum may cancel, and one pair at the corners of its cells is less exact than
    # many are together: hence the sum of the magnitudes, in 2-D that of charges too.
    scale = magnitude + program.layout.charges.sum()
    assert (np.abs(program.data.result[0] - exact[0]) <= 1e-4 * scale).all()


def test_check_fails_before_the_tasks_have_run():
    program = bind(made(), 1)
    assert program.check().value == 1.0
    assert not program.check().ok


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 0.0])
def test_check_sees_one_wrong_potential(wrong):
    program = run(bind(made(), 1))
    program.data.result[0, 17] = wrong
    assert not program.check().ok


@pytest.mark.parametrize(
    "kernel", ["P2P_out", "P2P_in", "P2M", "M2M", "M2L_in", "M2L_out", "L2L", "L2P"]
)
def test_check_sees_that_one_task_has_not_run(kernel):
    graph = made()
    program = bind(graph, 1)
    skipped = next(task for task in range(len(graph)) if graph.kernel_of(task) == kernel)
    for task in range(len(graph)):
        if task != skipped:
            program.run(task, 0)
    assert not program.check().ok


def test_of_many_particles_some_are_compared_chosen_by_the_seed():
    graph = made(particles=MAX_COMPARED_PARTICLES + 500, height=3, order=2)
    values = [run(bind(graph, 1, seed)).check().value for seed in (1, 1, 2)]
    assert values[0] == values[1] != values[2]


def test_the_tolerance_is_a_digit_per_node_and_less_strict_for_few_particles():
    assert [tolerance(order, 10**6) for order in (1, 3, 5, 7)] == [
        pytest.approx(value) for value in (0.5, 1e-3, 1e-5, 1e-7)
    ]
    assert tolerance(32, 10**6) == 1e-9
    assert tolerance(5, 10) == pytest.approx(1e-4)


def test_tasks_do_not_hold_the_lock_of_python():
    graph = made(particles=8000, height=3, group_size=64)
    program = bind(graph, 1)
    task = next(task for task in range(len(graph)) if graph.kernel_of(task) == "P2P_in")
    assert lets_others_run(lambda: program.run(task, 0), 5)  # it takes some 50 ms


def test_preparing_takes_a_time_in_proportion_to_the_tasks():
    graphs = {size: made(particles=3000, height=4, group_size=size) for size in (64, 8)}
    few, many = (len(graphs[size]) for size in (64, 8))
    assert many > 4 * few
    assert growth(lambda size: bind(graphs[size], 1), 64, 8) < (many / few) ** 1.5


def test_a_graph_whose_particles_are_not_known_is_refused():
    graph = replace(made(), arguments={"particles": 400, "height": 4})
    with pytest.raises(InputError, match=r"lack group_size, distribution, order, dimension, seed"):
        bind(graph, 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"group_size": 10}, r"symb\[2\] has 4 groups; its particles need 7"),
        ({"height": 5}, r"legal: .*symb\[4\]"),
    ],
)
def test_a_graph_of_other_groups_than_its_arguments_say_is_refused(changes, message):
    graph = made()
    with pytest.raises(InputError, match=message):
        bind(replace(graph, arguments=graph.arguments | changes), 1)


def test_an_unknown_kernel_is_refused():
    graph = made()
    kernels = tuple("M2X" if name == "M2M" else name for name in graph.kernels)
    with pytest.raises(InputError, match="unknown kernel 'M2X'"):
        bind(replace(graph, kernels=kernels), 1)


def test_particles_that_no_memory_holds_are_refused_before_they_are_drawn():
    graph = made()
    with pytest.raises(InputError, match=r"graph fmm needs .* of memory"):
        bind(replace(graph, handle_size=np.full(graph.handles, 1 << 44)), 1)
    with pytest.raises(InputError, match=r"graph fmm needs .* of memory"):
        bind(replace(graph, arguments=graph.arguments | {"order": 32}), 1)


def test_the_command_prints_both_errors(tmp_path):
    line = "run fmm particles=500 height=4 group_size=20 --workers 2 --json -o"
    called = CliRunner().invoke(cli, [*line.split(), str(tmp_path / "out")], prog_name="tasksim")
    assert called.exit_code == 0, called.stderr
    result = json.loads(called.stdout)
    assert result["potential_error"] == result["residual"] < 1e-5
    assert 0 < result["force_error"] < 1e-4
    assert (tmp_path / "out").is_dir()


@pytest.mark.parametrize("order", [1, 2])
def test_two_particles_whose_potentials_nearly_cancel_pass_the_check(order):
    # At about distance 1, where -log r is next to nothing, and errors are not.
    arguments = {"particles": 2, "height": 4, "group_size": 2, "dimension": 2, "order": order}
    graph = generate("fmm", **arguments, distribution="sphere-poles", seed=2)
    program = bind(graph, 1)
    execute(graph, Platform.identical(1), "eager", program=program)
    assert program.errors()["potential_error"] > tolerance(order, 2)
    assert program.check().ok
    program.data.result[0] += 100.0
    assert not program.check().ok
