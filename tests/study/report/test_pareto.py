"""Pareto figure: the choices that no other beats in both makespan and energy."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text
from study_tables import grid_of

from tasksim.study.report.figures.pareto import PARETO, unbeaten
from tasksim.study.report.findings import examine
from tasksim.study.report.table import StudyTable

NUMBERS = st.integers(1, 6).map(float)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=12))
def test_a_choice_is_kept_if_no_other_is_better_in_one_and_as_good_in_both(points):
    makespan, joules = (np.array(column) for column in zip(*points, strict=True))
    expected = [
        not any(m <= s and e <= j and (m < s or e < j) for m, e in points) for s, j in points
    ]
    assert unbeaten(makespan, joules).tolist() == expected


def table(**columns):
    rows = [
        {"cell": f"{tiles}-{name}", "graph": f"lu tiles={tiles}", "scheduler": name,
         "makespan_s": tiles * seconds, "energy_j": tiles * joules}
        for tiles, (name, seconds, joules) in product(
            (4, 8), (("eager", 2.0, 3.0), ("lws", 1.0, 5.0), ("dmda", 2.5, 5.0))
        )
    ]  # fmt: skip
    frame = pd.DataFrame(rows).assign(platform="p", seed=0, status="done", **columns)
    return StudyTable.of(frame)


def test_each_graph_has_a_panel_and_a_front_of_its_own():
    (drawing,) = PARETO.draw(examine(table()))
    kept = drawing.data[drawing.data["unbeaten"]]
    assert sorted(kept["scheduler"]) == ["eager", "eager", "lws", "lws"]
    assert [axes.get_ylabel() for axes in drawing.figure.axes] == ["energy (J)"] * 2
    front = drawing.figure.axes[0].lines[0]
    assert front.get_ydata().tolist() == [20.0, 12.0]


def test_without_energy_there_is_no_figure():
    assert PARETO.draw(examine(table(energy_j=np.nan))) == []


def clocks(count, **columns):
    """Return a study of as many clocks: the faster, the more energy."""
    names = [f"{k + 1} GHz" for k in range(count)]

    def makespan(scheduler, seed, tiles, clock):
        return tiles**3 / float(clock.split()[0]) * {"lws": 1.0, "eager": 1.2}[scheduler]

    grid = grid_of(
        makespan, ("eager", "lws"), graph__tiles=[4, 8],
        platform__workers__cpu__frequency=names,
    )  # fmt: skip
    frame = grid.frame.drop(columns="used")
    energy = frame["makespan_s"] * [float(c.split()[0]) ** 2 for c in frame[CLOCK]]
    return StudyTable.of(frame.assign(energy_j=energy))


CLOCK = "platform.workers.cpu.frequency"


def labels(axes):
    return [text for text in axes.texts if text.get_text()]


@pytest.mark.parametrize("count", [2, 3, 12])
def test_points_that_no_other_beats_say_which_choice_they_are(count):
    (drawing,) = PARETO.draw(examine(clocks(count)))
    for axes, tiles in zip(drawing.figure.axes, (4, 8), strict=True):
        kept = drawing.data[drawing.data["unbeaten"] & (drawing.data["graph.tiles"] == tiles)]
        assert sorted(text.get_text() for text in labels(axes)) == sorted(kept[CLOCK])
        for text in labels(axes):  # each at its own point
            (row,) = (row for _, row in kept.iterrows() if row[CLOCK] == text.get_text())
            assert text.xy[1] == row["energy_j"]
    assert "The labels are values of workers.cpu.frequency." in drawing.caption


def test_labels_cover_neither_each_other_nor_points():
    (drawing,) = PARETO.draw(examine(clocks(12)))
    drawing.figure.draw_without_rendering()
    for axes in drawing.figure.axes:
        boxes = [Text.get_window_extent(text) for text in labels(axes)]
        assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
        points = np.vstack(
            [line.get_xydata() for line in axes.lines if line.get_marker() != "None"]
        )
        for x, y in axes.transData.transform(points):
            assert not any(box.contains(x, y) for box in boxes)


def test_where_schedulers_are_the_only_choice_marks_say_which():
    (drawing,) = PARETO.draw(examine(table()))
    assert [labels(axes) for axes in drawing.figure.axes] == [[], []]
    assert "labelled" not in drawing.caption
