"""Closed costs of factorisations, against the costs of their schedules."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tasksim


@settings(max_examples=12, deadline=None)
@given(
    levels=st.integers(0, 3),
    block=st.sampled_from([4, 12]),
    side=st.sampled_from([1, 2]),
    base=st.sampled_from(["gather", "allgather", "layer"]),
)
def test_closed_costs_are_those_of_the_schedule(levels, block, side, base):
    graph = tasksim.generate(
        "recursive-cholesky", n=block * 2**levels, block=block, side=side, base=base
    )
    run = tasksim.simulate(
        graph, workers=side**3, durations=dict.fromkeys(graph.kernels, 1.0), scheduler="eager"
    )
    for name, closed in tasksim.closed_costs(graph).items():
        assert tasksim.longest_path(run, graph, name).cost == pytest.approx(closed), name


def test_other_graphs_have_none():
    assert tasksim.closed_costs(tasksim.generate("cholesky", tiles=3)) is None
