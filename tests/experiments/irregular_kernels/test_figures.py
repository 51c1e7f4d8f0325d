import itertools
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from outcomes import with_runs

from experiments.irregular_kernels import figures
from experiments.irregular_kernels.durations import duration_distances, totals_s
from experiments.irregular_kernels.inputs import Input
from experiments.irregular_kernels.look import SHADE
from experiments.irregular_kernels.results import (
    GENERAL,
    KERNELS,
    NAIVE,
    SPECIFIC,
    VARIANTS,
    Outcome,
)
from tasksim.scenario.repetitions import ScenarioRuns
from tasksim.view.pages import png


def bars(axes):
    """Per name the heights of its bars."""
    return {
        c.get_label(): [bar.get_height() for bar in c]
        for c in axes.containers
        if hasattr(c, "patches")
    }


def texts(axes):
    return [text.get_text() for text in axes.texts]


def named(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def labels(axis):
    low, high = sorted(axis.get_view_interval())
    ticks = zip(axis.get_majorticklocs(), axis.get_major_ticks(), strict=True)
    return [tick.label1 for place, tick in ticks if low <= place <= high]


def visible(figure):
    """All texts that are seen, and their boxes."""
    figure.canvas.draw()
    found = [*figure.texts, *(text for legend in figure.legends for text in legend.get_texts())]
    for axes in filter(lambda a: a.get_visible(), figure.axes):
        found += [*axes.texts, axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label]
        found += [*labels(axes.xaxis), *labels(axes.yaxis)]
    shown = [text for text in found if text.get_visible() and text.get_text().strip()]
    return [(text.get_text(), text.get_window_extent()) for text in shown]


def drawn(results):
    """All figures by name."""
    cubes = [o for o in results.seen if o.input.distribution == "cube"]
    m2l = results.m2l
    return {
        "makespans": lambda: figures.makespans_figure(results.seen),
        "spheres": lambda: figures.makespans_figure(results.unseen),
        "cubes": lambda: figures.makespans_figure(cubes),
        "gantt": lambda: figures.gantt_figure(results.seen[0]),
        "totals": lambda: figures.totals_figure(results.seen[::3]),
        "distributions": lambda: figures.distributions_figure(results.seen[0]),
        "m2l": lambda: figures.m2l_figure(m2l.measured_s, m2l.with_s, m2l.without_s),
    }


NAMES = ("makespans", "spheres", "cubes", "gantt", "totals", "distributions", "m2l")


@pytest.mark.parametrize("name", NAMES)
def test_no_text_is_over_another_or_outside_the_figure(results, name):
    made = drawn(results)[name]()
    found = visible(made)
    assert len(found) > 5
    for text, box in found:
        assert made.bbox.padded(1.0).contains(box.x0, box.y0), text
        assert made.bbox.padded(1.0).contains(box.x1, box.y1), text
    for (one, a), (other, b) in itertools.combinations(found, 2):
        assert not a.padded(-1.0).overlaps(b.padded(-1.0)), (one, other)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_same_figure_has_the_same_bytes(results, name):
    assert png(drawn(results)[name]()) == png(drawn(results)[name]())


def test_makespans_has_a_column_per_distribution_and_a_bar_per_run(results):
    made = figures.makespans_figure(results.seen)
    assert len(made.axes) == 4
    for axes, members in zip(made.axes[:2], (results.seen[:3], results.seen[3:]), strict=True):
        found = bars(axes)
        assert list(found) == [figures.NATIVE, *VARIANTS]
        assert found[figures.NATIVE] == [o.median_s for o in members]
        for name in (SPECIFIC, GENERAL):
            assert found[name] == [o.simulated[name].makespan_s for o in members]
    for axes, members in zip(made.axes[2:], (results.seen[:3], results.seen[3:]), strict=True):
        found = bars(axes)
        assert list(found) == list(VARIANTS)
        assert found[GENERAL] == pytest.approx([100 * o.error(GENERAL) for o in members])
        ticks = [label.get_text() for label in axes.get_xticklabels()]
        assert ticks == [o.input.text.split(" ", 1)[1].replace(" ", "\n") for o in members]


def test_makespans_of_spheres_have_bars_only_of_models_that_there_are(results):
    made = figures.makespans_figure(results.unseen)
    assert [axes.get_title(loc="left") for axes in made.axes[:2]] == ["sphere", "sphere-poles"]
    assert list(bars(made.axes[0])) == [figures.NATIVE, GENERAL]
    assert named(made) == [figures.NATIVE, GENERAL]


def test_bars_of_the_naive_model_that_go_too_far_say_their_value():
    class Given:
        def __init__(self, makespan_s):
            self.makespan_s = makespan_s

    simulated = {NAIVE: Given(25.0), SPECIFIC: Given(1.0), GENERAL: Given(1.1)}
    short = {NAIVE: Given(0.01), SPECIFIC: Given(1.02), GENERAL: Given(0.97)}
    native = (Given(1.0), Given(1.0), Given(1.04))
    outcomes = []
    for k, runs in ((1, simulated), (2, short)):
        given = Input("cube", 1000 * k, 4, 9)
        asked = given.scenario(order=3, seed=0)
        predicted = {name: ScenarioRuns(asked, (run,)) for name, run in runs.items()}
        outcomes.append(Outcome(given, ScenarioRuns(asked, native), predicted))
    made = figures.makespans_figure(outcomes)
    upper, lower = made.axes
    assert texts(upper) == ["25↑"]
    assert bars(upper)[NAIVE] == pytest.approx([1.2 * 1.1, 0.01])
    assert texts(lower) == ["+2,400↑", "−99↓"]
    assert bars(lower)[NAIVE] == pytest.approx([11.5, -11.5])
    assert bars(lower)[GENERAL] == pytest.approx([10.0, -3.0])


def test_the_names_of_inputs_are_at_one_height_whatever_is_cut(results):
    first = results.seen[0]
    short = first.simulated[NAIVE]
    scale = 0.01 * first.median_s / short.makespan_s
    tasks = replace(
        short.tasks, start_s=scale * short.tasks.start_s, end_s=scale * short.tasks.end_s
    )
    cut = with_runs(first, simulated=first.simulated | {NAIVE: replace(short, tasks=tasks)})
    near = results.seen[3]
    near = with_runs(near, simulated=dict.fromkeys(VARIANTS, near.simulated[GENERAL]))
    made = figures.makespans_figure([cut, near])
    made.canvas.draw()
    assert [len(texts(axes)) for axes in made.axes[2:]] == [1, 0]
    tops = [axes.get_xticklabels()[0].get_window_extent().y1 for axes in made.axes[2:]]
    assert tops[0] == pytest.approx(tops[1])


def test_nothing_is_cut_where_the_naive_model_is_near(results):
    outcome = results.seen[0]
    near = with_runs(outcome, simulated=dict.fromkeys(VARIANTS, outcome.simulated[GENERAL]))
    made = figures.makespans_figure([near])
    assert texts(made.axes[0]) == texts(made.axes[1]) == []
    assert len({tuple(bars(made.axes[0])[name]) for name in VARIANTS}) == 1


def test_whiskers_reach_from_the_shortest_to_the_longest_repetition(results):
    made = figures.makespans_figure(results.seen)
    ends = [
        [float(value) for line in collection.get_segments() for value in line[:, 1]]
        for collection in made.axes[0].collections
    ]
    spans = [sorted(run.makespan_s for run in o.native) for o in results.seen[:3]]
    for found, makespans in zip(ends, spans, strict=True):
        assert found == pytest.approx([makespans[0], makespans[-1]])


def test_badly_chosen_inputs_are_shaded(results):
    made = figures.makespans_figure(results.seen)
    for axes in made.axes:
        shaded = [p for p in axes.patches if p.get_facecolor()[:3] == to_rgb(SHADE)]
        assert [(p.get_x(), p.get_width()) for p in shaded] == [(1.5, 1.0)]
    assert named(made)[-1] == "badly chosen group size"


def test_gantt_charts_are_above_each_other_on_one_time_axis(results):
    outcome = results.seen[0]
    made = figures.gantt_figure(outcome)
    titles = [axes.get_title(loc="left") for axes in made.axes]
    assert titles == ["native, the median run of 3", *VARIANTS]
    longest = max(run.makespan_s for run in outcome.simulated.values())
    assert len({axes.get_xlim() for axes in made.axes}) == 1
    assert made.axes[0].get_xlim() == pytest.approx((0.0, 1.01 * longest))
    assert named(made) == [k for k in KERNELS if k in totals_s(outcome.median_run)]


def test_totals_are_divided_by_the_workers(results):
    made = figures.totals_figure(results.seen[:2])
    assert len(made.axes) == 2
    for axes, outcome in zip(made.axes, results.seen[:2], strict=True):
        found = bars(axes)
        native = totals_s(outcome.median_run)
        assert list(found) == [figures.NATIVE, *VARIANTS]
        assert {len(row) for row in found.values()} == {len(native)}
        unit = found[figures.NATIVE][0] / (native["P2M"] / 2)
        assert unit == pytest.approx(1e3)
        general = totals_s(outcome.simulated[GENERAL])
        assert found[GENERAL] == pytest.approx([unit * general[k] / 2 for k in native])
        assert [label.get_text() for label in axes.get_xticklabels()] == list(native)


def test_distributions_have_a_panel_per_kernel_with_its_distances(results):
    outcome = results.seen[0]
    made = figures.distributions_figure(outcome)
    panels = [axes for axes in made.axes if axes.get_visible()]
    kernels = list(totals_s(outcome.median_run))
    assert len(panels) == len(kernels) == 8
    general, naive = (
        duration_distances(outcome.median_run, outcome.simulated[n]) for n in (GENERAL, NAIVE)
    )
    for axes, kernel in zip(panels, kernels, strict=True):
        first, second = axes.get_title(loc="left").split("\n")
        assert first.startswith(f"{kernel}, ")
        assert second == f"KS: general {general[kernel]:.2f}, naive {naive[kernel]:.2f}"
        assert axes.get_xscale() == "log"
        native, predicted = (patch.get_data().values for patch in axes.patches)
        assert native.sum() == pytest.approx(100.0)
        assert predicted.sum() == pytest.approx(100.0)
        assert axes.lines[0].get_xdata() == pytest.approx([1e-3, 1e-3])


def test_kernels_have_the_same_colours_in_all_figures(results):
    outcome = results.seen[0]
    gantt = figures.gantt_figure(outcome)
    handles = {h.get_label(): h.get_facecolor()[:3] for h in gantt.legends[0].legend_handles}
    made = figures.distributions_figure(outcome)
    for axes in made.axes:
        kernel = axes.get_title(loc="left").split(",")[0]
        assert axes.patches[0].get_facecolor()[:3] == handles[kernel]


def test_m2l_has_both_models_on_the_same_axes():
    measured = np.geomspace(1e-5, 1e-2, 50)
    made = figures.m2l_figure(measured, measured, 2.0 * measured)
    without, with_ = made.axes
    assert with_.get_title(loc="left") == "with NbInteractions: MLogQ 0.000"
    assert without.get_title(loc="left") == "direct parameters only: MLogQ 0.693"
    assert without.get_xlim() == without.get_ylim() == with_.get_xlim() == with_.get_ylim()
    np.testing.assert_array_equal(without.lines[0].get_xdata(), 2.0 * measured)
    np.testing.assert_array_equal(with_.lines[0].get_ydata(), measured)
