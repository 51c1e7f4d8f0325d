"""Tables of studies: what is read from them, what is refused, what is said to be missing."""

import numpy as np
import pandas as pd
import pytest
from study_tables import frame_of, names, table_of

from tasksim.base.errors import InputError
from tasksim.study.report.axes import StudyAxis
from tasksim.study.report.blocks import notes
from tasksim.study.report.table import StudyTable


def test_columns_that_lack_are_named_with_the_nearest():
    frame = frame_of({"eager": [1.0]}).rename(columns={"makespan_s": "makespan"})
    with pytest.raises(InputError, match=r"lacks the column makespan_s, did you mean 'makespan'"):
        StudyTable.of(frame)
    with pytest.raises(InputError, match=r"columns graph, seed .*it needs cell, graph"):
        StudyTable.of(frame_of({"eager": [1.0]}).drop(columns=["graph", "seed"]))


def test_columns_that_are_there_twice_are_refused():
    frame = frame_of({"eager": [1.0]})
    with pytest.raises(InputError, match="several columns called seed"):
        StudyTable.of(pd.concat([frame, frame[["seed"]]], axis=1))


def test_a_table_without_rows_is_refused():
    with pytest.raises(InputError, match="no cell of the study is computed yet"):
        StudyTable.of(frame_of({"eager": [1.0]}).head(0))


def test_two_cells_of_one_question_are_refused():
    with pytest.raises(InputError, match="eager-0 and eager-1 answer the same question") as error:
        table_of({"eager": [1.0, 2.0]})
    assert "graph lu tiles=4, platform box, scheduler eager, seed 0" in str(error.value)


def test_what_graphs_differ_in_becomes_an_axis():
    graphs = ["lu tiles=12 priorities=none", "lu tiles=8", "lu tiles=12"]
    table = table_of({"eager": [1.0, 2.0, 3.0]}, graphs)
    assert {axis.name: axis.values for axis in table.axes} == {
        "graph.priorities": ("", "none"),
        "graph.tiles": ("8", "12"),
    }
    assert set(table.frame["graph"]) == {"lu"}


def test_graphs_of_several_names_share_their_settings():
    table = table_of(
        {"eager": [1.0, 2.0, 3.0, 4.0]}, ["lu tiles=8", "qr tiles=8", "lu tiles=9", "qr tiles=9"]
    )
    assert {axis.name: axis.values for axis in table.axes} == {
        "graph": ("lu", "qr"),
        "graph.tiles": ("8", "9"),
    }
    assert table.axis("tiles").numbers == (8.0, 9.0)


def test_a_setting_with_a_column_of_its_own_counts_once():
    graphs = ["lu tiles=8", "lu tiles=9"]
    table = table_of({"eager": [1.0, 2.0]}, graphs, **{"graph.tiles": [8, 9]})
    assert [axis.name for axis in table.axes] == ["graph.tiles"]


def test_options_of_schedulers_are_not_the_problem_that_they_solve():
    columns = {"scheduler.beta": [1, 2]}
    table = table_of({"dmdas:beta=1": [1.0], "dmdas:beta=2": [2.0]}, **columns)
    assert [axis.name for axis in table.axes] == ["scheduler"]


def test_identical_workers_are_one_platform_of_several_sizes():
    frame = frame_of({"eager": [1.0, 2.0]}, seeds=[0, 0])
    frame["platform"] = ["2 workers", "4 workers"]
    frame.insert(5, "workers", [2, 4])
    table = StudyTable.of(frame)
    assert [axis.name for axis in table.axes] == ["workers"]
    assert table.axes[0].is_count


def test_results_are_no_axes_whatever_they_are_called():
    table = table_of({"eager": [1.0], "lws": [2.0]}, idle_s=[3.0, 4.0], draw_seed=[5, 6])
    assert [axis.name for axis in table.axes] == ["scheduler"]


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0, -1.0])
def test_a_cell_without_a_usable_makespan_is_left_out_and_said(value):
    table = table_of({"eager": [1.0, value]}, names(2))
    assert (len(table.used), len(table.unusable), len(table.failed)) == (1, 1, 0)
    assert "1 cells are done but have no makespan above 0, such as eager-1" in notes(table)[0]


def test_what_is_not_computed_and_what_failed_is_said():
    table = StudyTable.of(frame_of({"eager": [1.0, None, None]}, names(3)), planned=7)
    said = notes(table)
    assert "4 of 7 cells are not computed yet" in said[0]
    assert "2 of 3 cells have no result (2 failed)" in said[1]


