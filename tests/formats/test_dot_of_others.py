"""DOT as workflow managers and runtimes write it: structure and names, no durations."""

import pytest

import tasksim
from tasksim.base.errors import InputError
from tasksim.formats.graphs import graph_in
from tasksim.formats.runs import read_trace

SNAKEMAKE = """\
digraph snakemake_dag {
    graph[bgcolor=white, margin=0];
    node[shape=box, style=rounded, fontname=sans,                 fontsize=10, penwidth=2];
    edge[penwidth=2, color=grey];
\t0[label = "all", color = "0.28 0.6 0.85", style="rounded"];
\t1[label = "sort\\nsample: A", color = "0.17 0.6 0.85", style="rounded"];
\t2[label = "sort\\nsample: B", color = "0.17 0.6 0.85", style="rounded,dashed"];
\t3[label = "map_reads", color = "0.11 0.6 0.85", style="rounded"];
\t1 -> 0
\t2 -> 0
\t3 -> 1
\t3 -> 2
}
"""


def read(tmp_path, text):
    path = tmp_path / "dag.dot"
    path.write_text(text)
    return graph_in(path)


def kernels(tmp_path, text):
    """Return the kernel of each task of the graph in *text*, sorted."""
    graph = read(tmp_path, text).graph
    return sorted(graph.kernel_of(task) for task in range(len(graph)))


def edges(tmp_path, body):
    """Return the dependencies between the nodes of one letter in *body*, sorted."""
    names = "abcdefghij"
    nodes = "".join(f"{name} [kernel={name}]; " for name in names if name in body)
    graph = read(tmp_path, f"digraph {{ {nodes} {body} }}").graph
    of = [graph.kernel_of(task) for task in range(len(graph))]
    return sorted(of[a] + of[b] for a in range(len(graph)) for b in graph.successors_of(a))


def test_rules_of_snakemake_are_kernels(tmp_path):
    """Both jobs of the rule sort, of other samples, are of one kernel."""
    found = read(tmp_path, SNAKEMAKE)
    assert set(found.graph.kernels) == {"map_reads", "sort", "all"}
    durations = {"map_reads": 60, "sort": 20, "*": 0}
    assert tasksim.simulate(found.graph, workers=2, durations=durations).makespan_s == 80
    assert tasksim.simulate(found.graph, workers=1, durations=durations).makespan_s == 100
    assert found.notes == (
        "4 nodes have neither a duration nor a size: durations need models, or --durations "
        "KERNEL=SECONDS",
    )


def test_names_of_tasks_with_durations_are_not_kernels(tmp_path):
    text = "digraph { a [label=first duration_s=1]; b [label=second duration_s=2]; a -> b }"
    assert kernels(tmp_path, text) == ["task", "task"]


def test_more_names_than_anybody_types_durations_for_are_not_kernels(tmp_path):
    nodes = " ".join(f"n{number} [label=l{number}];" for number in range(101))
    assert set(kernels(tmp_path, f"digraph {{ {nodes} }}")) == {"task"}
    assert len(set(kernels(tmp_path, f"digraph {{ {nodes.replace('=l100', '=l1')} }}"))) == 100


@pytest.mark.parametrize(
    ("attributes", "kernel"),
    [
        ('label="potrf(0,0)"', "potrf"),
        ('label="<1/0> TRSM(0, 1)<0>{0}", tooltip="tpid=1:tcname=TRSM"', "TRSM"),  # PaRSEC
        ('label="0\\n_Z5saxpyifPfS_\\n"', "_Z5saxpyifPfS_"),  # a graph of CUDA
        ('shape=record label="{KERNEL\n| {ID | 0 | _Z3add\\<\\<\\<1,128,0\\>\\>\\>}\n}"', "_Z3add"),
        ('shape="record" label="{\nMEMCPY\n| {{ID | node handle} | {2 | 0x0A}}\n}"', "MEMCPY"),
        ('label="main\\lcalls: 1\\ltime: 0.5s\\l"', "main"),
        ('label=<<b>load</b><br/>from &amp; to>', "load"),
        ('label="p0x7f8"', "task"),  # Taskflow's name of a task without one
        ('label="" xlabel="Channel.of"', "task"),  # Nextflow's channels
        ('label="\\N"', "task"),
        ('label="Worker 1 (idle)"', "Worker 1 (idle)"),
        ('kernel="own" label="other"', "own"),
        ('kernel="C:\\\\x"', "C:\\x"),
    ],
)  # fmt: skip
def test_a_kernel_is_the_first_line_of_a_label_without_arguments(tmp_path, attributes, kernel):
    assert kernels(tmp_path, f"digraph {{ a [{attributes}]; }}") == [kernel]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("a -> {b c} -> d", ["ab", "ac", "bd", "cd"]),
        ("{a b} -> c; d", ["ac", "bc"]),
        ("subgraph s {a; b} -> subgraph {c -> d}", ["ac", "ad", "bc", "bd", "cd"]),
        ("a -> {b -> {c d}} -> e", ["ab", "ac", "ad", "bc", "bd", "be", "ce", "de"]),
        ("{rank=same; a b} c -> a", ["ca"]),
        ("a:f0 -> b:f1:nw -> c", ["ab", "bc"]),
        ("a -> b [style=invis]; b -> c [style=dashed]", ["bc"]),
        ('a -> b [label=<<i>x &gt; y</i>>]; b -> c', ["ab", "bc"]),
    ],
)  # fmt: skip
def test_edges_of_subgraphs_and_ports_are_edges_of_nodes(tmp_path, body, found):
    assert edges(tmp_path, body) == found


def test_invisible_edges_are_told(tmp_path):
    found = read(tmp_path, "digraph { {a b} -> c [style=invis]; }")
    assert "2 edges are invisible (style=invis): left out" in found.notes


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("a [label=<b>c</b>]; b [label=<<i>];", "3: got '<<i>];', a text in angles without its"),
        ("{a b} -- c", "3: got '--'; legal: '->'"),
        ("a -> {b c", "the file ends before the graph does: a '}' is missing"),
        ("a:[x] -> b", "3: got '['; legal: a name"),
    ],
)
def test_wrong_ends_of_edges_are_told_with_their_line(tmp_path, body, message):
    end = "" if "missing" in message else "\n}"
    with pytest.raises(InputError) as caught:
        read(tmp_path, f"digraph\n{{\n{body}{end}")
    assert message in str(caught.value)


def test_a_short_file_cannot_have_more_edges_than_fit_the_memory(tmp_path):
    many = " ".join(f"n{number}" for number in range(4000))
    with pytest.raises(InputError, match="edges of subgraphs: got more than 10,000,000; legal"):
        read(tmp_path, f"digraph {{ {{{many}}} -> {{{many.replace('n', 'm')}}} }}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "dag.dot: the file has no graph; legal: digraph { a -> b }"),
        ("// nothing\n", "dag.dot: the file has no graph"),
        ("graph { a -- b }", "dag.dot:1: got 'graph'; legal: digraph, as tasks depend in one"),
    ],
)
def test_files_without_a_directed_graph_are_told(tmp_path, text, message):
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)


def test_a_graph_is_no_run_and_a_run_is_no_graph(tmp_path):
    dag, log = tmp_path / "dag.dot", tmp_path / "jobs.txt"
    dag.write_text(SNAKEMAKE)
    log.write_text("task\tstart\tend\na\t0\t1\n")
    with pytest.raises(InputError, match="a task graph, not a run of another tool: 'tasksim sim"):
        read_trace(dag)
    with pytest.raises(InputError, match="a run of another tool, not a task graph: 'tasksim imp"):
        graph_in(log)
