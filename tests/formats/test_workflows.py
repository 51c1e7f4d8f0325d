"""Workflows and task graphs of other tools: read, written, refused where they are wrong."""

import json
import re
from pathlib import Path

import pytest
from growth import nearly_linear
from hypothesis import HealthCheck, given, settings
from strategies import graphs

import tasksim
from tasksim.base.errors import InputError
from tasksim.formats.graphs import graph_in
from tasksim.formats.registry import FORMATS

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "wfinstances"

LIMITS = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

WFFORMAT = {
    "name": "three",
    "schemaVersion": "1.5",
    "workflow": {
        "specification": {
            "tasks": [
                {"name": "make_1", "id": "a", "parents": [], "children": ["b", "c"],
                 "inputFiles": ["in"], "outputFiles": ["x"]},
                {"name": "use_ID02", "id": "b", "parents": ["a"], "children": [],
                 "inputFiles": ["x"], "outputFiles": []},
                {"name": "use_ID03", "id": "c", "parents": ["a"], "children": [],
                 "inputFiles": [], "outputFiles": []},
            ],
            "files": [{"id": "in", "sizeInBytes": 10}, {"id": "x", "sizeInBytes": 20}],
        },
        "execution": {
            "makespanInSeconds": 9, "executedAt": "2020-01-01",
            "tasks": [
                {"id": "a", "runtimeInSeconds": 2.5, "command": {"program": "maker"}},
                {"id": "b", "runtimeInSeconds": 1, "coreCount": 4},
                {"id": "c", "runtimeInSeconds": 0},
            ],
        },
    },
}  # fmt: skip

DAX = """\
<?xml version="1.0"?>
<adag xmlns="http://pegasus.isi.edu/schema/DAX" version="2.1" name="two">
  <job id="ID0" name="make" runtime="3.5">
    <uses file="in" link="input" size="10"/><uses file="x" link="output" size="20"/>
  </job>
  <job id="ID1" name="use" runtime="1"><uses file="x" link="input" size="20"/></job>
  <child ref="ID1"><parent ref="ID0"/></child>
</adag>
"""

DOT = """\
// as daggen writes it
digraph G {
  node [shape=box];
  1 [size="2e9", alpha="0.1"];
  2 [size="1000000000"]
  "three" [size=5e8];
  1 -> 2 [size="800"];
  1 -> "three" -> 4; /* only waits */
  4 [size="0"]
  1 -> 2 [size="900"]
}
"""

STG = """\
          3
          0          0          0
          1          4          1          0
          2          6          1          0
          3          2          2          1          2
          4          0          1          3
# Edges : 5
# CP Length : 8
"""


def bounds_of(graph, workers):
    found = tasksim.bounds(graph, workers=workers)
    return found.critical_path_s, found.area_s


def test_wfformat(tmp_path):
    (tmp_path / "three.json").write_text(json.dumps(WFFORMAT))
    found = graph_in(tmp_path / "three.json")
    graph = found.graph
    assert graph.kernels == ("maker", "use")
    assert [graph.parameters_of(task)["duration_s"] for task in range(3)] == [2.5, 1.0, 0.0]
    assert graph.successors_of(0) == [1, 2]
    assert graph.handle_size.tolist() == [10, 20]
    assert graph.accesses_of(0) == [(0, 1), (1, 2)]
    assert "1 dependencies that are given pass no file, such as a -> c" in found.notes
    assert any("several cores" in note for note in found.notes)
    assert tasksim.simulate(tmp_path / "three.json", workers=2).makespan_s == 3.5


def test_dax(tmp_path):
    (tmp_path / "two.dax").write_text(DAX)
    graph = graph_in(tmp_path / "two.dax").graph
    assert graph.name == "two"
    assert graph.kernels == ("make", "use")
    assert graph.successors_of(0) == [1]
    assert graph.handle_size.tolist() == [10, 20]
    assert tasksim.simulate(graph, workers=1).makespan_s == 4.5


def test_dot(tmp_path):
    """Sizes are flop and bytes; what they take needs a speed; of equal edges the first counts."""
    from tasksim.formats.workflows.jobs import with_durations

    (tmp_path / "g.dot").write_text(DOT)
    found = graph_in(tmp_path / "g.dot")
    graph = found.graph
    assert (len(graph), graph.edges) == (4, 3)
    assert graph.handle_size.tolist() == [800]
    assert any("edges are repeated" in note for note in found.notes)
    timed = with_durations(graph, 1e9)
    assert tasksim.simulate(timed, workers=2).makespan_s == 3.0


