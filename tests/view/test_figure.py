import dataclasses
import itertools
import resource
import subprocess
import sys
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import tasksim.view
from tasksim.base.errors import InputError, OutputError
from tasksim.view.colours import IDLE_COLOURS, KERNEL_COLOURS
from tasksim.view.figure import FORMATS, PANELS, figure, save_figure
from tasksim.view.style import new_figure

SPECIAL_PANELS = (
    "iterations",
    "gflops",
    "power",
    "others",
    "scatter",
    "network",
    "messages",
    "nodes",
    "blame",
)
PANELS_OF_ANY_RUN = tuple(name for name in PANELS if name not in SPECIAL_PANELS)
"""Panels of any runs; the others, of runs whose graph is known, are in test_slicepanels.py, those
of runs on several nodes in test_network_panels.py, of power in test_powerpanel.py,
of what others took in test_others.py."""
PANELS_EVERYWHERE = tuple(name for name in PANELS_OF_ANY_RUN if name not in ("memory", "bandwidth"))


def visible_texts(fig):
    fig.draw_without_rendering()  # texts are where they would be drawn
    found = [*fig.texts, *(text for legend in fig.legends for text in legend.get_texts())]
    for axes in fig.axes:
        found += [*axes.texts, axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label]
        found += axes.get_legend().get_texts() if axes.get_legend() else []
        found += [*tick_labels(axes.xaxis), *tick_labels(axes.yaxis)]
    shown = [text for text in found if text.get_visible() and text.get_text().strip()]
    return [(text, text.get_window_extent()) for text in shown]


def tick_labels(axis):
    low, high = sorted(axis.get_view_interval())
    ticks = zip(axis.get_majorticklocs(), axis.get_major_ticks(), strict=True)
    return [tick.label1 for place, tick in ticks if low <= place <= high]


def overlap(a, b):
    width = min(a.x1, b.x1) - max(a.x0, b.x0)
    height = min(a.y1, b.y1) - max(a.y0, b.y0)
    # Line boxes contain room above and below the letters.
    return width > 1 and height > 0.3 * min(a.height, b.height)


def assert_readable(fig):
    found = visible_texts(fig)
    for (one, a), (other, b) in itertools.combinations(found, 2):
        assert not overlap(a, b), (one.get_text(), other.get_text())
    for text, box in found:
        inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= fig.bbox.x1 + 1
        assert inside and box.y1 <= fig.bbox.y1 + 1, text.get_text()  # noqa: PT018


def with_bounds(run, path, area):
    return dataclasses.replace(
        run, bounds={"critical_path_s": path * run.makespan_s, "area_s": area * run.makespan_s}
    )


WORKERS, DURATIONS_S = (2, 12, 64), (3e-6, 0.1, 400.0)
BOUND_SHARES = ((0.3, 0.95), (0.97, 0.96), (0.02, 0.03))


@pytest.mark.parametrize(
    ("workers", "duration_s", "shares"),
    [  # each two values together
        (workers, duration_s, BOUND_SHARES[(i + j) % 3])
        for i, workers in enumerate(WORKERS)
        for j, duration_s in enumerate(DURATIONS_S)
    ],
)
def test_no_text_is_over_another(make, workers, duration_s, shares):
    run = with_bounds(make.run(workers, 8 * workers, duration_s), *shares)
    assert_readable(figure(run))


@pytest.mark.parametrize(
    "share", [0.03, *(pytest.param(share, marks=pytest.mark.slow) for share in (0.4, 0.97))]
)
def test_no_text_is_over_another_with_two_runs(make, share):
    long = with_bounds(make.run(12, 120), 0.3, 0.9)
    short = with_bounds(make.run(12, 120, 0.1 * share, kind="native"), 0.9, 0.92)
    assert_readable(figure([long, short], PANELS_EVERYWHERE))


@pytest.mark.slow
def test_no_text_is_over_another_with_long_names(make):
    names = tuple(f"some_long_kernel_{i}" for i in range(15))
    run = make.run(40, 400, kernels=names)
    named = [dataclasses.replace(w, name=f"node12/{w.name}") for w in run.workers]
    other = dataclasses.replace(run, scheduler="dm:estimates=quantile,share=0.9", seed=4)
    assert_readable(
        figure([dataclasses.replace(run, workers=tuple(named)), other], PANELS_EVERYWHERE)
    )


