"""Files of StarPU beside tasks.rec: data.rec, sched_tasks.rec, comms.rec; several ranks."""

import numpy as np
import pytest

import tasksim
from tasksim.base.errors import InputError
from tasksim.formats.runs import read_trace
from tasksim.formats.traces.tracefolder import save_trace

TASKS = """\
Name: first
JobId: 1
SubmitOrder: 1
Priority: 0
WorkerId: 0
MemoryNode: 0
SubmitTime: 1.000000
StartTime: 3.000000
EndTime: 5.000000
Footprint: 1
Handles: a0
Modes: W
Sizes: 800

Control: WontUse
JobId: 2
SubmitOrder: 2
SubmitTime: 1.100000
Handles: a0
MPIRank: -1

Name: second
JobId: 3
SubmitOrder: 3
Priority: 4
DependsOn: 1
WorkerId: 1
MemoryNode: 0
SubmitTime: 1.200000
StartTime: 6.000000
EndTime: 7.000000
Footprint: 1
Handles: a0
Modes: R
Sizes: 800
"""
SCHED_RECORDS = """\
Type: push
Time: 1.500000000
Priority: 7
JobId: 1

Type: pop
Time: 2.750000000
Priority: 7
JobId: 1

Type: push
Time: 5.250000000
Priority: 4
JobId: 3

Type: push
Time: 5.300000000
Priority: 4
JobId: 3

Type: pop
Time: 5.500000000
Priority: 4
JobId: 3

Type: pop
Time: 9.000000000
Priority: 0
JobId: 12
"""
RANKS = """\
Name: make
JobId: 00_1
SubmitOrder: 1
WorkerId: 0
MemoryNode: 0
SubmitTime: 1.000000
StartTime: 2.000000
EndTime: 4.000000
Handles: a0
Modes: W
Sizes: 800
NumaNodes: -1
MPIRank: 0

JobId: 00_2
DependsOn: 00_1
MPIRank: 0

Name: own
JobId: 01_1
SubmitOrder: 1
WorkerId: 0
MemoryNode: 0
SubmitTime: 1.000000
StartTime: 2.500000
EndTime: 3.500000
Handles: a0
Modes: W
Sizes: 80
MPIRank: 1
EndDependencies: 1, 2 \nJobId: 01_2
MPIRank: 1

Name: use
JobId: 01_3
SubmitOrder: 3
DependsOn: 01_2
WorkerId: 0
MemoryNode: 0
SubmitTime: 1.500000
StartTime: 5.500000
EndTime: 6.500000
Handles: b0
Modes: R
Sizes: 800
MPIRank: 1
"""
COMMS = """\
Src: 0
Dst: 1
Tag: 17
SendTime: 4.100000000
RecvTime: 5.100000000
SendHandle: a0
RecvHandle: b0
SendJobId: 0_2
RecvJobId: 1_2
Size: 1000
Priority: 0
Type: PointToPoint
SendNumaNodes: -1
RecvNumaNodes: -1
"""


@pytest.fixture
def written(tmp_path):
    def write(**files):
        for name, text in files.items():
            (tmp_path / f"{name}.rec").write_text(text)
        return tmp_path / "tasks.rec"

    return write


def test_pushes_and_pops(written):
    """Ready is when a task was pushed, popped when its worker took it; the last priority counts."""
    found = read_trace(written(tasks=TASKS, sched_tasks=SCHED_RECORDS))
    tasks = found.run.tasks
    assert tasks.ready_s.tolist() == pytest.approx([0.0005, 0.00425])
    assert tasks.popped_s.tolist() == pytest.approx([0.00175, 0.0045])
    assert tasks.priority.tolist() == found.run.graph.priority.tolist() == [7, 4]
    (note,) = (note for note in found.notes if note.startswith("sched_tasks.rec"))
    assert note.removeprefix("sched_tasks.rec: ").split("; ") == [
        "the times of push and pop of 2 tasks",
        "1 have another priority there (such as first 1, 0 -> 7), which counts",
        "1 repeated pushes are left out",
        "1 actions are about tasks that are not in tasks.rec",
    ]
    assert "left out: 1 hints that data will not be used any more" in found.notes
    tasksim.check_run(found.run, found.run.graph)


def test_without_them_nothing_is_known_of_pops(written):
    found = read_trace(written(tasks=TASKS, sched_tasks="", comms=""))
    assert np.isnan(found.run.tasks.popped_s).all()
    assert not [note for note in found.notes if "sched_tasks" in note or "comms" in note]