def test_stg_has_the_critical_path_and_the_work_of_its_header(tmp_path):
    (tmp_path / "g.stg").write_text(STG)
    graph = graph_in(tmp_path / "g.stg").graph
    assert bounds_of(graph, 1) == (8.0, 12.0)
    assert tasksim.simulate(graph, workers=2).makespan_s == 8.0


def test_stg_of_the_older_generation_and_with_communication(tmp_path):
    (tmp_path / "old.stg").write_text("  3  2\n 1 4 0\n 2 6 1 1\n 3 2 2 1 2\n")
    found = graph_in(tmp_path / "old.stg")
    assert bounds_of(found.graph, 1) == (12.0, 12.0)
    assert "of the older generation, for 2 processors" in found.notes
    (tmp_path / "sends.stg").write_text("9\n0 0 0\n1 4 1\n 0 7\n2 1 2\n 0 3\n 1 5\n")
    found = graph_in(tmp_path / "sends.stg")
    assert found.graph.handle_size.tolist() == [7, 3, 5]
    assert "the first line announces 9 tasks, but there are 3" in found.notes


def test_ogra(tmp_path):
    (tmp_path / "g.td").write_text("3\n1 4 2 2 7 3 9\n2 6 1 3 1\n3 2 0\n")
    graph = graph_in(tmp_path / "g.td").graph
    assert graph.edges == 3
    assert sorted(graph.handle_size.tolist()) == [1, 7, 9]
    assert bounds_of(graph, 1) == (12.0, 12.0)


def test_estee(tmp_path):
    (tmp_path / "g.json").write_text(
        '[{"d": 2, "e_d": 1.5, "cpus": 1, "outputs": [{"s": 1}, {"s": 0.5}], "inputs": []},'
        ' {"d": 3, "e_d": null, "cpus": 4, "outputs": [], "inputs": [[0, 1]]}]'
    )
    found = graph_in(tmp_path / "g.json")
    assert found.graph.handle_size.tolist() == [2**20, 2**19]
    assert found.graph.successors_of(0) == [1]
    assert bounds_of(found.graph, 1) == (5.0, 5.0)
    assert len(found.notes) == 2


@LIMITS
@given(graphs(max_tasks=12))
@pytest.mark.parametrize(("form", "name"), [("dot", "g.dot"), ("wfformat", "g.json")])
def test_what_is_written_is_the_same_graph(tmp_path, form, name, graph):
    """Tasks, durations, dependencies; numbers may differ, as files have topological orders."""
    run = tasksim.simulate(graph, workers=2)
    FORMATS.find(form).writes_run(run, tmp_path / name, True)
    read = graph_in(tmp_path / name).graph
    assert len(read) == len(graph)
    assert read.edges == graph.edges
    assert read.successors.tolist() == graph.successors.tolist()
    took = run.tasks.duration_s.tolist()
    assert [read.parameters_of(t)["duration_s"] for t in range(len(graph))] == took
    assert [read.kernel_of(t) for t in range(len(graph))] == [
        graph.kernel_of(t) for t in range(len(graph))
    ]


def changed(path, value):
    """WfFormat with something changed; *path* is keys with dots between them."""
    whole = json.loads(json.dumps(WFFORMAT))
    *keys, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    place = whole
    for key in keys:
        place = place[key]
    place[last] = value
    return json.dumps(whole, indent=1)