NAMES = (
    "a" * 200,
    "$x^2_i$ \\frac",
    "tab\tname",
    "std::vector<Eigen::Matrix<double, -1, -1>>::emplace_back(std::pair<int, std::string>&)",
    "<b>bold</b>&amp;",
    "перемножение_матриц",
)


def test_names_of_any_length_and_kind_are_readable(make):
    run = make.run(6, 120, kernels=NAMES)
    named = tuple(
        dataclasses.replace(w, name=f"{w.name} of a machine with a very long name, {'b' * 90}")
        for w in run.workers
    )
    fig = figure(dataclasses.replace(run, workers=named), PANELS_EVERYWHERE)
    assert_readable(fig)
    formulas = [text for text, _ in visible_texts(fig) if "$x" in text.get_text()]
    assert formulas
    assert not any(text.get_parse_math() for text in formulas)
    assert (
        max(len(line) for text, _ in visible_texts(fig) for line in text.get_text().split("\n"))
        < 90
    )


def test_the_legend_of_hundreds_of_kernels_has_those_of_most_time(make):
    kernels = tuple(f"kernel_{number:03d}" for number in range(300))
    run = make.run(4, 3000, kernels=kernels)
    fig = figure(run, ("gantt", "path"))
    assert_readable(fig)
    entries = [text.get_text() for text in fig.legends[0].get_texts()]
    total_s = np.bincount(run.tasks.kernel, run.tasks.duration_s)
    largest = sorted(np.argsort(-total_s)[:40].tolist())
    assert entries == [*(kernels[k] for k in largest), "and 260 other kernels"]
    gantt, path = fig.axes
    parts = [text.get_text() for text in path.get_legend().get_texts()]
    assert len(parts) == 25
    assert parts[-2:] == ["other kernels", "waiting"]
    assert min(axes.get_window_extent().height for axes in (gantt, path)) > 80
    bars = [
        sum(
            bar.get_width()
            for bar in path.patches
            if bar.get_y() < y < bar.get_y() + bar.get_height()
        )
        for y in (0, 1)
    ]
    assert bars == pytest.approx([run.makespan_s] * 2)


def test_panels_with_the_same_unit_have_the_same_ticks(make):
    gantt, path = figure(make.run(duration_s=86400.0), ("gantt", "path")).axes
    assert list(gantt.get_xticks()) == list(path.get_xticks())
    assert not any("e" in text.get_text() for text in path.get_xticklabels())


def test_panels_of_tasks_that_took_no_time_say_it(make):
    run = make.rows([(0, 0, 0.0, 0.0), (1, 1, 0.0, 0.0)], 2)
    panels = ("gantt", "kernels", "distributions")
    for axes in figure(run, panels).axes:
        assert "all tasks took no time" in [text.get_text() for text in axes.texts]
    for axes in figure(make.run(), panels).axes:
        assert "all tasks took no time" not in [text.get_text() for text in axes.texts]


def test_figures_and_pages_have_one_name_for_a_wait():
    script = Path(tasksim.view.__file__).with_name("page") / "script" / "waits.js"
    assert all(f'"{name}"' in script.read_text() for name, _ in IDLE_COLOURS.values())


def test_a_panel_without_ready_tasks_says_why(make):
    run = make.run(1, 1)
    at_once = dataclasses.replace(
        run, tasks=dataclasses.replace(run.tasks, ready_s=run.tasks.start_s)
    )
    texts = [text.get_text() for text in figure(at_once, ["ready"]).axes[0].texts]
    assert texts == ["every task started as soon as it was ready"]
    assert not figure(make.run(), ["ready"]).axes[0].texts


