"""Classes of workers in a scheduler's view."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.base.errors import InputError
from tasksim.graph.builder import GraphBuilder
from tasksim.runtime.ledger import able_classes


def tasks(count):
    g = GraphBuilder("tasks")
    for _ in range(count):
        g.insert("task")
    return g.build()


@given(st.data())
def test_a_bit_per_class_says_who_can_run_a_task_however_many_classes(data):
    classes = data.draw(st.integers(1, 200))
    masks = data.draw(st.lists(st.integers(1, (1 << classes) - 1), min_size=1, max_size=5))
    costs = [[1.0 if mask >> index & 1 else inf for mask in masks] for index in range(classes)]
    assert able_classes(tasks(len(masks)), costs) == masks


def test_a_graph_without_tasks_has_no_masks():
    assert able_classes(tasks(0), [[], []]) == []


def test_a_task_that_no_class_can_run_is_named():
    with pytest.raises(InputError, match="no worker of the platform can run task #1"):
        able_classes(tasks(2), [[1.0, inf], [inf, inf]])
