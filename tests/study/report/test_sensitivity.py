"""Sensitivity: elasticities and swings of power laws, Sobol' indices against SciPy and SALib."""

import numpy as np
import pytest
from scipy import stats
from study_tables import frame_of, grid_of, names

from tasksim.base.errors import InputError
from tasksim.study.report.sensitivity import interactions, sensitivities, sobol_indices
from tasksim.study.report.table import StudyTable


def power_law(_scheduler, _seed, size, speed):
    return size**3 / speed**0.5


def test_elasticities_are_the_exponents():
    found = {
        s.axis: s
        for s in sensitivities(
            grid_of(power_law, graph__n=[2, 4, 8], platform__arch__cpu__speed=[1, 2])
        )
    }
    assert list(found) == ["graph.n", "platform.arch.cpu.speed"]
    size, speed = found.values()
    assert [size.elasticity, size.low, size.high] == pytest.approx([3.0] * 3)
    assert [size.swing, size.largest_swing, size.slices] == pytest.approx([64.0, 64.0, 2])
    assert speed.elasticity == pytest.approx(-0.5)
    assert speed.swing == pytest.approx(2**0.5)


def test_an_axis_of_names_has_a_swing_and_no_elasticity():
    table = grid_of(lambda scheduler, _: {"a": 1.0, "b": 3.0}[scheduler], ("a", "b"))
    (found,) = sensitivities(table)
    assert (found.axis, found.elasticity) == ("scheduler", None)
    assert found.swing == pytest.approx(3.0)


def test_what_chance_moves_is_told_last():
    table = grid_of(lambda _, seed, n: n * (1.0 + seed), ("a",), (0, 1), graph__n=[1, 8])
    *_, noise = sensitivities(table)
    assert (noise.axis, noise.slices) == ("seed", 2)
    assert noise.swing == pytest.approx(2.0)


def test_zero_has_no_elasticity_and_still_a_swing():
    table = grid_of(lambda _, __, n: 1.0 + n, graph__n=[0, 1, 3])
    (found,) = sensitivities(table)
    assert found.swing == pytest.approx(4.0)
    assert found.elasticity == pytest.approx(np.log(2) / np.log(3))


def test_neighbours_that_lack_leave_the_others():
    frame = grid_of(power_law, graph__n=[2, 4, 8], platform__speed=[1, 2]).frame
    table = StudyTable.of(frame.drop(columns="used").drop(index=[2]))
    assert sensitivities(table)[0].elasticity == pytest.approx(3.0)


# Sobol' indices


def indices(table):
    return {index.axis: (index.first, index.total) for index in sobol_indices(table)}


def test_an_additive_function_has_no_interactions():
    """ln T = 3 ln n - 0.5 ln s: shares of the variances of the terms."""
    found = indices(grid_of(power_law, graph__n=[2, 4, 8], platform__speed=[1, 2]))
    parts = [9 * np.var(np.log([2, 4, 8])), 0.25 * np.var(np.log([1, 2]))]
    assert found["graph.n"] == pytest.approx([parts[0] / sum(parts)] * 2)
    assert found["platform.speed"] == pytest.approx([parts[1] / sum(parts)] * 2)


def test_a_pure_interaction_belongs_to_nobody_alone():
    table = grid_of(lambda _, __, a, b: np.exp(a * b), graph__a=[-1, 1], graph__b=[-1, 1])
    assert indices(table) == {"graph.a": (0.0, 1.0), "graph.b": (0.0, 1.0)}


def test_where_nothing_varies_nothing_is_explained():
    table = grid_of(lambda _, __, n: 1.0 + 0 * n, graph__n=[1, 2])
    assert indices(table) == {"graph.n": (0.0, 0.0)}


VALUES = [[1.0, 2.0, 4.0, 8.0], [1.0, 3.0, 5.0], [0.0, 1.0]]


def ishigami_like(a, b, c):
    return np.sin(a) + 7.0 * np.sin(b) ** 2 + 0.1 * c * np.sin(a) * b


