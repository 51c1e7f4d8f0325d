"""Links that copies do not share: each has the whole bandwidth, and none waits for another."""

from __future__ import annotations

import pytest

from tasksim.engine.simulation import Simulation
from tasksim.graph.builder import GraphBuilder, R, W
from tasksim.models.kinds.given import GivenDurations
from tasksim.platform.load import load

PLATFORM = """
version: 1
memories: {here: {}, there: {}}
workers: {here: {count: 1, memory: here}, there: {count: 1, memory: there}}
links: {wire: {bandwidth: 1 B/s, between: [here, there], shared: %s}}
copying: {prefetches: 9}
"""


@pytest.mark.parametrize(("shared", "makespan_s"), [("true", 12), ("false", 7)])
def test_two_copies_at_a_time(shared, makespan_s, tmp_path):
    """One task writes 5 bytes twice in a second; what is read there takes another second."""
    (tmp_path / "two.yaml").write_text(PLATFORM % shared)
    (tmp_path / "plan.csv").write_text("task,worker\n0,here0\n1,there0\n")
    g = GraphBuilder("two copies")
    x = g.vector("x", 2, size_bytes=5)
    g.insert("task", *map(W, x), duration_s=1.0)
    g.insert("task", *map(R, x), duration_s=1.0)
    graph = g.build()
    run = Simulation(
        graph,
        load(tmp_path / "two.yaml"),
        GivenDurations(graph),
        f"static:file={tmp_path / 'plan.csv'}",
    ).run(check=True)
    assert run.makespan_s == pytest.approx(makespan_s)
