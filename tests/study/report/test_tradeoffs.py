"""Scatter of trade-offs in the bulk-synchronous model."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from tasksim.study.report.figures.tradeoffs import TRADEOFFS
from tasksim.study.report.findings import examine
from tasksim.study.report.table import StudyTable


def table(**columns):
    rows = [
        {
            "cell": f"{graph}-{block}-{name}-{seed}",
            "graph": f"{graph} block={block}", "scheduler": name, "seed": seed,
            "makespan_s": seconds * (1.0 + 1.0 / block) + seed,
            "path_synchronisations": 1024.0 / block, "path_words": 100.0 * block,
            "path_flop": 1000.0 * block**2,
        }
        for graph, block, (name, seconds), seed in product(
            ("recursive-cholesky", "pipelined-qr"), (16, 64), (("eager", 2.0), ("lws", 1.0)), (0, 1)
        )
    ]  # fmt: skip
    return StudyTable.of(pd.DataFrame(rows).assign(platform="p", status="done", **columns))


def test_a_panel_per_graph_and_a_point_per_choice():
    words, flop = TRADEOFFS.draw(examine(table()))
    assert (words.name, flop.name) == ("tradeoffs-words", "tradeoffs-flop")
    assert len(words.data) == 8
    assert [axes.get_ylabel() for axes in flop.figure.axes] == ["flop along a path"] * 2
    axes = words.figure.axes[0]
    _, lws = axes.lines
    assert sorted(zip(lws.get_xdata(), lws.get_ydata(), strict=True)) == [(16, 6400), (64, 1600)]
    (fastest,) = axes.texts
    assert fastest.get_text() == "fastest: 1.52 s"
    assert fastest.xy == (16.0, 6400.0)
    assert "closed" not in words.caption


def test_closed_costs_are_circles_around_the_points_that_have_them():
    closed = np.where(np.arange(16) < 8, 64.0, np.nan)
    drawings = TRADEOFFS.draw(
        examine(table(closed_synchronisations=closed, closed_words=100.0 * closed))
    )
    words, flop = drawings
    circles = [[line for line in axes.lines if line.get_label() == "closed formula"]
               for axes in words.figure.axes]  # fmt: skip
    # Panels are in the order of the graphs' names.
    assert [np.isfinite(line.get_xdata()).sum() for (line,) in circles] == [0, 4]
    assert "closed formula" in words.caption
    assert "closed formula" not in flop.caption


@pytest.mark.parametrize("lacking", ["path_synchronisations", "path_words"])
def test_without_the_metrics_there_is_no_figure(lacking):
    names = [d.name for d in TRADEOFFS.draw(examine(table(**{lacking: np.nan})))]
    assert names == ([] if lacking == "path_synchronisations" else ["tradeoffs-flop"])
