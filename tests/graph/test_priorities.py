"""Priorities: the application's, bottom levels, none."""

from __future__ import annotations

import numpy as np
import pytest

from tasksim.graph.analysis import bottom_levels
from tasksim.graph.apps.priorities import bottom_level_ranks
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import GraphBuilder
from tasksim.graph.flop import task_flop


def test_none_is_zero_for_all():
    assert not generate("lu", tiles=3, priorities="none").priority.any()


def test_app_follows_the_formulas():
    N = 5
    graph = generate("cholesky", tiles=N)
    formulas = []
    for k in range(N):
        formulas.append(2 * N - 2 * k)
        formulas += [2 * N - 2 * k - m for m in range(k + 1, N)]
        for n in range(k + 1, N):
            formulas.append(2 * N - 2 * k - n)
            formulas += [2 * N - 2 * k - m - n for m in range(n + 1, N)]
    assert graph.priority.tolist() == formulas


def test_bottom_levels_of_cholesky_of_two_by_two():
    # In units of b³/3: potrf 1, trsm 3, syrk 3, potrf 1, one after the other.
    assert generate("cholesky", tiles=2, priorities="bottom-level").priority.tolist() == [
        3,
        2,
        1,
        0,
    ]


@pytest.mark.parametrize("name", ["cholesky", "lu", "qr"])
def test_ranks_are_dense_and_in_the_order_of_bottom_levels(name):
    # 255³/3 is no binary fraction: ranks must not see rounding.
    graph = generate(name, tiles=7, tile_size=255, priorities="bottom-level")
    levels = np.rint(bottom_levels(graph, task_flop(graph) / (255**3 / 3)))
    distinct = sorted(set(levels))
    assert graph.priority.tolist() == [distinct.index(level) for level in levels]


def test_ranks_do_not_depend_on_the_tile_size():
    ranks = [
        generate("qr", tiles=5, tile_size=size, priorities="bottom-level").priority.tolist()
        for size in (1, 100, 333)
    ]
    assert ranks[0] == ranks[1] == ranks[2]


def test_other_kernels_weigh_their_duration_or_one():
    g = GraphBuilder("mixed")
    long = g.insert("wait", duration_s=5)
    short = g.insert("wait", duration_s=0.5)
    unknown = g.insert("mystery", m=100)
    last = g.insert("wait", duration_s=0.25, after=[long, short, unknown])
    ranks = bottom_level_ranks(g.build())
    assert ranks[[last, short, unknown, long]].tolist() == [0, 1, 2, 3]