TASKS, RUNS = "workflow.specification.tasks", "workflow.execution.tasks"
BAD_FILES = {
    "version": ("w.json", changed("schemaVersion", "1.2"), r"w.json:3:\d+: .*version '1.2'"),
    "no parent": ("w.json", changed(f"{TASKS}.1.parents", ["z"]), r"w.json:\d+:\d+: .*no task 'z'"),
    "negative": ("w.json", changed(f"{RUNS}.0.runtimeInSeconds", -1), "seconds from 0"),
    "shape": ("w.json", changed(TASKS, 3), r"w.json:\d+:\d+: .*a list"),
    "cycle": ("w.json", changed(f"{TASKS}.0.parents", ["b"]), "in a cycle: a -> b -> a"),
    "twice": ("w.json", changed(f"{TASKS}.1.id", "a"), r"w.json:\d+:\d+: .*'a' occurs twice"),
    "truncated": ("w.json", changed("name", "x")[:-40], r"w.json:\d+:\d+: not JSON"),
    "xml": ("w.dax", "<adag><job></adag>", r"w.dax:1:\d+: not XML|w.dax:1: <job> without id"),
    "child": ("w.dax", DAX.replace('ref="ID1"', 'ref="ID9"'), "w.dax:7: there is no task 'ID9'"),
    "runtime": ("w.dax", DAX.replace("3.5", "nan"), "w.dax:3: runtime: got 'nan'"),
    "other xml": ("w.dax", "<html/>", "w.dax:1: got <html>; legal: <adag>"),
    "dot end": ("w.dot", DOT[:-3], "w.dot: the file ends before the graph does"),
    "dot number": ("w.dot", DOT.replace("2e9", "x"), "w.dot:4: size of 1: got 'x'"),
    "dot undirected": ("w.dot", DOT.replace("->", "--"), "w.dot:7: got '--'; legal: '->'"),
    "dot cycle": ("w.dot", "digraph { a -> b -> a }", "in a cycle: a -> b -> a"),
    "stg words": ("w.stg", STG.replace("6", "x"), "w.stg:4: got 'x'; legal: whole numbers"),
    "stg short": ("w.stg", "2\n1 4 3 0\n", "w.stg:2: got 1 predecessors; legal: 3"),
    "stg unknown": ("w.stg", "2\n1 4 1 7\n", "w.stg:2: there is no task '7'"),
    "ogra": ("w.td", "1\n1 4 2 2\n", "w.td:2: got 4 numbers"),
    "estee": (
        "w.json", '[{"d": 1, "outputs": [], "inputs": [[0, 1]]}]',
        r"w.json: \[0\].inputs\[0\]: task 0 has no output 1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD_FILES)
def test_what_is_wrong_is_told_in_a_line_with_its_place(tmp_path, what):
    name, text, message = BAD_FILES[what]
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message) as error:
        graph_in(tmp_path / name)
    assert "\n" not in str(error.value)


def test_entities_are_neither_expanded_nor_fetched(tmp_path):
    bomb = DAX.replace(
        "<adag", '<!DOCTYPE adag [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;">]>\n<adag', 1
    )
    outside = DAX.replace(
        "<adag", '<!DOCTYPE adag [<!ENTITY x SYSTEM "file:///etc/passwd">]>\n<adag', 1
    )
    for text in (bomb, outside):
        (tmp_path / "w.dax").write_text(text)
        with pytest.raises(InputError, match=r"w.dax:2: entities are refused"):
            graph_in(tmp_path / "w.dax")


@pytest.mark.slow
def test_a_chain_of_a_hundred_thousand_tasks(tmp_path):
    lines = [f"{i} [size=1]" for i in range(100_000)]
    lines += [f"{i} -> {i + 1}" for i in range(99_999)]
    (tmp_path / "w.dot").write_text("digraph {\n" + "\n".join(lines) + "\n}\n")
    assert graph_in(tmp_path / "w.dot").graph.edges == 99_999


COUNTS = {
    "1000genome-chameleon-2ch-100k-001": (52, 76),
    "bacass-dirt02-001": (11, 14),
    "blast-chameleon-small-001": (43, 120),
    "epigenomics-chameleon-hep-1seq-100k-001": (41, 48),
    "helloworld-chain-5-chameleon": (5, 4),
    "helloworld-forkjoin-10-chameleon": (10, 16),
    "montage-chameleon-dss-05d-001": (58, 114),
    "srasearch-chameleon-10a-001": (22, 30),
}
"""Tasks and dependencies of real workflows."""


@pytest.mark.skipif(not DATA.is_dir(), reason="the instances of WfCommons are not here")
@pytest.mark.parametrize("name", COUNTS)
def test_real_workflows_are_read_and_simulated(name):
    found = graph_in(DATA / f"{name}.json")
    assert (len(found.graph), found.graph.edges) == COUNTS[name]
    assert not [note for note in found.notes if "dependencies" in note]  # files and parents agree
    run = tasksim.simulate(found.graph, workers=4, check=True)
    assert run.makespan_s >= tasksim.bounds(found.graph, workers=4).critical_path_s - 1e-6


@pytest.mark.skipif(not DATA.is_dir(), reason="the instances of WfCommons are not here")
def test_a_chain_takes_the_sum_of_its_times():
    run = tasksim.simulate(DATA / "helloworld-chain-5-chameleon.json", workers=1)
    assert run.makespan_s == pytest.approx(501.24)


@pytest.mark.slow
def test_names_of_kernels_in_dot_take_a_time_in_proportion(tmp_path):
    """Labels that several nodes share are kernels: each is looked up, not counted again."""

    def read(nodes):
        lines = "\n".join(f'n{i} [size="1e9", label="l{i}"];' for i in range(nodes))
        (tmp_path / "labels.dot").write_text(f"digraph G {{\n{lines}\n}}\n")
        assert len(graph_in(tmp_path / "labels.dot").graph) == nodes

    assert nearly_linear(read, 2_000, 16_000)


@pytest.mark.parametrize(
    "statements",
    [
        'a [size=3];\nb [label="k", kernel=x]\na -> b;\n"c d" -> b [size="7"]\n',
        "a [size=1e3,];a -> b -> c;c [ size = 4 ];",
        "node [size=2];\na [label=k];edge [size=9];\na -> b;\n{ c [size=1]\n}\nd -> c;",
        'a [size=3; label="k"; priority=2];\na-1 -> b;\na [kernel="k"] /* z */ [size=5];',
        'a [size=1e-5];\n"q\\"r" [size=2];\na -> b [];\nb -> "" [size=1.5];',
    ],
)
def test_dot_means_the_same_statement_by_statement_and_token_by_token(
    tmp_path, monkeypatch, statements
):
    path = tmp_path / "g.dot"
    path.write_text(f"digraph g {{{statements}}}\n")
    found = graph_in(path).graph
    monkeypatch.setattr("tasksim.formats.workflows.dot.STATEMENT_ENDS", ())
    assert found.same_as(graph_in(path).graph)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("b [size=2]", "b size=2]", "g.dot:2: got ']'"),
        ("a -> b", "a -> ->", "g.dot:3: got '->'"),
        ("a -> b;", "subgraph [size=1];", "g.dot:3: got '['; legal: '{'"),
        ("a -> b;\n}", "a -> b;\n} c [size=1];", "g.dot:4: got 'c"),
        ("b [size=2]", "b [size=2] [", "g.dot:3: got '->'"),
    ],
)
def test_wrong_statements_of_dot_are_told_with_their_line(tmp_path, old, new, message):
    text = "digraph g { a [size=1];\nb [size=2]\na -> b;\n}\n"
    assert old in text
    (tmp_path / "g.dot").write_text(text.replace(old, new))
    with pytest.raises(InputError, match=re.escape(message)):
        graph_in(tmp_path / "g.dot")


