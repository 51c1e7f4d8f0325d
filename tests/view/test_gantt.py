import numpy as np
import pytest
from growth import nearly_linear
from matplotlib.colors import to_hex, to_rgb

from tasksim.run.bounds import Bounds
from tasksim.run.metrics import idleness_percent
from tasksim.view.bands import Bands
from tasksim.view.colours import kernel_colours
from tasksim.view.figure import figure, save_figure
from tasksim.view.gantt import TASK_NAME, panel_gantt
from tasksim.view.style import new_figure


def texts(axes):
    return [
        text.get_text() for text in axes.texts if text.get_text() and text.get_gid() != TASK_NAME
    ]


def task_names(axes):
    return [text.get_text() for text in axes.texts if text.get_gid() == TASK_NAME]


def row_labels(axes):
    return [label.get_text().replace("\N{FIGURE SPACE}", "") for label in axes.get_yticklabels()]


def pixels(fig):
    fig.canvas.draw()
    return np.asarray(fig.canvas.buffer_rgba())[:, :, :3]


def inside(axes):
    """The pixels of the plot area without the names of tasks, first row on top."""
    for text in axes.texts:
        text.set_visible(text.get_gid() != TASK_NAME)
    image = pixels(axes.figure)
    box = axes.get_window_extent()
    top, bottom = image.shape[0] - int(box.y1), image.shape[0] - int(box.y0)
    return image[top:bottom, int(box.x0) : int(box.x1)]


def bands(axes):
    (found,) = (a.boxes for a in axes.get_children() if isinstance(a, Bands))
    return found


def test_a_rectangle_per_task_in_the_colour_of_its_kernel(make):
    run = make.rows([(0, 0, 0.0, 1.0), (3, 1, 0.5, 2.0), (3, 0, 1.0, 3.0)], 2)
    boxes = bands(panel_gantt(run))
    drawn = [
        (boxes.start[i], boxes.end[i], boxes.edges[boxes.band[i]].mean(), boxes.colours[s])
        for i, s in enumerate(boxes.state)
    ]
    potrf, gemm = kernel_colours(["potrf", "gemm"]).values()
    assert drawn == [(0, 1, 0, potrf), (1, 3, 0, gemm), (0.5, 2, 1, gemm)]
    assert (boxes.edges[:, 1] - boxes.edges[:, 0]).tolist() == pytest.approx([0.84, 0.84])


def test_a_kernel_has_one_colour_in_the_charts_of_all_runs(make):
    names = [f"kernel_{number}" for number in range(12)]
    runs = [make.run(kernels=names[:8]), make.run(kernels=names[4:], kind="native")]
    fig = figure(runs, ["gantt"])
    (legend,) = fig.legends
    pairs = zip(legend.get_texts(), legend.legend_handles, strict=True)
    named = {text.get_text(): to_hex(handle.get_facecolor()) for text, handle in pairs}
    for run, axes in zip(runs, fig.axes, strict=True):
        drawn = bands(axes).colours
        for kernel in np.unique(run.tasks.kernel).tolist():
            assert drawn[kernel] == named[run.kernel_names[kernel]]


def test_few_tasks_have_their_names_where_they_fit(make):
    # Two tasks of kernel 3, which have numbers, and one of kernel 0; the last one is too short.
    run = make.rows([(0, 0, 0.0, 1.0), (3, 1, 0.5, 2.0), (3, 0, 1.0, 3.0), (1, 1, 2.0, 2.01)], 2)
    assert task_names(panel_gantt(run)) == ["potrf", "#1", "#2"]


def test_many_tasks_have_no_names(make):
    run = make.rows([(0, 0, float(t), t + 1.0) for t in range(61)], 1)
    assert task_names(panel_gantt(run)) == []


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
    run = make.run(workers=1, tasks=4000, gap=0)
    axes = panel_gantt(run, bounds={}, until_s=0.9 * run.makespan_s)
    area = inside(axes)
    middle = area[area.shape[0] // 2, 3:-3]
    assert not (middle == 255).all(axis=1).any()
    # All four kernels are seen, each with its share of the time.
    names = [run.kernel_names[k] for k in run.tasks.kernel]
    expected = np.mean([to_rgb(kernel_colours(names)[name]) for name in names], axis=0)
    assert middle.mean(axis=0) / 255 == pytest.approx(expected, abs=0.02)


def drawn_shares(run):
    """Return the share of the time in which the pixels of each row are busy."""
    axes = panel_gantt(run, bounds={}, legend=False, until_s=run.makespan_s / 1.01)
    for line in list(axes.lines):
        line.remove()
    dark = 255 - inside(axes).mean(axis=2)
    rows = np.linspace(0, len(dark), 2 * len(run.workers) + 1).astype(int)[1::2]
    return dark[rows].mean(axis=1) / 255


@pytest.mark.parametrize("tasks", [3, 40, 3000, 30_000])
@pytest.mark.parametrize("gap", [0.01, 2.0])
def test_a_row_is_covered_for_the_share_of_the_time_that_is_busy(make, tasks, gap, monkeypatch):
    black = "tasksim.view.gantt.kernel_colours"
    monkeypatch.setattr(black, lambda names: dict.fromkeys(names, "#000000"))
    run = make.run(3, tasks, gap=gap, kernels=("black",))
    busy = 1 - idleness_percent(run) / 100
    assert drawn_shares(run) == pytest.approx(busy, abs=0.004)


def test_regular_short_gaps_make_no_stripes(make):
    # 5 000 tasks with gaps of 2 %: every pixel is 98 % full, none is white.
    start = np.arange(5000) * 1.0
    run = make.rows([(0, 0, s, s + 0.98) for s in start], 1)
    axes = panel_gantt(run, bounds={}, until_s=4500.0)
    middle = inside(axes)[inside(axes).shape[0] // 2, 3:-3].astype(int)
    assert np.ptp(middle, axis=0).max() <= 2


def test_equal_neighbours_are_apart_where_there_is_room(make):
    run = make.rows([(3, 0, 0.0, 1.0), (3, 0, 1.0, 2.0), (3, 0, 2.0, 3.0)], 1)
    axes = panel_gantt(run, bounds={})
    area = inside(axes)
    middle = area[area.shape[0] // 2].astype(int).sum(axis=1)
    third = np.flatnonzero(middle < 0.8 * np.median(middle)) * 3.03 / len(middle)
    assert any(abs(third - 1.0) < 0.02)
    assert any(abs(third - 2.0) < 0.02)


def test_an_empty_run_is_an_empty_panel(make):
    run = make.run(workers=2, tasks=0)
    axes = panel_gantt(run)
    axes.figure.canvas.draw()
    assert texts(axes) == ["makespan 0 s"]


@pytest.mark.slow
def test_many_tasks_take_a_time_in_proportion(make, tmp_path):
    runs = {n: make.run(workers=64, tasks=n) for n in (12_500, 100_000)}
    assert nearly_linear(
        lambda n: save_figure(figure(runs[n]), tmp_path / f"{n}.png", force=True),
        12_500,
        100_000,
        1,
    )


@pytest.mark.slow
def test_many_copies_take_a_time_in_proportion(make, tmp_path):
    runs = {n: make.hybrid(8, 56, tasks=10 * n // 3, copies=n) for n in (3_750, 30_000)}

    def drawn(n):
        save_figure(figure(runs[n], arrows=True), tmp_path / f"{n}.png", force=True)

    assert nearly_linear(drawn, 3_750, 30_000, 1)
