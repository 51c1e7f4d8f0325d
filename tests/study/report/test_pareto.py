"""Pareto figure: the choices that no other beats in both makespan and energy."""

from itertools import product

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

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