@pytest.mark.parametrize(("gpus", "tasks"), [(1, 300), pytest.param(8, 30, marks=pytest.mark.slow)])
def test_no_text_is_over_another_with_several_memories(make, gpus, tasks):
    run = make.hybrid(gpus, 2 * gpus, tasks, copies=tasks)
    assert_readable(figure(with_bounds(run, 0.4, 0.9), arrows=True))
    assert_readable(figure([run, make.run()], PANELS_OF_ANY_RUN))


def test_runs_share_one_time_axis(make):
    fig = figure([make.run(), make.run(duration_s=0.05, kind="native")], ("gantt", "ready"))
    gantt, other, ready = fig.axes
    assert gantt.get_xlim() == other.get_xlim() == ready.get_xlim()
    ready.set_xlim(0, 0.1)
    assert gantt.get_xlim() == (0, 0.1)
    assert ready.get_xlabel() == "time (s)"
    assert gantt.get_xlabel() == ""
    assert [a.get_title(loc="left").split(",")[0] for a in (gantt, other)] == [
        "simulated",
        "native",
    ]


def test_curves_of_several_runs_are_in_one_panel(make):
    runs = [make.run(), make.run(kind="native", seed=1)]
    (ready,) = figure(runs, ("ready",)).axes
    assert [line.get_label() for line in ready.lines] == ["simulated", "native"]


def test_charts_of_runs_that_look_alike_have_the_names_of_their_curves(make):
    runs = [make.run(), make.run()]
    gantt, other, ready = figure(runs, ("gantt", "ready")).axes
    names = [line.get_label() for line in ready.lines]
    assert names == ["run (1)", "run (2)"]
    titles = [axes.get_title(loc="left").split(":")[0] for axes in (gantt, other)]
    assert titles == names
    seeded = [runs[0], dataclasses.replace(runs[0], scheduler="eager", seed=1)]
    gantt, other = figure(seeded, ("gantt",)).axes
    assert gantt.get_title(loc="left").startswith("lws, seed 0: simulated, lws, on ")


def test_equal_curves_of_several_runs_are_both_seen(make):
    (ready,) = figure([make.run(), make.run()], ("ready",)).axes
    assert [line.is_dashed() for line in ready.lines] == [False, True]


def test_curves_below_each_other_share_one_legend(make):
    runs = [make.run(), make.run(kind="native", seed=1)]
    ready, submitted = figure(runs, ("ready", "submitted")).axes
    assert [text.get_text() for text in ready.get_legend().get_texts()] == ["simulated", "native"]
    assert submitted.get_legend() is None


@pytest.mark.slow
def test_every_panel_draws_one_run_and_none_of_its_tasks(make):
    for run in (make.run(), make.run(tasks=0)):
        for name in PANELS_EVERYWHERE:
            figure(run, (name,)).canvas.draw()
    for run in (make.hybrid(), make.hybrid(tasks=0, copies=1)):
        for name in PANELS_OF_ANY_RUN:
            figure(run, (name,), arrows=True).canvas.draw()


def y_labels(fig):
    return [axes.get_ylabel() for axes in fig.axes]


def test_panels_of_memories_are_drawn_below_each_run_that_has_them(make):
    hybrid, plain = make.hybrid(), make.run()
    rows = "worker, idle %"
    assert y_labels(figure(plain)) == [rows, "ready tasks"]
    data = ["used (MiB)", "copied (MB/s)"]
    assert y_labels(figure(hybrid)) == [rows, *data, "ready tasks"]
    assert y_labels(figure([hybrid, plain])) == [rows, *data, rows, "ready tasks"]
    assert y_labels(figure([plain, hybrid], ("gantt", "memory"))) == [rows, rows, data[0]]
    fig = figure(hybrid)
    assert len({axes.get_xlim() for axes in fig.axes}) == 1


@pytest.mark.parametrize("panel", ["memory", "bandwidth"])
def test_a_panel_that_no_run_has_is_refused(make, panel):
    with pytest.raises(InputError, match=f"panel {panel}: no run here recorded data in several"):
        figure(make.run(), ("gantt", panel))


@pytest.mark.parametrize(
    ("panels", "message"),
    [
        (("gant",), "unknown panel 'gant', did you mean 'gantt'?"),
        ((), "nothing to draw: 1 runs, 0 panels"),
    ],
)
def test_unknown_panels(make, panels, message):
    with pytest.raises(InputError, match=message):
        figure(make.run(), panels)