STARPU_DAG = """digraph G {
\tcolor=white
\trankdir=LR;
subgraph cluster_0 {
\tcolor=black;
\t "task_2"->"task_3"
\t "task_2" [ style=filled, label="POTRF", fillcolor="#00ff00", fontcolor="white"]
\t "task_2" [ href="../../examples/cholesky.c#71" ]
\t "task_3" [ style=filled, label="POTRF", fillcolor="#00ff00", fontcolor="white"]
}
subgraph { node [kernel=TRSM]; { task_4 } }
task_5 [kernel=POTRF]
}
"""


def test_nodes_in_subgraphs_of_dot_count_and_their_defaults_end_with_them(tmp_path):
    (tmp_path / "dag.dot").write_text(STARPU_DAG)
    graph = graph_in(tmp_path / "dag.dot").graph
    names = [graph.kernel_of(task) for task in range(len(graph))]
    assert sorted(names) == ["POTRF", "POTRF", "POTRF", "TRSM"]
    assert graph.successors.tolist() == [1]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('#71" ]\n', '#71" ]\n}\n', "12: got 'subgraph' after the graph; legal: one"),
        ("task_4 } }", "task_4 } -- task_3 }", "11: got '--'; legal: '->'"),
        ("}\nsubgraph {", "\nsubgraph {", "the file ends before the graph does: a '}' is missing"),
        ("subgraph cluster_0 {", "subgraph cluster_0 [", "4: got '['; legal: '{'"),
    ],
)
def test_wrong_subgraphs_of_dot_are_told_with_their_line(tmp_path, old, new, message):
    assert old in STARPU_DAG
    (tmp_path / "dag.dot").write_text(STARPU_DAG.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        graph_in(tmp_path / "dag.dot")
    assert message in str(caught.value)
