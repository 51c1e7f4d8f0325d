"""DOT as SimGrid's own examples have it."""

import pytest

from tasksim.base.errors import InputError
from tasksim.formats.graphs import graph_in
from tasksim.formats.workflows.jobs import with_durations

GRAPH = """\
digraph G {
  c1 [size="1e9"];
  c2 [size="5e9"];
  c3 [size="2e9"];
  root->c1 [size="2e8"];
  root->c2 [size="1e8"];
  c1->c3 [size="5e8"];
  c2->c3 [size="SIZE"];
  c3->end;
}
"""


def read(tmp_path, size):
    path = tmp_path / "dag.dot"
    path.write_text(GRAPH.replace("SIZE", size))
    return graph_in(path)


@pytest.mark.parametrize("size", ["-1", "-1.", "0.0"])
def test_an_edge_of_a_negative_size_is_a_mere_dependency(tmp_path, size):
    graph = read(tmp_path, size).graph
    assert len(graph.successors) == 5
    assert sorted(graph.handle_size.tolist()) == [100_000_000, 200_000_000, 500_000_000]


def test_root_and_end_take_no_time(tmp_path):
    """Nothing says how long they are; SimGrid gives them 0 flop."""
    found = read(tmp_path, "-1")
    graph = found.graph
    assert sorted(graph.parameters[0][graph.row, 0].tolist()) == [0.0, 0.0, 1e9, 2e9, 5e9]
    assert "nodes without a size count as 0 flop, as in SimGrid: 2" in found.notes


def test_a_speed_is_refused_for_tasks_that_have_durations(tmp_path):
    (tmp_path / "timed.dot").write_text("digraph G { a [duration=2]; b [duration=3]; a -> b; }")
    graph = graph_in(tmp_path / "timed.dot").graph
    with pytest.raises(InputError, match="tasks of kernel task have a duration, no flop"):
        with_durations(graph, 1e9)


def test_a_size_that_is_no_number_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"dag\.dot:8: size of c2 -> c3: got '-x'; legal: a "):
        read(tmp_path, "-x")
