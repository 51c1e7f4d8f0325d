"""Time that others took from native runs, in figures: hatching, a panel, a number per worker."""

import dataclasses

import numpy as np
import pytest
from matplotlib.patches import PathPatch

from tasksim.base.errors import InputError
from tasksim.run.record import Disturbance
from tasksim.view.curvepanels import panel_others
from tasksim.view.figure import figure, save_figure
from tasksim.view.gantt import colour_legend, panel_gantt


def disturbed(make, **changes):
    """Return two workers, from the first of which others took 3 of the 4 s of its task."""
    run = make.rows([(0, 0, 0.0, 4.0), (0, 0, 4.0, 5.0), (3, 1, 0.0, 5.0)], 2, kind="native")
    tasks = dataclasses.replace(run.tasks, cpu_s=[1.0, 1.0, 5.0], preemptions=[2, 0, 0])
    told = Disturbance((3.0, 0.0), (2, 0), 0.0)
    return dataclasses.replace(run, tasks=tasks, disturbance=told, **changes)


def hatched(axes):
    """Return the corners of what is hatched: left, right, low, high."""
    paths = [a.get_path() for a in axes.get_children() if isinstance(a, PathPatch)]
    corners = [path.vertices.reshape(-1, 5, 2) for path in paths]
    return [
        (*np.sort(each[:, 0])[[0, -1]], *np.sort(each[:, 1])[[0, -1]])
        for part in corners
        for each in part
    ]


def test_the_end_of_a_task_is_hatched_for_as_long_as_others_had_the_core(make):
    [box] = hatched(panel_gantt(disturbed(make)))
    assert box == pytest.approx((1.0, 4.0, -0.42, 0.42))


def test_the_legend_says_what_hatching_is_where_something_is_hatched(make):
    run = disturbed(make)
    assert [patch.get_label() for patch in colour_legend([run])][-1] == "taken by others"
    assert len(colour_legend([make.run()])) == 4


def test_workers_say_what_others_had_of_their_cores(make):
    axes = panel_gantt(disturbed(make))
    labels = [label.get_text().replace("\N{FIGURE SPACE}", "") for label in axes.get_yticklabels()]
    assert labels == ["cpu0 0 % 60 %", "cpu1 0 % 0 %"]
    assert axes.get_ylabel() == "worker, idle %, others %"


def test_what_cannot_be_seen_is_not_hatched(make):
    run = disturbed(make)
    tasks = dataclasses.replace(run.tasks, cpu_s=[3.9985, 1.0, 5.0])
    quiet = dataclasses.replace(run, tasks=tasks)
    assert hatched(panel_gantt(quiet)) == []
    assert len(colour_legend([quiet])) == 2


def test_runs_that_do_not_know_are_drawn_as_before(make):
    axes = panel_gantt(make.run())
    assert hatched(axes) == []
    assert axes.get_ylabel() == "worker, idle %"


def test_the_panel_has_a_curve_of_percent_of_the_cores(make):
    axes = panel_others(disturbed(make))
    [line] = axes.lines
    times, percent = line.get_data()
    assert np.interp([1.0, 3.5, 4.5], times, percent) == pytest.approx([37.5, 37.5, 0.0])


def test_figures_have_the_panel_where_a_run_knows(make):
    with pytest.raises(InputError, match="panel others: no run here recorded the processor time"):
        figure(make.run(), ["others"])
    made = figure([make.run(duration_s=0.5), disturbed(make)], ["gantt", "others"])
    [axes] = [axes for axes in made.axes if axes.get_ylabel().startswith("others had")]
    assert len(axes.lines) == 1


def test_a_run_on_a_time_axis_of_its_own_has_the_panel_only_if_it_knows(make):
    made = figure([make.run(), disturbed(make)], ["gantt", "others"])
    labels = [axes.get_ylabel().split("\n")[0] for axes in made.axes]
    assert labels == ["worker, idle %", "worker, idle %, others %", "others had"]


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_the_same_run_gives_the_same_figure(make, tmp_path, suffix):
    paths = [tmp_path / f"{number}.{suffix}" for number in range(2)]
    for path in paths:
        save_figure(figure(disturbed(make), ["gantt", "others"]), path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
