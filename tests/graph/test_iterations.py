"""Iterations of tasks: said by a parameter, or read off the tiles."""

import numpy as np
import pytest

from tasksim import GraphBuilder, R, generate
from tasksim.graph.iterations import iterations


@pytest.mark.parametrize("name", ["cholesky", "lu", "qr"])
def test_panels_of_factorisations_make_the_iterations(name):
    graph = generate(name, tiles=5)
    found = iterations(graph)
    panels = {"cholesky": "potrf", "lu": "getrf", "qr": "geqrt"}
    first = graph.kernel == graph.kernels.index(panels[name])
    assert found[first].tolist() == [0, 1, 2, 3, 4]
    assert np.all(np.diff(found) >= 0)


def test_graphs_without_tiles_have_none():
    assert iterations(generate("chain", length=3)) is None
    assert iterations(generate("fmm", particles=100, height=3, group_size=8)) is None


def test_a_parameter_says_it_where_there_is_one():
    builder = GraphBuilder("mine")
    tile = builder.matrix("A", 2, 2, size_bytes=8)
    builder.insert("with", R(tile[1, 1]), iteration=7)
    builder.insert("without", R(tile[1, 1]))
    assert iterations(builder.build()).tolist() == [7, -1]


def test_tasks_without_tiles_have_none():
    builder = GraphBuilder("mine")
    tile, vector = builder.matrix("A", 3, 3, size_bytes=8), builder.vector("x", 2, size_bytes=8)
    builder.insert("a", R(vector[1]), R(tile[2, 1]))
    builder.insert("b", R(vector[0]))
    builder.insert("c")
    assert iterations(builder.build()).tolist() == [1, -1, -1]
