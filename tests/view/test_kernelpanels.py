import dataclasses

import pytest

from tasksim.view.curvepanels import panel_ready
from tasksim.view.kernelpanels import panel_kernel_distributions, panel_kernel_totals


def test_ready_tasks_are_steps(make):
    run = make.rows([(0, 0, 0.0, 1.0), (0, 0, 1.0, 2.0), (0, 0, 2.0, 3.0)], 1)
    axes = panel_ready(run)
    (line,) = axes.lines
    assert line.get_drawstyle() == "steps-post"
    assert line.get_xdata().tolist() == [0.0, 1.0, 2.0, 3.0]
    assert line.get_ydata().tolist() == [2, 1, 0, 0]


def test_the_axis_of_a_count_that_stays_zero_has_whole_numbers(make):
    axes = panel_ready(make.rows([(0, 0, 0.0, 1.0)], 1))
    assert axes.get_ylim() == (0.0, 1.0)
    axes.figure.canvas.draw()
    assert [text.get_text() for text in axes.get_yticklabels()] == ["0", "1"]


def test_the_legend_of_runs_covers_no_curve(make):
    axes = panel_ready([make.run(seed=seed) for seed in range(30)])
    axes.figure.canvas.draw()
    box = axes.get_legend().get_window_extent()
    assert box.y0 >= axes.get_window_extent().y1
    assert box.y1 <= axes.figure.bbox.y1
    assert box.x1 <= axes.figure.bbox.x1


def test_totals_have_a_bar_per_kernel_and_run(make):
    rows = [(0, 0, 0.0, 1.0), (3, 0, 1.0, 2.5), (3, 0, 2.5, 4.0)]
    run = make.rows(rows, 1)
    other = make.rows(rows[:2], 1, kind="native")
    axes = panel_kernel_totals([run, other])
    assert [bar.get_height() for bar in axes.patches] == [1.0, 1.0, 3.0, 1.5]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["potrf\n×1", "gemm\n×2 / 1"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["simulated", "native"]


def test_a_kernel_that_one_run_lacks_leaves_its_place_empty(make):
    axes = panel_kernel_totals(
        [make.rows([(0, 0, 0.0, 1.0)], 1), make.rows([(3, 0, 0.0, 2.0)], 1, kind="native")]
    )
    assert [bar.get_height() for bar in axes.patches] == [1.0, 2.0]
    assert [label.get_text() for label in axes.get_xticklabels()] == [
        "potrf\n×1 / 0",
        "gemm\n×0 / 1",
    ]


@pytest.mark.parametrize(("longest", "scale"), [(20.0, "linear"), (40.0, "log")])
def test_distributions_turn_logarithmic_where_needed(make, longest, scale):
    run = make.rows([(0, 0, 0.0, 1.0), (3, 0, 1.0, 1.0 + longest)], 1)
    assert panel_kernel_distributions(run).get_yscale() == scale


def test_boxes_are_the_quartiles(make):
    run = make.run(workers=1, tasks=400, kernels=("gemm",))
    axes = panel_kernel_distributions(run)
    q1, q3 = 0.0, 0.0
    durations = run.tasks.duration_s
    import numpy as np

    q1, q3 = np.quantile(durations, [0.25, 0.75])
    box = axes.patches[0].get_path().get_extents()
    assert (box.y0, box.y1) == pytest.approx((q1, q3))
    ends = axes.lines[-1].get_ydata()
    assert list(ends) == [durations.min(), durations.max()]


def test_zero_durations_are_drawn(make):
    run = make.rows([(0, 0, 0.0, 0.0), (3, 0, 0.0, 1.0)], 1)
    axes = panel_kernel_distributions([run, dataclasses.replace(run, kind="native")])
    axes.figure.canvas.draw()
    assert axes.get_yscale() == "linear"
