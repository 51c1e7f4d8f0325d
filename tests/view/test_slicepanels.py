"""Panels that StarVZ has: iterations, utilisation, lack of ready tasks, GFlop/s; a scatter."""

import dataclasses

import numpy as np
import pytest

import tasksim
from tasksim.base.errors import InputError
from tasksim.graph.flop import task_flop
from tasksim.view.curvepanels import has_flop, panel_gflops
from tasksim.view.figure import PANELS, figure
from tasksim.view.iterationpanel import has_iterations, panel_iterations
from tasksim.view.kernelpanels import panel_scatter
from tasksim.view.rungraph import graph_of_run
from tasksim.view.slicepanels import panel_lack_of_ready, panel_utilisation
from tests.view.test_figure import assert_readable

DURATIONS_S = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}


@pytest.fixture(scope="module")
def run():
    return tasksim.simulate("cholesky tiles=5", workers=3, durations=DURATIONS_S)


def test_the_graph_of_a_run_is_made_once(run):
    assert graph_of_run(run) is graph_of_run(run)
    assert graph_of_run(run).name == "cholesky"
    assert graph_of_run(dataclasses.replace(run, graph_name="unknown")) is None


def test_iterations_have_a_row_each_and_lines_of_beginnings_and_ends(run):
    axes = panel_iterations(run)
    assert axes.get_ylim() == (4.5, -0.5)
    begin, end = axes.lines
    assert begin.get_ydata().tolist() == end.get_ydata().tolist() == [0, 1, 2, 3, 4]
    assert begin.get_xdata()[0] == 0
    assert end.get_xdata()[4] == run.makespan_s
    assert (begin.get_xdata() < end.get_xdata()).all()


def test_utilisation_is_a_row_per_worker(run):
    axes = panel_utilisation(run)
    (image,) = axes.images
    busy = np.bincount(run.tasks.worker, run.tasks.duration_s) / run.makespan_s
    assert image.get_array().mean(axis=1).tolist() == pytest.approx(busy.tolist())
    assert [text.get_text() for text in axes.get_yticklabels()] == ["cpu0", "cpu1", "cpu2"]


def test_lack_of_ready_tasks_is_a_strip(run):
    (image,) = panel_lack_of_ready(run).images
    assert image.get_array().shape == (1, 400)
    assert image.get_array()[0, -1] == 1  # at the end nothing is ready


def test_gflops_add_up_to_the_flop_of_the_graph(run):
    (line,) = panel_gflops(run).lines
    done = line.get_ydata().mean() * 1e9 * run.makespan_s
    assert done == pytest.approx(task_flop(graph_of_run(run)).sum())


def test_the_scatter_has_the_means_of_kernels(run):
    slower = dataclasses.replace(
        run, tasks=dataclasses.replace(run.tasks, end_s=run.tasks.end_s + run.tasks.duration_s)
    )
    axes = panel_scatter([run, slower])
    means = {line.get_label(): line.get_xydata()[0].tolist() for line in axes.lines[1::2]}
    expected = {kernel: [seconds, 2 * seconds] for kernel, seconds in DURATIONS_S.items()}
    assert {kernel: means[kernel] for kernel in DURATIONS_S} == expected


def test_what_a_run_does_not_say_is_told(make, run):
    chain = make.run()
    assert not has_iterations(chain)
    assert not has_flop(chain)
    with pytest.raises(InputError, match="panel iterations: no run here recorded tasks whose iter"):
        figure(chain, ["iterations"])
    with pytest.raises(InputError, match="panel scatter compares two runs, here are 1"):
        figure(chain, ["scatter"])
    with pytest.raises(InputError, match=r"compares runs of the same tasks, not .*\(35 tasks\)"):
        figure([run, chain], ["scatter"])


def test_they_are_panels_of_figures(run, tmp_path):
    names = ["gantt", "iterations", "utilisation", "lackready", "gflops", "scatter"]
    drawn = figure([run, run], names)
    labels = [axes.get_ylabel() for axes in drawn.axes]
    assert labels.count("iteration") == labels.count("busy") == 2
    assert labels.count("GFlop/s") == 1
    tasksim.save_figure(drawn, tmp_path / "all.pdf")


PANELS_ELSEWHERE = ("memory", "bandwidth", "power", "others", "network", "messages", "nodes")
"""Panels of runs with several memories, on several nodes, where power is known, or native ones."""


@pytest.mark.parametrize("workers", [2, 30])
def test_no_text_is_over_another(workers):
    runs = [
        tasksim.simulate("cholesky tiles=8", workers=workers, durations=DURATIONS_S, scheduler=name)
        for name in ("eager", "lws")
    ]
    assert_readable(figure(runs, [name for name in PANELS if name not in PANELS_ELSEWHERE]))


def test_a_run_without_tasks_has_empty_panels(run):
    empty = dataclasses.replace(run, tasks=type(run.tasks).empty())
    for panel in (panel_utilisation, panel_lack_of_ready, panel_gflops, panel_iterations):
        panel(empty)
