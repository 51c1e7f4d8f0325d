"""Scaling figure: laws that are fitted to few nodes find themselves again on many."""

from itertools import product

import pandas as pd
import pytest

from tasksim.study.report.figures.scaling import SCALING, scaling_rows
from tasksim.study.report.findings import examine
from tasksim.study.report.table import StudyTable

NODES = (1, 2, 4, 8, 64)


def table(seconds, nodes=NODES, sizes=(1000, 4000)):
    rows = [
        {"cell": f"{size}-{count}", "graph": f"lu tiles={size}", "scheduler": "lws",
         "nodes": count, "makespan_s": seconds(size, count), "tasks": size}
        for size, count in product(sizes, nodes)
    ]  # fmt: skip
    frame = pd.DataFrame(rows).assign(platform="p", seed=0, status="done")
    order = ["cell", "graph", "platform", "scheduler", "seed", "nodes", "status"]
    return StudyTable.of(frame[[*order, "makespan_s", "tasks"]])


def rows_of(found):
    (axis,) = [axis for axis in found.configuration if axis.name == "nodes"]
    return scaling_rows(found, axis)


def test_times_that_follow_a_law_are_foretold_by_it():
    worley = rows_of(table(lambda size, P: size / P + 0.05 * P**0.5 + 3.0))
    assert worley["worley_error_percent"].abs().max() < 0.5
    nan = rows_of(table(lambda size, P: 0.01 * size / P + 2.0))
    assert nan["nan_error_percent"].abs().max() == pytest.approx(0.0, abs=1e-6)
    assert nan["worley_error_percent"].abs().max() < 0.5


def test_speed_up_is_over_one_node():
    found = rows_of(table(lambda size, P: size / P))
    assert found["speed_up"].tolist() == pytest.approx(list(NODES) * 2)


def test_of_one_size_there_is_no_law_of_sizes():
    found = rows_of(table(lambda size, P: size / P, sizes=(1000,)))
    assert found["nan_s"].isna().all()
    (drawing,) = SCALING.draw(examine(table(lambda size, P: size / P, sizes=(1000,))))
    assert "a size/P + b," not in drawing.caption.partition("Beyond")[2]


def test_each_size_has_a_panel():
    (drawing,) = SCALING.draw(examine(table(lambda size, P: size / P)))
    titles = [axes.get_title(loc="left") for axes in drawing.figure.axes]
    assert [title.rpartition("=")[2] for title in titles] == ["1000", "4000"]


def test_many_nodes_alone_foretell_nothing():
    assert SCALING.draw(examine(table(lambda size, P: size / P, nodes=(16, 32)))) == []


@pytest.mark.parametrize(
    ("sizes", "laws"),
    [((1000,), ["a/P + b P^c + d"]), ((1000, 4000), ["a/P + b P^c + d", "a size/P + b"])],
)
def test_the_legend_names_the_laws_that_are_drawn(sizes, laws):
    (drawing,) = SCALING.draw(examine(table(lambda size, P: size / P, sizes=sizes)))
    (legend,) = drawing.figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert [name for name in names if "P" in name] == laws
