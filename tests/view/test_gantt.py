import time

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex

from tasksim.run.bounds import Bounds
from tasksim.view.figure import figure, save_figure
from tasksim.view.gantt import panel_gantt
from tasksim.view.style import new_figure


def texts(axes):
    return [text.get_text() for text in axes.texts if text.get_text()]


def row_labels(axes):
    return [label.get_text().replace("\N{FIGURE SPACE}", "") for label in axes.get_yticklabels()]


def pixels(fig):
    fig.canvas.draw()
    return np.asarray(fig.canvas.buffer_rgba())[:, :, :3]


def inside(axes):
    """The pixels of the plot area, first row on top."""
    image = pixels(axes.figure)
    box = axes.get_window_extent()
    top, bottom = image.shape[0] - int(box.y1), image.shape[0] - int(box.y0)
    return image[top:bottom, int(box.x0) : int(box.x1)]


def test_a_rectangle_per_task_in_the_colour_of_its_kernel(make):
    run = make.rows([(0, 0, 0.0, 1.0), (3, 1, 0.5, 2.0), (3, 0, 1.0, 3.0)], 2)
    axes = panel_gantt(run)
    drawn = [c for c in axes.collections if isinstance(c, PolyCollection)]
    assert {to_hex(c.get_facecolor()[0]): len(c.get_paths()) for c in drawn} == {
        "#e41a1c": 1,
        "#4daf4a": 2,
    }
    box = drawn[0].get_paths()[0].get_extents()
    assert (box.x0, box.x1) == (0.0, 1.0)
    assert box.y0 < 0 < box.y1 < 0.5
    assert all(c.get_rasterized() for c in drawn)


def test_rows_name_worker_and_idleness_first_on_top(make):
    run = make.rows([(0, 0, 0.0, 4.0), (0, 1, 0.0, 1.0)], 3)
    axes = panel_gantt(run)
    assert row_labels(axes) == ["cpu0 0 %", "cpu1 75 %", "cpu2 100 %"]
    bottom, top = axes.get_ylim()
    assert bottom > top


def test_makespan_and_bounds_are_marked_with_their_values(make):
    run = make.rows([(0, 0, 0.0, 4.0)], 1, bounds={"critical_path_s": 1.0, "area_s": 2.5})
    expected = ["critical path 1 s", "area bound 2.5 s", "makespan 4 s"]
    assert texts(panel_gantt(run)) == expected
    assert texts(panel_gantt(run, bounds={})) == ["makespan 4 s"]
    assert texts(panel_gantt(run, bounds=Bounds(3.0, 0.5))) == [
        "area bound 500 ms",
        "critical path 3 s",
        "makespan 4 s",
    ]


def test_a_bound_beyond_the_makespan_is_on_the_axis(make):
    run = make.rows([(0, 0, 0.0, 4.0)], 1, kind="native")
    axes = panel_gantt(run, bounds={"area_s": 5.0})
    assert axes.get_xlim()[1] > 5.0
    assert texts(panel_gantt(run, bounds={"area_s": 5.0}, until_s=4.0)) == ["makespan 4 s"]


def test_many_rows_are_labelled_where_there_is_room(make):
    axes = panel_gantt(make.run(workers=200, tasks=400))
    shown = axes.get_yticks()
    assert 20 < len(shown) < 120
    assert axes.get_ylim() == (199.5, -0.5)


def test_it_draws_into_given_axes(make):
    fig = new_figure(3.0)
    axes = fig.add_subplot()
    assert panel_gantt(make.run(), axes, title="mine", legend=False) is axes
    assert axes.get_title(loc="left") == "mine"
    assert axes.get_legend() is None


def test_a_busy_row_has_no_gaps_however_short_its_tasks(make):
    run = make.run(workers=1, tasks=20_000, gap=0)
    axes = panel_gantt(run, bounds={}, until_s=0.9 * run.makespan_s)
    area = inside(axes)
    middle = area[area.shape[0] // 2, 3:-3]
    assert not (middle == 255).all(axis=1).any()
    # All four kernels are seen, each in about a quarter of the pixels.
    green = (middle == (0x4D, 0xAF, 0x4A)).all(axis=1).mean()
    assert green == pytest.approx(0.25, abs=0.06)


def test_an_empty_run_is_an_empty_panel(make):
    run = make.run(workers=2, tasks=0)
    axes = panel_gantt(run)
    axes.figure.canvas.draw()
    assert texts(axes) == ["makespan 0 s"]


@pytest.mark.slow
def test_a_hundred_thousand_tasks_take_seconds_and_no_minutes(make, tmp_path):
    run = make.run(workers=64, tasks=100_000)
    begin = time.perf_counter()
    save_figure(figure(run), tmp_path / "large.png")
    assert time.perf_counter() - begin < 20


@pytest.mark.slow
def test_thirty_thousand_copies_more_take_seconds_and_no_minutes(make, tmp_path):
    run = make.hybrid(8, 56, tasks=100_000, copies=30_000)
    begin = time.perf_counter()
    save_figure(figure(run, arrows=True), tmp_path / "large.png")
    assert time.perf_counter() - begin < 30
