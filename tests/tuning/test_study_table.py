"""Performance tables of studies: examples, choices, and what becomes of the table of the study."""

from __future__ import annotations

import pandas as pd

from tasksim.tuning.study_table import chosen_column, performance_of_study

ROWS = [
    (f"c{number}", f"cholesky tiles={tiles} tile_size={size}", "here", "lws", 0, tiles, size,
     "done", seconds)
    for number, (tiles, size, seconds) in enumerate(
        [(8, 128, 2.0), (4, 256, 1.0), (16, 128, 8.0), (8, 256, 10.0)]
    )
]  # fmt: skip
NAMES = ["cell", "graph", "platform", "scheduler", "seed", "graph.tiles", "graph.tile_size"]


def test_an_example_is_a_matrix_and_its_choices_are_tile_sizes():
    study = pd.DataFrame(ROWS, columns=[*NAMES, "status", "makespan_s"])
    table, left_out = performance_of_study(study, chosen_column(study, "tile_size"))
    assert (table.features, table.choices, left_out) == (("graph.n",), ("128", "256"), 0)
    assert table.values.tolist() == [[1024.0], [2048.0]]
    assert table.shares.tolist() == [[0.5, 1.0], [1.0, 0.8]]


def test_the_table_of_the_study_stays_as_it_is():
    one = pd.DataFrame(ROWS, columns=[*NAMES, "status", "makespan_s"])
    study = pd.concat([one, one.assign(scheduler="prio")], ignore_index=True)
    before = study.copy()
    performance_of_study(study, "scheduler")
    pd.testing.assert_frame_equal(study, before)
