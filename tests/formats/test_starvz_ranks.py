"""Folders of StarVZ with several MPI ranks: nodes of workers, hints, messages."""

import pytest

from tasksim.base.errors import InputError
from tasksim.formats.runs import read_trace

TASKS = """\
Control,JobId,SubmitOrder,SubmitTime,Handles,MPIRank,Name,WorkerId,MemoryNode,StartTime,EndTime,\
Modes,Sizes,DependsOn
WontUse,7,9,1,a0,0,,,,,,,,
WontUse,7,9,1,a0,1,,,,,,,,
,0_1,1,0,a0,0,fill,0,0,0,10,W,800,
,0_2,2,0,,0,_starpu_data_acquire_cb_pre,,,,,,,0_1
,1_1,1,0,,1,_starpu_data_acquire_cb_pre,,,,,,,
,1_2,2,0,c0,1,fill,0,0,0,4,W,800,
,1_3,3,0,b0 c0,1,sum,1,0,25,30,R RW,800 800,1_1 1_2
"""
STATES = """\
Nature, ResourceId, Type, Start, End, Duration, Depth, Value, JobId
State, 0_CPU0, Worker State, 0, 10, 10, 0, fill, 0_1
State, 1_CPU0, Worker State, 0, 4, 4, 0, fill, 1_2
State, 1_CUDA0, Worker State, 25, 30, 5, 0, sum, 1_3
"""
DAG = """\
Dependent,JobId
0_1,0_2
0_2,mpi_0_3
mpi_0_3,1_1
1_1,1_3
1_2,1_3
"""
LINKS = """\
Nature, Container, Type, Start, End, Duration, Size, Origin, Dest, Key, Tag
Link, root, MPI communication, 11, 24, 13, 800, 0_mpict, 1_mpict, mpicom_0, 3
"""
HANDLES = "Handle,HomeNode,MPIRank,Size\na0,0,0,800\nb0,-1,1,800\nc0,0,1,800\n"


@pytest.fixture
def folder(tmp_path):
    for name, text in (
        ("rec.tasks.csv", TASKS),
        ("paje.worker_state.csv", STATES),
        ("dag.csv", DAG),
        ("paje.link.csv", LINKS),
        ("rec.data_handles.csv", HANDLES),
    ):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_ranks_are_nodes(folder):
    trace = read_trace(folder)
    workers = [(w.name, w.architecture, w.node) for w in trace.run.workers]
    assert workers == [
        ("node0/CPU0", "cpu", 0), ("node1/CPU0", "cpu", 1), ("node1/CUDA0", "cuda", 1)
    ]  # fmt: skip
    assert [(m.name, m.node) for m in trace.run.memories] == [("node0/ram", 0), ("node1/ram", 1)]


def test_hints_are_no_tasks(folder):
    """Each rank numbers its hints from 1, so ids come twice."""
    trace = read_trace(folder)
    assert len(trace.run) == 3
    assert "left out: 2 hints that data will not be used any more" in trace.notes


def test_a_task_waits_for_the_task_whose_message_it_receives(folder):
    """``sum`` on node 1 reads what ``fill`` on node 0 wrote: by the message, not by a datum."""
    run = read_trace(folder).run
    graph = run.graph
    (task,) = (t for t in range(3) if graph.kernels[graph.kernel[t]] == "sum")
    assert graph.predecessor_count.tolist()[task] == 2
    assert run.bounds["critical_path_s"] == pytest.approx(0.015)  # fill on node 0, then sum


def test_messages_are_copies_between_nodes(folder):
    copies = read_trace(folder).run.transfers
    assert (copies.source.tolist(), copies.target.tolist()) == ([0], [1])
    assert copies.size_bytes.tolist() == [800]
    assert (copies.end_s - copies.start_s).tolist() == pytest.approx([0.013])


def test_a_received_buffer_is_on_its_own_node(folder):
    """StarPU gives the buffer no home, ``HomeNode`` -1; it is not on node 0."""
    graph = read_trace(folder).run.graph
    home = dict(zip([b.name for b in graph.handle_blocks], graph.handle_home.tolist(), strict=True))
    assert (home["0_a0"], home["1_b0"], home["1_c0"]) == (0, 1, 1)


def test_one_rank_is_no_node(folder):
    """A program of one rank ran on a machine: its workers keep their names."""
    (folder / "rec.tasks.csv").write_text("\n".join(TASKS.splitlines()[:4]) + "\n")
    assert [w.name for w in read_trace(folder).run.workers] == ["0_CPU0"]


def test_a_message_that_ends_before_it_starts_is_refused(folder):
    (folder / "paje.link.csv").write_text(LINKS.replace("11, 24", "24, 11"))
    with pytest.raises(InputError, match=r"paje\.link\.csv:2: Start, End or Size of a message"):
        read_trace(folder)


def test_ranks_without_names_of_workers_are_nodes_too(folder):
    """Worker 0 of rank 0 and worker 0 of rank 1 are two workers."""
    (folder / "paje.worker_state.csv").unlink()
    workers = [w.name for w in read_trace(folder).run.workers]
    assert workers == ["node0/cpu0", "node1/cpu0", "node1/cpu1"]


def test_states_of_several_ranks_alone_have_nodes(folder):
    run = read_trace(folder / "paje.worker_state.csv").run
    assert [(w.architecture, w.node) for w in run.workers] == [("cpu", 0), ("cpu", 1), ("cuda", 1)]
