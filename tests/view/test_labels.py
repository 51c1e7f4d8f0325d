"""No axis and no colour bar of a figure has numbers without a word that says what they are."""

from __future__ import annotations

from dataclasses import replace

import pytest
from figure_labels import unlabelled
from matplotlib.figure import Figure
from study_tables import grid_of

import tasksim
from tasksim.engine.simulation import Simulation
from tasksim.graph.distribution.owners import NodeGrid
from tasksim.models.kinds.linear import LinearModel
from tasksim.network.cluster import Cluster
from tasksim.network.load import read_network
from tasksim.platform.description import Platform
from tasksim.platform.power import ArchitecturePower, Power
from tasksim.reports.modelreport import write_report
from tasksim.study.report.figures.registry import FIGURES
from tasksim.study.report.findings import examine
from tasksim.study.report.table import StudyTable
from tasksim.view.figure import figure
from tasksim.view.registry import PANELS
from tasksim.view.sureplots import figure_inside
from tests.reports.test_modelreport import gemm
from tests.view.conftest import make_hybrid

DURATIONS_S = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
WATTS = Power(10.0, {"cpu": ArchitecturePower(1.0, 5.0, {"gemm": 9.0})})


def test_a_figure_without_a_word_is_found():
    bare = Figure()
    image = bare.add_subplot().imshow([[1.0, 2.0], [3.0, 4.0]])
    bare.colorbar(image)
    assert [axis for _, axis, _ in unlabelled(bare)] == ["x", "y", "y"]


def clustered():
    cluster = Cluster.alike(Platform.identical(2), 2, read_network("switch:bandwidth=1GB/s"))
    graph = tasksim.generate("cholesky", tiles=6, tile_size=256)
    library = tasksim.ConstantLibrary(DURATIONS_S)
    return Simulation(graph, cluster, library, "prio", grid=NodeGrid(1, 2)).run()


@pytest.fixture(scope="module")
def runs():
    """Runs that have, together, what all panels draw."""
    powered = replace(Platform.identical(4), power=WATTS)
    alone = tasksim.simulate("cholesky tiles=6", powered, durations=DURATIONS_S)
    processor_times = replace(alone.tasks, cpu_s=0.9 * alone.tasks.duration_s)
    repeatable = tasksim.simulate("cholesky tiles=6", workers=4, durations=DURATIONS_S)
    return [alone, make_hybrid(), clustered(), replace(alone, tasks=processor_times), repeatable]


@pytest.mark.parametrize("name", list(PANELS))
def test_panels_of_runs(runs, name):
    panel = PANELS.items()[name]
    (run, *_) = [run for run in runs if panel.shows(run)]
    for several in ([run], [run, run]):
        if name != "scatter" or len(several) == 2:
            assert unlabelled(figure(several, [name])) == []


def studied(schedulers):
    """Return what a study says that has all that figures are made of."""

    def makespan(scheduler, seed, tiles, count, nodes):
        alone = tiles**3 / min(count, tiles) / nodes**0.8 * (1 + 0.01 * seed * (tiles % 5))
        return alone * {"eager": 1.2, "prio": 1.0, "lws": 1.1}[scheduler]

    table = grid_of(
        makespan, schedulers, (0, 1), graph__tiles=[4, 8], platform__workers__cpu__count=[2, 4, 8],
        nodes=[1, 2, 16],
    )  # fmt: skip
    frame = table.frame.drop(columns="used")
    joules = frame["makespan_s"] ** 0.5 * frame["platform.workers.cpu.count"].astype(float)
    costs = {"path_synchronisations": joules, "path_words": 1 / joules, "path_flop": joules**2}
    return examine(
        StudyTable.of(frame.assign(energy_j=joules, lower_bound_s=0.5, tasks=100, **costs)),
        sobol=True,
    )


@pytest.fixture(scope="module")
def findings():
    return studied(("eager", "prio", "lws")), studied(("prio",))


@pytest.mark.slow
@pytest.mark.parametrize("name", list(FIGURES))
def test_figures_of_studies(findings, name):
    drawn = [drawing for found in findings for drawing in FIGURES.items()[name].draw(found)]
    assert drawn
    assert {drawing.name: unlabelled(drawing.figure) for drawing in drawn} == {
        drawing.name: [] for drawing in drawn
    }


def test_figures_of_how_sure_a_prediction_is():
    scenario = tasksim.Scenario("cholesky tiles=6", platform="xeon-2c")
    sure = tasksim.how_sure(scenario, replications=20)
    assert unlabelled(tasksim.figure_sure(sure)) == []
    assert unlabelled(tasksim.figure_sure({"lws": sure, "prio": sure})) == []
    assert unlabelled(figure_inside({"lws": [0.5, 0.6, 0.9]})) == []


def test_figures_of_reports_on_models(tmp_path, monkeypatch):
    made, begin = [], Figure.__init__

    def recorded(self, *given, **named):
        made.append(self)
        begin(self, *given, **named)

    monkeypatch.setattr(Figure, "__init__", recorded)
    write_report(LinearModel("m*n*k").fit(gemm()), gemm(), None, tmp_path / "gemm.html")
    assert len(made) == 4
    assert [unlabelled(one) for one in made] == [[]] * 4