def test_homes_of_data(written):
    data = "Handle: a0\nHomeNode: 0\nSize: 800\n\nHandle: b0\nHomeNode: -1\n"
    found = read_trace(written(tasks=TASKS, data=data))
    assert not [note for note in found.notes if "data.rec" in note]
    assert found.run.graph.handle_home.tolist() == [0]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (("Type: push", "Type: pull"), "sched_tasks.rec:1: Type: got 'pull'; legal: push, pop"),
        (("JobId: 1\n", "Job: 1\n"), "sched_tasks.rec:1: a push without JobId"),
        (("1.500000000", "nan"), "sched_tasks.rec:1: Time: got 'nan'; legal: milliseconds from 0"),
        (("1.500000000", "soon"), "sched_tasks.rec:1: Time or Priority is not a number; "),
    ],
)
def test_actions_that_are_wrong(written, wrong, message):
    path = written(tasks=TASKS, sched_tasks=SCHED_RECORDS.replace(*wrong, 1))
    with pytest.raises(InputError, match=message):
        read_trace(path)
    found = read_trace(path, skip_bad=True)
    assert len(found.skipped) == 1
    assert len(found.run) == 2


def test_ranks_are_nodes(written):
    """Workers, data and tasks of ranks have the same numbers, and are others."""
    found = read_trace(written(tasks=RANKS))
    run = found.run
    assert [(w.name, w.node) for w in run.workers] == [("node0/cpu0", 0), ("node1/cpu0", 1)]
    assert [run.label(task) for task in range(3)] == ["make #0", "own #1", "use #2"]
    assert run.graph.edges == 0
    assert run.graph.handle_size.tolist() == [800, 80, 800]
    assert run.memories == ()


def test_messages_are_copies_and_dependencies(written):
    """Ids have zeros before the rank in one file, none in the other."""
    data = "Handle: b0\nHomeNode: 0\nMPIRank: 1\n"
    found = read_trace(written(tasks=RANKS, comms=COMMS, data=data))
    run, graph = found.run, found.run.graph
    assert [memory.name for memory in run.memories] == ["node0/ram", "node1/ram"]
    assert [memory.node for memory in run.memories] == [0, 1]
    assert graph.successors_of(0) == [2]
    copies = run.transfers
    assert (copies.source.tolist(), copies.target.tolist()) == ([0], [1])
    assert copies.size_bytes.tolist() == [1000]
    assert (copies.start_s[0], copies.end_s[0]) == pytest.approx((0.0031, 0.0041))
    assert graph.handle_name(int(copies.handle[0])).startswith("message 0_a0")
    assert graph.handle_home.tolist() == [0, 0, 1, 0]
    assert (
        "comms.rec: 1 messages between nodes are copies of the run, and 1 of them also"
        " dependencies; a replay moves none of these data"
    ) in found.notes
    tasksim.check_run(run, graph)


def test_clocks_of_nodes_that_differ(written):
    comms = COMMS.replace("RecvTime: 5.1", "RecvTime: 4.0")
    found = read_trace(written(tasks=RANKS, comms=comms))
    assert found.run.transfers.duration_s.tolist() == [0.0]
    assert found.run.graph.edges == 0
    assert any("1 arrived before they were sent" in note for note in found.notes)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            ("Src: 0", "Src: zero"),
            "comms.rec:1: Src, Dst, Size, SendTime or RecvTime is not a number",
        ),
        (("Dst: 1", "Dst: -4"), "comms.rec:1: a message from rank 0 to rank -4"),
        (("Size: 1000", "Size: -1"), "comms.rec:1: Size: got -1; legal: bytes"),
        (("4.100000000", "inf"), "comms.rec:1: SendTime or RecvTime is not a time"),
    ],
)
def test_messages_that_are_wrong(written, wrong, message):
    path = written(tasks=RANKS, comms=COMMS.replace(*wrong))
    with pytest.raises(InputError, match=message):
        read_trace(path)
    assert len(read_trace(path, skip_bad=True).skipped) == 1


def test_a_run_of_several_ranks_is_kept_and_replayed(written, tmp_path):
    """Its platform has two nodes, and a network as fast as the messages were."""
    save_trace(read_trace(written(tasks=RANKS, comms=COMMS)), tmp_path / "run")
    platform = tasksim.load_platform(tmp_path / "run")
    assert [worker.name for worker in platform.workers] == ["node0/cpu0", "node1/cpu0"]
    assert "bandwidth: 1 MB/s" in (tmp_path / "run" / "platform.yaml").read_text()
    again = tasksim.simulate(tmp_path / "run", durations="measured", scheduler="eager")
    assert len(again) == 3
    assert tasksim.load_run(tmp_path / "run").transfers.size_bytes.tolist() == [1000]
