"""Sobol' indices by draws: what a chain depends on, gaps in the grid, what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tasksim.base.errors import InputError
from tasksim.study.report.axes import StudyAxis
from tasksim.study.report.drawn_sobol import _between, drawn_sobol_indices, estimated
from tasksim.study.report.findings import examine
from tasksim.study.report.reading import read_study_table
from tasksim.study.sweep.studies import run_study

STUDY = """\
version: 1
name: chains
graphs:
  - {graph: chain, set: {length: [10, 100, 1000]}}
platforms:
  - {workers: [1, 2, 4]}
schedulers: [eager, lws]
durations: task=1 ms
where: ["length < 1000 or workers > 1"]
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chains")
    (folder / "study.yaml").write_text(STUDY)
    run_study(folder / "study.yaml", folder / "study")
    return read_study_table(folder / "study")


def test_a_chain_depends_on_its_length_alone_and_gaps_do_not_matter(table):
    first, *others = found = drawn_sobol_indices(table, 64)
    assert first.axis == "graph.length"
    assert first.total == pytest.approx(1.0, abs=0.25)
    assert first.first_low <= first.first <= first.first_high
    assert len(others) == 2
    for other in others:
        assert other.total == pytest.approx(0.0, abs=1e-9)
    assert first.simulated == 64 * (len(found) + 2)


def test_the_same_draws_give_the_same(table):
    assert drawn_sobol_indices(table, 16) == drawn_sobol_indices(table, 16)
    assert drawn_sobol_indices(table, 16) != drawn_sobol_indices(table, 16, seed=1)


def test_findings_have_them_where_they_are_asked_for(table):
    assert examine(table).sobol_drawn is None
    told = []
    found = examine(table, sobol_draws=8, progress=lambda *of: told.append(of)).to_json()
    assert [done for done, _ in told] == list(range(1, len(told) + 1))
    assert told[-1][0] == told[-1][1]
    assert found["sobol_drawn"][0]["axis"] == "graph.length"
    json.dumps(found["sobol_drawn"])


def test_values_lie_between_those_of_the_axis():
    whole = _between(StudyAxis.of("graph.tiles", [4, 8]))
    assert {whole(k / 100) for k in range(100)} == {4, 5, 6, 7, 8}
    wide = _between(StudyAxis.of("graph.length", [10, 1000]))
    assert (wide(0.0), wide(0.999999)) == (10, 1000)
    assert wide(0.5) == pytest.approx(100, abs=3)
    factor = _between(StudyAxis.of("platform.links.pcie.bandwidth", ["x1", "x2"]))
    assert factor(0.5) == "x1.5"
    quantity = _between(StudyAxis.of("platform.links.pcie.bandwidth", ["12 GB/s", "16 GB/s"]))
    assert quantity(0.25) == "1.3e+10 B/s"
    names = _between(StudyAxis.of("scheduler", ["eager", "lws"]))
    assert [names(0.2), names(0.7)] == ["eager", "lws"]


@pytest.mark.parametrize("draws", [0, 1, 3, 100, 2**30])
def test_other_numbers_of_draws_are_refused(table, draws):
    with pytest.raises(InputError, match="draws"):
        drawn_sobol_indices(table, draws)


def test_a_table_alone_is_refused(table):
    from dataclasses import replace

    with pytest.raises(InputError, match="need the folder"):
        drawn_sobol_indices(replace(table, folder=""), 8)


def test_estimates_are_those_of_a_function_that_is_known():
    """Ishigami's, whose indices are known in closed form."""

    def ishigami(points):
        x = np.pi * (2 * points - 1)
        return np.sin(x[:, 0]) + 7 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0])

    found = estimated(ishigami, 3, 4096, np.random.default_rng(0))
    assert found[:, 0] == pytest.approx([0.3139, 0.4424, 0.0], abs=0.03)
    assert found[:, 3] == pytest.approx([0.5576, 0.4424, 0.2437], abs=0.03)
    assert (found[:, 1] <= found[:, 0]).all()
    assert (found[:, 4] <= found[:, 3]).all()
    assert (found[:, 3] <= found[:, 5]).all()


def test_what_does_not_vary_has_no_indices():
    found = estimated(lambda points: np.ones(len(points)), 2, 16, np.random.default_rng(0))
    assert not found.any()
