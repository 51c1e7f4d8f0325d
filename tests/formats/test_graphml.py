"""Graphs that networkx reads: GraphML and GML."""

import networkx as nx
import pytest

import tasksim
from tasksim.base.errors import InputError
from tasksim.formats.graphs import load_graph


@pytest.mark.parametrize(
    ("name", "write", "read"),
    [("g.graphml", nx.write_graphml, nx.read_graphml), ("g.gml", nx.write_gml, nx.read_gml)],
)
def test_a_message_says_how_to_read_the_graph(tmp_path, monkeypatch, name, write, read):
    monkeypatch.chdir(tmp_path)
    drawn = nx.DiGraph()
    drawn.add_node("a", kernel="load", duration=2.0)
    drawn.add_node("b", duration=3.0)
    drawn.add_edge("a", "b")
    write(drawn, name)
    with pytest.raises(InputError) as caught:
        load_graph(name)
    assert f"tasksim.from_networkx(networkx.{read.__name__}('{name}'))" in str(caught.value)
    assert tasksim.simulate(tasksim.from_networkx(read(name)), workers=2).makespan_s == 5