def test_they_are_what_scipy_estimates():
    """By Saltelli's estimator, from 2**14 points of the same grid."""

    class Grid:
        def __init__(self, values):
            self.values = np.asarray(values)

        def ppf(self, share):
            place = np.minimum((share * len(self.values)).astype(int), len(self.values) - 1)
            return self.values[place]

    table = grid_of(
        lambda _, __, *point: np.exp(ishigami_like(*point)),
        graph__a=VALUES[0], graph__b=VALUES[1], graph__c=VALUES[2],
    )  # fmt: skip
    expected = stats.sobol_indices(
        func=lambda x: ishigami_like(*x), n=2**14, dists=[Grid(v) for v in VALUES],
        rng=np.random.default_rng(1),
    )  # fmt: skip
    found = indices(table)
    for k, name in enumerate(["graph.a", "graph.b", "graph.c"]):
        assert found[name][0] == pytest.approx(expected.first_order[k], abs=0.01)
        assert found[name][1] == pytest.approx(expected.total_order[k], abs=0.01)


def test_they_are_what_salib_estimates():
    sample = pytest.importorskip("SALib.sample.sobol", reason="pip install SALib")
    from SALib.analyze import sobol

    problem = {"num_vars": 3, "names": list("abc"), "bounds": [[0, 1]] * 3}
    shares = sample.sample(problem, 2**12, calc_second_order=False, seed=1)
    x = [np.asarray(v)[np.minimum((s * len(v)).astype(int), len(v) - 1)]
         for v, s in zip(VALUES, shares.T, strict=True)]  # fmt: skip
    found = sobol.analyze(problem, ishigami_like(*x), calc_second_order=False, seed=1)
    exact = indices(
        grid_of(
            lambda _, __, *point: np.exp(ishigami_like(*point)),
            graph__a=VALUES[0], graph__b=VALUES[1], graph__c=VALUES[2],
        )
    )  # fmt: skip
    assert [exact[f"graph.{n}"][0] for n in "abc"] == pytest.approx(found["S1"], abs=0.03)
    assert [exact[f"graph.{n}"][1] for n in "abc"] == pytest.approx(found["ST"], abs=0.03)


def test_only_a_full_grid_has_indices():
    frame = grid_of(power_law, graph__n=[2, 4, 8], platform__speed=[1, 2]).frame
    table = StudyTable.of(frame.drop(columns="used").drop(index=[2]))
    with pytest.raises(InputError, match=r"1 of the 6 combinations of graph.n, platform.speed"):
        sobol_indices(table)


def test_without_axes_there_are_no_indices():
    with pytest.raises(InputError, match="nothing but seeds"):
        sobol_indices(StudyTable.of(frame_of({"a": [1.0, 2.0]}, None, [0, 1])))


# Interactions


def test_the_strength_of_an_interaction_by_hand():
    """Logarithms 0, 0, 0, 4: an additive fit is off by 1 everywhere."""
    table = grid_of(lambda _, __, a, b: np.exp(4 * a * b), graph__a=[0, 1], graph__b=[0, 1])
    (found,) = interactions(table)
    assert found.strength == pytest.approx(np.e)
    assert found.relative.tolist() == [[1.0, 1.0], [1.0, pytest.approx(np.exp(4))]]
    assert (found.slices, found.all_slices) == (1, 1)


def test_axes_that_do_not_interact_have_strength_one():
    found = interactions(grid_of(power_law, graph__n=[2, 4, 8], platform__speed=[1, 2]))
    assert found[0].strength == pytest.approx(1.0)


def test_only_whole_slices_count():
    def makespan(scheduler, seed, a, b):
        return np.exp(4 * a * b) * (1.0 if scheduler == "x" else 100.0)

    frame = grid_of(makespan, ("x", "y"), graph__a=[0, 1], graph__b=[0, 1]).frame
    gone = frame.index[(frame["scheduler"] == "y") & (frame["graph.a"] == 0)][:1]
    table = StudyTable.of(frame.drop(columns="used").drop(index=gone))
    found = {(i.first.name, i.second.name): i for i in interactions(table)}
    both = found["graph.a", "graph.b"]
    assert (both.slices, both.all_slices) == (1, 2)
    assert both.relative[1, 1] == pytest.approx(np.exp(4))


def test_axes_that_never_meet_have_no_interaction():
    frame = frame_of({"a": [1.0, None], "b": [None, 2.0]}, names(2))
    assert interactions(StudyTable.of(frame)) == []
