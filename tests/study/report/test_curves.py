"""Curves, speed-up and scalability of tables made by hand."""

import numpy as np
import pandas as pd
import pytest
from study_tables import grid_of

from tasksim.study.report.curves import makespan_curve, scalability, speedup
from tasksim.study.report.figures.curves import CURVES
from tasksim.study.report.findings import examine
from tasksim.study.report.table import StudyTable

COUNT = "platform.workers.cpu.count"


def over_counts():
    """Return a table over 1, 2, 4 workers, with two seeds whose geometric mean is 12 / count."""

    def makespan(scheduler, seed, count):
        return 12.0 / count * (2.0 if seed else 0.5) * (2.0 if scheduler == "lws" else 1.0)

    table = grid_of(makespan, ("lws", "prio"), (0, 1), platform__workers__cpu__count=[4, 1, 2])
    frame = table.frame.drop(columns="used").assign(tasks=24, lower_bound_s=3.0)
    return StudyTable.of(frame)


def test_a_curve_has_means_extremes_and_the_lowest_bound():
    table = over_counts()
    table.frame.loc[0, "lower_bound_s"] = 2.5
    curve = makespan_curve(table, table.axis(COUNT))
    prio = curve[curve["scheduler"] == "prio"]
    assert prio["x"].tolist() == [1.0, 2.0, 4.0]
    assert prio["makespan_s"].tolist() == pytest.approx([12.0, 6.0, 3.0])
    assert prio["low_s"].tolist() == [6.0, 3.0, 1.5]
    assert prio["high_s"].tolist() == [24.0, 12.0, 6.0]
    assert prio["seeds"].tolist() == [2, 2, 2]
    assert prio["bound_s"].tolist() == [2.5, 3.0, 3.0]


def test_speedup_and_efficiency():
    table = over_counts()
    axis = table.axis(COUNT)
    found = speedup(makespan_curve(table, axis), table, axis)
    assert found["speedup"].tolist() == pytest.approx([1.0, 2.0, 4.0] * 2)
    assert found["efficiency"].tolist() == pytest.approx([1.0] * 6)
    assert set(found["from_x"]) == {1.0}


def test_speedup_is_over_the_smallest_count_that_a_line_has():
    table = over_counts()
    frame = table.frame.drop(columns="used")
    gone = (frame["scheduler"] == "prio") & (frame[COUNT] == 1)
    table = StudyTable.of(frame[~gone])
    axis = table.axis(COUNT)
    found = speedup(makespan_curve(table, axis), table, axis)
    prio = found[found["scheduler"] == "prio"]
    assert prio["from_x"].tolist() == [2.0, 2.0]
    assert prio["speedup"].tolist() == pytest.approx([1.0, 2.0])
    assert prio["efficiency"].tolist() == pytest.approx([1.0, 1.0])


def test_scalability_is_work_and_distance_from_the_bound():
    table = over_counts()
    found = scalability(makespan_curve(table, table.axis(COUNT)))
    prio = found[found["scheduler"] == "prio"]
    assert prio["bound_ratio"].tolist() == pytest.approx([4.0, 2.0, 1.0])
    assert prio["tasks_per_s"].tolist() == pytest.approx([2.0, 4.0, 8.0])


def test_what_a_setting_does_not_apply_to_is_not_on_its_curve():
    rows = pd.DataFrame({"graph": ["lu tiles=4", "lu tiles=8", "fmm particles=9"]})
    rows = rows.assign(cell=list("abc"), platform="p", scheduler="s", seed=0, status="done")
    table = StudyTable.of(rows.assign(makespan_s=[1.0, 2.0, 3.0]))
    curve = makespan_curve(table, table.axis("tiles"))
    assert curve["x"].tolist() == [4.0, 8.0]
    assert set(curve["graph"]) == {"lu"}


def chunks(schedulers):
    """Return the curves over chunk sizes on 1, 2 and 4 threads, of two operations."""

    def makespan(scheduler, seed, operation, chunk, count):
        return (8.0 / count + chunk) * {"lws": 1.0, "prio": 1.5}[scheduler]

    table = grid_of(
        makespan, schedulers, graph__operation=["add", "dot"], graph__chunk_size=[1, 2, 4],
        platform__workers__cpu__count=[1, 2, 4],
    )  # fmt: skip
    frame = table.frame.drop(columns="used").assign(lower_bound_s=0.5, tasks=8)
    drawings = CURVES.draw(examine(StudyTable.of(frame)))
    return next(drawing for drawing in drawings if drawing.name == "curve-graph.chunk_size")


def named(axes):
    return [line.get_label() for line in axes.lines if not line.get_label().startswith("_")]


def test_threads_of_one_scheduler_are_curves_of_one_panel():
    first, second = chunks(("lws",)).figure.axes
    counts = ["workers.cpu.count=1", "workers.cpu.count=2", "workers.cpu.count=4"]
    assert named(first) == named(second) == [*counts, "lower bound"]
    assert first.get_title(loc="left") == "operation=add"
    curves = [line for line in first.lines if line.get_label() in counts]
    drawn = np.array([line.get_ydata() for line in curves])
    assert drawn == pytest.approx(np.array([[9, 10, 12], [5, 6, 8], [3, 4, 6]]))


def test_of_several_schedulers_each_number_of_threads_has_a_panel():
    figure = chunks(("lws", "prio")).figure
    assert len(figure.axes) == 6
    assert all(named(axes) == ["lws", "prio", "lower bound"] for axes in figure.axes)