def test_an_axis_is_found_by_the_end_of_its_path():
    columns = {"platform.a.count": [1, 2, 1, 2], "platform.b.count": [1, 1, 2, 2]}
    table = table_of({"eager": [1.0, 2.0, 3.0, 4.0]}, **columns)
    assert table.axis("a.count").name == "platform.a.count"
    with pytest.raises(InputError, match=r"several axes are called 'count'"):
        table.axis("count")
    with pytest.raises(InputError, match=r"no axis of the study is called 'tiles' \(axes: platf"):
        table.axis("tiles")


@pytest.mark.parametrize(
    ("values", "numbers", "unit"),
    [
        ([8, 12], (8.0, 12.0), ""),
        (["x2", "x0.5"], (0.5, 2.0), ""),
        (["16 GB/s", "900 MB/s"], (9e8, 1.6e10), "B/s"),
        (["2.6GHz", "900 MHz"], (9e8, 2.6e9), "Hz"),
        (["30 W", "500 mW"], (0.5, 30.0), "W"),
        (["2 GiB", "1 GiB"], (2.0**30, 2.0**31), "B"),
        (["lws", "8"], None, ""),
        ([True, False], None, ""),
    ],
)
def test_values_that_are_numbers_are_known_as_such(values, numbers, unit):
    axis = StudyAxis.of("platform.x", values)
    assert (axis.numbers, axis.unit) == (numbers, unit)


def test_values_that_are_absent_are_no_numbers_and_last():
    axis = StudyAxis.of("graph.tiles", ["", 12, 8])
    assert axis.values == (8, 12, "")
    assert axis.is_numeric
    assert np.isnan(axis.numbers[2])


@pytest.mark.parametrize(
    ("name", "values", "counts"),
    [
        ("platform.workers.cpu.count", [1, 2], True),
        ("workers", [2, 4], True),
        ("platform.workers.cpu.count", [0, 2], False),
        ("platform.arch.cpu.speed", [1, 2], False),
    ],
)
def test_axes_that_count(name, values, counts):
    assert StudyAxis.of(name, values).is_count == counts


def test_settings_that_vary_together_are_one_axis():
    columns = {"graph.tiles": [32, 16, 8], "graph.tile_size": [128, 256, 512], "graph.a": [*"xyz"]}
    table = table_of({"eager": [1.0, 2.0, 3.0]}, ["cholesky"] * 3, **columns)
    (axis,) = table.axes
    assert (axis.name, axis.aliases) == ("graph.tile_size", ("graph.tiles", "graph.a"))
    assert table.axis("tiles") is axis


def test_whatever_stands_for_nothing_is_nothing():
    frame = frame_of({"eager": [1.0, 2.0, 3.0, 4.0]}, names(4), tasks=pd.array([1, 2, 3, None]))
    frame.insert(5, "platform.speed", [None, pd.NA, np.nan, 2])
    frame["error"] = [None, pd.NA, np.nan, "no"]
    table = StudyTable.of(frame)
    assert table.axis("speed").values == (2, "")
    assert table.frame["error"].tolist() == ["", "", "", "no"]


def test_names_cannot_steer_a_terminal():
    table = table_of({"\x1b[31mred": [1.0]}, ["lu\x07 tiles=4"])
    assert table.schedulers == (r"\x1b[31mred",)
    assert table.frame["graph"].tolist() == [r"lu\x07 tiles=4"]


def test_an_unfinished_study_says_where_least_is_done():
    frame = frame_of({"eager": [1.0, 2.0, 3.0], "lws": [1.0]}, names(3))
    (said,) = notes(StudyTable.of(frame, planned=6))
    assert said.endswith(
        "fewest cells have graph graphb (1; others up to 2), scheduler lws (1; others up to 3)"
    )


@pytest.mark.parametrize("value", ["9" * 400, 10**400, "1e400", "abc"])
def test_whatever_is_no_number_is_none(value):
    frame = frame_of({"eager": [1.0, 2.0]}, names(2))
    frame["tasks"] = pd.Series([value, 3], dtype=object)
    assert np.nan_to_num(StudyTable.of(frame).frame["tasks"]).tolist()[1] == 3.0


@pytest.mark.parametrize("value", ["1e308", "1e-308", 10**400])
def test_numbers_that_no_figure_can_have_are_names(value):
    axis = StudyAxis.of("platform.x", [1, value])
    assert not axis.is_numeric
    assert axis.values == (1, value)


@pytest.mark.parametrize("makespan", [1e-300, 1e300])
def test_makespans_without_ratios_are_left_out(makespan):
    assert len(table_of({"eager": [makespan]}).unusable) == 1
