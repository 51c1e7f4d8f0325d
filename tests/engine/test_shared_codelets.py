"""Kernels that share a model by size: one codelet of StarPU, whose tasks have as many data each."""

from __future__ import annotations

import pytest

from tasksim.engine.durations import AskedParameters
from tasksim.graph.builder import RW, GraphBuilder, R, Scratch
from tasksim.models.kinds.bysize import SizeEntry, SizeHistory

MODEL = SizeHistory.from_entries([SizeEntry(8.0, 1.0, 0.0, 50)])


def sizes(graph, kernel):
    """Return the bytes that the model of a kernel is asked for, per task."""
    table, rows = AskedParameters(graph).rows(graph.kernels.index(kernel), MODEL)
    return table[rows][:, 0].tolist()


@pytest.fixture
def two():
    """Return what makes a graph of kernels ``few`` and ``many`` that share a model."""

    def make(*tasks, shared=True):
        names = {"few": "m", "many": "m"} if shared else {}
        g = GraphBuilder("two", model_names=names)
        data = {size: g.handle(f"d{size}", size) for size in (1, 10, 100, 1000)}
        for kernel, *accesses in tasks:
            g.insert(kernel, *(mode(data[size]) for mode, size in accesses))
        return g.build()

    return make


MANY_ACCESSES = ("many", (R, 1), (R, 10), (RW, 1000))


def test_the_first_data_count_again_until_they_are_as_many(two):
    graph = two(("few", (R, 10), (RW, 100)), ("few", (RW, 100)), MANY_ACCESSES)
    assert sizes(graph, "many") == [1011]
    assert sizes(two(("few", (R, 10), (RW, 100)), MANY_ACCESSES), "few") == [120]
    assert sizes(two(("few", (RW, 100)), MANY_ACCESSES), "few") == [300]
    # Tasks of one kernel that differ in their number of data: a codelet of any number.
    assert sizes(graph, "few") == [110, 100]


def test_scratch_is_no_datum(two):
    few = ("few", (Scratch, 1000), (R, 10), (RW, 100))
    assert sizes(two(few, MANY_ACCESSES), "few") == [120]


def test_kernels_with_models_of_their_own_are_not_changed(two):
    assert sizes(two(("few", (R, 10), (RW, 100)), MANY_ACCESSES, shared=False), "few") == [110]


def test_kernels_with_as_many_data_are_not_changed(two):
    assert sizes(two(("few", (R, 1), (R, 100), (RW, 10)), MANY_ACCESSES), "few") == [111]
