"""Rows of a figure: the panels and runs of each."""

from tasksim.view.figure import figure_rows, graph_labels
from tasksim.view.registry import PANELS


def described(runs, *names):
    """Per row, per panel: name, number of runs, axis."""
    panels = {name: PANELS.resolve(name) for name in names}
    of = {id(panel): name for name, panel in panels.items()}
    return [
        [(of[id(cell.panel)], len(cell.runs), cell.axis) for cell in row]
        for row in figure_rows(runs, panels)
    ]


def test_runs_that_are_alike_share_an_axis(make):
    runs = [make.run(), make.run(duration_s=0.04)]
    assert described(runs, "gantt", "ready", "kernels", "distributions") == [
        [("gantt", 1, 0)],
        [("gantt", 1, 0)],
        [("ready", 2, 0)],
        [("kernels", 2, None), ("distributions", 2, None)],
    ]


def test_others_have_one_each(make):
    runs = [make.run(), make.run(duration_s=0.01)]
    assert described(runs, "gantt", "ready", "kernels") == [
        [("gantt", 1, 0)],
        [("ready", 1, 0)],
        [("gantt", 1, 1)],
        [("ready", 1, 1)],
        [("kernels", 2, None)],
    ]


def test_many_kernels_have_a_row_per_panel(make):
    run = make.run(tasks=200, kernels=tuple(f"k{i}" for i in range(11)))
    assert len(described([run], "kernels", "distributions")) == 2


def test_graphs_are_named_once(make):
    run = make.run()
    assert graph_labels([run, run]) == ["cholesky tiles=10 tile_size=256"]
