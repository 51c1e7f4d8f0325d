"""Programs of tiles that have memory for some of their data only."""

import numpy as np
import pytest

from tasksim.graph.apps.registry import generate
from tasksim.graph.distribution.owners import NodeGrid
from tasksim.graph.distribution.parts import cut_by
from tasksim.kernels.program import bind


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["cholesky", "lu", "qr"])
def test_tiles_begin_as_they_do_where_all_are_there(name, dtype):
    graph = generate(name, tiles=4, tile_size=24, dtype=dtype)
    whole = bind(graph, 1, seed=3)
    for part in cut_by(graph, NodeGrid(2, 2)).parts:
        some = bind(graph, 1, seed=3, held=part.handle)
        there = some.tiles.offsets >= 0
        assert set(part.handle.tolist()) <= set(np.flatnonzero(there).tolist())
        assert len(some.tiles.buffer.bytes) < len(whole.tiles.buffer.bytes)
        for handle in np.flatnonzero(there).tolist():
            one, other = whole.datum(handle), some.datum(handle)
            assert (one is None) == (other is None)
            assert one is None or np.array_equal(one, other)


def test_a_rank_of_sixteen_has_little_memory():
    graph = generate("cholesky", tiles=32, tile_size=8)
    whole = bind(graph, 1).tiles
    parts = cut_by(graph, NodeGrid(4, 4)).parts
    most = max(len(bind(graph, 1, held=part.handle).tiles.buffer.bytes) for part in parts)
    assert most < len(whole.buffer.bytes) / 1.9  # its tiles, and rows and columns that it reads