def test_no_runs():
    with pytest.raises(InputError, match="nothing to draw: 0 runs, 2 panels"):
        figure([])


@pytest.mark.slow
def test_the_same_figure_gives_the_same_bytes(make, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        drawn = figure([make.hybrid(), make.run(seed=1)], PANELS_OF_ANY_RUN)
        for suffix in FORMATS:
            save_figure(drawn, tmp_path / name / f"figure{suffix}")
    written = sorted(path.name for path in (tmp_path / "b").iterdir())
    assert written == ["figure.pdf", "figure.png", "figure.svg"]
    for name, begin in zip(written, (b"%PDF", b"\x89PNG", b"<?xm"), strict=True):
        first, second = ((tmp_path / folder / name).read_bytes() for folder in ("a", "b"))
        assert first == second
        assert first.startswith(begin)


def filled(svg):
    """Return the number of shapes in the colours of kernels in an SVG file."""
    return sum(svg.count(f"fill: {colour}") for colour in KERNEL_COLOURS.values())


def test_svg_has_text_as_text_and_tasks_as_shapes(make, tmp_path):
    save_figure(figure(make.run(tasks=4000), ("gantt",)), tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text()
    assert "simulated, lws, on identical-4" in text
    assert "<image" not in text
    assert filled(text) >= 4000
    assert len(text) < 2_500_000


@pytest.mark.parametrize("title", ["cholesky tiles=10 tile_size=256", "größe <b>", ""])
def test_files_have_the_title_of_the_figure(tmp_path, title):
    fig = new_figure(1.0)
    fig.suptitle(title)
    for suffix in FORMATS:
        save_figure(fig, tmp_path / f"a{suffix}")
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.info.get("Title", "") == title
    svg = ET.parse(tmp_path / "a.svg").getroot()
    assert svg.findtext("{http://www.w3.org/2000/svg}title", "") == title
    assert (b"/Title" in (tmp_path / "a.pdf").read_bytes()) == bool(title)


@pytest.mark.slow
def test_pdf_has_tasks_as_shapes(make, tmp_path):
    save_figure(figure(make.run(tasks=400), ("gantt",)), tmp_path / "a.pdf")
    assert b"/Subtype /Image" not in (tmp_path / "a.pdf").read_bytes()


def test_svg_of_very_many_tasks_has_them_as_an_image(make, tmp_path, monkeypatch):
    monkeypatch.setattr("tasksim.view.bands.MAX_VECTOR_BOXES", 3999)
    save_figure(figure(make.run(tasks=4000), ("gantt",)), tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text()
    assert text.count("<image") == 1
    assert len(text) < 400_000


def test_other_suffixes_are_refused(make, tmp_path):
    with pytest.raises(InputError, match=r"cannot draw a '.jpg' file \(legal: .png, .pdf, .svg\)"):
        save_figure(figure(make.run()), tmp_path / "a.jpg")
    assert not list(tmp_path.iterdir())


def test_existing_files_are_kept_unless_forced(make, tmp_path):
    target = tmp_path / "a.png"
    target.write_text("precious")
    with pytest.raises(InputError, match=r"a.png exists; give force=True"):
        save_figure(figure(make.run()), target)
    assert target.read_text() == "precious"
    save_figure(figure(make.run()), target, force=True)
    assert target.read_bytes().startswith(b"\x89PNG")


def test_an_unwritable_place(make, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"cannot write .*file/a.png"):
        save_figure(figure(make.run()), tmp_path / "file" / "a.png")


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_a_full_disk(make, tmp_path, suffix):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    drawn = figure(make.run())
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    try:
        with pytest.raises(OutputError, match=rf"^cannot write .*a\.{suffix}: File too large"):
            save_figure(drawn, tmp_path / f"a.{suffix}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not list(tmp_path.iterdir())


def test_nothing_global_is_touched():
    code = "import sys, tasksim.view.figure; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_thinned_curves_keep_their_extremes(make):
    run = make.run(workers=16, tasks=20_000)
    (axes,) = figure(run, ("submitted",)).axes
    drawn = axes.lines[0].get_ydata()
    assert len(drawn) <= 8004
    assert (np.max(drawn), np.min(drawn)) == (20_000, 0)


def test_runs_of_very_different_lengths_have_time_axes_of_their_own(make):
    long, short = make.run(), make.run(duration_s=0.01, kind="native")
    fig = figure([long, short], ("gantt", "ready"))
    first, its_ready, second, other_ready = fig.axes
    assert first.get_xlim() == its_ready.get_xlim()
    assert second.get_xlim() == other_ready.get_xlim()
    assert second.get_xlim()[1] == pytest.approx(1.01 * short.makespan_s)
    assert [axes.get_xlabel() for axes in fig.axes] == ["", "time (s)", "", "time (ms)"]
    assert fig.get_suptitle().endswith(", each on its own time axis")
    assert len(its_ready.lines) == len(other_ready.lines) == 1
    alike = figure([long, make.run(duration_s=0.05)], ("gantt", "ready"))
    assert "own time axis" not in alike.get_suptitle()
    assert len(alike.axes) == 3


@pytest.mark.parametrize("others", [0.01, pytest.param(0.09, marks=pytest.mark.slow)])
def test_all_panels_of_several_runs_are_readable(make, others):
    kernels = tuple(f"kernel_of_{i}" for i in range(9))
    long = make.hybrid(3, 9, 600, copies=300)
    different = make.run(2, 90, others, kernels=kernels, graph_name="fmm", platform="other")
    arguments = {f"argument{i}": 1000 + i for i in range(9)}
    runs = [different, long, dataclasses.replace(different, graph_arguments=arguments)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_readable(figure(runs, PANELS_OF_ANY_RUN))
        assert_readable(
            figure([long, make.hybrid(3, 9, 600, copies=300, seed=2)], PANELS_OF_ANY_RUN)
        )


def test_panels_of_few_kernels_are_beside_each_other(make):
    def rows(runs):
        fig = figure(runs, ("kernels", "distributions"))
        fig.draw_without_rendering()
        return len({round(axes.get_position().y0, 3) for axes in fig.axes})

    assert rows(make.run()) == 1
    assert rows([make.run(), make.run(kind="native"), make.run(seed=3, scheduler="prio")]) == 2


def test_a_run_without_a_kernel_takes_no_room_in_its_bars(make):
    one, other = make.run(kernels=("potrf", "gemm")), make.run(kernels=("gemm", "P2P"))
    (axes,) = figure([one, other], ("kernels",)).axes
    centres = [bar.get_x() + bar.get_width() / 2 for bar in axes.patches]
    assert centres == pytest.approx([0.0, 0.8, 1.2, 2.0])


@pytest.mark.parametrize("dots", ["150", 0, -1, float("nan"), float("inf"), 1e9, True, None])
def test_other_resolutions_are_refused(make, tmp_path, dots):
    with pytest.raises(InputError, match=r"dots_per_inch: got .*; legal: more than"):
        save_figure(figure(make.run()), tmp_path / "a.png", dots_per_inch=dots)
    assert not list(tmp_path.iterdir())


def test_notebooks_show_figures(make):
    assert figure(make.run())._repr_png_().startswith(b"\x89PNG")


@pytest.mark.parametrize("column", ["submitted_s", "ready_s", "start_s", "end_s"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_times_that_are_not_finite_are_refused(make, column, value):
    run = make.run()
    times = getattr(run.tasks, column).copy()
    times[3] = value
    bad = dataclasses.replace(run, tasks=dataclasses.replace(run.tasks, **{column: times}))
    with pytest.raises(InputError, match=f"{column} of its tasks is not finite"):
        figure(bad)


def test_runs_that_take_no_time(make):
    run = make.rows([(0, 0, 0.0, 0.0), (1, 1, 0.0, 0.0)], 2)
    figure([run, run], ("gantt", "ready", "kernels", "distributions")).canvas.draw()
    figure([run, make.run()], ("gantt", "ready")).canvas.draw()
